/** Strategies side by side: asks each, and never shows an older answer over a newer one. */

import { call } from "./api.js";
import { fill, foreign, h } from "./dom.js";
import { count, enumWord } from "./format.js";
import { legend, linkAcross, matchList, nothing, skeleton } from "./matches.js";
import { problem } from "./notices.js";
import { searchRequest } from "./search_state.js";

/** @typedef {import("./messages.js").SearchToolsResponse} Answer */
/**
 * @typedef {object} Column
 * @property {string} strategy
 * @property {HTMLElement} element
 * @property {HTMLElement} head
 * @property {HTMLElement} body
 * @property {Answer | undefined} answer
 */

/** @param {import("./app.js").View} view @param {(matches: readonly import("./messages.js").Match[]) => void} found */
export function columns(view, found) {
  const element = h("div", { class: "columns" });
  /** @type {Column[]} */
  let shown = [];
  let asking = new AbortController();

  for (const event of ["mouseover", "focusin"]) {
    element.addEventListener(event, ({ target }) => {
      linkAcross(element, /** @type {Element} */ (target).closest(".match")?.getAttribute("data-name") ?? undefined);
    });
  }
  element.addEventListener("mouseleave", () => linkAcross(element, undefined));
  element.addEventListener("keydown", (event) => move(event, element));
  view.signal.addEventListener("abort", () => asking.abort());

  /** @param {readonly string[]} strategies */
  const arrange = (strategies) => {
    shown = strategies.map((strategy) => shown.find((column) => column.strategy === strategy) ?? columnOf(strategy));
    element.style.setProperty("--columns", String(shown.length));
    element.replaceChildren(...shown.map((column) => column.element));
  };

  /** @param {Column} column */
  const draw = (column) => {
    const { answer, strategy } = column;
    if (answer === undefined) {
      return;
    }
    const used = enumWord(answer.strategy, "STRATEGY");
    fill(
      column.head,
      h("h2", {}, strategy),
      used !== strategy && h("span", { class: "faint" }, `as ${used}`),
      h("span", { class: "faint total" }, `${answer.matches.length} of ${count(answer.total)}`),
      legend(answer.matches),
    );
    const focused = document.activeElement?.closest(".match")?.getAttribute("data-name");
    const inside = column.body.contains(document.activeElement);
    const notes = answer.message
      .split("; ")
      .slice(1)
      .filter((note) => !note.startsWith("names spelled like it"));
    fill(
      column.body,
      notes.length > 0 && answer.matches.length > 0 && h("p", { class: "note" }, foreign(notes.join("; "))),
      answer.matches.length > 0
        ? matchList(answer.matches, view.open, (name) => elsewhere(name, column))
        : nothing(answer, view.open),
    );
    if (inside && focused) {
      buttons(column.element)
        .find((button) => button.closest(".match")?.getAttribute("data-name") === focused)
        ?.focus();
    }
  };

  /** @param {string} name @param {Column} own */
  const elsewhere = (name, own) =>
    shown
      .filter((column) => column !== own && column.answer !== undefined)
      .map((column) => {
        const rank = column.answer?.matches.findIndex(({ entry }) => entry.name === name) ?? -1;
        return rank < 0 ? `not in ${column.strategy}` : `${column.strategy} #${rank + 1}`;
      })
      .join(" · ");

  /** @param {import("./search_state.js").SearchState} state @param {Column} column @param {AbortSignal} signal */
  const ask = async (state, column, signal) => {
    column.element.setAttribute("aria-busy", "true");
    try {
      /** @type {Answer} */
      const answer = await call("SearchTools", searchRequest(view.catalog, state, column.strategy), signal);
      if (signal.aborted) {
        return;
      }
      column.answer = answer;
      found(answer.matches);
      shown.forEach(draw);
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      column.answer = undefined;
      fill(column.head, h("h2", {}, column.strategy));
      fill(column.body, problem(error));
    }
    column.element.removeAttribute("aria-busy");
  };

  return {
    element,
    /**
     * Answers: how many each strategy found; undefined when something newer was asked meanwhile.
     * @param {import("./search_state.js").SearchState} state
     */
    search: async (state) => {
      asking.abort();
      asking = new AbortController();
      const { signal } = asking;
      arrange(state.strategies);
      await Promise.all(shown.map((column) => ask(state, column, signal)));
      return signal.aborted
        ? undefined
        : shown.map(({ strategy, answer }) => `${strategy}: ${answer?.matches.length ?? "no"} matches`).join(", ");
    },
    clear: () => {
      asking.abort();
      shown = [];
      element.replaceChildren();
    },
    /** From the search box down into the matches. */
    enter: () => buttons(element)[0]?.focus(),
  };
}

/** @param {string} strategy @returns {Column} */
function columnOf(strategy) {
  const head = h("div", { class: "column-head" }, h("h2", {}, strategy));
  const body = h("div", { class: "column-body" }, skeleton());
  return {
    strategy,
    head,
    body,
    answer: undefined,
    element: h("section", { class: "column", "aria-label": strategy }, head, body),
  };
}

/** @param {Element} place @returns {HTMLButtonElement[]} */
const buttons = (place) => [...place.querySelectorAll(/** @type {"button"} */ (".match button.name"))];

/** @param {KeyboardEvent} event @param {Element} element */
function move(event, element) {
  const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (event.target).closest(".match button.name"));
  if (button === null) {
    return;
  }
  const lists = [...element.querySelectorAll(".column")];
  const own = lists.findIndex((list) => list.contains(button));
  const here = buttons(/** @type {Element} */ (lists[own]));
  const index = here.indexOf(button);
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const next = here[index + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) {
      next.focus();
    } else if (event.key === "ArrowUp") {
      focusSearch();
    }
  } else if (sideways) {
    const there = buttons(lists[own + sideways] ?? element);
    event.preventDefault();
    there[Math.min(index, there.length - 1)]?.focus();
  } else if (event.key === "Escape") {
    focusSearch();
  }
}

function focusSearch() {
  document.querySelector(/** @type {"input"} */ ("input[data-search]"))?.focus();
}
