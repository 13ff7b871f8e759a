/** The search as a program in the language of one's choice. */

import { copyButton, fill, h, visible } from "./dom.js";
import { filterOf } from "./search_state.js";
import { LANGUAGES, snippet } from "./snippets.js";

/** @param {import("./app.js").View} view @param {import("./search_state.js").SearchState} state */
export function callPanel(view, state) {
  /** @type {typeof LANGUAGES[number]} */
  let language = "Python";
  const target = h("input", {
    value: `${location.hostname || "localhost"}:50051`,
    size: 24,
    autocomplete: "off",
    spellcheck: "false",
  });
  const code = h("pre", { class: "code", tabindex: 0, role: "tabpanel", "aria-label": "Call" });
  const tabs = LANGUAGES.map((name) => h("button", { type: "button", role: "tab", on: { click: () => choose(name) } }, name));

  const text = () => {
    const credentials = view.status.credentials;
    const host = target.value.replace(/:\d+$/, "");
    const local = ["localhost", "127.0.0.1", "[::1]"].includes(host);
    return snippet(language, {
      target: target.value,
      origin: location.origin,
      tls: location.protocol === "https:" || (credentials && !local),
      credentials,
      catalog: view.catalog,
      tenant: view.params.get("tenant") ?? "",
      query: state.query,
      strategy: state.strategies[0] ?? "auto",
      limit: state.limit,
      minRelevance: state.minRelevance,
      filter: filterOf(state),
    });
  };
  const update = () => {
    fill(code, visible(text()));
    tabs.forEach((tab, index) => {
      const chosen = LANGUAGES[index] === language;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    });
  };
  /** @param {typeof LANGUAGES[number]} name */
  const choose = (name) => {
    language = name;
    update();
  };
  target.addEventListener("input", update);
  const tabList = h("div", { role: "tablist", class: "tabs", "aria-label": "Language" }, tabs);
  tabList.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      const next = (LANGUAGES.indexOf(language) + step + LANGUAGES.length) % LANGUAGES.length;
      choose(LANGUAGES[next] ?? "Python");
      tabs[next]?.focus();
    }
  });
  update();
  return {
    update,
    element: h(
      "div",
      { class: "call" },
      h(
        "div",
        { class: "bar" },
        tabList,
        h("label", { class: "choice" }, h("span", {}, "gRPC"), target),
        copyButton("Copy", text),
      ),
      code,
      h(
        "p",
        { class: "faint" },
        "The first of the strategies chosen.",
        view.status.credentials && [" The key is taken from ", h("code", {}, "$TOOLSEARCH_API_KEY"), "."],
      ),
    ),
  };
}
