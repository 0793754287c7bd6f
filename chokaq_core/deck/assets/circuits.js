// Circuits: types of jobs that are held back because their attempts keep failing.

import { get } from "./api.js";
import { h } from "./dom.js";
import { number, time } from "./format.js";
import { chip, panel, table } from "./parts.js";
import { to } from "./router.js";

export function load() {
  return get("circuits");
}

export function render(data) {
  const note = "A type without a row is closed: its jobs run.";
  return panel("circuits", "All circuits", { note }, table("Circuits", COLUMNS, data.circuits, { key: (c) => c.type, nothing: "Every circuit is closed." }));
}

const COLUMNS = [
  { label: "Type", cell: (circuit) => h("a", { class: "text mono", href: to("dlq", { type: circuit.type }) }, circuit.type) },
  { label: "State", cell: (circuit) => chip(circuit.state) },
  { label: "Failures", class: "number", cell: (circuit) => number(circuit.failures) },
  { label: "Opened", cell: (circuit) => time(circuit.opened_at) },
  { label: "Probe from", cell: (circuit) => time(circuit.reset_at) },
  {
    label: "Probe",
    cell: (circuit) =>
      circuit.probe_job_id === null
        ? h("span", { class: "muted" }, "–")
        : [h("a", { class: "text mono small", href: to("active", { job: circuit.probe_job_id }) }, circuit.probe_job_id), " until ", time(circuit.probe_until)],
  },
];
