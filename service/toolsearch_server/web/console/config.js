/**
 * The `tool_search` block as docs/plan.md has it, and the message that it is sent as. What is unset has the service's
 * default; the service judges values, here only their shapes are looked at.
 */

/** @typedef {"boolean" | "choice" | "whole" | "share" | "eager" | "text" | "list" | "patterns" | "models"} Shape */
/**
 * @typedef {{ key: string, shape: Shape, label: string, about: string, values?: readonly string[], prefix?: string }} Setting
 */

/** @type {readonly Setting[]} */
export const SETTINGS = [
  { key: "enabled", shape: "boolean", label: "Enabled", about: "true" },
  {
    key: "execution",
    shape: "choice",
    label: "Who searches",
    about: "client",
    values: ["client", "provider"],
    prefix: "SEARCH_EXECUTION",
  },
  {
    key: "scope",
    shape: "choice",
    label: "What may be deferred",
    about: "mcp",
    values: ["mcp", "all"],
    prefix: "SEARCH_SCOPE",
  },
  {
    key: "fallback",
    shape: "choice",
    label: "If none can be deferred",
    about: "search",
    values: ["search", "load"],
    prefix: "SEARCH_FALLBACK",
  },
  {
    key: "strategy",
    shape: "choice",
    label: "Strategy",
    about: "auto",
    values: ["auto", "bm25", "regex", "fuzzy", "semantic", "hybrid"],
    prefix: "STRATEGY",
  },
  { key: "always_load", shape: "boolean", label: "Honour alwaysLoad", about: "true" },
  { key: "min_tokens", shape: "whole", label: "Least tokens", about: "10000" },
  { key: "min_context_share", shape: "share", label: "Least share of the window", about: "in its place" },
  { key: "min_eager", shape: "eager", label: "Least eager", about: "1, or auto" },
  { key: "max_results", shape: "whole", label: "Results of a search", about: "5" },
  { key: "preload_tokens", shape: "whole", label: "Tokens for the purpose", about: "2000" },
  { key: "search_tool_name", shape: "text", label: "Name of the search tool", about: "find_tools" },
  { key: "local_servers", shape: "list", label: "The caller's own servers", about: "globs, separated by commas" },
  { key: "eager_tools", shape: "patterns", label: "Eager tools", about: "github: create_issue, list_*" },
  { key: "models", shape: "models", label: "Models", about: "" },
];

/** @typedef {Record<string, any>} Block */

/** A value that is not of the shape it should have. */
export class ConfigProblem extends Error {
  /** @param {string} key @param {string} message */
  constructor(key, message) {
    super(message);
    this.key = key;
  }
}

/** @param {unknown} value */
const isMapping = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {unknown} value @returns {value is string[]} */
const isTexts = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");

/** JSON of the block, or of a card that has it under tool_search. @param {string} text @returns {Block} */
export function parseBlock(text) {
  let value;
  try {
    value = text.trim() === "" ? {} : JSON.parse(text);
  } catch (error) {
    throw new ConfigProblem("", error instanceof Error ? error.message : "no JSON");
  }
  if (isMapping(value) && Object.hasOwn(value, "tool_search")) {
    value = value.tool_search;
  }
  if (typeof value === "boolean") {
    value = { enabled: value };
  }
  if (!isMapping(value)) {
    throw new ConfigProblem("", "the configuration is an object");
  }
  const unknown = Object.keys(value).find((key) => !SETTINGS.some((setting) => setting.key === key));
  if (unknown !== undefined) {
    throw new ConfigProblem("", `“${unknown}” is not a setting; there are ${SETTINGS.map(({ key }) => key).join(", ")}`);
  }
  return value;
}

/** ToolSearchConfig of the contract. @param {Block} block */
export function toMessage(block) {
  /** @type {Record<string, unknown>} */
  const message = {};
  for (const setting of SETTINGS) {
    const value = block[setting.key];
    if (Object.hasOwn(block, setting.key) && value !== null) {
      Object.assign(message, fieldOf(setting, value));
    }
  }
  return message;
}

/** @param {string} key */
const camel = (key) => key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

/** @param {Setting} setting @param {any} value @returns {Record<string, unknown>} */
function fieldOf({ key, shape, values = [], prefix = "" }, value) {
  const wrong = (/** @type {string} */ allowed) => new ConfigProblem(key, `allowed is ${allowed}`);
  switch (shape) {
    case "boolean":
      if (typeof value !== "boolean") {
        throw wrong("true or false");
      }
      break;
    case "choice":
      if (!values.includes(value)) {
        throw wrong(values.join(", "));
      }
      return { [camel(key)]: `${prefix}_${value.toUpperCase()}` };
    case "eager":
      if (value === "auto") {
        return { autoEager: true };
      }
    // falls through
    case "whole":
      if (!Number.isSafeInteger(value) || Math.abs(value) > 1e12) {
        throw wrong(shape === "eager" ? "auto, or a whole number from 1 to 100" : "a whole number");
      }
      if (["max_results", "min_eager"].includes(key) && Math.abs(value) > 1e9) {
        throw wrong("a whole number from 1 to 100");
      }
      break;
    case "share":
      if (typeof value !== "number") {
        throw wrong("a number above 0 up to 1");
      }
      break;
    case "text":
      if (typeof value !== "string") {
        throw wrong("text");
      }
      break;
    case "list":
      if (!isTexts(value)) {
        throw wrong("a list of texts");
      }
      break;
    case "patterns": {
      if (!isMapping(value) || !Object.values(value).every(isTexts)) {
        throw wrong("a mapping from servers to lists of patterns");
      }
      return { eagerTools: Object.fromEntries(Object.entries(value).map(([server, globs]) => [server, { globs }])) };
    }
    case "models":
      if (!Array.isArray(value) || !value.every(isMapping)) {
        throw wrong("a list of mappings");
      }
      return { models: value.map((model) => Object.fromEntries(Object.entries(model).map(([name, of]) => [camel(name), of]))) };
  }
  return { [camel(key)]: value };
}
