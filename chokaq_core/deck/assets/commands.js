// Commands to jobs: new values where they are needed, a look at what would happen, a confirmation, what came of it.

import { Refused, send } from "./api.js";
import { h } from "./dom.js";
import { jobs as jobCount, number, words } from "./format.js";
import { pretty } from "./json_text.js";
import { button, chip, openDialog, table, toast } from "./parts.js";
import { refreshAll } from "./state.js";

// So many jobs at once are confirmed by typing, and so is every purge.
const TYPED_FROM = 25;
const MAX_SHOWN = 200;
const MAX_LOOKS = 25;

export const VERBS = [
  { name: "resurrect", label: "Resurrect" },
  { name: "edit_and_resurrect", label: "Edit and resurrect", fields: ["payload", "tags", "priority"] },
  { name: "edit", label: "Edit", fields: ["payload", "tags", "priority"] },
  { name: "set_priority", label: "Set priority", fields: ["priority"] },
  { name: "cancel", label: "Cancel", isDangerous: true },
  { name: "purge", label: "Purge", isDangerous: true },
];

const named = (...names) => VERBS.filter((verb) => names.includes(verb.name));

export const BULK = {
  hot: named("cancel", "edit", "set_priority"),
  archive: named("purge"),
  dlq: VERBS.filter((verb) => verb.name !== "cancel"),
};

// Opens the dialog for one command to `ids` or to a `filter`; `job` is the one job whose values an edit begins with.
export function openCommand({ verb: name, ids, filter, job = null, onDone = () => {} }) {
  const verb = VERBS.find((each) => each.name === name);
  const command = { command: name, ...(ids === undefined ? { filter } : { ids }) };
  const flow = { verb, command, job, onDone, hasRun: false };
  flow.dialog = openDialog(title(verb, ids), () => flow.hasRun && onDone());
  return verb.fields === undefined ? preview(flow, {}) : editForm(flow);
}

function title(verb, ids) {
  if (ids === undefined) return `${verb.label}: all jobs of this list`;
  return ids.length === 1 ? `${verb.label} this job` : `${verb.label}: ${jobCount(ids.length)}`;
}

// ------------------------------------------------------------------------------------------------------ new values

function editForm(flow, given = beginning(flow.job), problems = []) {
  const { fields, label } = flow.verb;
  const submit = (event) => {
    event.preventDefault();
    const values = read(fields);
    const edit = changes(flow.job, values);
    if (Object.keys(edit).length === 0) return editForm(flow, values, [{ field: "edit", rule: "change at least one value" }]);
    return preview(flow, edit, values);
  };
  flow.dialog.paint(
    h(
      "form",
      { onsubmit: submit, novalidate: true },
      problems.length > 0 && h("ul", { class: "fault", role: "alert" }, problems.map((p) => h("li", {}, `${words(p.field)}: ${p.rule}`))),
      flow.job === null && h("p", { class: "muted" }, "A field that is left empty stays as it is in each job."),
      fields.map((name) => FIELDS[name](given[name], problems)),
      h("footer", {}, button("Back out", flow.dialog.close, { class: "quiet" }), h("button", { class: "primary" }, `Preview: ${label.toLowerCase()}`)),
    ),
  );
  focusField(document.getElementById(`edit-${problems[0]?.field}`) ?? document.getElementById(`edit-${fields[0]}`));
  return undefined;
}

function focusField(input) {
  input.focus();
  input.setSelectionRange(0, 0);
  input.scrollTop = 0;
}

const FIELDS = {
  payload: (value, problems) =>
    labelled("payload", "Payload (JSON; every number keeps its digits)", problems, (attributes) =>
      h("textarea", { ...attributes, rows: 12, class: "mono", spellcheck: "false", value })),
  tags: (value, problems) =>
    labelled("tags", "Tags", problems, (attributes) => h("input", { ...attributes, type: "text", maxlength: 1000, value })),
  priority: (value, problems) =>
    labelled("priority", "Priority (0 to 1 000 000, higher first)", problems, (attributes) =>
      h("input", { ...attributes, type: "text", inputmode: "numeric", value })),
};

function labelled(name, label, problems, input) {
  const id = `edit-${name}`;
  const isWrong = problems.some((problem) => problem.field === name);
  return h("div", { class: "field" }, h("label", { for: id }, label), input({ id, autocomplete: "off", "aria-invalid": isWrong ? "true" : null }));
}

function beginning(job) {
  if (job === null) return { payload: "", tags: "", priority: "" };
  return { payload: pretty(job.payload), tags: job.tags ?? "", priority: String(job.priority) };
}

function read(fields) {
  return Object.fromEntries(fields.map((name) => [name, document.getElementById(`edit-${name}`).value]));
}

// Only what differs is sent, so that an edit of the tags does not write the payload again.
function changes(job, values) {
  const before = beginning(job);
  const edit = {};
  for (const [name, value] of Object.entries(values)) {
    if (value !== before[name]) edit[name] = name === "priority" ? wholeNumber(value) : value;
  }
  return edit;
}

// What is no whole number goes as it is: the server names the fault.
function wholeNumber(text) {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : text;
}

// --------------------------------------------------------------------------------------------------------- preview

async function preview(flow, edit, values = null) {
  flow.dialog.paint(h("p", { class: "empty", role: "status" }, "Looking at what would happen …"));
  try {
    showPreview(flow, await firstOfInterest(flow, edit), edit);
  } catch (error) {
    showFault(flow, error, values);
  }
}

// One look goes over a part of the list. Parts without a job that is meant are passed over, some of them at once.
async function firstOfInterest(flow, edit) {
  for (let looks = 1; ; looks += 1) {
    const view = await send("POST", "previews", { ...flow.command, ...edit });
    const isEmpty = view.touched === 0 && view.refusals.length === 0;
    if (!isEmpty || view.further === null || looks === MAX_LOOKS || !flow.dialog.isOpen()) return view;
    flow.command = { ...flow.command, cursor: view.further };
  }
}

function showFault(flow, error, values) {
  const problems = error.problem?.errors ?? [];
  if (values !== null && problems.length > 0) {
    editForm(flow, values, problems);
    return;
  }
  flow.dialog.paint(
    h("p", { class: "fault", role: "alert" }, error.message),
    problems.length > 0 && h("ul", { class: "fault" }, problems.map((p) => h("li", {}, `${words(p.field)}: ${p.rule}`))),
    h("footer", {}, button("Close", flow.dialog.close, { class: "primary" })),
  );
  focusIn(".dialog-body .primary");
}

function showPreview(flow, view, edit, hasChanged = false) {
  const phrase = needsTyping(flow.verb, view.touched) ? `${view.command.replaceAll("_", " ")} ${view.touched}` : null;
  flow.dialog.paint(
    hasChanged && h("p", { class: "notice warn", role: "alert" }, "The jobs changed since you looked; nothing was done. This is what would happen now."),
    h("p", { class: "lead" }, h("b", {}, jobCount(view.touched)), " would be changed."),
    h("ul", { class: "plain" }, view.effects.map((each) => h("li", {}, `${sentence(each.effect)}: ${jobCount(each.jobs)}`))),
    refusals(view.refusals),
    view.further !== null && h("p", { class: "muted" }, "These are the first of a longer list; you can go on with the rest afterwards."),
    samples(view.samples, view.touched),
    h("form", { onsubmit: (event) => confirmed(event, flow, view, edit, phrase) }, phrase !== null && typedConfirmation(phrase), footer(flow, view, phrase)),
  );
  focusIn(phrase === null ? ".dialog-body footer button:last-child" : "#confirm");
}

function needsTyping(verb, touched) {
  return touched > 0 && (verb.name === "purge" || touched >= TYPED_FROM);
}

function sentence(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function refusals(list) {
  if (list.length === 0) return null;
  return h(
    "div",
    { class: "notice plain" },
    h("p", {}, "Left alone:"),
    h("ul", {}, list.map((each) => h("li", {}, `${sentence(each.why)}: ${jobCount(each.jobs)} `, h("span", { class: "text mono small muted" }, each.sample_ids.join(", "))))),
  );
}

function samples(list, touched) {
  if (list.length === 0) return null;
  const columns = [
    { label: "Type", cell: (job) => h("span", { class: "text mono small" }, job.type) },
    { label: "Id", cell: (job) => h("span", { class: "text mono small clip" }, job.id) },
    { label: "Status", cell: (job) => chip(job.reason ?? job.status, "plain") },
  ];
  return h(
    "details",
    { open: touched > 1 },
    h("summary", {}, list.length < touched ? `${list.length} of them` : "Which"),
    table("Samples", columns, list, { key: (job) => job.id }),
  );
}

function typedConfirmation(phrase) {
  return h(
    "div",
    { class: "field" },
    h("label", { for: "confirm" }, "Type ", h("kbd", {}, phrase), " to confirm"),
    h("input", { id: "confirm", type: "text", autocomplete: "off", spellcheck: "false", oninput: (event) => allow(event.currentTarget.value.trim() === phrase) }),
  );
}

function allow(isAllowed) {
  document.getElementById("run").disabled = !isAllowed;
}

function footer(flow, view, phrase) {
  const run = h("button", { id: "run", class: flow.verb.isDangerous ? "danger" : "primary" }, `${flow.verb.label} ${jobCount(view.touched)}`);
  run.disabled = phrase !== null;
  const back = button(view.touched === 0 ? "Close" : "Back out", flow.dialog.close, { class: "quiet" });
  const skip = view.touched === 0 && view.further !== null && button("Look at the next", () => goOn(flow, view.further, {}), { class: "primary" });
  return h("footer", {}, back, view.touched > 0 ? run : skip);
}

// ------------------------------------------------------------------------------------------------------------- run

function confirmed(event, flow, view, edit, phrase) {
  event.preventDefault();
  if (view.touched === 0 || (phrase !== null && document.getElementById("confirm").value.trim() !== phrase)) return;
  run(flow, view, edit);
}

async function run(flow, view, edit) {
  flow.dialog.paint(h("p", { class: "empty" }, "Working …"));
  try {
    const answer = await send("POST", "commands", { ...flow.command, ...edit, token: view.token });
    flow.hasRun = true;
    refreshAll();
    showResult(flow, answer, edit);
  } catch (error) {
    refreshAll();
    if (error instanceof Refused && error.problem.preview) showPreview(flow, error.problem.preview, edit, true);
    else showFault(flow, error, null);
  }
}

function showResult(flow, answer, edit) {
  if (answer.skipped === 0 && answer.further === null) {
    toast(`${flow.verb.label}: ${jobCount(answer.done)} done.`, "good");
    flow.dialog.close();
    return;
  }
  const skipped = answer.results.filter((result) => !result.is_done);
  flow.dialog.paint(
    h("p", { class: "lead", role: "status" }, h("b", {}, jobCount(answer.done)), " done, ", h("b", {}, number(answer.skipped)), " skipped."),
    skipped.length > 0 && table("Skipped", SKIPPED, skipped.slice(0, MAX_SHOWN), { key: (result) => result.id }),
    skipped.length > MAX_SHOWN && h("p", { class: "muted" }, `and ${number(skipped.length - MAX_SHOWN)} more`),
    h("footer", {},
      button("Close", flow.dialog.close, answer.further === null ? { class: "primary" } : { class: "quiet" }),
      answer.further !== null && button("Go on with the rest", () => goOn(flow, answer.further, edit), { class: "primary" })),
  );
  focusIn(".dialog-body footer .primary");
}

const SKIPPED = [
  { label: "Id", cell: (result) => h("span", { class: "text mono small" }, result.id) },
  {
    label: "Why",
    class: "wide",
    cell: (result) => [result.why ?? words(result.outcome), result.holder_id && h("span", { class: "text mono small" }, ` (${result.holder_id})`)],
  },
];

function goOn(flow, cursor, edit) {
  flow.command = { ...flow.command, cursor };
  preview(flow, edit);
}

function focusIn(selector) {
  document.querySelector(`dialog ${selector}`)?.focus();
}
