/** The catalogs: which there are, what is in the chosen one, what it costs, what changes. */

import { allPages, call } from "./api.js";
import { bars } from "./charts.js";
import { browser } from "./browse.js";
import { fill, foreign, h } from "./dom.js";
import { feed } from "./feed.js";
import { ago, bytes, count, counted, enumWord, freshness, percent, short } from "./format.js";
import { howToLoad } from "./how_to_load.js";
import { problem, waiting } from "./notices.js";
import { exactGlob } from "./search_state.js";
import { table } from "./table.js";

const BARS = 30;
const TOGETHER = 500;

/** @typedef {import("./messages.js").Catalog} Catalog */
/** @typedef {import("./messages.js").CatalogListing} Listing */
/** @typedef {import("./messages.js").ServerStats} ServerStats */

/** @param {import("./app.js").View} view */
export function page(view) {
  const { catalog, catalogs, signal } = view;
  if (catalogs.length === 0) {
    return h("div", { class: "page" }, h("h1", {}, "Catalogs"), howToLoad());
  }
  const overview = table({
    label: "Catalogs",
    rows: catalogs,
    text: ({ name }) => name,
    current: ({ name }) => name === catalog,
    columns: [
      {
        title: "Name",
        wide: true,
        value: ({ name }) => name,
        cell: ({ name }) =>
          h("button", { type: "button", class: "link", on: { click: () => view.choose(name) } }, foreign(name)),
      },
      { title: "Entries", value: ({ entryCount }) => entryCount },
      { title: "Stored", value: (each) => Number(each.bytes), cell: (each) => bytes(each.bytes) },
      { title: "Revision", value: ({ version }) => Number(version.revision) },
      { title: "Changed", value: ({ updateTime }) => updateTime, cell: ({ updateTime }) => time(updateTime) },
      { title: "Here", value: ({ version }) => freshness(version) },
    ],
  });
  const chosen = h("section", { class: "page", "aria-label": "The chosen catalog" }, waiting("Loading the catalog…"));
  /** @type {ReturnType<typeof shownCatalog> | undefined} */
  let shown;
  let timer = 0;
  const refresh = async () => {
    try {
      /** @type {[{ catalog: Catalog }, Listing[]]} */
      const [answer, listed] = await Promise.all([
        call("GetCatalog", { catalog }, signal),
        allPages("ListCatalogs", "catalogs", {}, signal),
      ]);
      overview.update(listed);
      if (shown === undefined) {
        shown = shownCatalog(view, answer.catalog, later);
        fill(chosen, shown.element);
      } else {
        shown.update(answer.catalog);
      }
    } catch (error) {
      if (!signal.aborted) {
        shown = undefined;
        fill(
          chosen,
          problem(error, () => void refresh()),
        );
      }
    }
  };
  // Many changes that come together are looked at once.
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), TOGETHER);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  void refresh();
  return h("div", { class: "page" }, h("h1", {}, "Catalogs"), h("div", { class: "card" }, overview.element), chosen);
}

/** @param {string} text */
const time = (text) => h("time", { datetime: text, title: text }, ago(text));

/** @param {import("./app.js").View} view @param {Catalog} first @param {() => void} changed */
function shownCatalog(view, first, changed) {
  const tiles = h("dl", { class: "tiles" });
  const picture = h("div", { class: "card" });
  const entries = browser(view, first);
  const servers = table({
    label: "By server",
    rows: first.servers,
    text: ({ server }) => server,
    sort: 2,
    columns: [
      {
        title: "Server",
        wide: true,
        value: ({ server }) => server,
        cell: ({ server }) =>
          h(
            "button",
            { type: "button", class: "link", on: { click: () => entries.choose(exactGlob(server)) } },
            server ? foreign(server) : "no server",
          ),
      },
      { title: "Entries", value: ({ entryCount }) => entryCount },
      { title: "Tokens", value: ({ tokens }) => Number(tokens) },
    ],
  });
  const kinds = table({
    label: "By kind",
    rows: first.kinds,
    sort: 1,
    columns: [
      { title: "Kind", wide: true, value: ({ kind }) => enumWord(kind, "ENTRY_KIND") },
      { title: "Entries", value: ({ entryCount }) => entryCount },
    ],
  });
  /** @param {Catalog} catalog */
  const update = (catalog) => {
    fill(tiles, tilesOf(catalog));
    fill(
      picture,
      h("h3", {}, "What all definitions cost"),
      costs(catalog),
      h("h3", { class: "second" }, "Tokens by server"),
      byServer(catalog.servers),
    );
    servers.update(catalog.servers);
    kinds.update(catalog.kinds);
    entries.update(catalog);
  };
  update(first);
  return {
    update,
    element: h(
      "div",
      { class: "page" },
      h("h2", {}, foreign(first.name)),
      tiles,
      h(
        "div",
        { class: "split" },
        h("div", { class: "page" }, picture, h("div", { class: "card" }, h("h3", {}, "By kind"), kinds.element)),
        h(
          "div",
          { class: "page" },
          h("div", { class: "card" }, h("h3", {}, "Last changes"), feed(view, changed)),
          h("div", { class: "card" }, h("h3", {}, "By server"), servers.element),
        ),
      ),
      h("div", { class: "card" }, h("h3", {}, "Entries"), entries.element),
    ),
  };
}

/** @param {Catalog} catalog */
function tilesOf({ entryCount, servers, tokens, version, updateTime }) {
  /** @type {[string, import("./dom.js").Children, string][]} */
  const tiles = [
    ["Entries", count(entryCount), ""],
    ["Servers", count(servers.length), ""],
    ["Tokens", short(tokens), `${count(tokens)} tokens, estimated`],
    ["Revision", count(version.revision), `epoch ${version.epoch}`],
    ["Changed", time(updateTime), ""],
    ["Here", freshness(version), "whether this replica has everything"],
  ];
  return tiles.map(([name, value, title]) => h("div", { title }, h("dt", {}, name), h("dd", {}, value)));
}

/** What an agent pays without search, and with it. @param {Catalog} catalog */
function costs({ tokens, entryCount }) {
  const all = Number(tokens);
  const five = entryCount > 0 ? Math.ceil((Math.min(5, entryCount) * all) / entryCount) : 0;
  return [
    bars([
      { label: "without search, on every turn", value: all, text: count(all), tone: "heavy" },
      { label: "a typical answer: five tools", value: five, text: count(five), tone: "light" },
    ]),
    h(
      "p",
      { class: "faint" },
      all > 0
        ? `Five definitions of average size are ${percent(five, all)} of all. Tokens are estimates.`
        : "There is nothing yet.",
    ),
  ];
}

/** The largest, and the rest as one. @param {readonly ServerStats[]} servers */
function byServer(servers) {
  const sorted = [...servers].sort((left, right) => Number(right.tokens) - Number(left.tokens));
  const rest = sorted.slice(BARS);
  const sum = rest.reduce((total, { tokens }) => total + Number(tokens), 0);
  return [
    bars(
      sorted.slice(0, BARS).map(({ server, tokens }) => ({
        label: server ? foreign(server) : "no server",
        value: Number(tokens),
        text: count(tokens),
      })),
    ),
    rest.length > 0 &&
      h("p", { class: "faint" }, `And ${counted(rest.length, "more server")} with ${count(sum)} tokens together.`),
  ];
}
