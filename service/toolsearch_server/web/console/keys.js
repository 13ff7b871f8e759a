/** The keyboard: what works on every page, and the list of it. */

import { h } from "./dom.js";

const KEYS = [
  ["/", "to the search box"],
  ["↓ ↑", "through the matches"],
  ["← →", "between strategies"],
  ["Enter", "open what is chosen"],
  ["Esc", "close; from a match back to the search box"],
  ["g then p, c, l, h", "Playground, Catalogs, Plan, Health"],
  ["?", "this list"],
];
const LETTERS = new Map([
  ["p", 0],
  ["c", 1],
  ["l", 2],
  ["h", 3],
]);

export function showKeys() {
  const close = h("button", { type: "button" }, "Close");
  const dialog = h(
    "dialog",
    { class: "keys", "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "dl",
      {},
      KEYS.map(([keys = "", meaning]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, meaning)]),
    ),
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function listenForKeys() {
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
      return;
    }
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.closest("input:not([type=checkbox], [type=radio], [type=range]), textarea, select")) {
      return;
    }
    const page = LETTERS.get(event.key);
    if (event.key === "?") {
      showKeys();
    } else if (event.key === "/") {
      event.preventDefault();
      document.querySelector(/** @type {"input"} */ ("input[data-search]"))?.select();
    } else if (event.key === "g") {
      going = event.timeStamp;
    } else if (page !== undefined && event.timeStamp - going < 1500) {
      /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#header nav a"))[page]?.click();
    }
  });
}
