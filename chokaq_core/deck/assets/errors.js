// What fails most: dead jobs grouped by type, error and reason.

import { get } from "./api.js";
import { h } from "./dom.js";
import { number, time } from "./format.js";
import { chip, errorText, panel, table } from "./parts.js";
import { to } from "./router.js";

export function load() {
  return get("errors", { limit: 50 });
}

export function render(data) {
  const note = data.is_complete ? null : `Among the newest ${number(data.looked_at)} dead jobs.`;
  return panel("groups", "Groups", { note }, groupTable(data.groups));
}

export function groupTable(groups) {
  return table("Top errors", COLUMNS, groups, { key: keyOf, nothing: "Nothing is in the DLQ." });
}

const COLUMNS = [
  { label: "Jobs", class: "number", cell: (group) => number(group.jobs) },
  { label: "Type", cell: (group) => h("span", { class: "text mono" }, group.type) },
  {
    label: "Error",
    class: "wide",
    cell: (group) => [
      chip(group.reason, "bad"),
      (group.error_line ?? group.error_type) && h("div", { class: "text clip", title: group.error_line }, errorText(group)),
    ],
  },
  { label: "First", cell: (group) => time(group.first_failed_at) },
  { label: "Last", cell: (group) => time(group.last_failed_at) },
  {
    label: "Look",
    class: "actions",
    cell: (group) => [
      h("a", { href: to("dlq", filterFor(group)) }, "Show jobs"),
      " ",
      h("a", { href: to("dlq", { ...filterFor(group), job: group.newest_job_id }) }, "Newest"),
    ],
  },
];

function filterFor(group) {
  return { type: group.type, reason: group.reason, error_text: group.error_type ?? "" };
}

function keyOf(group) {
  return JSON.stringify([group.type, group.error_type, group.reason]);
}
