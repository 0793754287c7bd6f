// What the page knows. Panels read it; `refresh` looks at the server at once, `repaint` shows what changed here.

export const state = {
  me: null,
  signIn: { detail: "", isTried: false },
  route: { place: "overview", params: {} },
  overview: null,
  health: null,
  queues: null,
  data: null,
  problem: null,
  reachedAt: 0,
  fetchedAt: {},
  selected: new Set(),
  trail: [],
  events: { process: null, last: 0, list: [] },
  refresh: () => {},
  repaint: () => {},
};

export function forget() {
  Object.assign(state, { me: null, overview: null, health: null, queues: null, data: null, problem: null, fetchedAt: {} });
  state.selected.clear();
  state.events = { process: null, last: 0, list: [] };
}

// After a command: everything that is shown is out of date.
export function refreshAll() {
  state.fetchedAt = {};
  return state.refresh();
}

export function mayOperate() {
  return state.me?.role === "operate";
}
