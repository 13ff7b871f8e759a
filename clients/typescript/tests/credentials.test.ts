import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { Client, type ClientOptions, Forbidden, Unauthenticated, Unavailable } from "toolsearch";
import { type SearchCall, serve } from "./scripted.js";
import { connect, folder, run, Server, tool } from "./server.js";

/** The headers that arrive at a server of ours. */
async function sent(t: TestContext, options: ClientOptions, target = (address: string) => address) {
  let arrived: Record<string, unknown> = {};
  const address = await serve(t, {
    search: (call: SearchCall) => {
      arrived = call.metadata.getMap();
      return {};
    },
  });
  await connect(t, target(address), options).search("x");
  return arrived;
}

/** A certificate for these names, its key, and who signed it. */
async function certificate(t: TestContext, ...names: string[]) {
  const path = await folder(t);
  await run("python", "-m", "trustme", "--quiet", "--dir", path, "--identities", ...names);
  return { certificate: join(path, "server.pem"), key: join(path, "server.key"), ca: join(path, "client.pem") };
}

test("over TLS a key opens the tenant's catalogs, as far as its role allows", async (t) => {
  const { certificate: chain, key, ca } = await certificate(t, "127.0.0.1");
  const keys = join(await folder(t), "keys.json");
  const reader = await newKey(keys, "reader");
  const writer = await newKey(keys, "writer");
  const { address } = await Server.start(t, "--keys", keys, "--tls-certificate", chain, "--tls-key", key);
  const tls = { ca: await readFile(ca) };
  const client = connect(t, address, { apiKey: `${writer}\n`, tls });
  await client.syncServer("s", [tool("a")]);
  const reading = connect(t, address, { apiKey: reader, tls });
  assert.equal((await reading.search("thing")).total, 1);
  await assert.rejects(reading.deleteServer("s"), (error) => error instanceof Forbidden && error.reason === "ROLE_DENIED");
  const stranger = connect(t, address, { apiKey: "ts_nonesuch", tls });
  await assert.rejects(
    stranger.search("x"),
    (error) => error instanceof Unauthenticated && error.reason === "CREDENTIAL_INVALID",
  );
  await assert.rejects(connect(t, address, { tls }).search("x"), Unauthenticated);
});

async function newKey(file: string, role: string): Promise<string> {
  return await run("toolsearch-server", "keys", "create", "--file", file, "--tenant", "acme", "--role", role);
}

test("a server with an unknown certificate, or another's, gets nothing", async (t) => {
  const { certificate: chain, key, ca } = await certificate(t, "elsewhere.example");
  const { address } = await Server.start(t, "--tls-certificate", chain, "--tls-key", key);
  const trusted = await readFile(ca, "utf-8");
  await assert.rejects(connect(t, address, { tls: true }).search("x"), Unavailable);
  await assert.rejects(connect(t, address, { tls: { ca: trusted } }).search("x"), Unavailable);
  const named = connect(t, address, { tls: { ca: trusted, serverName: "elsewhere.example" } });
  await named.syncServer("s", [tool("a")]);
});

test("a client shows its own certificate to a server that asks for one", async (t) => {
  const its = await certificate(t, "127.0.0.1");
  const ours = await certificate(t, "us.example");
  const { address } = await Server.start(
    t,
    ...["--tls-certificate", its.certificate, "--tls-key", its.key, "--tls-client-ca", ours.ca],
  );
  const ca = await readFile(its.ca);
  await assert.rejects(connect(t, address, { tls: { ca } }).getCatalog(), Unavailable);
  const tls = { ca, certificate: await readFile(ours.certificate), key: await readFile(ours.key) };
  await connect(t, address, { tls }).syncServer("s", [tool("a")]);
});

test("without TLS the key stays on this machine", async (t) => {
  const places = ["127.0.0.1", "localhost", "dns:///localhost"];
  for (const place of places) {
    const headers = await sent(t, { apiKey: "secret" }, (address) => address.replace("127.0.0.1", place));
    assert.equal(headers["authorization"], "Bearer secret", place);
  }
  for (const target of ["unix:/run/toolsearch.sock", "[::1]:50051", "127.1.2.3", "localhost"]) {
    new Client(target, { apiKey: "secret" }).close();
  }
  for (const target of [
    "toolsearch.example:50051",
    "10.0.0.1:50051",
    "dns:///toolsearch.example",
    "dns://10.0.0.1/localhost:50051",
    "dns:toolsearch.example",
    "localhost.example:1",
    "localhost@elsewhere.example:1",
    "localhost,elsewhere.example:1",
    "ipv4:127.0.0.1:1,10.0.0.1:1",
    "[2001:db8::1]:50051",
    "[::ffff:10.0.0.1]:1",
    "unix-abstract:80",
    "0.0.0.0:50051",
    "",
  ]) {
    assert.throws(() => new Client(target, { apiKey: "secret" }), /not sent unencrypted/, target);
    assert.throws(() => new Client(target, { apiKey: "secret", tls: false }), /not sent unencrypted/, target);
  }
  new Client("toolsearch.example:50051", { apiKey: "secret", tls: true }).close();
});

test("a key that is none is refused, and no error or description of a client tells one", () => {
  assert.throws(() => new Client("localhost:1", { apiKey: " " }), TypeError);
  assert.throws(
    () => new Client("localhost:1", { apiKey: "sec\nret" }),
    (error) => error instanceof TypeError && !inspect(error).includes("ret"),
  );
  const client = new Client("localhost:1", { apiKey: "secret" });
  assert.doesNotMatch(inspect(client, { depth: 9, showHidden: true }), /secret/);
  client.close();
});

test("the route is what was given, or else a digest of tenant and credential", async (t) => {
  const cases: [ClientOptions, string | undefined][] = [
    [{}, undefined],
    [{ tenant: "" }, undefined],
    // As the other clients' tests have them: all clients of a caller take the same route.
    [{ tenant: "me" }, "355f5c09a49a179a"],
    [{ apiKey: "secret" }, "0036889fd7fee295"],
    [{ apiKey: " secret\n" }, "0036889fd7fee295"],
    [{ tenant: "me", apiKey: "secret" }, "9571c8ee5e6273dc"],
    [{ tenant: "me", apiKey: "secret", route: "acme" }, "acme"],
    [{ tenant: "me", route: "" }, undefined],
  ];
  for (const [options, expected] of cases) {
    const headers = await sent(t, options);
    assert.equal(headers["x-toolsearch-route"], expected);
    assert.equal(headers["x-toolsearch-tenant"], options.tenant);
  }
});

test("a unix socket will do, with a key too", async (t) => {
  const target = await serve(t, { search: () => ({ total: 7 }) }, `unix:${join(await folder(t), "socket")}`);
  assert.equal((await connect(t, target, { apiKey: "secret" }).search("x")).total, 7);
});
