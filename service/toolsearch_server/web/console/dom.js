/**
 * Elements. Text only ever becomes text nodes: nothing in the console reads markup from a string, so what other people write in
 * descriptions cannot become any.
 */

/** @typedef {import("./children.js").Child} Child */
/** @typedef {import("./children.js").Children} Children */
/** @typedef {Record<string, unknown>} Props */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `on` holds listeners, `style` custom properties and styles, `value` and `checked` are set as properties, all else
 * are attributes; null, undefined and false leave one out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Props} [props] @param {Children[]} children @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  setProps(element, props);
  append(element, children);
  return element;
}

/**
 * The same for pictures.
 * @param {string} tag @param {Props} [props] @param {Children[]} children @returns {SVGElement}
 */
export function s(tag, props = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  setProps(element, props);
  append(element, children);
  return element;
}

/** @param {HTMLElement | SVGElement} element @param {Props} props */
function setProps(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (name === "on") {
      for (const [event, listener] of Object.entries(/** @type {Record<string, EventListener>} */ (value))) {
        element.addEventListener(event, listener);
      }
    } else if (name === "style") {
      for (const [property, text] of Object.entries(/** @type {Record<string, string>} */ (value))) {
        element.style.setProperty(property, text);
      }
    } else if (name === "value" || name === "checked") {
      Object.assign(element, { [name]: value });
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** @param {Node} parent @param {readonly Children[]} children */
function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) {
      append(parent, child);
    } else if (child instanceof Node) {
      parent.appendChild(child);
    } else if (typeof child === "string" || typeof child === "number") {
      parent.appendChild(document.createTextNode(String(child)));
    }
  }
}

/** Puts `children` in the place of what is in `parent`. @param {Element} parent @param {Children[]} children */
export function fill(parent, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  parent.replaceChildren(fragment);
}

/**
 * What a reader would not see, or would see in another place: control characters, marks that turn the direction of writing,
 * spaces without width, tag characters (which hide whole sentences), halves of characters. Tab and line feed are fine.
 */
const UNSEEN = new RegExp(
  "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}\\p{Surrogate}]",
  "gu",
);

/**
 * Other people's text: isolated, so that it cannot turn the text around it, with what is unseen shown as its number.
 * @param {string} text @param {Props} [props]
 */
export function foreign(text, props = {}) {
  return h("bdi", props, visible(text));
}

/** @param {string} text @returns {Child[]} */
export function visible(text) {
  /** @type {Child[]} */
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const number = /** @type {number} */ (found[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
    parts.push(text.slice(end, found.index), h("span", { class: "unseen" }, `U+${number}`));
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  return parts.filter((part) => part !== "");
}

/** The same as plain text, for attributes such as aria-label. @param {string} text */
export function plain(text) {
  return text.replace(UNSEEN, "\u{fffd}");
}

/**
 * A button that copies, and says so. Where the page may not write to the clipboard (plain http to another machine), a selection
 * does the same.
 * @param {string} label @param {() => string} text
 */
export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "quiet copy" }, label);
  let timer = 0;
  button.addEventListener("click", () => {
    void copied(text()).then((done) => {
      fill(button, done ? "Copied" : "Copying failed");
      clearTimeout(timer);
      timer = setTimeout(() => fill(button, label), 1500);
    });
  });
  return button;
}

/** @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "offscreen", value: text });
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/**
 * What is opened is made when it is opened first.
 * @param {Children} title @param {() => Children} content @param {Props} [props]
 */
export function disclosure(title, content, props = {}) {
  const body = h("div", { class: "disclosed" });
  const element = h("details", props, h("summary", {}, title), body);
  const open = () => {
    if (element.open && !body.hasChildNodes()) {
      fill(body, content());
    }
  };
  element.addEventListener("toggle", open);
  open();
  return element;
}
