// Which jobs are listed. Every change goes into the address.

import { h } from "./dom.js";
import { words } from "./format.js";
import { button } from "./parts.js";
import { changed, go, settle } from "./router.js";
import { state } from "./state.js";

const STATUSES = ["Pending", "Fetched", "Processing"];
const REASONS = [
  "MaxRetriesExceeded",
  "FatalError",
  "Timeout",
  "Cancelled",
  "Zombie",
  "Rejected",
  "Throttled",
  "Transient",
  "CircuitBreakerOpen",
  "HeartbeatFailure",
  "RetryLifetimeExpired",
];
const TYPING_MS = 350;
const MORE = ["type", "error_text", "from", "to"];
let typing = null;

export function filterBar(route, queues) {
  const names = queues.map((queue) => queue.name);
  const isMore = MORE.some((name) => route.params[name]);
  return h(
    "search",
    { class: "filters", "data-key": `filters-${route.place}` },
    typed(route, "search", "Search", { placeholder: "Part of id, type, tags or key", type: "search" }),
    chosen(route, "queue", "Queue", withCurrent(names, route.params.queue)),
    route.place === "active" && chosen(route, "status", "Status", STATUSES),
    route.place === "dlq" && chosen(route, "reason", "Reason", REASONS, words),
    h(
      "details",
      { open: isMore, "data-key": "more" },
      h("summary", {}, "More"),
      h(
        "div",
        { class: "more" },
        typed(route, "type", "Type", { placeholder: "The whole type key" }),
        route.place === "dlq" && typed(route, "error_text", "Error text", { placeholder: "Part of type, message, traceback" }),
        moment(route, "from", "From"),
        moment(route, "to", "To"),
      ),
    ),
    hasFilter(route) && button("Clear filters", () => go(route.place), { class: "quiet", "data-key": "clear" }),
  );
}

function withCurrent(names, current) {
  return current && !names.includes(current) ? [current, ...names] : names;
}

function hasFilter(route) {
  return ["search", "queue", "status", "reason", ...MORE].some((name) => route.params[name]);
}

function field(id, label, input) {
  return h("div", { class: "field", "data-key": id }, h("label", { for: id }, label), input);
}

function typed(route, name, label, attributes) {
  const oninput = (event) => {
    const { value } = event.currentTarget;
    clearTimeout(typing);
    typing = setTimeout(() => set(route.place, { [name]: value }), TYPING_MS);
  };
  const id = `filter-${name}`;
  const input = h("input", {
    id,
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 1000,
    value: route.params[name] ?? "",
    oninput,
    ...attributes,
  });
  return field(id, label, input);
}

function chosen(route, name, label, values, text = (value) => value) {
  const id = `filter-${name}`;
  const options = [h("option", { value: "" }, "any"), values.map((value) => h("option", { value }, text(value)))];
  const onchange = (event) => set(route.place, { [name]: event.currentTarget.value });
  return field(id, label, h("select", { id, value: route.params[name] ?? "", onchange }, options));
}

// Shown in local time, kept in the address in UTC.
function moment(route, name, label) {
  const id = `filter-${name}`;
  const onchange = (event) => {
    const at = new Date(event.currentTarget.value);
    set(route.place, { [name]: Number.isNaN(at.getTime()) ? "" : at.toISOString() });
  };
  const value = inputValue(route.params[name]);
  return field(id, label, h("input", { id, type: "datetime-local", step: 1, value, onchange }));
}

function inputValue(moment) {
  const at = new Date(moment ?? "");
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

// A person who types on after going elsewhere does not change that place.
function set(place, changes) {
  if (state.route.place !== place) return;
  state.trail.length = 0;
  settle(place, changed(state.route, changes));
}
