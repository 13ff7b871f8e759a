/** What stands where nothing else can: waiting, emptiness, failure. */

import { Refusal, Unreachable } from "./api.js";
import { foreign, h } from "./dom.js";

/** @param {string} text */
export function waiting(text) {
  return h("p", { class: "waiting", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), text);
}

/** @param {import("./dom.js").Children[]} children */
export function empty(...children) {
  return h("div", { class: "empty" }, children);
}

/** @param {import("./dom.js").Children[]} children */
export function notice(...children) {
  return h("p", { class: "notice" }, children);
}

/** What went wrong, why, and a way on. @param {unknown} error @param {() => void} [again] */
export function problem(error, again) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("strong", {}, titleOf(error)),
    h("p", {}, foreign(error instanceof Error ? error.message : String(error))),
    error instanceof Refusal && error.allowed !== "" && h("p", { class: "faint" }, "Allowed: ", foreign(error.allowed)),
    again && h("button", { type: "button", on: { click: again } }, "Try again"),
  );
}

/** @param {unknown} error */
function titleOf(error) {
  if (error instanceof Unreachable) {
    return "No connection";
  }
  if (!(error instanceof Refusal)) {
    return "This page failed";
  }
  switch (error.reason) {
    case "ROLE_DENIED":
      return "Your key's role does not allow this";
    case "TENANT_DENIED":
      return "Your key is not for this tenant";
    case "CATALOG_NOT_FOUND":
      return "There is no such catalog";
    case "RATE_LIMITED":
    case "OVERLOADED":
      return "Too many calls for the moment";
    default:
      return error.status === 403
        ? "Not allowed"
        : error.status >= 500
          ? "The service cannot answer now"
          : "The service refused this";
  }
}
