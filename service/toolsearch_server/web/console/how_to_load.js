/** There is nothing to search yet: how to change that. */

import { h } from "./dom.js";

const WAYS = [
  ["From a file: an MCP tools/list result, a JSON array, or JSON lines", "toolsearch load my-tools.json --server my-server"],
  ["From folders of skills", "toolsearch load ~/.claude/skills"],
  ["From MCP servers, followed for as long as the service runs", "toolsearch-server serve --mcp-config mcp.json"],
];

export function howToLoad() {
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, "There is nothing in this catalog yet"),
    WAYS.map(([text = "", command = ""]) => [h("p", {}, text), h("pre", { class: "code" }, command)]),
  );
}
