// What people did, newest first.

import { get } from "./api.js";
import { h } from "./dom.js";
import { number, time } from "./format.js";
import { button, panel, table } from "./parts.js";
import { go } from "./router.js";

export function load(route) {
  return get("log", { before: /^\d+$/.test(route.params.before ?? "") ? route.params.before : null });
}

export function render(data, { route }) {
  return panel(
    "log",
    "Commands",
    {},
    table("Operator log", COLUMNS, data.entries, { key: (entry) => String(entry.number), nothing: "Nobody has done anything yet." }),
    h(
      "nav",
      { class: "pager", "aria-label": "Pages" },
      route.params.before && button("Newest", () => go("log")),
      data.further !== null && button("Older", () => go("log", { before: String(data.further) })),
    ),
  );
}

const COLUMNS = [
  { label: "When", class: "time", cell: (entry) => time(entry.at) },
  { label: "Who", cell: (entry) => h("span", { class: "text" }, entry.actor) },
  { label: "Command", cell: (entry) => h("b", { class: "text" }, entry.command) },
  { label: "Target", class: "wide", cell: (entry) => h("span", { class: "text mono small clamp", title: entry.target }, entry.target) },
  { label: "Jobs", class: "number", cell: (entry) => number(entry.affected) },
  { label: "Outcome", cell: (entry) => h("span", { class: "text" }, entry.outcome) },
];
