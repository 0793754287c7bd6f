// The job matrix: one pillar's jobs, filtered, in pages.

import { get } from "./api.js";
import { openCommand, BULK } from "./commands.js";
import { h } from "./dom.js";
import { exportList } from "./export.js";
import { milliseconds, number, time } from "./format.js";
import { filterBar } from "./job_filters.js";
import { loadDetail } from "./job_detail.js";
import { button, chip, errorText, progress, table, toast } from "./parts.js";
import { changed, filterOf, go, to } from "./router.js";
import { mayOperate, state } from "./state.js";

const PAGE = 50;
const COUNT_AGE_MS = 10_000;
const MAX_LOOKS = 100;
let counted = { filter: null, at: 0, count: null };

export async function load(route) {
  const filter = filterOf(route);
  const [list, count, detail] = await Promise.all([
    get("jobs", { ...filter, limit: PAGE, cursor: route.params.cursor }),
    countOf(filter),
    loadDetail(route),
  ]);
  return { list, count, detail };
}

// Counting looks at up to 10 000 rows, so it is done less often than listing.
async function countOf({ order: _, ...filter }) {
  const name = JSON.stringify(filter);
  const isFresh = counted.filter === name && Date.now() - counted.at < COUNT_AGE_MS && state.fetchedAt.overview;
  if (!isFresh) counted = { filter: name, at: Date.now(), count: await get("count", filter) };
  return counted.count;
}

export function render({ list, count }, { route, selected, queues }) {
  return [
    filterBar(route, queues?.queues ?? []),
    selected.size > 0 ? selectionBar(route, selected) : listBar(route, count),
    table(`${route.place} jobs`, columnsFor(route, list.jobs), list.jobs, {
      key: (job) => job.id,
      rowAttributes: (job) => rowAttributes(job, route),
      nothing: list.further === null ? "No job is like that." : furtherOn(route, list.further),
    }),
    pager(route, list.further),
  ];
}

// What was asked for is refused: the filters stay, so that it can be put right.
export function renderRefused({ route, queues }) {
  return filterBar(route, queues?.queues ?? []);
}

function listBar(route, count) {
  const isPart = !count.is_complete && Object.keys(filterOf(route)).some((name) => name !== "pillar" && name !== "order");
  return h(
    "div",
    { class: "bar", "data-key": "bar" },
    h("p", { id: "found" }, h("b", {}, count.text), count.count === 1 && count.is_complete ? " job" : " jobs", isPart && h("span", { class: "muted" }, " in the newest part of the list")),
    mayOperate() && (count.count > 0 || !count.is_complete) && bulkButtons(route, { filter: filterOf(route) }, "all of these"),
    h("span", { class: "spacer" }),
    button("CSV", () => exportList(filterOf(route), "csv"), { class: "quiet small", "aria-label": "Export as CSV" }),
    button("JSON", () => exportList(filterOf(route), "json"), { class: "quiet small", "aria-label": "Export as JSON" }),
  );
}

function selectionBar(route, selected) {
  return h(
    "div",
    { class: "bar chosen", "data-key": "bar-chosen" },
    h("p", {}, h("b", {}, number(selected.size)), " selected"),
    mayOperate() && bulkButtons(route, { ids: [...selected] }, "the selected"),
    h("span", { class: "spacer" }),
    button("Clear selection", clearSelection, { class: "quiet small" }),
  );
}

function bulkButtons(route, target, whom) {
  const verbs = BULK[filterOf(route).pillar];
  const label = target.ids === undefined ? "Act on all …" : "Act on selected …";
  if (target.ids === undefined) {
    return h(
      "details",
      { class: "menu" },
      h("summary", { class: "button small" }, label),
      h("div", { class: "menu-items" }, verbs.map((verb) => verbButton(verb, target, whom))),
    );
  }
  return h("div", { class: "buttons" }, verbs.map((verb) => verbButton(verb, target, whom)));
}

function verbButton(verb, target, whom) {
  const open = (event) => {
    event.currentTarget.closest("details")?.removeAttribute("open");
    openCommand({ verb: verb.name, ...target, onDone: clearSelection });
  };
  const tone = verb.isDangerous ? "small danger" : "small";
  return button(verb.label, open, { class: tone, "aria-label": `${verb.label} ${whom}`, "data-key": verb.name });
}

// One look goes over a part of the list. Where nothing is on it, the next parts can be looked through at once.
function furtherOn(route, further) {
  return [
    "None on this part of the list; there may be more further on. ",
    button("Look further", (event) => lookFurther(event.currentTarget, route, further), { class: "small", "data-key": "further" }),
  ];
}

async function lookFurther(pressed, route, further) {
  pressed.disabled = true;
  let cursor = further;
  try {
    for (let looks = 0; looks < MAX_LOOKS && state.route === route; looks += 1) {
      const list = await get("jobs", { ...filterOf(route), limit: 1, cursor });
      if (list.jobs.length > 0 || list.further === null) break;
      cursor = list.further;
    }
  } catch (error) {
    toast(`Not found: ${error.message}`, "bad");
  }
  pressed.disabled = false;
  if (state.route === route) turnTo(route, cursor);
}

function clearSelection() {
  state.selected.clear();
  state.repaint();
}

function rowAttributes(job, route) {
  const isOpen = route.params.job === job.id;
  return {
    class: [isOpen && "open", state.selected.has(job.id) && "selected"].filter(Boolean).join(" ") || null,
    onclick: (event) => {
      if (event.target.closest("a, button, input, label") || String(getSelection()) !== "") return;
      go(route.place, { ...route.params, job: job.id });
    },
  };
}

function columnsFor(route, jobs) {
  return [...(mayOperate() ? [choose(jobs)] : []), ...COLUMNS[route.place].map((make) => make(route))];
}

function choose(jobs) {
  const isAll = jobs.length > 0 && jobs.every((job) => state.selected.has(job.id));
  const setAll = (event) => setSelected(jobs.map((job) => job.id), event.currentTarget.checked);
  return {
    label: "Select",
    class: "choose",
    heading: h("input", { type: "checkbox", checked: isAll, "aria-label": "Select all on this page", onchange: setAll }),
    cell: (job) =>
      h("input", {
        type: "checkbox",
        checked: state.selected.has(job.id),
        "aria-label": `Select ${job.id}`,
        onchange: (event) => setSelected([job.id], event.currentTarget.checked),
      }),
  };
}

export function setSelected(ids, isSelected) {
  for (const id of ids) isSelected ? state.selected.add(id) : state.selected.delete(id);
  state.repaint();
}

const job = (route) => ({
  label: "Job",
  cell: (row) => [
    h("a", { class: "text mono row-link", href: to(route.place, { ...route.params, job: row.id }) }, row.type),
    h("div", { class: "text muted small clip" }, row.id),
  ],
});

const queue = () => ({ label: "Queue", cell: (row) => h("span", { class: "text clip", title: row.queue }, row.queue) });
const attempts = () => ({ label: "Attempts", class: "number", cell: (row) => number(row.attempts) });
const priority = () => ({ label: "Priority", class: "number", cell: (row) => number(row.priority) });

const status = () => ({
  label: "Status",
  cell: (row) => [
    chip(row.status),
    row.cancel_requested_at !== null && chip("cancel", "warn", "cancel asked"),
    row.progress !== null && progress(row),
  ],
});

const error = () => ({
  label: "Error",
  class: "wide",
  cell: (row) => [
    chip(row.reason, "bad"),
    (row.error_line ?? row.error_type) && h("div", { class: "text clip small", title: row.error_line }, errorText(row)),
  ],
});

const duration = () => ({ label: "Took", class: "number", cell: (row) => milliseconds(row.duration_ms) });

// The column that the list is sorted by; its heading turns the order around.
const sorted = (label, field) => (route) => {
  const isOldest = route.params.order === "oldest";
  const turn = () => go(route.place, changed(route, { order: isOldest ? "" : "oldest" }));
  return {
    label,
    class: "time",
    sort: isOldest ? "ascending" : "descending",
    heading: button([label, h("span", { "aria-hidden": "true" }, isOldest ? " ↑" : " ↓")], turn, {
      class: "sort",
      title: isOldest ? "Oldest first; press for newest first" : "Newest first; press for oldest first",
    }),
    cell: (row) => time(row[field]),
  };
};

const due = () => ({ label: "Due / started", class: "time", cell: (row) => time(row.started_at ?? row.due_at) });

const COLUMNS = {
  active: [job, status, sorted("Created", "created_at"), due, queue, priority, attempts],
  archive: [job, sorted("Finished", "ended_at"), duration, queue, attempts],
  dlq: [job, error, sorted("Failed", "ended_at"), queue, attempts],
};

function turnTo(route, cursor) {
  state.trail.push(route.params.cursor ?? "");
  go(route.place, { ...route.params, cursor, job: "" });
}

function pager(route, further) {
  const { cursor } = route.params;
  const next = () => turnTo(route, further);
  const back = () => go(route.place, { ...route.params, cursor: state.trail.pop() ?? "", job: "" });
  if (further === null && !cursor) return null;
  return h(
    "nav",
    { class: "pager", "aria-label": "Pages", "data-key": "pager" },
    button("First page", () => go(route.place, { ...route.params, cursor: "", job: "" }), { disabled: !cursor }),
    button("Previous", back, { disabled: !cursor }),
    button("Next", next, { disabled: further === null }),
  );
}
