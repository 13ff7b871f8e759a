/** The part of the address after #: page and what is chosen there, so that a view can be shared. Never the key. */

export const PAGES = /** @type {const} */ (["playground", "catalogs", "plan", "health"]);

/** @typedef {typeof PAGES[number]} PageName */
/** @typedef {{ page: PageName, params: URLSearchParams }} Route */

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const page = PAGES.find((name) => name === path) ?? "playground";
  return { page, params: new URLSearchParams(query) };
}

/** @param {PageName} page @param {URLSearchParams} params */
export function formatRoute(page, params) {
  const query = params.toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}
