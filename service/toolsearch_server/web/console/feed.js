/** What changes in a catalog, as it changes. A lost connection is taken up where it was lost, with growing pauses. */

import { Refusal, stream } from "./api.js";
import { fill, foreign, h } from "./dom.js";
import { counted } from "./format.js";

const KEPT = 50;
const NAMES = 6;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;

/** @typedef {import("./messages.js").WatchCatalogResponse} Event */

/** @param {import("./app.js").View} view @param {() => void} changed the catalog is another now */
export function feed(view, changed) {
  const state = h("p", { class: "feed-state", role: "status" });
  const list = h("ol", { class: "feed" });
  const nothing = h("p", { class: "faint" }, "Nothing has changed since this page was opened.");

  /** @param {string} tone @param {string} text */
  const tell = (tone, text) => fill(state, h("span", { class: `dot ${tone}`, "aria-hidden": "true" }), text);
  /** @param {Event} event */
  const show = (event) => {
    nothing.hidden = true;
    list.prepend(item(event, view.open));
    while (list.children.length > KEPT) {
      list.lastElementChild?.remove();
    }
  };
  void follow(view, {
    connected: () => tell("good", "live"),
    waiting: (seconds) => tell("warn", `not connected; trying again in ${seconds} s`),
    ended: (text) => tell("bad", text),
    event: (event) => {
      if (event.current === undefined) {
        show(event);
        changed();
      }
    },
  });
  tell("warn", "connecting…");
  return h("div", {}, state, nothing, list);
}

/**
 * @param {import("./app.js").View} view
 * @param {object} on
 * @param {() => void} on.connected
 * @param {(seconds: number) => void} on.waiting
 * @param {(text: string) => void} on.ended
 * @param {(event: Event) => void} on.event
 */
async function follow({ catalog, signal }, on) {
  let pause = FIRST_PAUSE;
  /** @type {import("./messages.js").Version | undefined} */
  let version;
  while (!signal.aborted) {
    const from = version && { fromRevision: version.revision, epoch: version.epoch };
    try {
      for await (const event of /** @type {AsyncGenerator<Event>} */ (stream("WatchCatalog", { catalog, ...from }, signal))) {
        version = event.version;
        pause = FIRST_PAUSE;
        on.connected();
        on.event(event);
        if (event.deleted !== undefined) {
          on.ended("the catalog was deleted");
          return;
        }
      }
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      if (error instanceof Refusal && [400, 401, 403, 404].includes(error.status)) {
        on.ended(error.message);
        return;
      }
    }
    on.waiting(Math.ceil(pause / 1000));
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  }
}

/** @param {Event} event @param {(name: string) => void} open */
function item({ version, changed, snapshotNeeded, deleted }, open) {
  return h(
    "li",
    {},
    h(
      "p",
      { class: "feed-head" },
      h("strong", {}, `revision ${version.revision}`),
      " ",
      h("span", { class: "faint" }, new Date().toLocaleTimeString()),
    ),
    changed && [
      names("+", "added or changed", changed.upsertedNames, open),
      names("−", "deleted", changed.deletedNames, undefined),
      changed.settingsChanged && h("p", {}, "The catalog's settings are others."),
    ],
    snapshotNeeded && h("p", {}, "More has changed than is remembered: everything was read anew."),
    deleted && h("p", {}, "The catalog was deleted."),
  );
}

/**
 * @param {string} sign @param {string} what @param {readonly string[]} all
 * @param {((name: string) => void) | undefined} open
 */
function names(sign, what, all, open) {
  return (
    all.length > 0 &&
    h(
      "p",
      { class: sign === "+" ? "added" : "removed" },
      h("span", { class: "sign", "aria-hidden": "true" }, sign),
      h(
        "span",
        {},
        `${counted(all.length, "entry", "entries")} ${what}: `,
        all
          .slice(0, NAMES)
          .map((name, index) => [
            index > 0 && ", ",
            open
              ? h("button", { type: "button", class: "link", on: { click: () => open(name) } }, foreign(name))
              : foreign(name),
          ]),
        all.length > NAMES && `, and ${all.length - NAMES} more`,
      ),
    )
  );
}
