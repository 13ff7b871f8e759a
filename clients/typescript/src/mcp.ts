/** The JSON of tools, from MCP servers and to models. */

import type { Definition, Entry } from "./types.js";

/**
 * The tools in what an MCP server said, for `syncServer` or `applyChanges`: the answer to tools/list (with or without its JSON-RPC
 * envelope), an array of tools, or one tool; as a value, or as JSON text, which may also be one of these a line.
 */
export function toolsFromMcp(data: unknown): Definition[] {
  const values = typeof data === "string" ? jsonValues(data.replace(/^\ufeff/, "")) : [data];
  return values.flatMap(unwrapped).map((tool, index) => {
    if (!isObject(tool) || typeof tool["name"] !== "string" || tool["name"] === "") {
      throw new TypeError(`tool ${index + 1}: expected a JSON object with a name`);
    }
    return tool as Definition;
  });
}

/**
 * An entry's definition, read with detail "full", under the name that model providers accept: its alias. When the model calls the
 * tool by it, the entry's `server` and `localName` say what to call.
 */
export function toolForModel(entry: Pick<Entry, "name" | "alias" | "definition">): Definition {
  if (entry.definition === undefined) {
    throw new TypeError(`${entry.name} has no definition: ask for it with detail "full"`);
  }
  return { ...entry.definition, name: entry.alias };
}

function jsonValues(text: string): unknown[] {
  if (text.trim() === "") {
    throw new TypeError("empty; no tools at all is spelled []");
  }
  try {
    return [JSON.parse(text)];
  } catch {
    return jsonLines(text);
  }
}

function jsonLines(text: string): unknown[] {
  return text.split("\n").flatMap((line, index): unknown[] => {
    if (line.trim() === "") {
      return [];
    }
    try {
      return [JSON.parse(line)];
    } catch (error) {
      throw new TypeError(`neither JSON nor JSON lines: line ${index + 1}: ${(error as Error).message}`, { cause: error });
    }
  });
}

/** The tools in a value that may be an answer to tools/list, an array, or itself a tool. */
function unwrapped(value: unknown): unknown[] {
  if (Array.isArray(value)) {
    return value;
  }
  if (!isObject(value) || "name" in value) {
    return [value];
  }
  const inner = value["tools"] ?? value["result"];
  return inner === undefined || inner === null ? [value] : unwrapped(inner);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
