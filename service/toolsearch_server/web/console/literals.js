/**
 * Text as literals of several languages. Only printable ASCII, and letters and digits of other scripts, stand for themselves:
 * no quote, control character or mark of direction gets through, nor what would end a paste into a terminal.
 */

const ITSELF = /[ -~\p{L}\p{M}\p{N}]/u;
const SHORT = new Map([
  ["\n", "\\n"],
  ["\t", "\\t"],
  ["\r", "\\r"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

/** @param {string} text @param {(code: number) => string} escape of a code point */
function quoted(text, escape) {
  const parts = [...text.toWellFormed()].map(
    (char) => SHORT.get(char) ?? (ITSELF.test(char) ? char : escape(/** @type {number} */ (char.codePointAt(0)))),
  );
  return `"${parts.join("")}"`;
}

/** @param {number} code @param {number} digits */
const hex = (code, digits) => code.toString(16).padStart(digits, "0");

/** \u with four digits or \U with eight: Python and Go. @param {number} code */
const unicodeEscape = (code) => (code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`);

/** @param {string} text */
export const pythonText = (text) => quoted(text, unicodeEscape);

/** @param {string} text */
export const goText = (text) => quoted(text, unicodeEscape);

/** @param {string} text */
export const typescriptText = (text) => quoted(text, (code) => `\\u{${hex(code, 1)}}`);

/** One word of a shell (bash, zsh, ksh). No word can hold a NUL, so U+FFFD stands for it. @param {string} text */
export function shellText(text) {
  const wellFormed = text.toWellFormed().replaceAll("\0", "\u{fffd}");
  if (/^[\w@%+:,./-]+$/.test(wellFormed)) {
    return wellFormed;
  }
  if ([...wellFormed].every((char) => ITSELF.test(char))) {
    return `'${wellFormed.replaceAll("'", "'\\''")}'`;
  }
  const parts = [...wellFormed].map((char) => {
    if (char === "'" || char === "\\") {
      return `\\${char}`;
    }
    return ITSELF.test(char) ? char : [...new TextEncoder().encode(char)].map((byte) => `\\x${hex(byte, 2)}`).join("");
  });
  // Two digits are all that \x takes in these shells, so what follows may be one.
  return `$'${parts.join("")}'`;
}

/** JSON in single quotes, for curl: JSON's own escapes hold what a shell would see. @param {object} body */
export function curlBody(body) {
  const json = JSON.stringify(body).replace(/[^ -&(-~\p{L}\p{M}\p{N}]/gu, (char) =>
    [...Array(char.length).keys()].map((index) => `\\u${hex(char.charCodeAt(index), 4)}`).join(""),
  );
  return `'${json}'`;
}
