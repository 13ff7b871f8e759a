/** Small pictures: bars with their numbers, and lines over time. */

import { h, s } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 120;

/** @typedef {{ label: import("./dom.js").Children, value: number, text: string, tone?: string }} Bar */

/** Horizontal bars, each with its label and number: the text is the picture's alternative. @param {readonly Bar[]} rows */
export function bars(rows) {
  const most = Math.max(1e-9, ...rows.map(({ value }) => value));
  return h(
    "ul",
    { class: "bars" },
    rows.map(({ label, value, text, tone = "" }) =>
      h(
        "li",
        {},
        h("span", { class: "bar-label" }, label),
        h(
          "span",
          { class: "bar-track", "aria-hidden": "true" },
          h("span", { class: `bar-value ${tone}`, style: { width: `${(100 * value) / most}%` } }),
        ),
        h("span", { class: "number" }, text),
      ),
    ),
  );
}

/** @typedef {{ name: string, colour: number, values: readonly (number | null)[] }} Series null: not known */

/**
 * Lines over time. A table beside it says the same.
 * @param {string} label @param {readonly number[]} times in seconds @param {readonly Series[]} series
 * @param {(value: number) => string} text @param {number} [least] the scale reaches this at least
 */
export function lines(label, times, series, text, least = 0) {
  const known = series.flatMap(({ values }) => values.filter((value) => value !== null));
  const top = roundUp(Math.max(least, 1e-9, ...known));
  const start = times[0] ?? 0;
  const span = Math.max(1, (times.at(-1) ?? 0) - start);
  const x = (/** @type {number} */ time) => ((time - start) / span) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - (value / top) * HEIGHT;

  const cursor = s("line", { y1: 0, y2: HEIGHT, class: "cursor", visibility: "hidden" });
  const summary = series
    .map(({ name, values }) => `${name} ${text(values.findLast((value) => value !== null) ?? 0)}`)
    .join(", ");
  const picture = s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${label}. Last: ${summary}` },
    [0, 0.5, 1].map((share) => s("line", { x1: 0, x2: WIDTH, y1: share * HEIGHT, y2: share * HEIGHT, class: "grid" })),
    series.map(({ colour, values }) =>
      s("path", { d: path(times, values, x, y), class: "curve", style: { stroke: `var(--series-${colour})` } }),
    ),
    cursor,
  );
  const readout = series.map(() => h("b", {}));
  const when = h("span", { class: "when" });
  /** @param {number} index */
  const read = (index) => {
    series.forEach(({ values }, number) => {
      const value = values[index];
      /** @type {HTMLElement} */ (readout[number]).textContent = value === null || value === undefined ? "–" : text(value);
    });
  };
  const rest = () => {
    read(times.length - 1);
    when.textContent = "";
    cursor.setAttribute("visibility", "hidden");
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const time = start + ((event.clientX - box.left) / box.width) * span;
    const index = nearest(times, time);
    cursor.setAttribute("x1", String(x(times[index] ?? start)));
    cursor.setAttribute("x2", String(x(times[index] ?? start)));
    cursor.setAttribute("visibility", "visible");
    when.textContent = new Date((times[index] ?? 0) * 1000).toLocaleTimeString();
    read(index);
  });
  picture.addEventListener("pointerleave", rest);
  rest();
  const clock = (/** @type {number} */ time) =>
    new Date(time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return h(
    "figure",
    { class: "chart" },
    h(
      "figcaption",
      {},
      h("span", { class: "h3" }, label),
      when,
      h(
        "span",
        { class: "legend" },
        series.map(({ name, colour }, index) =>
          h(
            "span",
            {},
            h("span", { class: "swatch", style: { "background-color": `var(--series-${colour})` } }),
            ` ${name} `,
            readout[index],
          ),
        ),
      ),
    ),
    h(
      "div",
      { class: "plot" },
      h(
        "div",
        { class: "axis", "aria-hidden": "true" },
        [1, 0.5, 0].map((share) => h("span", {}, text(share * top))),
      ),
      picture,
    ),
    h("div", { class: "hours", "aria-hidden": "true" }, h("span", {}, clock(start)), h("span", {}, clock(times.at(-1) ?? 0))),
  );
}

/**
 * @param {readonly number[]} times @param {readonly (number | null)[]} values
 * @param {(time: number) => number} x @param {(value: number) => number} y
 */
function path(times, values, x, y) {
  let drawing = false;
  return times
    .map((time, index) => {
      const value = values[index];
      if (value === null || value === undefined) {
        drawing = false;
        return "";
      }
      const alone = !drawing && (values[index + 1] ?? null) === null;
      const command = `${drawing ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}${alone ? "h2" : ""}`;
      drawing = true;
      return command;
    })
    .join("");
}

/** @param {readonly number[]} times in order @param {number} time */
function nearest(times, time) {
  const after = times.findIndex((each) => each >= time);
  if (after <= 0) {
    return after === 0 ? 0 : times.length - 1;
  }
  return time - (times[after - 1] ?? 0) < (times[after] ?? 0) - time ? after - 1 : after;
}

/** To 1, 2 or 5 times a power of ten. @param {number} value */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}
