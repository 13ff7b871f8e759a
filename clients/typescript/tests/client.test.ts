import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, test, type TestContext } from "node:test";
import * as toolsearch from "toolsearch";
import {
  Client,
  type ClientOptions,
  type Definition,
  InvalidRequest,
  NotFound,
  TimedOut,
  ToolSearchError,
  Unavailable,
} from "toolsearch";
import { serve } from "./scripted.js";
import { all, connect, newTenant, Server, tool, unusedAddress } from "./server.js";

const server = await Server.launch();
after(() => server.kill());

/** A client of the server, as a tenant that nobody else is. */
function connected(t: TestContext, options: ClientOptions = {}): Client {
  return connect(t, server.address, { tenant: newTenant(), ...options });
}

test("the public values are these and no others", () => {
  assert.deepEqual(Object.keys(toolsearch).sort(), [
    "Client",
    "Conflict",
    "Forbidden",
    "InvalidRequest",
    "LimitReached",
    "NotFound",
    "NotPossible",
    "ServiceFailed",
    "TimedOut",
    "ToolSearchError",
    "Unauthenticated",
    "Unavailable",
    "toolForModel",
    "toolsFromMcp",
  ]);
});

test("a write is found by the next search", async (t) => {
  const client = connected(t);
  for (let i = 0; i < 20; i += 1) {
    await client.syncServer("s", [tool(`tool_${i}`)]);
    const { matches } = await client.search("thing");
    assert.deepEqual(
      matches.map(({ name }) => name),
      [`s.tool_${i}`],
    );
  }
});

test("a client means its own catalog, and tenants do not see each other's", async (t) => {
  const tenant = newTenant();
  await connected(t, { tenant, catalog: "mine" }).syncServer("s", [tool("a")]);
  assert.equal((await connected(t, { tenant, catalog: "mine" }).search("thing")).total, 1);
  await assert.rejects(connected(t, { tenant }).search("thing"), NotFound);
  await assert.rejects(connected(t, { catalog: "mine" }).search("thing"), NotFound);
});

test("a match carries what an agent needs", async (t) => {
  const client = connected(t);
  await client.applyChanges({
    upserts: [{ definition: tool("open_issue", "Open a bug report."), server: "github", tags: ["x"], capabilities: ["write"] }],
  });
  const found = await client.search(["open a bug report", "create issue"], { explain: true });
  const [match] = found.matches;
  assert.ok(match !== undefined);
  assert.equal(match.name, "github.open_issue");
  assert.equal(match.alias, "github_open_issue");
  assert.equal(match.localName, "open_issue");
  assert.equal(match.kind, "tool");
  assert.equal(match.description, "Open a bug report.");
  assert.deepEqual(match.tags, ["x"]);
  assert.deepEqual(match.annotations, { readOnly: false, destructive: true, idempotent: false, openWorld: true });
  assert.ok(match.relevance > 0 && match.relevance <= 1);
  assert.notEqual(match.reason, "");
  assert.ok(match.matchedBy.includes("words"));
  assert.notEqual(match.explanation.length, 0);
  assert.equal(match.definition, undefined);
  assert.equal(found.version.revision, 1);
  assert.equal(found.version.staleMs, 0);
});

test("a definition comes back as it was given, as a value and as text", async (t) => {
  const client = connected(t);
  const given: Definition = {
    ...tool("a"),
    "x-é": [1, null, { b: "\ud800" }],
    ["__proto__"]: { c: 1 },
    _meta: { nested: true },
  };
  const text = '{"name":"b","big":12345678901234567890,"z":1,"a":2.0}';
  await client.applyChanges({ upserts: [given, { definition: text }] });
  const { entries } = await client.getTools(["a", "b"]);
  assert.deepEqual(entries[0]?.definition, { ...given });
  assert.equal(entries[1]?.definitionText, text);
});

test("definitions that do not fit into one answer come all the same", async (t) => {
  const client = connected(t);
  const tools = Array.from({ length: 40 }, (_, i) => ({ ...tool(`t${10 + i}`), _meta: { bulk: "x".repeat(150_000) } }));
  await client.syncServer("s", tools);
  const { entries } = await client.getTools([...tools.map(({ name }) => `s.${name}`), "s.nonesuch"]);
  assert.deepEqual(
    entries.map(({ definition }) => definition),
    tools,
  );
});

test("pages are gone through, and an iterator that is left asks for no more", async (t) => {
  const client = connected(t);
  await client.syncServer(
    "s",
    Array.from({ length: 25 }, (_, i) => tool(`n${i % 2}.t${10 + i}`)),
  );
  assert.equal((await all(client.listTools({ pageSize: 10 }))).length, 25);
  assert.equal((await all(client.listTools({ pageSize: 2, filter: { namespaces: ["s.n1"] } }))).length, 12);
  const namespaces = await all(client.listNamespaces({ pageSize: 1 }));
  assert.deepEqual(
    namespaces.map(({ name, totalEntryCount }) => [name, totalEntryCount]),
    [
      ["s", 25],
      ["s.n0", 13],
      ["s.n1", 12],
    ],
  );
  const [catalog] = await all(client.listCatalogs());
  assert.equal(catalog?.name, "default");
  assert.ok(catalog.updated > new Date("2020-01-01"));
  for await (const entry of client.listTools({ pageSize: 1 })) {
    assert.equal(entry.name, "s.n0.t10");
    break;
  }
});

test("a catalog tells its counts", async (t) => {
  const client = connected(t);
  await client.applyChanges({ upserts: [tool("a"), { definition: tool("b"), kind: "prompt", server: "s" }] });
  const { entryCount, kinds, servers, tokens } = await client.getCatalog();
  assert.equal(entryCount, 2);
  assert.deepEqual(kinds, { tool: 1, prompt: 1 });
  assert.deepEqual(
    servers.map(({ server }) => server),
    ["", "s"],
  );
  assert.ok(tokens > 0);
});

test("a refusal says what, where and why", async (t) => {
  const client = connected(t);
  await client.syncServer("s", [tool("a")]);
  await assert.rejects(client.search("x", { limit: -1 }), (error) => {
    assert.ok(error instanceof InvalidRequest && error instanceof ToolSearchError);
    assert.deepEqual(
      [error.name, error.code, error.reason, error.field, error.given],
      ["InvalidRequest", "INVALID_ARGUMENT", "FIELD_INVALID", "limit", "-1"],
    );
    assert.notEqual(error.allowed, "");
    assert.match(error.message, /limit/);
    return true;
  });
});

test("a service that is not there is unavailable, and the error says where", async (t) => {
  const target = await unusedAddress();
  await assert.rejects(connect(t, target).search("x"), (error) => {
    assert.ok(error instanceof Unavailable);
    assert.deepEqual([error.code, error.reason], ["UNAVAILABLE", ""]);
    assert.match(error.message, new RegExp(target));
    return true;
  });
});

test("a service that does not answer runs out of time, the client's or the call's", async (t) => {
  const silent = createServer((socket) => socket.unref()).listen(0, "127.0.0.1");
  await once(silent, "listening");
  t.after(() => silent.close());
  const target = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await assert.rejects(connect(t, target, { timeout: 100 }).search("x"), TimedOut);
  await assert.rejects(connect(t, target).search("x", { timeout: 100 }), TimedOut);
  await assert.rejects(connect(t, target, { timeout: 0 }).search("x"), /timeout must be a positive number/);
  await assert.rejects(connect(t, target).search("x", { timeout: Number.NaN }), RangeError);
});

test("a call that is given up is rejected with the signal's reason, and the service hears of it", async (t) => {
  const reason = new Error("never mind");
  const giving = new AbortController();
  let told: () => void = () => undefined;
  const cancelled = new Promise<void>((resolve) => {
    told = resolve;
  });
  const target = await serve(t, {
    search: (call) => {
      call.on("cancelled", told);
      giving.abort(reason);
      return new Promise(() => undefined);
    },
  });
  await assert.rejects(connect(t, target).search("x", { signal: giving.signal }), (error) => error === reason);
  await cancelled;
  await assert.rejects(connect(t, target).search("x", { signal: giving.signal }), (error) => error === reason);
});

test("closing a client ends its calls, and it makes no others", async (t) => {
  const target = await serve(t, {
    search: () => {
      client.close();
      return new Promise(() => undefined);
    },
  });
  const client = connect(t, target);
  await assert.rejects(client.search("x"), /the client is closed/);
  await assert.rejects(client.search("x"), /the client is closed/);
  await assert.rejects(client.watch().next(), /the client is closed/);
});

test("what cannot be sent is refused before it is", async (t) => {
  const client = connected(t);
  await assert.rejects(
    client.syncServer("s", [{ name: "a", x: Number.NaN }]),
    /JSON cannot say NaN, in x of the definition of a/,
  );
  await assert.rejects(client.search("x", { limit: 1.5 }), /int32/);
  await assert.rejects(client.search("x", { minRevision: 1.5 }), RangeError);
  await assert.rejects(client.getTools("abc"), /names must be a list/);
  await assert.rejects(client.search("x", { filter: { servers: "abc" as never } }), /filter.servers must be a list/);
  await assert.rejects(
    client.search("x", { strategy: "psychic" as never }),
    /strategy must be one of auto, bm25, regex, fuzzy, semantic, hybrid, not psychic/,
  );
  await assert.rejects(client.search("x", { strategy: "unspecified" as never }), TypeError);
});

test("disposing of a client closes it", async (t) => {
  const client = connected(t);
  await client.syncServer("s", [tool("a")]);
  client[Symbol.dispose]();
  await assert.rejects(client.search("x"), /the client is closed/);
});
