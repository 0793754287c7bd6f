// JSON as text. Numbers are copied digit by digit and never become Numbers, which cannot hold 64-bit integers.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/gs;
const INDENT = "  ";

// The tokens of a laid-out text: [{ kind, text }], where kind is key, string, number, word, mark or space.
// Text that is no JSON comes back as it is, in one piece.
export function layOut(text) {
  const tokens = text.match(TOKEN) ?? [];
  if (tokens.join("") !== withoutBlanks(text)) return [{ kind: "word", text }];
  const pieces = [];
  let depth = 0;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    if (token === "{" || token === "[") {
      const isEmpty = next === "}" || next === "]";
      depth += 1;
      pieces.push({ kind: "mark", text: token });
      if (!isEmpty) pieces.push(lineBreak(depth));
    } else if (token === "}" || token === "]") {
      const before = tokens[index - 1];
      depth -= 1;
      if (before !== "{" && before !== "[") pieces.push(lineBreak(depth));
      pieces.push({ kind: "mark", text: token });
    } else if (token === ",") pieces.push({ kind: "mark", text: token }, lineBreak(depth));
    else if (token === ":") pieces.push({ kind: "mark", text: ": " });
    else pieces.push({ kind: kindOf(token, next), text: token });
  });
  return pieces;
}

export function pretty(text) {
  return layOut(text)
    .map((piece) => piece.text)
    .join("");
}

function lineBreak(depth) {
  return { kind: "space", text: `\n${INDENT.repeat(Math.max(0, depth))}` };
}

function kindOf(token, next) {
  if (token.startsWith('"')) return next === ":" ? "key" : "string";
  return /^[-\d]/.test(token) ? "number" : "word";
}

// Blanks between tokens only: those within strings belong to them.
function withoutBlanks(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|[ \t\r\n]+/gs, (found) => (found.startsWith('"') ? found : ""));
}
