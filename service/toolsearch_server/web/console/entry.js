/** One entry in full: what it is, its parameters, its definition as it was given. */

import { call } from "./api.js";
import { copyButton, disclosure, fill, foreign, h, plain, visible } from "./dom.js";
import { bytes, count, enumWord } from "./format.js";
import { indented } from "./json_text.js";
import { problem, waiting } from "./notices.js";
import { schemaTable } from "./schema.js";

/** @typedef {import("./messages.js").Entry} Entry */

/** @param {string} catalog @param {string} name @param {AbortSignal} leaving @param {() => void} closed */
export function openEntry(catalog, name, leaving, closed) {
  document.querySelectorAll(/** @type {"dialog"} */ ("dialog.reader")).forEach((other) => other.close());
  const asking = new AbortController();
  const body = h("div", { class: "reader-body" }, waiting("Loading…"));
  const close = h("button", { type: "button", class: "quiet close", "aria-label": "Close" }, "×");
  const dialog = h(
    "dialog",
    { class: "reader", "aria-label": plain(name) },
    h(
      "div",
      { class: "reader-head" },
      h("h2", {}, foreign(name)),
      copyButton("Copy name", () => name),
      close,
    ),
    body,
  );
  const end = () => dialog.close();
  close.addEventListener("click", end);
  leaving.addEventListener("abort", end);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) {
      end(); // beside it
    }
  });
  dialog.addEventListener("close", () => {
    asking.abort();
    leaving.removeEventListener("abort", end);
    dialog.remove();
    if (!leaving.aborted) {
      closed();
    }
  });
  document.body.append(dialog);
  dialog.showModal();

  const load = async () => {
    try {
      /** @type {import("./messages.js").GetToolsResponse} */
      const { entries, missing } = await call("GetTools", { catalog, names: [name], detail: "DETAIL_FULL" }, asking.signal);
      const [entry] = entries;
      fill(
        body,
        entry
          ? content(entry)
          : [
              h("p", { class: "notice" }, "There is no entry with this name in the catalog, or not any more."),
              missing.flatMap(({ nearNames }) => nearNames).map((near) => h("p", {}, "Near: ", foreign(near))),
            ],
      );
    } catch (error) {
      if (!asking.signal.aborted) {
        fill(
          body,
          problem(error, () => void load()),
        );
      }
    }
  };
  void load();
}

/** @param {Entry} entry */
function content(entry) {
  const definition = parsed(entry.definition);
  const input = schemaOf(definition, ["inputSchema", "input_schema", "parameters"]);
  const output = schemaOf(definition, ["outputSchema"]);
  const promptArguments = own(definition, "arguments");
  return [
    entry.title !== "" && h("p", { class: "entry-title" }, foreign(entry.title)),
    h("p", { class: "description", tabindex: 0, role: "group", "aria-label": "Description" }, foreign(entry.description)),
    facts(entry),
    entry.kind === "ENTRY_KIND_TOOL" && section("Parameters", schemaTable(input)),
    Array.isArray(promptArguments) && section("Arguments", schemaTable(argumentSchema(promptArguments))),
    output !== undefined &&
      h(
        "section",
        {},
        disclosure(h("span", { class: "h3" }, "Result"), () => schemaTable(output)),
      ),
    entry.resources.length > 0 &&
      section(
        "Files",
        h(
          "ul",
          { class: "plain" },
          entry.resources.map((file) =>
            h(
              "li",
              {},
              h("code", {}, foreign(file.path)),
              " ",
              h("span", { class: "faint" }, `${bytes(file.size)}, `, foreign(file.mediaType)),
            ),
          ),
        ),
      ),
    h(
      "section",
      {},
      disclosure(h("span", { class: "h3" }, `Definition (${bytes(new Blob([entry.definition]).size)})`), () => [
        copyButton("Copy definition", () => entry.definition),
        h("pre", { class: "code", tabindex: 0, "aria-label": "Definition" }, h("bdi", {}, visible(indented(entry.definition)))),
      ]),
    ),
  ];
}

/** @param {string} title @param {import("./dom.js").Children[]} children */
const section = (title, ...children) => h("section", {}, h("h3", {}, title), children);

/** @param {Entry} entry */
function facts(entry) {
  const hints = entry.annotations;
  /** @type {[string, import("./dom.js").Children][]} */
  const rows = [
    ["Server", entry.server ? foreign(entry.server) : "none"],
    ["Called there", h("code", {}, foreign(entry.localName))],
    ["Alias", h("code", {}, foreign(entry.alias))],
    ["Kind", enumWord(entry.kind, "ENTRY_KIND")],
    [
      "Says of itself",
      hints === undefined
        ? ""
        : [
            [hints.readOnly, "only reads"],
            [hints.destructive, "destructive"],
            [hints.idempotent, "idempotent"],
            [hints.openWorld, "open world"],
          ]
            .filter(([holds]) => holds)
            .map(([, word]) => h("span", { class: word === "destructive" ? "badge warn" : "badge" }, String(word))),
    ],
    ["Tags", entry.tags.map((tag) => h("span", { class: "badge" }, foreign(tag)))],
    ["Capabilities", entry.capabilities.map((each) => h("span", { class: "badge" }, foreign(each)))],
    ["Tokens", `about ${count(entry.tokens)}`],
    ["Digest", h("code", { class: "digest" }, foreign(entry.digest))],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows
      .filter(([, value]) => !(Array.isArray(value) && value.length === 0) && value !== "")
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/** @param {string} text @returns {unknown} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // it is shown as text all the same
  }
}

/** @param {unknown} value @param {string} name @returns {unknown} */
const own = (value, name) =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? /** @type {any} */ (value)[name] : undefined;

/** The first of these that is there. @param {unknown} definition @param {readonly string[]} names */
const schemaOf = (definition, names) => names.map((name) => own(definition, name)).find((schema) => schema !== undefined);

/** A prompt's list of arguments, as a schema. @param {readonly unknown[]} list */
function argumentSchema(list) {
  const named = list.filter((each) => typeof own(each, "name") === "string");
  return {
    properties: Object.fromEntries(
      named.map((each) => [own(each, "name"), { description: own(each, "description"), type: "string" }]),
    ),
    required: named.filter((each) => own(each, "required") === true).map((each) => own(each, "name")),
  };
}
