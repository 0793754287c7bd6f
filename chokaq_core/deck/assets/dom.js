// Builds elements and paints them over those that are there. Text only ever becomes text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";
const HANDLERS = ["onclick", "oninput", "onchange", "onkeydown", "onsubmit"];
const FIELDS = new Set(["INPUT", "SELECT", "TEXTAREA"]);

export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

// Makes the parent's children look like the given ones. What stays keeps its focus, its scroll and its selection.
export function paint(parent, ...nodes) {
  reconcile(parent, nodes.flat(Infinity).filter(isShown).map(asNode));
}

function build(node, attributes, children) {
  const { value, ...rest } = attributes ?? {};
  for (const [name, given] of Object.entries(rest)) setAttribute(node, name, given);
  node.append(...children.flat(Infinity).filter(isShown).map(asNode));
  if (value !== undefined && value !== null) node.value = value; // After the options of a select.
  return node;
}

function setAttribute(node, name, value) {
  if (name.startsWith("on")) node[name] = value ?? null;
  else if (name === "checked") node.checked = Boolean(value);
  else if (value === undefined || value === null || value === false) return;
  else node.setAttribute(name, name === "href" ? ownAddress(value) : value === true ? "" : String(value));
}

// Links lead nowhere but within the page and its host, whatever text they were made from.
function ownAddress(value) {
  if (!/^(#|\/(?!\/))/.test(value)) throw new Error("not an address of this page");
  return value;
}

function isShown(child) {
  return child !== undefined && child !== null && child !== false && child !== "";
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

function reconcile(parent, fresh) {
  const keys = new Set(fresh.map(keyOf));
  const keyed = new Map();
  for (const child of [...parent.childNodes]) {
    const key = keyOf(child);
    if (key === null) continue;
    if (keys.has(key)) keyed.set(key, child);
    else child.remove();
  }
  let at = parent.firstChild;
  for (const node of fresh) {
    const match = matching(node, at, keyed);
    if (match === null) parent.insertBefore(node, at);
    else if (match === at) at = at.nextSibling;
    else parent.insertBefore(match, at);
    if (match !== null) update(match, node);
  }
  while (at !== null) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function matching(node, at, keyed) {
  const key = keyOf(node);
  const match = key !== null ? (keyed.get(key) ?? null) : at;
  return match !== null && isAlike(match, node) ? match : null;
}

function keyOf(node) {
  return node instanceof Element ? node.getAttribute("data-key") : null;
}

function isAlike(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

function update(old, fresh) {
  if (!(old instanceof Element)) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.hasAttribute("data-keep")) return; // Holds what a person is typing.
  updateAttributes(old, fresh);
  for (const name of HANDLERS) old[name] = fresh[name];
  reconcile(old, [...fresh.childNodes]);
  if (FIELDS.has(old.nodeName)) updateField(old, fresh);
}

function updateAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // Whether a person has opened it is theirs.
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
}

function updateField(old, fresh) {
  if (old.checked !== fresh.checked) old.checked = fresh.checked;
  if (document.activeElement !== old && old.value !== fresh.value) old.value = fresh.value;
}
