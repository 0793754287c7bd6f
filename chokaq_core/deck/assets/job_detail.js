// Everything about one job, beside the list that it was opened from.

import { get, Refused } from "./api.js";
import { openCommand, VERBS } from "./commands.js";
import { h } from "./dom.js";
import { milliseconds, number, time } from "./format.js";
import { layOut } from "./json_text.js";
import { button, chip, copyButton, facts, progress } from "./parts.js";
import { go, PILLARS, to } from "./router.js";
import { mayOperate } from "./state.js";

const MAX_COLOURED = 60_000;
const PLACE_OF = { hot: "active", archive: "archive", dlq: "dlq" };

export async function loadDetail(route) {
  if (!route.params.job) return null;
  try {
    return await get(`jobs/${encodeURIComponent(route.params.job)}`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return { isMissing: true, id: route.params.job };
    throw error;
  }
}

export function detailDrawer(state) {
  const { job: id } = state.route.params;
  if (!id || !(state.route.place in PILLARS)) return null;
  const job = state.data?.detail?.id === id ? state.data.detail : null;
  return h(
    "aside",
    { class: "drawer", "aria-label": "Job", "data-key": `job-${id}`, tabindex: "-1", id: "drawer" },
    h(
      "div",
      { class: "drawer-top", "data-key": "top" },
      h("h2", { class: "text mono" }, job?.type ?? "Job"),
      button("Close", () => closeDetail(state.route), { class: "quiet", "aria-label": "Close job" }),
    ),
    job === null ? h("p", { class: "empty" }, "Looking …") : job.isMissing ? missing(job) : body(job, state.route),
  );
}

// Back to the list; whoever came by keys goes on from the job's row.
export function closeDetail(route) {
  go(route.place, { ...route.params, job: "" });
  const row = [...document.querySelectorAll("main tbody tr")].find((each) => each.dataset.key === route.params.job);
  row?.querySelector(".row-link")?.focus();
}

function missing(job) {
  return h("p", { class: "empty" }, "There is no job ", h("span", { class: "text mono" }, job.id), ".");
}

function body(job, route) {
  return [
    h("p", { class: "line wrap", "data-key": "id" }, h("span", { class: "text mono small" }, job.id), copyButton(job.id, "the id")),
    h("p", { class: "line wrap", "data-key": "chips" }, chip(job.status), job.reason && job.reason !== job.status && chip(job.reason, "bad"),
      job.cancel_requested_at && chip("cancel", "warn", "cancel asked"), elsewhere(job, route)),
    mayOperate() && commandButtons(job),
    job.progress !== null && h("div", { "data-key": "progress" }, progress(job)),
    job.error_details !== null && section("error", "Error", errorBlock(job)),
    section("timeline", "Timeline", timeline(job)),
    section("payload", "Payload", jsonBlock(job.payload), copyButton(job.payload, "the payload")),
    job.result !== null && section("result", "Result", jsonBlock(job.result), copyButton(job.result, "the result")),
    job.result_note !== null && h("p", { class: "text muted", "data-key": "note" }, job.result_note),
    section("facts", "Facts", factList(job)),
  ];
}

function elsewhere(job, route) {
  const place = PLACE_OF[job.pillar];
  return place === route.place ? null : h("a", { href: to(place, { job: job.id }) }, `It is in ${place === "dlq" ? "the DLQ" : place} now`);
}

function commandButtons(job) {
  const verbs = VERBS.filter((verb) => job.commands.includes(verb.name));
  return h(
    "div",
    { class: "buttons", "data-key": "commands" },
    verbs.map((verb, index) =>
      button(verb.label, () => openCommand({ verb: verb.name, ids: [job.id], job }), {
        class: verb.isDangerous ? "danger" : index === 0 ? "primary" : null,
        "data-key": verb.name,
      }),
    ),
  );
}

function section(id, title, content, aside) {
  return h(
    "section",
    { "data-key": id, "aria-labelledby": `job-${id}` },
    h("header", {}, h("h3", { id: `job-${id}` }, title), aside),
    content,
  );
}

function errorBlock(job) {
  return [
    h("p", { class: "fault text" }, job.error_line ?? job.error_type),
    h("details", {}, h("summary", {}, "Traceback"),
      h("pre", { class: "text", tabindex: "0", "aria-label": "Traceback" }, job.error_details)),
  ];
}

function jsonBlock(text) {
  const pieces = text.length > MAX_COLOURED ? [{ kind: "word", text }] : layOut(text);
  return h("pre", { class: "text json", tabindex: "0", "aria-label": "JSON" },
    pieces.map((piece) => (piece.kind === "space" || piece.kind === "mark" ? piece.text : h("span", { class: piece.kind }, piece.text))));
}

function timeline(job) {
  return h("ol", { class: "timeline" }, moments(job).map(([name, at, tone, ...more], index) =>
    h("li", { class: tone, "data-key": `${index}-${name}` },
      h("div", { class: "line" }, h("b", {}, name), h("span", { class: "spacer" }), time(at)), more)));
}

function moments(job) {
  const by = (name) => name && h("span", { class: "text muted" }, `by ${name}`);
  const all = [
    ["Created", job.created_at, "plain", by(job.created_by)],
    job.lifetime_start_at !== job.created_at && ["Brought back", job.lifetime_start_at, "plain", by(job.last_modified_by)],
    ...job.attempt_errors.map((attempt) => [
      `Attempt ${attempt.attempt} failed`, attempt.at, "bad",
      h("p", { class: "text small" }, h("b", {}, attempt.error_type), attempt.message && `: ${attempt.message}`)]),
    job.status === "Pending" && ["Due", job.due_at, "plain"],
    job.started_at !== null && [startedName(job), job.started_at, "info", job.worker_id && h("span", { class: "text muted small" }, job.worker_id)],
    job.cancel_requested_at !== null && ["Cancel asked", job.cancel_requested_at, "warn", by(job.cancel_requested_by)],
    job.ended_at !== null && [job.pillar === "archive" ? "Succeeded" : "Moved to the DLQ", job.ended_at, job.pillar === "archive" ? "good" : "bad",
      job.duration_ms !== null && h("span", { class: "muted" }, `took ${milliseconds(job.duration_ms)}`)],
  ];
  return all.filter(Boolean).sort((a, b) => (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0));
}

function startedName(job) {
  return job.pillar === "hot" ? "Started" : "Last start";
}

function factList(job) {
  const trace = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(job.trace_parent ?? "")?.[1];
  const text = (value) => value && h("span", { class: "text" }, value);
  return facts([
    ["Queue", text(job.queue)],
    ["Priority", number(job.priority)],
    ["Attempts", number(job.attempts)],
    ["Interruptions", job.interruptions > 0 ? number(job.interruptions) : null],
    ["Tags", text(job.tags)],
    ["Idempotency key", text(job.idempotency_key)],
    ["Created by", text(job.created_by)],
    ["Last changed by", text(job.last_modified_by)],
    ["Last updated", time(job.last_updated_at)],
    ["Worker", text(job.worker_id)],
    ["Heartbeat", job.heartbeat_at && time(job.heartbeat_at)],
    ["Lease", number(job.lease_number)],
    ["Trace id", trace && [h("span", { class: "text mono small" }, trace), copyButton(trace, "the trace id")]],
  ]);
}
