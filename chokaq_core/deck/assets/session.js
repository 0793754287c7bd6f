// The key that opens the Deck: kept for this tab only, and never left in the address.

const NAME = "chokaq.deck.key";

export function takeKeyFromAddress() {
  const found = /^#key=(.+)$/.exec(location.hash);
  if (found === null) return;
  keepKey(decoded(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export function key() {
  return sessionStorage.getItem(NAME);
}

export function keepKey(text) {
  sessionStorage.setItem(NAME, text);
}

export function forgetKey() {
  sessionStorage.removeItem(NAME);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
