// What is shown lives in the address: `#/dlq?reason=Timeout&job=…`. It can be kept, shared and walked back.

export const PLACES = ["overview", "active", "archive", "dlq", "errors", "queues", "circuits", "workers", "log", "console"];
export const PILLARS = { active: "hot", archive: "archive", dlq: "dlq" };
export const FILTERS = ["queue", "type", "status", "reason", "error_text", "search", "from", "to", "order"];

export function here() {
  const [, name, query] = /^#\/([a-z]*)\??(.*)$/s.exec(location.hash) ?? [];
  const place = PLACES.includes(name) ? name : "overview";
  return { place, params: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

// An address; values that are empty are left out.
export function to(place, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return `#/${place}${query === "" ? "" : `?${query}`}`;
}

export function go(place, params) {
  location.hash = to(place, params);
}

// As `go`, without a step to walk back to: for text that is being typed.
export function settle(place, params) {
  history.replaceState(null, "", to(place, params));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

// The same place with some parameters changed; another filter begins at its first page.
export function changed(route, changes) {
  const isFilter = Object.keys(changes).some((name) => FILTERS.includes(name));
  return { ...route.params, ...(isFilter ? { cursor: "" } : {}), ...changes };
}

// The filter as the data routes take it.
export function filterOf(route) {
  const given = FILTERS.filter((name) => route.params[name]).map((name) => [name, route.params[name]]);
  return { pillar: PILLARS[route.place], ...Object.fromEntries(given) };
}
