/** The bar on top: pages, tenant, catalog, theme, keys, signing out. */

import { allPages } from "./api.js";
import { fill, h, plain } from "./dom.js";
import { count } from "./format.js";
import { showKeys } from "./keys.js";
import { PAGES } from "./route.js";

/**
 * @typedef {object} Frame
 * @property {import("./route.js").PageName | undefined} page undefined: nobody is signed in
 * @property {(page: import("./route.js").PageName) => string} [linkTo]
 * @property {import("./messages.js").CatalogListing[]} [catalogs]
 * @property {string} [catalog]
 * @property {(name: string) => void} [choose]
 * @property {boolean} tenants whether another tenant may be chosen
 * @property {string} [tenant]
 * @property {(name: string) => void} [chooseTenant]
 * @property {(() => void) | undefined} signOut
 */

/** @param {Frame} frame */
export function header(frame) {
  const buttons = h("div", { class: "buttons" }, themeButton(), keysButton());
  if (frame.signOut) {
    buttons.append(h("button", { type: "button", class: "quiet", on: { click: frame.signOut } }, "Sign out"));
  }
  if (frame.page === undefined) {
    return [brand(), buttons];
  }
  return [
    brand(),
    navigation(frame),
    h("div", { class: "choices" }, frame.tenants && tenantInput(frame), catalogSelect(frame)),
    buttons,
  ];
}

function brand() {
  return h("div", { class: "brand" }, h("img", { src: "icon.svg", alt: "", width: 20, height: 20 }), "toolsearch");
}

/** @param {Frame} frame */
function navigation({ page, linkTo }) {
  return h(
    "nav",
    { "aria-label": "Pages" },
    PAGES.map((name) =>
      h(
        "a",
        { id: `to-${name}`, href: linkTo?.(name), "aria-current": name === page && "page" },
        name[0]?.toUpperCase() + name.slice(1),
      ),
    ),
  );
}

/** @param {Frame} frame */
function catalogSelect({ catalogs = [], catalog = "", choose }) {
  const names = catalogs.map((each) => each.name);
  const select = h(
    "select",
    { id: "catalog", "aria-label": "Catalog", title: "Catalog" },
    !names.includes(catalog) && h("option", { value: catalog }, `${plain(catalog)} (none)`),
    catalogs.map((each) => h("option", { value: each.name }, `${plain(each.name)} · ${count(each.entryCount)}`)),
  );
  select.value = catalog;
  select.addEventListener("change", () => choose?.(select.value));
  return h("label", { class: "choice" }, h("span", {}, "Catalog"), select);
}

/** @param {Frame} frame */
function tenantInput({ tenant = "", chooseTenant }) {
  const options = h("datalist", { id: "tenants" });
  const input = h("input", {
    id: "tenant",
    list: "tenants",
    value: tenant,
    placeholder: "own",
    size: 10,
    autocomplete: "off",
    spellcheck: "false",
  });
  input.addEventListener(
    "focus",
    () => {
      void allPages("ListTenants", "tenants", {}).then(
        (tenants) =>
          fill(
            options,
            /** @type {import("./messages.js").TenantListing[]} */ (tenants).map(({ name }) => h("option", { value: name })),
          ),
        () => {}, // a name can be typed all the same
      );
    },
    { once: true },
  );
  input.addEventListener("change", () => chooseTenant?.(input.value.trim()));
  return h("label", { class: "choice" }, h("span", {}, "Tenant"), input, options);
}

function themeButton() {
  const label = () => `Theme: ${document.documentElement.dataset["theme"] ?? "auto"}`;
  const button = h("button", { type: "button", class: "quiet icon", title: label(), "aria-label": label() }, "◐");
  button.addEventListener("click", () => {
    document.dispatchEvent(new Event("toolsearch-theme"));
    button.title = label();
    button.setAttribute("aria-label", label());
  });
  return button;
}

function keysButton() {
  return h(
    "button",
    { type: "button", class: "quiet icon", title: "Keys (?)", "aria-label": "Keys", on: { click: showKeys } },
    "?",
  );
}
