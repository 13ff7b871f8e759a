/** What is asked on the playground: to and from the address, and as a request. */

export const STRATEGIES = ["auto", "bm25", "semantic", "hybrid", "regex", "fuzzy"];
export const KINDS = ["tool", "skill", "agent", "prompt", "resource"];
export const LIMITS = [5, 10, 25, 50, 100];
export const MOST_COLUMNS = 3;

/**
 * @typedef {object} SearchState
 * @property {string} query
 * @property {string[]} strategies side by side
 * @property {string[]} servers globs
 * @property {string[]} namespaces
 * @property {string[]} tags
 * @property {string[]} kinds
 * @property {boolean} readOnly
 * @property {boolean} harmless not destructive
 * @property {number} minRelevance
 * @property {number} limit
 */

/** @param {URLSearchParams} params @returns {SearchState} */
export function readState(params) {
  const strategies = STRATEGIES.filter((name) => params.getAll("s").includes(name)).slice(0, MOST_COLUMNS);
  const relevance = Number(params.get("relevance"));
  const limit = Number(params.get("limit"));
  return {
    query: params.get("q") ?? "",
    strategies: strategies.length > 0 ? strategies : ["auto"],
    servers: params.getAll("server"),
    namespaces: params.getAll("namespace"),
    tags: params.getAll("tag"),
    kinds: KINDS.filter((kind) => params.getAll("kind").includes(kind)),
    readOnly: params.has("readonly"),
    harmless: params.has("harmless"),
    minRelevance: relevance > 0 && relevance <= 1 ? relevance : 0,
    limit: LIMITS.includes(limit) ? limit : 10,
  };
}

/** @param {SearchState} state */
export function writeState(state) {
  const params = new URLSearchParams();
  /** @type {[string, readonly string[]][]} */
  const lists = [
    ["q", state.query ? [state.query] : []],
    ["s", state.strategies.join() === "auto" ? [] : state.strategies],
    ["server", state.servers],
    ["namespace", state.namespaces],
    ["tag", state.tags],
    ["kind", state.kinds],
    ["readonly", state.readOnly ? ["1"] : []],
    ["harmless", state.harmless ? ["1"] : []],
    ["relevance", state.minRelevance > 0 ? [String(state.minRelevance)] : []],
    ["limit", state.limit === 10 ? [] : [String(state.limit)]],
  ];
  for (const [name, values] of lists) {
    for (const value of values) {
      params.append(name, value);
    }
  }
  return params;
}

/** @param {SearchState} state @returns {import("./messages.js").Filter} */
export function filterOf(state) {
  return {
    ...(state.servers.length > 0 && { servers: state.servers }),
    ...(state.namespaces.length > 0 && { namespaces: state.namespaces }),
    ...(state.tags.length > 0 && { tags: state.tags }),
    ...(state.kinds.length > 0 && { kinds: state.kinds.map((kind) => `ENTRY_KIND_${kind.toUpperCase()}`) }),
    ...(state.readOnly && { readOnly: true }),
    ...(state.harmless && { destructive: false }),
  };
}

/** How many filters are set. @param {SearchState} state */
export function filterCount(state) {
  const relevance = state.minRelevance > 0 ? 1 : 0;
  return Object.keys(filterOf(state)).length + relevance;
}

/** @param {string} catalog @param {SearchState} state @param {string} strategy */
export function searchRequest(catalog, state, strategy) {
  return {
    catalog,
    queries: [state.query],
    strategy: `STRATEGY_${strategy.toUpperCase()}`,
    limit: state.limit,
    filter: filterOf(state),
    minRelevance: state.minRelevance,
    explain: true,
  };
}

/** A glob that fits this name only. @param {string} name */
export const exactGlob = (name) => name.replace(/[[*?]/g, "[$&]");
