// What surrounds every panel: who is signed in, how things stand, where to go; and the form to sign in.

import { Unreachable } from "./api.js";
import { h } from "./dom.js";
import { seconds, words } from "./format.js";
import { detailDrawer } from "./job_detail.js";
import { showHelp } from "./keyboard.js";
import { PANELS } from "./panels.js";
import { button, chip } from "./parts.js";
import { theme } from "./preferences.js";
import { PLACES, to } from "./router.js";

const COUNTED = { active: "hot", archive: "archive", dlq: "dlq" };

export function frame(state, { signOut, switchTheme }) {
  const { place } = state.route;
  return [
    topBar(state, signOut, switchTheme),
    h(
      "div",
      { class: "columns", "data-key": "columns" },
      h("nav", { "aria-label": "Panels" }, h("ul", {}, PLACES.map((name) => link(name, state)))),
      h(
        "main",
        { id: "main", tabindex: "-1", "data-key": "main" },
        h("h1", { "data-key": "h1" }, PANELS[place].title),
        notice(state),
        h("div", { class: "panels", "data-key": place }, content(state)),
      ),
      detailDrawer(state),
    ),
  ];
}

function topBar(state, signOut, switchTheme) {
  const other = theme() === "carbon" ? "Blueprint" : "Carbon";
  return h(
    "header",
    { class: "top", "data-key": "top" },
    h("a", { class: "brand", href: to("overview") }, h("img", { src: "deck/assets/icon.svg", alt: "", width: 22, height: 22 }), h("b", {}, "ChokaQ"), h("span", {}, "Deck")),
    h("a", { class: "vital", href: to("overview"), title: "Health" }, health(state)),
    h("span", { class: "spacer" }),
    h("span", { class: "who", title: `role: ${state.me.role}` }, state.me.name, " ", chip(state.me.role, "plain")),
    button("?", showHelp, { class: "quiet help", "aria-label": "Keyboard and help" }),
    button(other, switchTheme, { class: "quiet", id: "theme", "aria-label": `Use the ${other} theme` }),
    button("Sign out", () => signOut(), { class: "quiet" }),
  );
}

function health(state) {
  if (state.problem !== null && !isRefusal(state.problem)) return chip("no connection", "bad");
  return state.health === null ? chip("looking", "plain", "looking …") : chip(state.health.status);
}

function isRefusal(error) {
  return !(error instanceof Unreachable) && error.status < 500;
}

function link(name, state) {
  const count = COUNTED[name] && state.overview?.pillars[COUNTED[name]];
  const isHere = state.route.place === name;
  return h(
    "li",
    { "data-key": name },
    h(
      "a",
      { href: to(name), "aria-current": isHere ? "page" : null },
      PANELS[name].title,
      count && h("span", { class: `count ${name === "dlq" && count.count > 0 ? "bad" : ""}` }, count.text),
      attention(name, state),
    ),
  );
}

function attention(name, state) {
  const worst = name === "queues" && (state.queues?.queues ?? []).find((queue) => queue.lag_status === "Unhealthy");
  return worst ? h("span", { class: "count bad", title: `${worst.name} lags` }, "lag") : null;
}

// A lost connection shows, and so does what the server would not answer.
function notice(state) {
  if (state.problem === null) return null;
  const age = state.reachedAt === 0 ? "" : ` What is shown is ${seconds((Date.now() - state.reachedAt) / 1000)} old.`;
  const text =
    state.problem instanceof Unreachable
      ? `The connection is lost; trying again.${age}`
      : `${state.problem.message}.${isRefusal(state.problem) ? fieldProblems(state.problem) : age}`;
  return h("p", { class: "notice bad", role: "alert", "data-key": "notice" }, text);
}

function fieldProblems(error) {
  return (error.problem?.errors ?? []).map((entry) => ` ${words(entry.field)}: ${entry.rule}.`).join("");
}

function content(state) {
  const panel = PANELS[state.route.place];
  if (state.data === null && state.problem !== null) return panel.renderRefused?.(state) ?? null;
  if (state.data === null) return h("p", { class: "empty", "data-key": "loading" }, "Looking …");
  return panel.render(state.data, state);
}

export function signInForm({ detail, isTried }, { signIn }) {
  const submit = (event) => {
    event.preventDefault();
    const text = document.getElementById("key").value.trim();
    if (text !== "") signIn(text);
  };
  return h(
    "main",
    { id: "main", class: "sign-in", tabindex: "-1", "data-key": "sign-in" },
    h(
      "form",
      { onsubmit: submit },
      h("h1", {}, h("b", {}, "ChokaQ"), " Deck"),
      h("label", { for: "key" }, "Deck key"),
      h("input", {
        id: "key",
        type: "password",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": "sign-in-why",
        "aria-invalid": isTried ? "true" : null,
      }),
      h("p", { id: "sign-in-why", class: isTried || detail ? "fault" : "muted", role: detail ? "alert" : null },
        detail || "The read key looks, the operate key also acts. It is kept for this tab only."),
      h("button", { class: "primary" }, "Sign in"),
      document.documentElement.dataset.platform === "yes" && platformSignIn(),
    ),
  );
}

// The app's own address for signing in, where the platform does that: the page is told so in its first line.
function platformSignIn() {
  const address = `/.auth/login/aad?post_login_redirect_uri=${encodeURIComponent(location.pathname)}`;
  return h("p", { class: "muted" }, "Or ", h("a", { href: address }, "sign in with your Microsoft account"), ".");
}
