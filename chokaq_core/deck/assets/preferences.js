// What this browser remembers: the theme, and whether single keys do something.

const THEME = "chokaq.deck.theme";
const KEYS = "chokaq.deck.keys";

export function theme() {
  const kept = localStorage.getItem(THEME);
  if (kept === "blueprint" || kept === "carbon") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "carbon" : "blueprint";
}

export function showTheme() {
  document.documentElement.dataset.theme = theme();
}

export function switchTheme() {
  localStorage.setItem(THEME, theme() === "carbon" ? "blueprint" : "carbon");
  showTheme();
}

export function hasKeys() {
  return localStorage.getItem(KEYS) !== "off";
}

export function setKeys(isOn) {
  localStorage.setItem(KEYS, isOn ? "on" : "off");
}
