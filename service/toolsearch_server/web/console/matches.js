/** The matches of one strategy: a column. */

import { fill, foreign, h, plain } from "./dom.js";
import { count, counted, enumWord } from "./format.js";

/** Colours by what a part is; any other part is grey. */
const PARTS = ["words", "meaning", "exact name", "spelling", "pattern", "usage", "pinned", "variety"];

/** @param {string} name */
const colour = (name) => `var(--series-${PARTS.indexOf(name) + 1})`;

/**
 * @param {import("./messages.js").Match[]} matches @param {(name: string) => void} open
 * @param {(name: string) => string} elsewhere where other columns have it
 */
export function matchList(matches, open, elsewhere) {
  const scale = scaleOf(matches);
  return h(
    "ol",
    { class: "matches" },
    matches.map((match) => matchItem(match, scale, open, elsewhere)),
  );
}

/**
 * @param {import("./messages.js").Match} match @param {Scale} scale @param {(name: string) => void} open
 * @param {(name: string) => string} elsewhere
 */
function matchItem(match, scale, open, elsewhere) {
  const { entry } = match;
  const other = elsewhere(entry.name);
  return h(
    "li",
    { class: "match", "data-name": entry.name },
    h(
      "div",
      { class: "line" },
      h("button", { type: "button", class: "name", on: { click: () => open(entry.name) } }, foreign(entry.name)),
      relevanceBar(match.relevance),
    ),
    h("p", { class: "summary" }, foreign(entry.summary || entry.title)),
    h("p", { class: "reason" }, foreign(match.reason)),
    scoreBar(match, scale),
    h(
      "p",
      { class: "meta" },
      entry.server !== "" && h("span", {}, foreign(entry.server)),
      entry.kind !== "ENTRY_KIND_TOOL" && h("span", { class: "badge" }, enumWord(entry.kind, "ENTRY_KIND")),
      entry.annotations?.readOnly && h("span", { class: "badge good" }, "only reads"),
      entry.annotations?.destructive && h("span", { class: "badge warn" }, "destructive"),
      entry.tags.slice(0, 6).map((tag) => h("span", { class: tag === "stale" ? "badge warn" : "badge" }, foreign(tag))),
      entry.tags.length > 6 && h("span", {}, `+${entry.tags.length - 6}`),
      h("span", {}, counted(entry.tokens, "token")),
      other !== "" && h("span", { class: "elsewhere" }, other),
    ),
  );
}

/** @param {number} relevance */
function relevanceBar(relevance) {
  const share = Math.max(0, Math.min(1, relevance));
  return h(
    "span",
    { class: "relevance", title: "Relevance: how probable it is that this is meant" },
    h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "filled", style: { width: `${100 * share}%` } })),
    h("span", { class: "number" }, h("span", { class: "offscreen" }, "relevance "), relevance.toFixed(2)),
  );
}

/** @typedef {{ zero: number, unit: number }} Scale in percent of the width */

/**
 * One scale for all bars of a column, with room for what is subtracted on the left.
 * @param {readonly import("./messages.js").Match[]} matches
 */
function scaleOf(matches) {
  const sum = (/** @type {import("./messages.js").Match} */ match, /** @type {number} */ sign) =>
    match.explanation.reduce((total, { value }) => total + Math.max(0, sign * value), 0);
  const above = Math.max(1e-9, ...matches.map((match) => sum(match, 1)));
  const below = Math.max(0, ...matches.map((match) => sum(match, -1)));
  const unit = 100 / (above + below);
  return { zero: below * unit, unit };
}

/**
 * The parts of the score: what adds goes to the right of zero, what takes away to the left.
 * @param {import("./messages.js").Match} match @param {Scale} scale
 */
function scoreBar(match, { zero, unit }) {
  if (match.explanation.length === 0) {
    return null;
  }
  let right = zero;
  let left = zero;
  const bars = match.explanation
    .filter(({ value }) => value !== 0)
    .map((part) => {
      const width = Math.abs(part.value) * unit;
      const start = part.value > 0 ? right : (left -= width);
      right += part.value > 0 ? width : 0;
      return h("span", {
        class: "part",
        title: plain(`${part.name} ${number(part.value)}: ${part.detail}`),
        style: { left: `${start}%`, width: `${width}%`, "background-color": colour(part.name) },
      });
    });
  const text = match.explanation.map((part) => `${part.name} ${number(part.value)}`).join(", ");
  return h(
    "div",
    { class: "score" },
    h(
      "span",
      { class: "parts", role: "img", "aria-label": plain(`score ${number(match.score)}: ${text}`) },
      zero > 0 && h("span", { class: "zero", style: { left: `${zero}%` } }),
      bars,
    ),
    h("span", { class: "number", "aria-hidden": "true" }, number(match.score)),
  );
}

/** @param {number} value */
const number = (value) => (Math.abs(value) >= 100 ? count(Math.round(value)) : value.toFixed(2));

/** Which colours mean what, of the parts that occur. @param {readonly import("./messages.js").Match[]} matches */
export function legend(matches) {
  const names = new Set(
    matches.flatMap((match) => match.explanation.filter(({ value }) => value !== 0).map(({ name }) => name)),
  );
  return h(
    "ul",
    { class: "legend", "aria-label": "Parts of the score" },
    [...names].map((name) =>
      h("li", {}, h("span", { class: "swatch", style: { "background-color": colour(name) } }), foreign(name)),
    ),
  );
}

/**
 * Nothing matched: why, and what is near. @param {import("./messages.js").SearchToolsResponse} answer
 * @param {(name: string) => void} open
 */
export function nothing(answer, open) {
  return h(
    "div",
    { class: "empty" },
    h("p", {}, foreign(answer.message.split("; names spelled like it:")[0] ?? "")),
    answer.nearNames.length > 0 && [
      h("p", {}, "Names spelled like it:"),
      h(
        "ul",
        { class: "near" },
        answer.nearNames.map((name) =>
          h("li", {}, h("button", { type: "button", class: "link", on: { click: () => open(name) } }, foreign(name))),
        ),
      ),
    ],
  );
}

/** Marks an entry in all columns. @param {Element} columns @param {string | undefined} name */
export function linkAcross(columns, name) {
  for (const item of columns.querySelectorAll(".match")) {
    item.classList.toggle("linked", name !== undefined && item.getAttribute("data-name") === name);
  }
}

/** Rows of nothing yet, in the place of the first answer. */
export function skeleton() {
  const list = h("ol", { class: "matches skeleton", "aria-hidden": "true" });
  fill(
    list,
    Array.from({ length: 4 }, () => h("li", { class: "match" }, h("span", {}), h("span", {}), h("span", {}))),
  );
  return list;
}
