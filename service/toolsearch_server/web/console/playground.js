/** The playground: a query, and what each strategy makes of it. */

import { call } from "./api.js";
import { callPanel } from "./call_panel.js";
import { columns } from "./columns.js";
import { disclosure, fill, foreign, h } from "./dom.js";
import { filterForm } from "./filters.js";
import { count, counted } from "./format.js";
import { howToLoad } from "./how_to_load.js";
import { problem } from "./notices.js";
import { MOST_COLUMNS, readState, STRATEGIES, writeState } from "./search_state.js";
import { whyNot } from "./why.js";

const PAUSE = 120;
const EXAMPLES = 6;

/** @param {import("./app.js").View} view */
export function page(view) {
  const { catalog, signal } = view;
  const state = readState(view.params);
  /** @type {Promise<import("./messages.js").Catalog>} */
  const described = call("GetCatalog", { catalog }, signal).then((/** @type {any} */ answer) => answer.catalog);
  described.catch(() => {}); // whoever waits for it hears of it

  const input = h("input", {
    type: "search",
    value: state.query,
    placeholder: "What should a tool do?",
    "aria-label": "Search",
    "data-search": true,
    "data-first": true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const results = columns(view, (matches) => filters.learn(matches));
  const filters = filterForm(state, catalog, described, signal, () => changed());
  const strategies = strategyBoxes(state, view.status.strategies, () => changed());
  const welcome = h("div", { class: "welcome" });
  const details = h("div", { class: "tools", hidden: true });
  const panel = callPanel(view, state);
  const why = whyNot(view, state);
  details.append(
    disclosure("Call this from code", () => panel.element, { class: "panel" }),
    disclosure("Why did a tool not come up?", () => why.element, { class: "panel" }),
  );

  let timer = 0;
  const changed = (pause = 0) => {
    clearTimeout(timer);
    timer = setTimeout(() => void run(), pause);
  };
  const run = async () => {
    view.remember(writeState(state));
    panel.update();
    why.update();
    const asked = state.query.trim() !== "";
    welcome.hidden = asked;
    details.hidden = !asked;
    if (!asked) {
      results.clear();
      view.announce("");
      return;
    }
    const summary = await results.search(state);
    if (summary !== undefined) {
      view.announce(summary);
    }
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  input.addEventListener("input", () => {
    state.query = input.value;
    changed(PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      results.enter();
    } else if (event.key === "Enter") {
      changed();
    }
  });
  /** @param {string} query */
  const use = (query) => {
    input.value = state.query = query;
    input.focus();
    changed();
  };
  if (view.catalogs.length === 0) {
    fill(welcome, howToLoad());
  } else {
    void greet(view, described, use).then(
      (content) => fill(welcome, content),
      (error) => fill(welcome, signal.aborted ? null : problem(error)),
    );
  }
  changed();

  return h(
    "div",
    { class: "playground" },
    h("h1", { class: "offscreen" }, "Playground"),
    h(
      "div",
      { class: "ask" },
      h("form", { role: "search", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } }, input),
      strategies,
    ),
    filters.element,
    h("div", { class: "answers" }, welcome, details, results.element),
  );
}

/**
 * @param {import("./search_state.js").SearchState} state
 * @param {readonly string[]} possible on this server; others can be asked for by an address, and are refused with a reason
 * @param {() => void} changed
 */
function strategyBoxes(state, possible, changed) {
  const boxes = STRATEGIES.filter((name) => possible.includes(name) || state.strategies.includes(name)).map((strategy) => {
    const input = h("input", { type: "checkbox", checked: state.strategies.includes(strategy), value: strategy });
    input.addEventListener("change", () => {
      state.strategies = STRATEGIES.filter((each) => (each === strategy ? input.checked : state.strategies.includes(each)));
      draw();
      changed();
    });
    return { strategy, input };
  });
  // One at least, three at most: what cannot be changed now is disabled.
  const draw = () => {
    for (const { input } of boxes) {
      input.disabled = input.checked ? state.strategies.length === 1 : state.strategies.length >= MOST_COLUMNS;
    }
  };
  draw();
  return h(
    "fieldset",
    { class: "strategies" },
    h("legend", {}, "Strategies"),
    boxes.map(({ strategy, input }) => h("label", { class: "toggle" }, input, h("span", {}, strategy))),
  );
}

/**
 * What the catalog is, and queries to begin with, from its own entries.
 * @param {import("./app.js").View} view @param {Promise<import("./messages.js").Catalog>} described
 * @param {(query: string) => void} use
 */
async function greet(view, described, use) {
  const request = { catalog: view.catalog, pageSize: 300, detail: "DETAIL_SUMMARY" };
  /** @type {[import("./messages.js").Catalog, import("./messages.js").ListToolsResponse]} */
  const [catalog, listed] = await Promise.all([described, call("ListTools", request, view.signal)]);
  if (catalog.entryCount === 0) {
    return howToLoad();
  }
  return [
    h(
      "p",
      { class: "lead" },
      h("strong", {}, counted(catalog.entryCount, "entry", "entries")),
      " from ",
      counted(catalog.servers.length, "server"),
      ` in “`,
      foreign(catalog.name),
      `”. An agent that carried them all would pay about `,
      h("strong", {}, `${count(catalog.tokens)} tokens`),
      " on every turn; five matches cost about ",
      h("strong", {}, count(Math.ceil((5 * Number(catalog.tokens)) / catalog.entryCount))),
      ".",
    ),
    h("p", { class: "label" }, "Try"),
    h(
      "ul",
      { class: "examples" },
      examples(listed.entries).map((query) =>
        h("li", {}, h("button", { type: "button", class: "example", on: { click: () => use(query) } }, foreign(query))),
      ),
    ),
  ];
}

/** Titles of entries far from each other. @param {readonly import("./messages.js").Entry[]} entries */
function examples(entries) {
  const step = Math.max(1, Math.floor(entries.length / EXAMPLES));
  const chosen = entries.filter((_, index) => index % step === Math.floor(step / 2));
  const titles = chosen.map(({ title, localName }) => title || localName.replaceAll(/[._-]+/g, " "));
  return [...new Set(titles.map((title) => title.toLowerCase().slice(0, 60)))].slice(0, EXAMPLES);
}
