/**
 * Calls to the service: JSON by POST, streams as server-sent events. The API key lives in this module's memory
 * and nowhere else.
 */

/** @typedef {{ field: string, description: string }} Violation */
/** @typedef {{ "@type"?: string, reason?: string, metadata?: Record<string, string>, fieldViolations?: Violation[] }} Detail */

let key = "";
let tenant = "";
/** @type {(refusal: Refusal) => void} */
let refused = () => {};

/** What the service refused or could not do. */
export class Refusal extends Error {
  /** @param {number} status @param {{ message?: string, details?: Detail[] }} body */
  constructor(status, body) {
    super(body.message ?? `the service answered with HTTP ${status}`);
    const details = Array.isArray(body.details) ? body.details : [];
    const info = details.find((detail) => detail.reason !== undefined);
    this.status = status;
    this.reason = info?.reason ?? "";
    this.field = info?.metadata?.["field"] ?? "";
    this.allowed = info?.metadata?.["allowed"] ?? "";
    this.violations = details.flatMap((detail) => detail.fieldViolations ?? []);
  }
}

/** The service cannot be reached. */
export class Unreachable extends Error {}

/** @param {string} newKey */
export function useKey(newKey) {
  key = newKey.trim();
}

/** Whether a header can carry it. @param {string} text */
export const mayBeKey = (text) => /^[!-~]+$/.test(text.trim());

export function hasKey() {
  return key !== "";
}

/** For administrators, and for servers without credentials; empty: the caller's own. @param {string} name */
export function useTenant(name) {
  tenant = name;
}

/** `listener` hears when a call is refused because of who is calling. @param {(refusal: Refusal) => void} listener */
export function onRefusedIdentity(listener) {
  refused = listener;
}

/**
 * @template Response
 * @param {string} method of either service @param {object} request @param {AbortSignal} [signal] @returns {Promise<Response>}
 */
export async function call(method, request, signal) {
  const response = await send(`v1/${method}`, { method: "POST", body: JSON.stringify(request) }, signal);
  return await response.json();
}

/** @param {AbortSignal} [signal] @returns {Promise<import("./messages.js").Status>} */
export async function status(signal) {
  return await (await send("v1/status", {}, signal)).json();
}

/** @param {string} path @param {RequestInit} init @param {AbortSignal} [signal] */
async function send(path, init, signal) {
  /** @type {Record<string, string>} */
  const headers = { "content-type": "application/json" };
  if (key) {
    headers["authorization"] = `Bearer ${key}`;
  }
  if (tenant) {
    // Header values are bytes: names beyond ASCII travel as their UTF-8.
    headers["x-toolsearch-tenant"] = String.fromCharCode(...new TextEncoder().encode(tenant));
  }
  let response;
  try {
    response = await fetch(path, { ...init, headers, signal: signal ?? null, cache: "no-store", credentials: "omit" });
  } catch (error) {
    signal?.throwIfAborted();
    throw new Unreachable("the service cannot be reached", { cause: error });
  }
  if (!response.ok) {
    const refusal = new Refusal(response.status, await response.json().catch(() => ({})));
    if (response.status === 401) {
      refused(refusal);
    }
    throw refusal;
  }
  return response;
}

/**
 * The messages of a stream, until it ends.
 * @template Message
 * @param {string} method @param {object} request @param {AbortSignal} signal @returns {AsyncGenerator<Message, void>}
 */
export async function* stream(method, request, signal) {
  const response = await send(`v1/${method}`, { method: "POST", body: JSON.stringify(request) }, signal);
  if (response.body === null) {
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) {
        return;
      }
      const events = (rest + value.replaceAll("\r", "")).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        const message = parsed(event);
        if (message !== undefined) {
          yield message;
        }
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Refusal ? error : new Unreachable("the connection was lost", { cause: error });
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** @param {string} event @returns {any} undefined for comments, which keep the connection alive */
function parsed(event) {
  const lines = event.split("\n");
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
  if (data.length === 0) {
    return undefined;
  }
  const message = JSON.parse(data.join("\n"));
  if (lines.some((line) => line.startsWith("event:") && line.slice(6).trim() === "error")) {
    throw new Refusal(0, message);
  }
  return message;
}

/**
 * All pages of a list.
 * @template Item
 * @param {string} method @param {string} field @param {object} request @param {AbortSignal} [signal] @returns {Promise<Item[]>}
 */
export async function allPages(method, field, request, signal) {
  /** @type {Item[]} */
  const items = [];
  let pageToken = "";
  do {
    /** @type {any} */
    const page = await call(method, { ...request, pageSize: 1000, pageToken }, signal);
    for (const item of page[field]) {
      items.push(item);
    }
    pageToken = page.nextPageToken;
  } while (pageToken);
  return items;
}
