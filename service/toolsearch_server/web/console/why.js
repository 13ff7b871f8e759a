/** Why a tool did not come up: asked of the service step by step, told as far as it is known. */

import { call } from "./api.js";
import { fill, foreign, h } from "./dom.js";
import { count, enumWord } from "./format.js";
import { problem, waiting } from "./notices.js";
import { filterCount, filterOf, searchRequest } from "./search_state.js";

const DEPTH = 100;

/** @typedef {import("./search_state.js").SearchState} SearchState */
/** @typedef {import("./messages.js").SearchToolsResponse} Answer */

/** @param {import("./app.js").View} view @param {SearchState} state */
export function whyNot(view, state) {
  const input = h("input", {
    placeholder: "name or alias, such as github.open_issue",
    "aria-label": "Tool",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
  });
  const answer = h("div", { class: "why-answer", "aria-live": "polite" });
  const form = h("form", { class: "bar" }, input, h("button", { type: "submit" }, "Find out"));
  let asking = new AbortController();
  view.signal.addEventListener("abort", () => asking.abort());

  const ask = async () => {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const name = input.value.trim();
    if (!name) {
      return;
    }
    fill(answer, waiting("Looking…"));
    const shown = await explain(view.catalog, name, { ...state }, signal, view.open).catch((error) =>
      problem(error, () => void ask()),
    );
    if (!signal.aborted) {
      fill(answer, shown);
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void ask();
  });
  return {
    element: h("div", {}, form, answer),
    /** What was asked has changed. */
    update: () => {
      asking.abort();
      fill(answer, input.value.trim() && h("p", { class: "faint" }, "The search is another one now: find out again."));
    },
  };
}

/**
 * @param {string} catalog @param {string} name @param {SearchState} state @param {AbortSignal} signal
 * @param {(name: string) => void} open
 */
async function explain(catalog, name, state, signal, open) {
  /** @type {import("./messages.js").GetToolsResponse} */
  const known = await call("GetTools", { catalog, names: [name], detail: "DETAIL_SUMMARY" }, signal);
  const [entry] = known.entries;
  if (entry === undefined) {
    const near = known.missing.flatMap(({ nearNames }) => nearNames);
    return h(
      "div",
      {},
      line("bad", "There is no entry with this name in the catalog."),
      near.length > 0 &&
        h(
          "p",
          {},
          "Near: ",
          near.map((each, index) => [index > 0 && ", ", foreign(each)]),
        ),
    );
  }
  const [settings, ...ranks] = await Promise.all([
    bannedBy(catalog, entry.name, signal),
    ...state.strategies.map((strategy) => rankOf(catalog, entry, state, strategy, signal)),
  ]);
  const filtered = filterCount(state) > 0 && !settings ? await isFiltered(catalog, entry, state, signal) : false;
  return h(
    "div",
    {},
    h(
      "p",
      {},
      h("button", { type: "button", class: "link", on: { click: () => open(entry.name) } }, foreign(entry.name)),
      " is in the catalog, from ",
      entry.server ? foreign(entry.server) : "no server",
      ".",
    ),
    settings !== undefined &&
      line("bad", "It is banned by the catalog's settings (", h("code", {}, foreign(settings)), "): no search finds it."),
    filtered &&
      line("bad", "The filters leave it out: ", foreign(reasons(entry, state).join("; ") || "the service says so"), "."),
    settings === undefined && !filtered && ranks,
  );
}

/** @param {string} tone @param {import("./dom.js").Children[]} children */
const line = (tone, ...children) => h("p", { class: `verdict ${tone}` }, children);

/** The glob of the settings that bans it. @param {string} catalog @param {string} name @param {AbortSignal} signal */
async function bannedBy(catalog, name, signal) {
  /** @type {import("./messages.js").GetSettingsResponse} */
  const { settings } = await call("GetSettings", { catalog }, signal);
  return settings.banned.find((glob) => fits(glob, name));
}

/**
 * @param {string} catalog @param {import("./messages.js").Entry} entry @param {SearchState} state @param {string} strategy
 * @param {AbortSignal} signal
 */
async function rankOf(catalog, entry, state, strategy, signal) {
  const request = {
    ...searchRequest(catalog, state, strategy),
    limit: DEPTH,
    minRelevance: 0,
    explain: false,
    detail: "DETAIL_NAME",
  };
  /** @type {Answer} */
  const found = await call("SearchTools", request, signal);
  const rank = found.matches.findIndex((match) => match.entry.name === entry.name);
  const match = found.matches[rank];
  const head = [h("strong", {}, strategy), ": "];
  if (match === undefined) {
    return found.total > found.matches.length
      ? line(
          "bad",
          head,
          `not among the first ${DEPTH} of ${count(found.total)} or more matches. Further down is not looked at.`,
        )
      : line("bad", head, `does not match; ${count(found.total)} others do.`);
  }
  const figures = `relevance ${match.relevance.toFixed(2)}, score ${match.score.toFixed(2)}`;
  const place = `number ${rank + 1} of ${count(found.total)}, ${figures}: `;
  if (match.relevance < state.minRelevance) {
    return line(
      "bad",
      head,
      place,
      foreign(match.reason),
      `. Below the least relevance that is asked for, ${state.minRelevance.toFixed(2)}.`,
    );
  }
  return rank >= state.limit
    ? line("bad", head, place, foreign(match.reason), `. Only the first ${state.limit} are shown.`)
    : line("good", head, place, foreign(match.reason), ". It is shown.");
}

/**
 * Whether it does not pass the filters: the service is asked for it by its exact name. @param {string} catalog
 * @param {import("./messages.js").Entry} entry @param {SearchState} state @param {AbortSignal} signal
 */
async function isFiltered(catalog, entry, state, signal) {
  const quoted = entry.name.replace(/[^\w]/gu, (char) => `\\x{${(char.codePointAt(0) ?? 0).toString(16)}}`);
  const pattern = `^${quoted}$`;
  /** @type {Answer} */
  const found = await call(
    "SearchTools",
    {
      catalog,
      queries: [pattern],
      strategy: "STRATEGY_REGEX",
      caseSensitive: true,
      limit: DEPTH,
      filter: filterOf(state),
      detail: "DETAIL_NAME",
    },
    signal,
  );
  return !found.matches.some((match) => match.entry.name === entry.name);
}

/**
 * Which filters those are, as far as they can be told from here. @param {import("./messages.js").Entry} entry
 * @param {SearchState} state
 */
function reasons(entry, state) {
  const hints = entry.annotations;
  const namespace = entry.name.split(".").slice(0, -1).join(".");
  return [
    state.servers.length > 0 &&
      !state.servers.some((glob) => fits(glob, entry.server)) &&
      `its server is ${entry.server || "none"}`,
    state.namespaces.length > 0 &&
      !state.namespaces.some((each) => `${namespace}.`.startsWith(`${each}.`)) &&
      `its namespace is ${namespace || "none"}`,
    state.tags.length > 0 && !state.tags.some((tag) => entry.tags.includes(tag)) && "it has none of the tags",
    state.kinds.length > 0 &&
      !state.kinds.includes(enumWord(entry.kind, "ENTRY_KIND")) &&
      `it is a ${enumWord(entry.kind, "ENTRY_KIND")}`,
    state.readOnly && !hints?.readOnly && "it does not only read",
    state.harmless && hints?.destructive && "it may be destructive",
  ]
    .filter((reason) => reason !== false && reason !== undefined && reason !== "")
    .map(String);
}

/** Globs as the service reads them: *, ? and [...]. @param {string} glob @param {string} text */
function fits(glob, text) {
  const pattern = glob.replace(/\[(!?)([^\]]+)\]|[\s\S]/gu, (piece, not, set) => {
    if (set !== undefined) {
      return `[${not ? "^" : ""}${set.replace(/[\\\]^[]/g, "\\$&")}]`;
    }
    return piece === "*" ? ".*" : piece === "?" ? "." : piece.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
  try {
    return new RegExp(`^${pattern}$`, "su").test(text);
  } catch {
    return false; // then the service alone knows
  }
}
