/** All entries of a catalog by name, a page at a time. */

import { call } from "./api.js";
import { fill, foreign, h } from "./dom.js";
import { count, enumWord } from "./format.js";
import { problem, waiting } from "./notices.js";
import { KINDS } from "./search_state.js";

const PAGE = 50;

/** @typedef {import("./messages.js").Catalog} Catalog */

/** @param {import("./app.js").View} view @param {Catalog} first */
export function browser(view, first) {
  const server = h("input", {
    placeholder: "any server",
    "aria-label": "Server, a name or glob",
    list: "browsed-servers",
    autocomplete: "off",
    spellcheck: "false",
  });
  const servers = h("datalist", { id: "browsed-servers" });
  const kind = h(
    "select",
    { "aria-label": "Kind" },
    h("option", { value: "" }, "any kind"),
    KINDS.map((each) => h("option", { value: each }, each)),
  );
  const place = h("span", { class: "faint", "aria-live": "polite" });
  const earlier = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Earlier entries", on: { click: () => turn(-1) } },
    "‹",
  );
  const later = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Later entries", on: { click: () => turn(1) } },
    "›",
  );
  const list = h("div", { class: "entries" }, waiting("Loading…"));
  const element = h(
    "div",
    {},
    h("div", { class: "bar pager" }, server, servers, kind, place, h("span", {}, earlier, later)),
    list,
  );

  /** The token of each page that was reached; pages are only known one after the other. @type {string[]} */
  let tokens = [""];
  let number = 0;
  let asking = new AbortController();
  view.signal.addEventListener("abort", () => asking.abort());

  const load = async () => {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const filter = {
      ...(server.value && { servers: [server.value] }),
      ...(kind.value && { kinds: [`ENTRY_KIND_${kind.value.toUpperCase()}`] }),
    };
    list.setAttribute("aria-busy", "true");
    try {
      /** @type {import("./messages.js").ListToolsResponse} */
      const page = await call(
        "ListTools",
        { catalog: view.catalog, filter, pageSize: PAGE, pageToken: tokens[number] ?? "" },
        signal,
      );
      tokens = [...tokens.slice(0, number + 1), ...(page.nextPageToken ? [page.nextPageToken] : [])];
      const start = number * PAGE;
      fill(
        place,
        page.totalSize === 0 ? "none" : `${count(start + 1)}–${count(start + page.entries.length)} of ${count(page.totalSize)}`,
      );
      fill(
        list,
        page.entries.length === 0
          ? h("p", { class: "faint" }, "Nothing fits.")
          : h(
              "ul",
              {},
              page.entries.map((entry) => row(entry, view.open)),
            ),
      );
    } catch (error) {
      if (!signal.aborted) {
        fill(
          list,
          problem(error, () => restart()),
        );
      }
    }
    if (!signal.aborted) {
      list.removeAttribute("aria-busy");
      earlier.disabled = number === 0;
      later.disabled = number >= tokens.length - 1;
    }
  };
  const restart = () => {
    tokens = [""];
    number = 0;
    void load();
  };
  /** @param {number} by */
  const turn = (by) => {
    number += by;
    void load();
  };
  /** Completion: what fits what is typed. @param {readonly string[]} names */
  const suggest = (names) => {
    const typed = server.value.toLowerCase();
    fill(
      servers,
      names
        .filter((name) => name.toLowerCase().includes(typed))
        .slice(0, PAGE)
        .map((value) => h("option", { value })),
    );
  };
  let known = first;
  server.addEventListener("input", () => suggest(known.servers.map((each) => each.server)));
  server.addEventListener("focus", () => suggest(known.servers.map((each) => each.server)));
  server.addEventListener("change", restart);
  kind.addEventListener("change", restart);
  void load();
  return {
    element,
    /** @param {Catalog} catalog */
    update: (catalog) => {
      const other = catalog.version.revision !== known.version.revision || catalog.version.epoch !== known.version.epoch;
      known = catalog;
      if (other) {
        void load();
      }
    },
    /** Shows one server's entries. @param {string} glob */
    choose: (glob) => {
      server.value = glob;
      restart();
      element.scrollIntoView({ block: "start" });
      server.focus({ preventScroll: true });
    },
  };
}

/** @param {import("./messages.js").Entry} entry @param {(name: string) => void} open */
function row(entry, open) {
  return h(
    "li",
    {},
    h("button", { type: "button", class: "name", on: { click: () => open(entry.name) } }, foreign(entry.name)),
    entry.kind !== "ENTRY_KIND_TOOL" && h("span", { class: "badge" }, enumWord(entry.kind, "ENTRY_KIND")),
    h("span", { class: "entry-summary" }, foreign(entry.summary)),
    h("span", { class: "number faint" }, count(entry.tokens)),
  );
}
