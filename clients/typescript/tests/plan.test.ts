/** Plans, usage, settings and resources: what the vectors do not cover. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test, type TestContext } from "node:test";
import { toJson } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { type CatalogSettings, type Client, InvalidRequest, type ToolSearchConfig, Unavailable } from "toolsearch";
import { ToolSearchConfigSchema } from "toolsearch/v1";
import { serve } from "./scripted.js";
import { connect, newTenant, Server, tool } from "./server.js";

const server = await Server.launch();
after(() => server.kill());

/** A client of the server, as a tenant that nobody else is, with tools s.a to s.f. */
async function connected(t: TestContext): Promise<Client> {
  const client = connect(t, server.address, { tenant: newTenant() });
  await client.syncServer(
    "s",
    ["a", "b", "c", "d", "e", "f"].map((name) => tool(name)),
  );
  return client;
}

/** The configuration that arrives at the service. */
async function sent(t: TestContext, config: ToolSearchConfig): Promise<unknown> {
  let arrived: unknown;
  const target = await serve(t, {
    plan: (request) => {
      arrived = request.config && toJson(ToolSearchConfigSchema, request.config);
    },
  });
  await connect(t, target).planTools("anthropic", "claude-sonnet-5", { config });
  return arrived;
}

test("every member of a configuration reaches the service", async (t) => {
  const config: Required<ToolSearchConfig> = {
    enabled: false,
    scope: "all",
    strategy: "bm25",
    eagerTools: { s: ["a*", "b"], none: [], ["__proto__"]: ["c"] },
    maxResults: 7,
    alwaysLoad: false,
    minTokens: 0,
    minContextShare: 0.5,
    minEager: 3,
    execution: "provider",
    fallback: "load",
    searchToolName: "look",
    localServers: ["mine*"],
    preloadTokens: 0,
    models: [{ model: "x-*", provider: "openai", toolSearch: false, contextWindow: 400_000 }, { model: "y" }],
  };
  assert.deepEqual(await sent(t, config), {
    enabled: false,
    scope: "SEARCH_SCOPE_ALL",
    strategy: "STRATEGY_BM25",
    eagerTools: { s: { globs: ["a*", "b"] }, none: {}, ["__proto__"]: { globs: ["c"] } },
    maxResults: 7,
    alwaysLoad: false,
    minTokens: "0",
    minContextShare: 0.5,
    minEager: 3,
    execution: "SEARCH_EXECUTION_PROVIDER",
    fallback: "SEARCH_FALLBACK_LOAD",
    searchToolName: "look",
    localServers: ["mine*"],
    preloadTokens: "0",
    models: [{ model: "x-*", provider: "openai", toolSearch: false, contextWindow: "400000" }, { model: "y" }],
  });
});

test("what a configuration leaves out is the service's to decide", async (t) => {
  assert.deepEqual(await sent(t, {}), {});
  assert.deepEqual(await sent(t, { minTokens: undefined, scope: undefined, minEager: undefined }), {});
});

test("as many as the service thinks right are eager with auto", async (t) => {
  assert.deepEqual(await sent(t, { minEager: "auto" }), { autoEager: true });
  const client = await connected(t);
  const { tools } = await client.planTools("anthropic", "claude-sonnet-5", { config: { minTokens: 0, minEager: "auto" } });
  const eager = tools.filter((each) => each.eager);
  assert.ok(eager.length >= 3 && eager.length <= 5, `${eager.length} are eager`);
});

test("a configuration that is not one is refused before it is sent", async (t) => {
  const client = await connected(t);
  const refused = async (config: object, message: RegExp) => {
    await assert.rejects(client.planTools("anthropic", "m", { config }), { name: "TypeError", message });
  };
  await refused({ eager_tools: {} }, /config\.eager_tools is not known, allowed are the members of ToolSearchConfig/);
  await refused({ models: [{ model: "m", window: 1 }] }, /config\.models\.window is not known/);
  await refused({ eagerTools: { s: "abc" } }, /config\.eagerTools\.s must be a list/);
  await refused({ minEager: "most" }, /config\.minEager must be a number or auto, not most/);
  await refused({ scope: "everything" }, /config\.scope must be one of mcp, all, not everything/);
  await refused({ scope: "" }, /config\.scope must be one of mcp, all/);
});

test("values that the service does not allow are its to refuse, by field", async (t) => {
  const client = await connected(t);
  await assert.rejects(client.planTools("anthropic", "m", { config: { minEager: 101 } }), (error) => {
    assert.ok(error instanceof InvalidRequest);
    assert.deepEqual([error.field, error.given], ["config.min_eager", "101"]);
    return true;
  });
});

test("a plan is for what the filter allows, and preloads what fits the purpose", async (t) => {
  const client = await connected(t);
  await client.syncServer("github", [tool("open_issue", "Open a bug report."), tool("drop", "Remove a branch.")]);
  const plan = await client.planTools("openai", "gpt-5.4", {
    config: { minTokens: 0 },
    purpose: "open a bug report",
    filter: { servers: ["github"] },
  });
  assert.deepEqual(
    plan.tools.map(({ name, eager }) => [name, eager]),
    [
      ["github.drop", false],
      ["github.open_issue", true],
    ],
  );
  assert.equal(plan.searchTool, "tool_search");
  assert.equal(plan.byProvider, false);
  assert.ok(plan.tokensBefore > 0 && plan.tokensAfter > 0 && plan.contextWindow > 0);
});

test("a payload comes as a value and as text, in which large integers are exact", async (t) => {
  const client = connect(t, server.address, { tenant: newTenant() });
  const inputSchema = '{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}';
  await client.applyChanges({ upserts: [{ definition: `{"name":"big","inputSchema":${inputSchema}}` }] });
  const { payload, payloadText } = await client.planTools("anthropic", "claude-sonnet-5");
  assert.equal(payload[0]?.["name"], "big");
  assert.match(payloadText, /9223372036854775807/);
  assert.deepEqual(JSON.parse(payloadText), payload);
});

test("settings that were read can be written with a change", async (t) => {
  const client = await connected(t);
  const settings: CatalogSettings = {
    nameWeight: 0,
    descriptionWeight: 3,
    parametersWeight: 1,
    synonyms: [["k8s", "kubernetes"]],
    pinned: ["s.a"],
    banned: [],
    ignoreUsage: true,
  };
  await client.updateSettings(settings);
  assert.deepEqual(await client.getSettings(), settings);
  const written = await client.updateSettings({ ...(await client.getSettings()), banned: ["s.b"] });
  assert.deepEqual(await client.getSettings(), { ...settings, banned: ["s.b"] });
  assert.equal((await client.getCatalog()).version.revision, written.version.revision);
});

test("settings that are left out have their defaults again", async (t) => {
  const client = await connected(t);
  await client.updateSettings({ nameWeight: 2, pinned: ["s.a"], ignoreUsage: true });
  await client.updateSettings({});
  assert.deepEqual(await client.getSettings(), {
    nameWeight: 1,
    descriptionWeight: 1,
    parametersWeight: 1,
    synonyms: [],
    pinned: [],
    banned: [],
    ignoreUsage: false,
  });
});

test("settings that are none are refused before they are sent", async (t) => {
  const client = await connected(t);
  await assert.rejects(client.updateSettings({ baned: ["s.*"] } as never), /settings\.baned is not known/);
  await assert.rejects(client.updateSettings({ pinned: "s.*" as never }), /settings\.pinned must be a list/);
  await assert.rejects(client.updateSettings({ synonyms: ["k8s"] as never }), /settings\.synonyms must be a list/);
});

test("a use is reported with the search that led to it", async (t) => {
  const client = await connected(t);
  const { matches, searchId } = await client.search("thing");
  assert.notEqual(searchId, "");
  const reports = matches.map(({ name }) => ({ name, searchId }));
  assert.deepEqual(await client.reportUsage([...reports, { name: "nobody", outcome: "declined" }]), ["nobody"]);
  await assert.rejects(client.reportUsage([{ name: "s.a", outcome: "liked" as never }]), /outcome must be one of succeeded/);
});

test("a resource of many pieces is read as it was written", async (t) => {
  const client = await connected(t);
  const piece = 64 * 1024;
  for (const size of [0, piece, 2 * piece + 1, 4 * 1024 * 1024]) {
    const content = new Uint8Array(randomBytes(size));
    const skill = { definition: { name: "review", description: "Reviews." }, kind: "skill", namespace: "task" } as const;
    await client.applyChanges({ upserts: [{ ...skill, resources: [{ path: "data/x.bin", content, mediaType: "a/b" }] }] });
    const read = await client.readResource("task.review", "data/x.bin");
    assert.ok(Buffer.from(read).equals(content), `${size} bytes`);
    assert.equal(read.constructor, Uint8Array);
    assert.equal(read.buffer.byteLength, size);
    const [entry] = (await client.getTools(["task.review"])).entries;
    assert.deepEqual(
      entry?.resources.map(({ path, mediaType, size: told }) => [path, mediaType, told]),
      [["data/x.bin", "a/b", size]],
    );
  }
});

test("a resource that is replaced while it is read is unavailable, not cut short", async (t) => {
  const target = await serve(t, {
    resource: (stream) => {
      stream.write({ data: Buffer.from("the first half") });
      stream.emit("error", { code: status.UNAVAILABLE, details: "it was replaced" });
    },
  });
  await assert.rejects(connect(t, target).readResource("a", "x"), Unavailable);
});

test("reading a resource can be given up", async (t) => {
  const reason = new Error("never mind");
  const giving = new AbortController();
  const target = await serve(t, {
    resource: (stream) => {
      stream.write({ data: Buffer.from("the first half") });
      giving.abort(reason);
    },
  });
  await assert.rejects(connect(t, target).readResource("a", "x", { signal: giving.signal }), (error) => error === reason);
});

test("the content of a resource is bytes", async (t) => {
  const client = await connected(t);
  const resources = [{ path: "x", content: "text" as never }];
  await assert.rejects(
    client.applyChanges({ upserts: [{ definition: tool("z"), resources }] }),
    /content of the resource x must be a Uint8Array, not string/,
  );
});
