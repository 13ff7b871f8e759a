import assert from "node:assert/strict";
import { test } from "node:test";
import { toolForModel, toolsFromMcp } from "toolsearch";

const both = [{ name: "a" }, { name: "b" }];

test("tools are read from whatever they come in", () => {
  const ways: [how: string, data: unknown][] = [
    ["an answer to tools/list", '{"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "x"}'],
    ["with its JSON-RPC", '{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}]}}'],
    ["an array", '[{"name": "a"}, {"name": "b"}]'],
    ["one a line", '{"name": "a"}\n\n{"name": "b"}\r\n'],
    ["pages of answers", '{"tools": [{"name": "a"}]}\n{"tools": [{"name": "b"}]}\n'],
    ["with a byte order mark", '\ufeff[{"name": "a"}, {"name": "b"}]'],
    ["a value", { tools: both }],
    ["an array of values", both],
  ];
  for (const [how, data] of ways) {
    assert.deepEqual(toolsFromMcp(data), both, how);
  }
  assert.deepEqual(toolsFromMcp('{"tools": []}'), []);
  assert.equal(toolsFromMcp('{"name": "a", "tools": [1]}').length, 1);
});

test("what are no tools is refused, and the error says where", () => {
  const refused: [data: unknown, where: RegExp][] = [
    ["", /empty/],
    [" \n", /empty/],
    ['{"name": "a"}\nnonsense\n', /line 2/],
    ['[{"name": "a"}, {"title": "b"}]', /tool 2/],
    ['[{"name": "a"}, 7]', /tool 2/],
    ['[{"name": 7}]', /tool 1/],
    ['[{"name": ""}]', /tool 1/],
    ["null", /tool 1/],
    [undefined, /tool 1/],
    [{ tools: null }, /tool 1/],
  ];
  for (const [data, where] of refused) {
    assert.throws(() => toolsFromMcp(data), where);
  }
});

test("a model gets the definition under the alias", () => {
  const entry = { name: "github.open_issue", alias: "github_open_issue" };
  const definition = { name: "open_issue", inputSchema: { type: "object" } };
  assert.deepEqual(toolForModel({ ...entry, definition }), { ...definition, name: "github_open_issue" });
  assert.equal(definition.name, "open_issue");
  assert.throws(() => toolForModel({ ...entry, definition: undefined }), /github.open_issue has no definition.*"full"/);
});
