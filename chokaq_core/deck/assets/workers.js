// Workers and timers: who does the work, and whether they still do.

import { get } from "./api.js";
import { h } from "./dom.js";
import { number, seconds, time } from "./format.js";
import { chip, panel, table } from "./parts.js";

export function load() {
  return get("workers");
}

export function render(data) {
  return [
    panel("workers", "Workers", { note: "None is well, too, while nothing is due: the app scales to zero." },
      table("Workers", WORKERS, data.workers, { key: (worker) => worker.worker_id, nothing: "No worker is there." })),
    panel("timers", "Timers", {},
      table("Timers", TIMERS, data.timers, { key: (timer) => timer.name, nothing: "No timer has run yet." })),
  ];
}

const WORKERS = [
  { label: "Worker", cell: (worker) => [h("span", { class: "text mono small" }, worker.worker_id), h("div", { class: "text muted small" }, worker.host)] },
  { label: "State", cell: (worker) => [chip(worker.state), !worker.is_alive && worker.state !== "stopped" && chip("silent", "bad")] },
  { label: "Active", class: "number", cell: (worker) => `${number(worker.active)} of ${number(worker.capacity)}` },
  { label: "Abandoned", class: "number", cell: (worker) => (worker.abandoned === 0 ? "0" : h("b", { class: "fault" }, number(worker.abandoned))) },
  { label: "Heartbeat", cell: (worker) => (worker.heartbeat_age_seconds === null ? "never" : h("span", { title: worker.heartbeat_at }, `${seconds(worker.heartbeat_age_seconds)} ago`)) },
  { label: "Started", cell: (worker) => time(worker.started_at) },
];

const TIMERS = [
  { label: "Timer", cell: (timer) => h("span", { class: "text" }, timer.name) },
  { label: "Last success", cell: (timer) => time(timer.last_succeeded_at, "never") },
  { label: "Last start", cell: (timer) => time(timer.last_started_at, "never") },
  { label: "Outcome", class: "wide", cell: (timer) => h("span", { class: "text" }, timer.last_outcome ?? "–") },
];
