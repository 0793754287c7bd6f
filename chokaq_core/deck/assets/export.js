// A filtered list as a file. It is fetched with the key, part by part, since a plain link could not send one.

import { getFile } from "./api.js";
import { number } from "./format.js";
import { toast } from "./parts.js";

const MAX_PARTS = 100;
const JOIN = {
  csv: { type: "text/csv", join: (parts) => parts.map((text, index) => (index === 0 ? text : withoutHeading(text))).join("") },
  json: { type: "application/json", join: (parts) => `[\n${parts.map(inner).filter(Boolean).join(",\n")}\n]\n` },
};

export async function exportList(filter, format) {
  toast("Fetching the list …");
  try {
    const { parts, isWhole } = await fetchParts(filter, format);
    save(JOIN[format].join(parts), JOIN[format].type, `chokaq-${filter.pillar}.${format}`);
    if (!isWhole) toast(`The file ends after ${number(MAX_PARTS)} parts; narrow the filter for the rest.`, "warn");
  } catch (error) {
    toast(`Not exported: ${error.message}`, "bad");
  }
}

async function fetchParts(filter, format) {
  const parts = [];
  let cursor = null;
  do {
    const part = await getFile("export", { ...filter, format, cursor });
    parts.push(part.text);
    cursor = part.further;
  } while (cursor !== null && parts.length < MAX_PARTS);
  return { parts, isWhole: cursor === null };
}

function withoutHeading(text) {
  return text.slice(text.indexOf("\r\n") + 2);
}

function inner(text) {
  return text.trim().slice(1, -1).trim();
}

function save(text, type, name) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
