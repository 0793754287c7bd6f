// Recent events of the process that answers.

import { get } from "./api.js";
import { h } from "./dom.js";
import { time } from "./format.js";
import { chip, panel } from "./parts.js";

const KEPT = 500;
const LONG = 600;

// Asks only for what is new; another process begins anew.
export async function load(_route, { events }) {
  const answer = await get("events", { after: events.last });
  if (events.process !== null && answer.process !== events.process) {
    Object.assign(events, { process: answer.process, last: 0, list: [] });
    return load(_route, { events });
  }
  events.process = answer.process;
  events.last = answer.last;
  events.list = [...events.list, ...answer.events].slice(-KEPT);
  return events.list;
}

export function render(list) {
  const note = "Of the process that answered; in Azure, other instances have events of their own.";
  return panel(
    "console",
    "Recent events",
    { note },
    list.length === 0 && h("p", { class: "empty" }, "Nothing worth telling has happened yet."),
    h("ol", { class: "console" }, list.toReversed().map(line)),
  );
}

function line(event) {
  return h(
    "li",
    { class: event.level, "data-key": String(event.number) },
    time(event.at),
    chip(event.level),
    h("span", { class: "text" }, event.text),
    shown(fields(event.fields)),
  );
}

// Long ones, such as all settings at the start, are folded.
function shown(text) {
  const span = h("span", { class: "text mono small muted" }, text);
  return text.length > LONG ? h("details", { "data-key": "fields" }, h("summary", {}, "Fields"), span) : span;
}

function fields(values) {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");
}
