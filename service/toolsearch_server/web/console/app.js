/** The frame around the pages: who is signed in, which catalog is meant, which page is shown. */

import { allPages, hasKey, onRefusedIdentity, Refusal, status, useKey, useTenant } from "./api.js";
import { fill, h } from "./dom.js";
import { openEntry } from "./entry.js";
import { header } from "./header.js";
import { listenForKeys } from "./keys.js";
import { problem, waiting } from "./notices.js";
import { formatRoute, parseRoute } from "./route.js";
import { signInForm } from "./sign_in.js";

/**
 * What a page gets.
 * @typedef {object} View
 * @property {string} catalog
 * @property {import("./messages.js").Status} status
 * @property {import("./messages.js").CatalogListing[]} catalogs
 * @property {URLSearchParams} params from the address
 * @property {AbortSignal} signal aborted when the page is left
 * @property {(params: URLSearchParams) => void} remember puts what is chosen on the page into the address
 * @property {(catalog: string) => void} choose another catalog
 * @property {(text: string) => void} announce says something to those who listen instead of look
 * @property {(name: string) => void} open shows an entry in full
 */

/** @type {Record<import("./route.js").PageName, () => Promise<{ page: (view: View) => HTMLElement }>>} */
const MODULES = {
  playground: () => import("./playground.js"),
  catalogs: () => import("./catalogs.js"),
  plan: () => import("./plan.js"),
  health: () => import("./health.js"),
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const top = /** @type {HTMLElement} */ (document.getElementById("header"));
const announcements = /** @type {HTMLElement} */ (document.getElementById("announcements"));

let leaving = new AbortController();
let signingIn = false;
/** @type {import("./messages.js").Status | undefined} */
let known;
/** @type {import("./messages.js").CatalogListing[]} */
let catalogs = [];
/** The last address of each page, so that coming back finds it as it was. @type {Map<string, URLSearchParams>} */
const visited = new Map();

/** @param {string} text */
function announce(text) {
  announcements.textContent = text;
}

/** In the place of a page. @param {HTMLElement} content */
function standIn(content) {
  fill(main, h("h1", { class: "offscreen" }, "toolsearch"), content);
}

async function start() {
  signingIn = false;
  standIn(waiting("Connecting…"));
  try {
    known = await status();
    await showRoute();
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 401)) {
      standIn(problem(error, () => void start()));
    }
  }
}

/** @param {Refusal | undefined} refusal why, if a key was given */
function askForKey(refusal) {
  if (signingIn) {
    return; // calls that were under way together are refused together
  }
  signingIn = true;
  leaving.abort();
  known = undefined;
  const why = hasKey() ? refusal : undefined;
  useKey("");
  fill(top, header({ page: undefined, signOut: undefined, tenants: false }));
  fill(
    main,
    signInForm(why, (key) => {
      useKey(key);
      void start();
    }),
  );
  main.querySelector("input")?.focus();
}

async function showRoute() {
  if (known === undefined) {
    return;
  }
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { page, params } = parseRoute(location.hash);
  visited.set(page, params);
  useTenant(params.get("tenant") ?? "");
  drawHeader();
  standIn(waiting("Loading…"));
  try {
    const [module, listed] = await Promise.all([MODULES[page](), allPages("ListCatalogs", "catalogs", {}, signal)]);
    signal.throwIfAborted();
    catalogs = /** @type {import("./messages.js").CatalogListing[]} */ (listed);
    drawHeader();
    fill(main, module.page(viewOf(page, params, signal)));
    takeFocus();
    const entry = params.get("entry");
    if (entry) {
      show(entry);
    }
  } catch (error) {
    if (!signal.aborted) {
      standIn(problem(error, () => void showRoute()));
    }
  }
}

/** A page that one comes to has the focus; who chooses in the header stays there. */
function takeFocus() {
  if (document.activeElement === document.body || document.activeElement?.closest("nav")) {
    (main.querySelector(/** @type {"input"} */ ("input[data-first]")) ?? main).focus();
  }
}

/** @param {URLSearchParams} params */
function chosenCatalog(params) {
  const fallback = catalogs.some(({ name }) => name === "default") ? "default" : (catalogs[0]?.name ?? "default");
  return params.get("catalog") ?? fallback;
}

/** @param {import("./route.js").PageName} page @param {URLSearchParams} params @param {AbortSignal} signal @returns {View} */
function viewOf(page, params, signal) {
  return {
    catalog: chosenCatalog(params),
    status: /** @type {import("./messages.js").Status} */ (known),
    catalogs,
    params,
    signal,
    announce,
    choose,
    open: show,
    remember: (changed) => {
      for (const kept of ["catalog", "tenant"]) {
        const value = params.get(kept);
        if (value !== null) {
          changed.set(kept, value);
        }
      }
      visited.set(page, changed);
      history.replaceState(null, "", formatRoute(page, changed));
    },
  };
}

function drawHeader() {
  const { id, value } = /** @type {HTMLInputElement} */ (document.activeElement ?? document.body);
  const { page, params } = parseRoute(location.hash);
  const shared = new URLSearchParams();
  for (const name of ["catalog", "tenant"]) {
    const value = params.get(name);
    if (value !== null) {
      shared.set(name, value);
    }
  }
  fill(
    top,
    header({
      page,
      linkTo: (other) => {
        const before = new URLSearchParams(visited.get(other) ?? "");
        before.delete("entry");
        before.delete("catalog");
        before.delete("tenant");
        return formatRoute(other, new URLSearchParams([...shared, ...before]));
      },
      catalogs,
      catalog: chosenCatalog(params),
      choose,
      tenants: known !== undefined && (!known.credentials || known.caller.role === "admin"),
      tenant: params.get("tenant") ?? "",
      chooseTenant: (tenant) => go({ tenant, catalog: "" }),
      signOut: hasKey() ? () => askForKey(undefined) : undefined,
    }),
  );
  // What had the focus has it again, with what was typed.
  const again = id ? /** @type {HTMLInputElement | null} */ (top.querySelector(`#${CSS.escape(id)}`)) : null;
  again?.focus();
  if (again && id === "tenant") {
    again.value = value;
  }
}

/** @param {string} catalog */
function choose(catalog) {
  go({ catalog });
}

/** Another view of this page. @param {Record<string, string>} changes */
function go(changes) {
  const { page, params } = parseRoute(location.hash);
  params.delete("entry");
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") {
      params.delete(name);
    } else {
      params.set(name, value);
    }
  }
  visited.clear();
  location.hash = formatRoute(page, params);
}

/** An entry in full; the address says so as long as it is open. @param {string} name */
function show(name) {
  const { page, params } = parseRoute(location.hash);
  params.set("entry", name);
  history.replaceState(null, "", formatRoute(page, params));
  openEntry(chosenCatalog(params), name, leaving.signal, () => {
    const { page: current, params: after } = parseRoute(location.hash);
    after.delete("entry");
    history.replaceState(null, "", formatRoute(current, after));
  });
}

onRefusedIdentity(askForKey);
listenForKeys();
addEventListener("hashchange", () => void showRoute());
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault(); // the address is ours
  main.focus();
});
void start();
