/** The configuration of a plan: a form and its JSON, each of which follows the other. */

import { ConfigProblem, parseBlock, SETTINGS } from "./config.js";
import { disclosure, fill, foreign, h } from "./dom.js";

/** @typedef {import("./config.js").Block} Block */
/** @typedef {{ element: HTMLElement, show: (block: Block) => void, wrong: HTMLElement, input: HTMLElement }} Control */

/** @param {Block} first @param {(block: Block) => void} changed */
export function configForm(first, changed) {
  let block = first;
  const json = h("textarea", {
    rows: 8,
    class: "json",
    spellcheck: "false",
    "aria-label": "Configuration as JSON",
    "aria-describedby": "json-wrong",
  });
  const jsonWrong = h("span", { id: "json-wrong", class: "wrong", role: "alert" });
  /** @type {Map<string, Control>} */
  const controls = new Map();
  const showJson = () => {
    json.value = JSON.stringify(block, null, 2);
    mark(json, jsonWrong, "");
  };
  for (const setting of SETTINGS) {
    if (setting.shape !== "models") {
      controls.set(
        setting.key,
        controlOf(setting, (value) => {
          const { [setting.key]: _, ...others } = block;
          block = value === undefined ? others : { ...others, [setting.key]: value };
          showJson();
          changed(block);
        }),
      );
    }
  }
  const showAll = () => controls.forEach((control) => control.show(block));
  json.addEventListener("input", () => {
    try {
      block = parseBlock(json.value);
      mark(json, jsonWrong, "");
      showAll();
      changed(block);
    } catch (error) {
      mark(json, jsonWrong, error instanceof ConfigProblem ? error.message : String(error));
    }
  });
  showAll();
  showJson();
  return {
    element: h(
      "div",
      { class: "form" },
      [...controls.values()].map(({ element }) => element),
      disclosure("As JSON, to copy from and to", () => h("div", { class: "field" }, json, jsonWrong), {
        open: Object.hasOwn(first, "models"),
      }),
    ),
    /**
     * Says what is wrong at the field that it is about; false: there is no such field. @param {string} key
     * @param {string} text
     */
    complain: (key, text) => {
      const control = controls.get(key);
      if (control !== undefined) {
        mark(control.input, control.wrong, text);
      } else if (key === "models") {
        mark(json, jsonWrong, text);
      }
      return control !== undefined || key === "models";
    },
    content: () => {
      controls.forEach(({ input, wrong }) => mark(input, wrong, ""));
      mark(json, jsonWrong, "");
    },
  };
}

/** @param {HTMLElement} input @param {HTMLElement} place @param {string} text empty: nothing is wrong */
function mark(input, place, text) {
  input.setAttribute("aria-invalid", String(text !== ""));
  fill(place, text !== "" && foreign(text));
}

/**
 * @param {import("./config.js").Setting} setting @param {(value: unknown) => void} changed undefined: unset
 * @returns {Control}
 */
function controlOf({ key, shape, label, about, values }, changed) {
  const wrong = h("span", { id: `wrong-${key}`, class: "wrong", role: "alert" });
  const options = shape === "boolean" ? ["true", "false"] : values;
  const described = { "aria-describedby": wrong.id, name: key, autocomplete: "off", spellcheck: "false" };
  const input = options
    ? h(
        "select",
        described,
        h("option", { value: "" }, `${about} (default)`),
        options.map((each) => h("option", { value: each }, each)),
      )
    : shape === "patterns"
      ? h("textarea", { ...described, rows: 2, placeholder: about })
      : h("input", { ...described, placeholder: about, inputmode: shape === "whole" ? "numeric" : false });
  input.addEventListener(options ? "change" : "input", () => changed(valueOf(shape, input.value.trim())));
  return {
    input,
    wrong,
    element: h(
      "label",
      { class: `field ${["patterns", "list"].includes(shape) ? "whole" : ""}` },
      h("span", { class: "label" }, label),
      input,
      wrong,
    ),
    show: (block) => {
      input.value = textOf(shape, block[key]);
    },
  };
}

/** @param {import("./config.js").Shape} shape @param {string} text @returns {unknown} */
function valueOf(shape, text) {
  if (text === "") {
    return undefined;
  }
  switch (shape) {
    case "boolean":
      return text === "true";
    case "whole":
    case "share":
    case "eager":
      return Number.isNaN(Number(text)) ? text : Number(text);
    case "list":
      return listOf(text);
    case "patterns":
      return Object.fromEntries(
        text
          .split("\n")
          .filter((line) => line.trim())
          .map((line) => {
            const end = line.lastIndexOf(":");
            return end < 0 ? [line.trim(), ["*"]] : [line.slice(0, end).trim(), listOf(line.slice(end + 1))];
          }),
      );
    default:
      return text;
  }
}

/** @param {import("./config.js").Shape} shape @param {any} value @returns {string} */
function textOf(shape, value) {
  if (value === undefined || value === null) {
    return "";
  }
  if (shape === "list" && Array.isArray(value)) {
    return value.join(", ");
  }
  if (shape === "patterns" && typeof value === "object") {
    return Object.entries(value)
      .map(([server, globs]) => `${server}: ${Array.isArray(globs) ? globs.join(", ") : globs}`)
      .join("\n");
  }
  return String(value);
}

/** @param {string} text */
const listOf = (text) =>
  text
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
