// Pieces that several panels are made of.

import { h } from "./dom.js";
import { className, words } from "./format.js";

const TONES = {
  Pending: "plain",
  Fetched: "info",
  Processing: "info",
  Succeeded: "good",
  Failed: "bad",
  Cancelled: "bad",
  Zombie: "bad",
  Healthy: "good",
  Degraded: "warn",
  Unhealthy: "bad",
  closed: "good",
  open: "bad",
  half_open: "warn",
  running: "good",
  draining: "warn",
  stopped: "plain",
  info: "plain",
  warning: "warn",
  error: "bad",
};

export function chip(name, tone = TONES[name] ?? "plain", text = words(name)) {
  return h("span", { class: `chip ${tone}` }, text);
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

export function panel(id, title, { aside, note } = {}, ...children) {
  return h(
    "section",
    { class: "panel", id: `panel-${id}`, "aria-labelledby": `title-${id}` },
    h("header", {}, h("h2", { id: `title-${id}` }, title), note && h("p", { class: "muted" }, note), aside),
    children,
  );
}

// A table that becomes a list of cards on a small screen. Columns: { label, cell(row), class }.
export function table(label, columns, rows, { key, rowAttributes = () => ({}), nothing = "Nothing here." } = {}) {
  if (rows.length === 0) return h("p", { class: "empty", "data-key": "empty" }, nothing);
  return h(
    "div",
    { class: "scroll", "data-key": "table" },
    h(
      "table",
      { "aria-label": label, role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(heading))),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map((row) =>
          h("tr", { role: "row", "data-key": key(row), ...rowAttributes(row) }, columns.map((column) => cell(column, row))),
        ),
      ),
    ),
  );
}

function heading(column) {
  return h(
    "th",
    { role: "columnheader", scope: "col", class: column.class, "aria-sort": column.sort },
    column.heading ?? column.label,
  );
}

function cell(column, row) {
  return h("td", { role: "cell", class: column.class, "data-label": column.label }, h("div", {}, column.cell(row)));
}

export function facts(entries) {
  return h(
    "dl",
    { class: "facts" },
    entries
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => h("div", { "data-key": name }, h("dt", {}, name), h("dd", {}, value))),
  );
}

// The type stands out; the line begins with it as a rule.
export function errorText({ error_type: type, error_line: line }) {
  const rest = type && line?.startsWith(type) ? line.slice(type.length) : line && ` ${line}`;
  return [type && h("b", {}, className(type)), rest && h("span", { class: "muted" }, rest)];
}

export function progress(row) {
  return h(
    "div",
    { class: "progress" },
    h("progress", { max: 100, value: row.progress, "aria-label": `Progress of ${row.id}` }),
    h("span", { class: "small" }, `${row.progress} %`),
    row.progress_note && h("span", { class: "text small muted clip" }, row.progress_note),
  );
}

export function toast(text, tone = "plain") {
  const note = h("p", { class: `toast ${tone}` }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 6_000);
}

export function copyButton(text, what) {
  return button("Copy", () => copy(text, what), { class: "small quiet", "aria-label": `Copy ${what}` });
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what}.`);
  } catch {
    toast("The browser did not allow copying; select the text and copy it.", "warn");
  }
}

// A modal dialog with focus kept inside, closed by Escape. Answers { paint, close, isOpen }.
export function openDialog(title, onclose = () => {}) {
  const before = document.activeElement;
  const body = h("div", { class: "dialog-body" });
  const close = () => dialog.close();
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h(
      "header",
      {},
      h("h2", { id: "dialog-title" }, title),
      button("Close", close, { class: "quiet small", "aria-label": "Close dialog" }),
    ),
    body,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
    onclose();
  });
  document.body.append(dialog);
  dialog.showModal();
  return { close, isOpen: () => dialog.open, paint: (...nodes) => body.replaceChildren(...nodes.flat(Infinity).filter(Boolean)) };
}
