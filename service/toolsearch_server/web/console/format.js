/** Numbers, times and names as people read them. */

const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** @param {number | string} value */
export const count = (value) => WHOLE.format(Number(value));

/** @param {number | string} value */
export const short = (value) => SHORT.format(Number(value));

/** @param {number | string} number @param {string} one @param {string} [many] */
export const counted = (number, one, many = `${one}s`) => `${count(number)} ${Number(number) === 1 ? one : many}`;

/** @param {number | string} value */
export function bytes(value) {
  let size = Number(value);
  for (const unit of ["B", "KB", "MB"]) {
    if (size < 1000) {
      return `${Number(size.toPrecision(3))} ${unit}`;
    }
    size /= 1000;
  }
  return `${Number(size.toPrecision(3))} GB`;
}

/** @param {number} value */
export function seconds(value) {
  if (value < 1) {
    return `${Number((value * 1000).toPrecision(2))} ms`;
  }
  if (value < 120) {
    return `${Number(value.toPrecision(2))} s`;
  }
  if (value < 7200) {
    return `${Math.round(value / 60)} min`;
  }
  return value < 172800 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} days`;
}

/** A protobuf Duration: "1.5s". @param {string | undefined} text */
export const durationSeconds = (text) => (text ? Number.parseFloat(text) : 0);

/** @param {string} time */
export function ago(time) {
  const passed = (Date.now() - Date.parse(time)) / 1000;
  return Number.isNaN(passed) ? "unknown" : passed < 5 ? "just now" : `${seconds(Math.round(passed))} ago`;
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
  if (whole <= 0) {
    return "0%";
  }
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? "<1%" : `${Math.round(share)}%`;
}

/** "ENTRY_KIND_TOOL" → "tool". @param {string} name @param {string} prefix */
export const enumWord = (name, prefix) => name.replace(`${prefix}_`, "").toLowerCase().replaceAll("_", " ");

/** @param {import("./messages.js").Version | undefined} version */
export function freshness(version) {
  const stale = durationSeconds(version?.staleness);
  return stale > 0 ? `${seconds(stale)} stale` : "up to date";
}
