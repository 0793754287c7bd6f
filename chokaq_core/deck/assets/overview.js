// How things stand, at one glance.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { h } from "./dom.js";
import { groupTable } from "./errors.js";
import { number, percent, seconds, words } from "./format.js";
import { chip, facts, panel } from "./parts.js";
import { lag, waiting } from "./queues.js";
import { to } from "./router.js";

export async function load(_route, state) {
  // The frame shows these two as well; counting twice at each look would be a waste.
  state.fetchedAt.overview = state.fetchedAt.queues = Date.now();
  const [errors, circuits, workers, overview, queues] = await Promise.all([
    get("errors", { limit: 5 }),
    get("circuits"),
    get("workers"),
    get("overview"),
    get("queues"),
  ]);
  Object.assign(state, { overview, queues });
  return { errors, circuits, workers, overview };
}

export function render(data, state) {
  return [
    tiles(data, state),
    h("div", { class: "two", "data-key": "two" }, rates(data.overview), checks(state.health)),
    h("div", { class: "two", "data-key": "two-more" }, worstQueues(state.queues), trouble(data, state)),
    panel("errors", "Top errors", { aside: h("a", { href: to("errors") }, "All errors") }, groupTable(data.errors.groups)),
  ];
}

function tiles({ overview, workers }, state) {
  const alive = workers.workers.filter((worker) => worker.is_alive);
  const running = (state.queues?.queues ?? []).reduce((sum, queue) => sum + queue.running, 0);
  return h(
    "ul",
    { class: "tiles", "data-key": "tiles" },
    tile("Active", overview.pillars.hot.text, `${number(running)} running`, to("active")),
    tile("Archive", overview.pillars.archive.text, "succeeded", to("archive")),
    tile("DLQ", overview.pillars.dlq.text, "ended badly", to("dlq"), overview.pillars.dlq.count > 0),
    tile("Workers alive", number(alive.length), capacity(alive), to("workers")),
  );
}

function tile(label, value, note, href, isBad = false) {
  return h(
    "li",
    { "data-key": label },
    h("a", { class: isBad ? "tile bad" : "tile", href }, h("span", {}, label), h("b", {}, value), h("small", {}, note)),
  );
}

function capacity(workers) {
  const slots = workers.reduce((sum, worker) => sum + worker.capacity, 0);
  return slots === 0 ? "scaled to zero" : `${number(slots)} slots`;
}

function rates({ last_minute: minute, last_five_minutes: five, series, totals }) {
  const all = `All time: ${number(totals.succeeded)} succeeded, ${number(totals.failed)} failed, ${number(totals.retried)} retried`;
  return panel(
    "rates",
    "Throughput",
    {},
    h("div", { class: "rates" }, rate("1 minute", minute), rate("5 minutes", five)),
    chart(series),
    h("p", { class: "muted small" }, all),
  );
}

function rate(label, view) {
  const isBad = view.failure_rate !== null && view.failure_rate >= 0.05;
  return h(
    "div",
    {},
    h("span", { class: "muted" }, label),
    h("b", {}, `${Number(view.per_second.toFixed(2))} / s`),
    h("span", { class: isBad ? "fault" : "muted" }, `${percent(view.failure_rate)} failed`),
  );
}

function checks(health) {
  if (health === null) return panel("health", "Health", {}, h("p", { class: "empty" }, "Looking …"));
  return panel(
    "health",
    "Health",
    { aside: chip(health.status) },
    h("ul", { class: "plain" }, Object.entries(health.checks).map(([name, check]) => checkLine(name, check))),
  );
}

function checkLine(name, check) {
  return h(
    "li",
    { class: "check", "data-key": name },
    h("div", {}, h("b", {}, words(name.replace(/^chokaq_/, ""))), chip(check.status)),
    h("p", {}, check.description),
    h("details", {}, h("summary", {}, "Judged by"), facts(Object.entries(check.data).map(([key, value]) => [words(key), shown(value)]))),
  );
}

function shown(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function worstQueues(list) {
  const queues = [...(list?.queues ?? [])].sort((a, b) => b.lag_seconds - a.lag_seconds || b.pending - a.pending).slice(0, 6);
  return panel(
    "lag",
    "Queues by lag",
    { aside: h("a", { href: to("queues") }, "All queues") },
    queues.length === 0 && h("p", { class: "empty" }, "No queues yet."),
    h("ul", { class: "plain" }, queues.map(queueLine)),
  );
}

function queueLine(queue) {
  return h(
    "li",
    { class: "line", "data-key": queue.name },
    h("a", { class: "text grow", href: to("active", { queue: queue.name }) }, queue.name),
    queue.is_paused && chip("paused", "warn"),
    !queue.is_active && chip("inactive", "plain"),
    h("span", { class: "muted" }, `${waiting(queue)} waiting`),
    lag(queue),
  );
}

// What else needs a look: queues that were closed and hold jobs, which have no lag and raise no alarm, circuits that are
// not closed, workers that went silent.
function trouble({ circuits, workers }, state) {
  const shut = (state.queues?.queues ?? []).filter((queue) => (queue.is_paused || !queue.is_active) && queue.pending > 0);
  const open = circuits.circuits.filter((circuit) => circuit.state !== "closed");
  const silent = workers.workers.filter((worker) => !worker.is_alive && worker.state !== "stopped");
  return panel(
    "attention",
    "Needs a look",
    {},
    shut.length + open.length + silent.length === 0 &&
      h("p", { class: "empty" }, "No job waits in a closed queue, all circuits are closed and no worker is missing."),
    h(
      "ul",
      { class: "plain" },
      shut.map((queue) =>
        h("li", { class: "line", "data-key": `queue ${queue.name}` }, h("a", { class: "text grow", href: to("queues") }, queue.name),
          `${waiting(queue)} waiting in a queue that is `, chip(queue.is_active ? "paused" : "inactive", "warn")),
      ),
      open.map((circuit) =>
        h("li", { class: "line", "data-key": circuit.type }, h("a", { class: "text grow", href: to("circuits") }, circuit.type),
          "circuit ", chip(circuit.state)),
      ),
      silent.map((worker) =>
        h("li", { class: "line", "data-key": worker.worker_id }, h("a", { class: "text grow", href: to("workers") }, worker.worker_id),
          `silent for ${seconds(worker.heartbeat_age_seconds ?? 0)}`),
      ),
    ),
  );
}
