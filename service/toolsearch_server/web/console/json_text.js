/**
 * JSON text with line breaks and indents. The text is not parsed and written anew: numbers of any size, the order of keys and
 * escapes stay as they were given.
 */

const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/gs;

/** @param {string} text */
export function indented(text) {
  /** @type {string[]} */
  const parts = [];
  let depth = 0;
  let previous = "";
  const newLine = () => parts.push("\n", "  ".repeat(depth));
  for (const [token] of text.matchAll(TOKENS)) {
    const closes = token === "}" || token === "]";
    if (closes) {
      depth -= 1;
      if (previous !== "{" && previous !== "[") {
        newLine();
      }
    } else if (previous === "{" || previous === "[" || previous === ",") {
      newLine();
    }
    parts.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") {
      depth += 1;
    }
    previous = token;
  }
  return parts.join("");
}
