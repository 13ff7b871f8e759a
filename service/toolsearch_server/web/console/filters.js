/** The filters beside the matches. */

import { allPages } from "./api.js";
import { chips } from "./chips.js";
import { fill, h } from "./dom.js";
import { exactGlob, filterCount, KINDS, LIMITS } from "./search_state.js";

/**
 * @param {import("./search_state.js").SearchState} state changed in place
 * @param {string} catalog @param {Promise<import("./messages.js").Catalog>} described @param {AbortSignal} signal
 * @param {() => void} changed
 */
export function filterForm(state, catalog, described, signal, changed) {
  const tell = () => {
    draw();
    changed();
  };
  const servers = chips(
    "Servers",
    "name or glob, such as git*",
    state.servers,
    async () => (await described).servers.map(({ server }) => exactGlob(server)).filter(Boolean),
    (values) => set({ servers: values }),
  );
  /** @type {Promise<string[]> | undefined} */
  let spaces;
  const namespaces = chips(
    "Namespaces",
    "s3 means s3.file, too",
    state.namespaces,
    () => (spaces ??= namespacesOf(catalog, signal)),
    (values) => set({ namespaces: values }),
  );
  const tags = chips(
    "Tags",
    "any of these",
    state.tags,
    () => [...seenTags].sort(),
    (values) => set({ tags: values }),
  );
  /** @type {Set<string>} */
  const seenTags = new Set();

  const kinds = KINDS.map((kind) =>
    checkbox(kind, state.kinds.includes(kind), (on) =>
      set({ kinds: KINDS.filter((each) => (each === kind ? on : state.kinds.includes(each))) }),
    ),
  );
  const readOnly = checkbox("only reads", state.readOnly, (on) => set({ readOnly: on }));
  const harmless = checkbox("not destructive", state.harmless, (on) => set({ harmless: on }));
  const shown = h("output", {}, state.minRelevance.toFixed(2));
  const relevance = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    value: String(state.minRelevance),
    "aria-label": "Least relevance",
  });
  relevance.addEventListener("input", () => {
    fill(shown, Number(relevance.value).toFixed(2));
    set({ minRelevance: Number(relevance.value) });
  });
  const limit = h(
    "select",
    { "aria-label": "Matches" },
    LIMITS.map((each) => h("option", { value: each }, each)),
  );
  limit.value = String(state.limit);
  limit.addEventListener("change", () => set({ limit: Number(limit.value) }));

  const clear = h("button", { type: "button", class: "quiet" }, "Clear");
  clear.addEventListener("click", () => {
    servers.set([]);
    namespaces.set([]);
    tags.set([]);
    for (const box of [...kinds, readOnly, harmless]) {
      box.input.checked = false;
    }
    relevance.value = "0";
    fill(shown, "0.00");
    set({ servers: [], namespaces: [], tags: [], kinds: [], readOnly: false, harmless: false, minRelevance: 0 });
  });

  const title = h("span", {});
  const draw = () => {
    const count = filterCount(state);
    fill(title, count > 0 ? `Filters (${count})` : "Filters");
    clear.hidden = count === 0;
  };
  /** @param {Partial<import("./search_state.js").SearchState>} changes */
  const set = (changes) => {
    Object.assign(state, changes);
    tell();
  };
  draw();

  const element = h(
    "details",
    { class: "filters", open: matchMedia("(min-width: 60rem)").matches },
    h("summary", {}, title),
    h(
      "form",
      { "aria-label": "Filters", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
      servers.element,
      namespaces.element,
      tags.element,
      h(
        "fieldset",
        { class: "field" },
        h("legend", { class: "label" }, "Kinds"),
        h(
          "div",
          { class: "boxes" },
          kinds.map((box) => box.element),
        ),
      ),
      h(
        "fieldset",
        { class: "field" },
        h("legend", { class: "label" }, "Says of itself"),
        h("div", { class: "boxes" }, readOnly.element, harmless.element),
      ),
      h("label", { class: "field" }, h("span", { class: "label" }, "Least relevance ", shown), relevance),
      h("label", { class: "field" }, h("span", { class: "label" }, "Matches"), limit),
      clear,
    ),
  );
  return {
    element,
    /** Tags are suggested from what was found. @param {readonly import("./messages.js").Match[]} matches */
    learn: (matches) => {
      for (const { entry } of matches) {
        entry.tags.forEach((tag) => seenTags.add(tag));
      }
    },
  };
}

/** @param {string} catalog @param {AbortSignal} signal @returns {Promise<string[]>} */
async function namespacesOf(catalog, signal) {
  /** @type {{ name: string }[]} */
  const found = await allPages("ListNamespaces", "namespaces", { catalog }, signal);
  return found.map(({ name }) => name).filter(Boolean);
}

/** @param {string} label @param {boolean} checked @param {(on: boolean) => void} changed */
function checkbox(label, checked, changed) {
  const input = h("input", { type: "checkbox", checked });
  input.addEventListener("change", () => changed(input.checked));
  return { input, element: h("label", { class: "box" }, input, label) };
}
