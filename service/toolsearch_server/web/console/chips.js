/** An input for several values: each becomes a chip; what there is is suggested while one types. */

import { fill, foreign, h, plain } from "./dom.js";

const MOST_SUGGESTED = 50;
let number = 0;

/**
 * @typedef {object} Chips
 * @property {HTMLElement} element
 * @property {(values: readonly string[]) => void} set without telling `changed`
 */

/**
 * @param {string} label @param {string} placeholder @param {readonly string[]} values
 * @param {(typed: string) => readonly string[] | Promise<readonly string[]>} known what may be meant, thousands are fine
 * @param {(values: string[]) => void} changed @returns {Chips}
 */
export function chips(label, placeholder, values, known, changed) {
  let chosen = [...values];
  const id = `chips-${++number}`;
  const suggestions = h("datalist", { id });
  const input = h("input", { list: id, placeholder, "aria-label": label, autocomplete: "off", spellcheck: "false" });
  const list = h("ul", { class: "chips", "aria-label": `${label}: chosen` });
  /** @type {readonly string[]} */
  let offered = [];

  const draw = () => {
    fill(
      list,
      chosen.map((value) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "chip", "aria-label": `Remove ${plain(value)}`, on: { click: () => remove(value) } },
            foreign(value),
            h("span", { "aria-hidden": "true" }, "×"),
          ),
        ),
      ),
    );
  };
  /** @param {string} value */
  const remove = (value) => {
    chosen = chosen.filter((each) => each !== value);
    draw();
    input.focus();
    changed(chosen);
  };
  const add = () => {
    const value = input.value.trim();
    input.value = "";
    if (value && !chosen.includes(value)) {
      chosen = [...chosen, value];
      draw();
      changed(chosen);
    }
  };
  const suggest = async () => {
    const typed = input.value.trim().toLowerCase();
    const all = await known(input.value.trim());
    /** @type {string[]} */
    const fitting = [];
    for (const value of all) {
      if (fitting.length < MOST_SUGGESTED && value.toLowerCase().includes(typed) && !chosen.includes(value)) {
        fitting.push(value);
      }
    }
    offered = fitting;
    fill(
      suggestions,
      fitting.map((value) => h("option", { value })),
    );
  };

  input.addEventListener("focus", () => void suggest());
  input.addEventListener("input", (event) => {
    // What was picked from the suggestions is not typed.
    const picked = !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
    if (picked && offered.includes(input.value)) {
      add();
    } else {
      void suggest();
    }
  });
  input.addEventListener("change", add);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && input.value === "" && chosen.length > 0) {
      remove(/** @type {string} */ (chosen.at(-1)));
    }
  });
  draw();
  return {
    element: h(
      "div",
      { class: "field" },
      h("span", { class: "label", "aria-hidden": "true" }, label),
      list,
      input,
      suggestions,
    ),
    set: (others) => {
      chosen = [...others];
      draw();
    },
  };
}
