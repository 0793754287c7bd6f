// Keys. Single ones can be turned off, since speech input types letters too.

import { h } from "./dom.js";
import { closeDetail } from "./job_detail.js";
import { setSelected } from "./job_list.js";
import { openDialog } from "./parts.js";
import { hasKeys, setKeys } from "./preferences.js";
import { go } from "./router.js";
import { mayOperate, refreshAll, state } from "./state.js";

const PLACES = { o: "overview", a: "active", r: "archive", d: "dlq", e: "errors", q: "queues", c: "circuits", w: "workers", l: "log", s: "console" };
const TYPING = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const HELP = [
  ["g then o a r d e q c w l s", "Go to Overview, Active, Archive, DLQ, Errors, Queues, Circuits, Workers, Log, Console"],
  ["/", "Search jobs"],
  ["j k", "Next and previous job"],
  ["Enter", "Open the job"],
  ["x", "Select the job"],
  ["Esc", "Close the job or dialog"],
  ["u", "Look at the server now"],
  ["t", "Other theme"],
  ["?", "This help"],
];
let isGoing = false;

export function listenToKeys(toggleTheme) {
  addEventListener("keydown", (event) => {
    if (state.me === null || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return escape(event);
    if (event.key === "Enter" && event.target.matches?.(".row-link")) followIntoDrawer();
    if (!hasKeys() || event.target.matches?.(TYPING)) return;
    if (press(event.key, toggleTheme)) event.preventDefault();
  });
}

function escape(event) {
  const menu = document.querySelector("details.menu[open]");
  if (menu !== null) menu.open = false;
  else if (event.target.matches?.(TYPING)) event.target.blur();
  else if (state.route.params.job) closeDetail(state.route);
}

// A job that is opened by keys is gone on with by keys.
function followIntoDrawer() {
  addEventListener("hashchange", () => document.getElementById("drawer")?.focus(), { once: true });
}

function press(key, toggleTheme) {
  if (isGoing) return finishGoing(key);
  switch (key) {
    case "g":
      isGoing = true;
      setTimeout(() => (isGoing = false), 1_500);
      return true;
    case "/":
      return focusSearch();
    case "j":
      return step(1);
    case "k":
      return step(-1);
    case "x":
      return toggleRow();
    case "u":
      refreshAll();
      return true;
    case "t":
      toggleTheme();
      return true;
    case "?":
      showHelp();
      return true;
    default:
      return false;
  }
}

function finishGoing(key) {
  isGoing = false;
  if (!(key in PLACES)) return false;
  go(PLACES[key]);
  return true;
}

function focusSearch() {
  const input = document.getElementById("filter-search");
  input?.focus();
  return input !== null;
}

function rows() {
  return [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector(".row-link") !== null);
}

function step(by) {
  const all = rows();
  const isHere = (row) => row.contains(document.activeElement);
  const at = all.some(isHere) ? all.findIndex(isHere) : all.findIndex((row) => row.dataset.key === state.route.params.job);
  const next = all[at === -1 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  const link = next?.querySelector(".row-link");
  link?.focus();
  if (state.route.params.job && link) link.click();
  return link !== undefined;
}

function toggleRow() {
  const row = rows().find((each) => each.contains(document.activeElement));
  if (row === undefined || !mayOperate()) return false;
  setSelected([row.dataset.key], !state.selected.has(row.dataset.key));
  return true;
}

export function showHelp() {
  const dialog = openDialog("Keyboard");
  const onchange = (event) => setKeys(event.currentTarget.checked);
  dialog.paint(
    h("dl", { class: "facts keys" }, HELP.map(([keys, what]) => h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)))),
    h("p", {}, h("label", {}, h("input", { type: "checkbox", checked: hasKeys(), onchange }), " Single keys do these things")),
    h("p", { class: "muted" }, "Times are local; rest the pointer on one to see it in UTC."),
  );
}
