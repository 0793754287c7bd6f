// Starts the page: sign-in, then the loop that looks and paints.

import { get, Refused, Unreachable } from "./api.js";
import { paint } from "./dom.js";
import { listenToKeys } from "./keyboard.js";
import { frame, signInForm } from "./frame.js";
import { Poller } from "./poller.js";
import { showTheme, switchTheme } from "./preferences.js";
import { filterOf, here } from "./router.js";
import { forgetKey, keepKey, takeKeyFromAddress } from "./session.js";
import { PANELS } from "./panels.js";
import { forget, state } from "./state.js";

const root = document.getElementById("app");
// How old these may be; the panels' own data are fetched at each look.
const MAX_AGE_MS = { overview: 4_000, health: 8_000, queues: 8_000 };

const poller = new Poller(look);
state.refresh = () => poller.now();
state.repaint = show;

function show() {
  paint(root, state.me === null ? signInForm(state.signIn, { signIn }) : frame(state, { signOut, switchTheme: toggleTheme }));
}

async function signIn(text) {
  if (text !== undefined) keepKey(text);
  try {
    state.me = await get("me");
  } catch (error) {
    state.signIn = { detail: whyNot(error, text), isTried: text !== undefined };
    if (error instanceof Refused && error.status === 401) forgetKey();
    show();
    return;
  }
  state.signIn = { detail: "", isTried: false };
  show();
  await poller.start();
}

function whyNot(error, text) {
  if (error instanceof Unreachable) return "The server does not answer. Try again in a moment.";
  if (error.status === 401) return text === undefined ? "" : "This is not a key of the Deck.";
  return error.message;
}

function signOut(detail = "") {
  poller.stop();
  forgetKey();
  forget();
  state.signIn = { detail, isTried: detail !== "" };
  show();
}

function toggleTheme() {
  switchTheme();
  show();
}

// One look: what the frame shows and what the open panel shows. Answers whether the server could be reached.
async function look() {
  const route = state.route;
  try {
    const [data] = await Promise.all([PANELS[route.place].load(route, state), ...frameData()]);
    if (route === state.route) state.data = data;
    state.problem = null;
    state.reachedAt = Date.now();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) {
      signOut("Your access has ended. Sign in again.");
      return true;
    }
    if (route === state.route) state.problem = error;
    if (route === state.route && isAboutTheRequest(error)) state.data = null; // It answers another question.
    if (!(error instanceof Refused) && !(error instanceof Unreachable)) throw error;
  }
  if (state.me !== null) show();
  return state.problem === null || isAboutTheRequest(state.problem);
}

function isAboutTheRequest(error) {
  return error instanceof Refused && error.status < 500;
}

function frameData() {
  return [fresh("overview", () => get("overview")), fresh("health", () => get("health")), fresh("queues", () => get("queues"))];
}

async function fresh(name, fetchIt) {
  if (Date.now() - (state.fetchedAt[name] ?? 0) < MAX_AGE_MS[name]) return;
  state[name] = await fetchIt();
  state.fetchedAt[name] = Date.now();
}

function followAddress() {
  const before = state.route;
  state.route = here();
  if (state.me === null) return;
  if (before.place !== state.route.place) {
    state.data = null;
    state.trail = [];
    scrollTo(0, 0);
  }
  if (JSON.stringify(filterOf(before)) !== JSON.stringify(filterOf(state.route))) state.selected.clear();
  state.problem = null;
  show();
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  poller.now();
}

showTheme();
takeKeyFromAddress();
state.route = here();
addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#key=")) return followAddress();
  takeKeyFromAddress();
  return signIn();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
listenToKeys(toggleTheme);
signIn();
