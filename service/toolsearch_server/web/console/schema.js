/**
 * A JSON schema as a table that can be opened: a row for each parameter, what is inside made when it is opened. So recursion
 * does no harm, and a large schema costs what is looked at.
 */

import { disclosure, foreign, h } from "./dom.js";
import { counted } from "./format.js";

const ROWS = 60;
const VALUES = 24;
const OPEN_AT_FIRST = 8;
const CONSTRAINTS = [
  "format",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "contentEncoding",
  "contentMediaType",
  "readOnly",
  "writeOnly",
  "deprecated",
];

/** @typedef {Record<string, unknown>} Schema */
/** @typedef {{ name: string, schema: unknown, required: boolean }} Row */

/** @param {unknown} value @returns {value is Schema} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {unknown} value @returns {readonly unknown[]} */
const listOf = (value) => (Array.isArray(value) ? value : []);

/**
 * Own members only: a key such as __proto__ is one like any other. @param {unknown} value @param {string} name
 * @returns {unknown}
 */
const member = (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);

/** @param {unknown} root the whole schema, which references point into */
export function schemaTable(root) {
  const rows = rowsOf(root, root);
  return rows.length > 0 ? rowList(rows, root, 0) : h("p", { class: "faint" }, "No parameters.");
}

/** @param {readonly Row[]} rows @param {unknown} root @param {number} depth @returns {HTMLElement} */
function rowList(rows, root, depth) {
  const list = h("ul", { class: "schema" });
  let shown = 0;
  const more = h("button", { type: "button", class: "quiet", on: { click: () => show() } });
  const show = () => {
    const next = rows.slice(shown, shown + ROWS);
    list.append(...next.map((row) => rowItem(row, root, depth, rows.length <= OPEN_AT_FIRST)));
    shown += next.length;
    more.hidden = shown >= rows.length;
    more.textContent = `${counted(rows.length - shown, "more parameter")}`;
  };
  show();
  return h("div", {}, list, more);
}

/** @param {Row} row @param {unknown} root @param {number} depth @param {boolean} open */
function rowItem({ name, schema, required }, root, depth, open) {
  const resolved = resolve(schema, root);
  const description = member(schema, "description") ?? member(resolved, "description");
  const inside = rowsOf(resolved, root);
  return h(
    "li",
    {},
    h(
      "div",
      { class: "row" },
      h(
        "span",
        { class: "parameter" },
        h("code", {}, foreign(name)),
        required && h("span", { class: "badge accent" }, "required"),
      ),
      h("span", { class: "type" }, foreign(typeOf(resolved, root))),
      h("div", { class: "about" }, typeof description === "string" && h("p", {}, foreign(description)), facts(resolved)),
    ),
    inside.length > 0 &&
      disclosure(counted(inside.length, "part"), () => rowList(inside, root, depth + 1), { open: open && depth === 0 }),
  );
}

/** What may stand inside: properties, items, alternatives. @param {unknown} given @param {unknown} root @returns {Row[]} */
function rowsOf(given, root) {
  const schema = resolve(given, root);
  if (!isObject(schema)) {
    return [];
  }
  const required = listOf(member(schema, "required"));
  /** @type {Row[]} */
  const rows = [];
  const properties = member(schema, "properties");
  if (isObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      rows.push({ name, schema: property, required: required.includes(name) });
    }
  }
  const patterns = member(schema, "patternProperties");
  if (isObject(patterns)) {
    Object.entries(patterns).forEach(([name, property]) => rows.push({ name: `/${name}/`, schema: property, required: false }));
  }
  const others = member(schema, "additionalProperties");
  if (isObject(others) && Object.keys(others).length > 0) {
    rows.push({ name: "any other name", schema: others, required: false });
  }
  const items = member(schema, "items");
  if (isObject(items) && rowsOf(items, root).length > 0) {
    rows.push({ name: "each item", schema: items, required: false });
  }
  listOf(member(schema, "prefixItems")).forEach((item, index) =>
    rows.push({ name: `item ${index + 1}`, schema: item, required: false }),
  );
  for (const [keyword, word] of [
    ["oneOf", "one of"],
    ["anyOf", "any of"],
    ["allOf", "all of"],
  ]) {
    listOf(member(schema, keyword ?? "")).forEach((each, index) =>
      rows.push({ name: `${word} (${index + 1})`, schema: each, required: false }),
    );
  }
  return rows;
}

/**
 * Follows references inside the document; others are shown as they are. @param {unknown} schema @param {unknown} root
 * @returns {unknown}
 */
function resolve(schema, root) {
  const seen = new Set();
  let current = schema;
  for (;;) {
    const reference = member(current, "$ref");
    if (typeof reference !== "string" || !reference.startsWith("#") || seen.has(reference)) {
      return current;
    }
    seen.add(reference);
    /** @type {unknown} */
    let target = root;
    for (const part of reference.slice(1).split("/").slice(1)) {
      target = member(target, unescaped(part));
    }
    if (target === undefined) {
      return current;
    }
    current = target;
  }
}

/** @param {string} part of a JSON pointer in a URL */
function unescaped(part) {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

/** @param {unknown} schema @param {unknown} root @returns {string} */
function typeOf(schema, root) {
  if (typeof schema === "boolean") {
    return schema ? "anything" : "nothing";
  }
  const type = member(schema, "type");
  const names = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  const items = resolve(member(schema, "items"), root);
  const listed = names.map((name) => {
    const inner = name === "array" ? member(items, "type") : undefined;
    return typeof inner === "string" ? `array of ${inner}` : name;
  });
  const reference = member(schema, "$ref");
  if (listed.length === 0) {
    return typeof reference === "string"
      ? reference
      : member(schema, "enum") !== undefined
        ? "one of"
        : isObject(member(schema, "properties"))
          ? "object"
          : "any";
  }
  return listed.join(" or ");
}

/** Values, default and limits. @param {unknown} schema */
function facts(schema) {
  const values = Array.isArray(member(schema, "enum"))
    ? listOf(member(schema, "enum"))
    : isObject(schema) && Object.hasOwn(schema, "const")
      ? [member(schema, "const")]
      : [];
  const itemValues = listOf(member(member(schema, "items"), "enum"));
  const limits = CONSTRAINTS.filter((name) => member(schema, name) !== undefined && member(schema, name) !== false);
  const examples = listOf(member(schema, "examples"));
  return [
    valueList("one of", values),
    valueList("items: one of", itemValues),
    isObject(schema) && Object.hasOwn(schema, "default") && valueList("default", [member(schema, "default")]),
    valueList("for example", examples.slice(0, 3)),
    limits.length > 0 &&
      h(
        "p",
        { class: "limits" },
        limits.map((name, index) => [index > 0 && " · ", `${name} `, h("code", {}, foreign(valueText(member(schema, name))))]),
      ),
    member(schema, "additionalProperties") === false && h("p", { class: "limits" }, "no other names"),
  ];
}

/** @param {string} label @param {readonly unknown[]} values */
function valueList(label, values) {
  if (values.length === 0) {
    return null;
  }
  const item = (/** @type {unknown} */ value) => h("code", { class: "value" }, foreign(valueText(value)));
  const rest = values.slice(VALUES);
  return h(
    "div",
    { class: "values" },
    `${label} `,
    values.slice(0, VALUES).map(item),
    rest.length > 0 && disclosure(`${rest.length} more`, () => rest.map(item)),
  );
}

/** @param {unknown} value */
function valueText(value) {
  const text = JSON.stringify(value) ?? "";
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
