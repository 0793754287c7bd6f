// Queues: what waits in them, how they do, and their controls.

import { get, send } from "./api.js";
import { h } from "./dom.js";
import { number, seconds, words } from "./format.js";
import { button, chip, openDialog, panel, table, toast } from "./parts.js";
import { to } from "./router.js";
import { mayOperate, refreshAll } from "./state.js";

const TONES = { Healthy: "good", Degraded: "warn", Unhealthy: "bad" };

export function load() {
  return get("queues");
}

export function render(data) {
  const columns = mayOperate() ? [...COLUMNS, CONTROLS] : COLUMNS;
  return panel("queues", "All queues", {}, table("Queues", columns, data.queues, { key: (q) => q.name, nothing: "No queue has had a job yet." }));
}

// The lag of a queue, coloured by the Health thresholds.
export function lag(queue) {
  return h("span", { class: `chip ${TONES[queue.lag_status]}`, title: `lag: ${words(queue.lag_status)}` }, seconds(queue.lag_seconds));
}

// How many wait; of deep queues only the first are counted.
export function waiting(queue) {
  return number(queue.pending) + (queue.is_pending_complete ? "" : "+");
}

const COLUMNS = [
  {
    label: "Queue",
    cell: (queue) => [
      h("a", { class: "text", href: to("active", { queue: queue.name }) }, queue.name),
      " ",
      queue.is_paused && chip("paused", "warn"),
      !queue.is_active && chip("inactive", "plain"),
    ],
  },
  { label: "Lag", cell: lag },
  { label: "Waiting", class: "number", cell: waiting },
  { label: "Running", class: "number", cell: (queue) => `${number(queue.running)}${queue.max_workers === null ? "" : ` of ${number(queue.max_workers)}`}` },
  { label: "Succeeded", class: "number", cell: (queue) => number(queue.succeeded) },
  { label: "Failed", class: "number", cell: (queue) => number(queue.failed) },
  { label: "Retried", class: "number", cell: (queue) => number(queue.retried) },
  { label: "Zombie timeout", class: "number", cell: (queue) => queue.zombie_timeout ?? h("span", { class: "muted" }, "default") },
];

const CONTROLS = {
  label: "Controls",
  class: "actions",
  cell: (queue) => h("div", { class: "buttons" }, pause(queue), activate(queue),
    button("Limits", () => openLimits(queue), { class: "small", "aria-label": `Limits of ${queue.name}` })),
};

function pause(queue) {
  const label = queue.is_paused ? "Resume" : "Pause";
  return button(label, () => change(queue, { is_paused: !queue.is_paused }), { class: "small", "aria-label": `${label} ${queue.name}`, "data-key": "pause" });
}

function activate(queue) {
  const label = queue.is_active ? "Deactivate" : "Activate";
  return button(label, () => change(queue, { is_active: !queue.is_active }), { class: "small quiet", "aria-label": `${label} ${queue.name}`, "data-key": "activate" });
}

async function change(queue, body) {
  try {
    await apply(queue, body);
  } catch (error) {
    toast(`${queue.name}: ${error.message}`, "bad");
  }
}

async function apply(queue, body) {
  await send("PATCH", `queues/${encodeURIComponent(queue.name)}`, body);
  toast(`Queue ${queue.name} changed.`, "good");
  await refreshAll();
}

function openLimits(queue) {
  const dialog = openDialog(`Limits of ${queue.name}`);
  const show = (given, problems) => {
    const submit = async (event) => {
      event.preventDefault();
      const values = { max_workers: byId("max-workers"), zombie_timeout: byId("zombie-timeout") };
      try {
        await apply(queue, { max_workers: wholeOrNull(values.max_workers), zombie_timeout: values.zombie_timeout || null });
        dialog.close();
      } catch (error) {
        show(values, error.problem?.errors?.map((p) => `${words(p.field)}: ${p.rule}`) ?? [error.message]);
      }
    };
    dialog.paint(limitsForm(given, problems, submit, dialog.close));
    document.getElementById("max-workers").focus();
  };
  show({ max_workers: queue.max_workers ?? "", zombie_timeout: queue.zombie_timeout ?? "" }, []);
}

function limitsForm(given, problems, submit, close) {
  return h(
    "form",
    { onsubmit: submit },
    problems.length > 0 && h("ul", { class: "fault", role: "alert" }, problems.map((text) => h("li", {}, text))),
    field("max-workers", "Jobs at once over all instances (empty: no limit)", given.max_workers, { inputmode: "numeric" }),
    field("zombie-timeout", "Zombie timeout as [d.]hh:mm:ss (empty: the default)", given.zombie_timeout, { placeholder: "00:10:00" }),
    h("footer", {}, button("Back out", close, { class: "quiet" }), h("button", { class: "primary" }, "Set limits")),
  );
}

function field(id, label, value, attributes) {
  return h("div", { class: "field" }, h("label", { for: id }, label), h("input", { id, type: "text", autocomplete: "off", value, ...attributes }));
}

function byId(id) {
  return document.getElementById(id).value.trim();
}

function wholeOrNull(text) {
  if (text === "") return null;
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}
