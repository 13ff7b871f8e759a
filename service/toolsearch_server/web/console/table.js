/** Tables of any length: sorted, filtered, a page at a time. */

import { fill, h } from "./dom.js";
import { count } from "./format.js";

const PAGE = 25;

/**
 * @template Row
 * @typedef {object} TableColumn
 * @property {string} title
 * @property {(row: Row) => string | number} value to sort by
 * @property {(row: Row) => import("./dom.js").Children} [cell] what is shown, if not the value
 * @property {boolean} [wide] takes what room is left
 */

/**
 * @template Row
 * @param {object} options
 * @param {string} options.label
 * @param {readonly TableColumn<Row>[]} options.columns
 * @param {readonly Row[]} options.rows
 * @param {(row: Row) => string} [options.text] to filter by
 * @param {number} [options.sort] column that is sorted by at first
 * @param {(row: Row) => boolean} [options.current] the row that is chosen
 */
export function table({ label, columns, rows, text, sort = 0, current }) {
  let all = rows;
  let sorted = sort;
  let descending = typeof rows[0] !== "undefined" && typeof columns[sort]?.value(rows[0]) === "number";
  let first = 0;

  const filter = h("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": `Filter ${label}`,
    autocomplete: "off",
    spellcheck: "false",
  });
  const heads = columns.map((column, index) => {
    const button = h("button", { type: "button", class: "sort", on: { click: () => sortBy(index) } }, column.title);
    return h("th", { scope: "col" }, button);
  });
  const body = h("tbody");
  const place = h("span", { class: "faint", "aria-live": "polite" });
  const earlier = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Earlier rows", on: { click: () => turn(-PAGE) } },
    "‹",
  );
  const later = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Later rows", on: { click: () => turn(PAGE) } },
    "›",
  );
  const pager = h("div", { class: "pager" }, filter, place, h("span", {}, earlier, later));

  /** @param {number} index */
  const sortBy = (index) => {
    const sample = all[0];
    descending = index === sorted ? !descending : sample !== undefined && typeof columns[index]?.value(sample) === "number";
    sorted = index;
    first = 0;
    draw();
  };
  /** @param {number} by */
  const turn = (by) => {
    first += by;
    draw();
  };
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase();
    const fitting = wanted && text ? all.filter((row) => text(row).toLowerCase().includes(wanted)) : [...all];
    const value = columns[sorted]?.value ?? (() => 0);
    fitting.sort((left, right) => {
      const [a, b] = descending ? [value(right), value(left)] : [value(left), value(right)];
      return a < b ? -1 : a > b ? 1 : 0;
    });
    first = Math.max(0, Math.min(first, Math.floor((fitting.length - 1) / PAGE) * PAGE));
    const shown = fitting.slice(first, first + PAGE);
    heads.forEach((head, index) => {
      const order = descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", index === sorted ? order : "none");
    });
    fill(
      body,
      shown.map((row) =>
        h(
          "tr",
          { "aria-current": current?.(row) && "true" },
          columns.map((column) => {
            const of = column.value(row);
            return h(
              "td",
              { class: [typeof of === "number" && "numeric", column.wide && "wide"].filter(Boolean).join(" ") },
              column.cell ? column.cell(row) : typeof of === "number" ? count(of) : of,
            );
          }),
        ),
      ),
      shown.length === 0 &&
        h(
          "tr",
          {},
          h("td", { colspan: columns.length, class: "faint" }, all.length > 0 ? "Nothing fits the filter." : "Nothing."),
        ),
    );
    const sample = all[0];
    heads.forEach((head, index) =>
      head.classList.toggle("numeric", sample !== undefined && typeof columns[index]?.value(sample) === "number"),
    );
    pager.hidden = all.length <= PAGE;
    filter.hidden = text === undefined;
    fill(
      place,
      fitting.length === 0 ? "none" : `${count(first + 1)}–${count(first + shown.length)} of ${count(fitting.length)}`,
    );
    earlier.disabled = first === 0;
    later.disabled = first + PAGE >= fitting.length;
  };
  filter.addEventListener("input", () => {
    first = 0;
    draw();
  });
  draw();
  return {
    element: h(
      "div",
      { class: "table" },
      pager,
      h(
        "div",
        { class: "scrolled", tabindex: 0, role: "region", "aria-label": label },
        h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, heads)), body),
      ),
    ),
    /** @param {readonly Row[]} others */
    update: (others) => {
      all = others;
      draw();
    },
  };
}
