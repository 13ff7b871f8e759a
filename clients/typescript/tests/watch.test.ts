import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { NotFound, Unavailable, type WatchEvent } from "toolsearch";
import { serve } from "./scripted.js";
import { all, connect, folder, newTenant, patience, Server, tool, unusedAddress } from "./server.js";

const server = await Server.launch();
after(() => server.kill());

async function next(events: AsyncGenerator<WatchEvent, void, undefined>): Promise<WatchEvent> {
  const { value } = await events.next();
  assert.ok(value !== undefined, "the watch ended");
  return value;
}

const bounded = () => ({ signal: AbortSignal.timeout(patience) });

test("a watch tells changes from a version on until the catalog is deleted", async (t) => {
  const client = connect(t, server.address, { tenant: newTenant() });
  const { version: start } = await client.syncServer("s", [tool("a")]);
  await client.syncServer("s", [tool("a"), tool("b")]);
  const events = client.watch({ start, ...bounded() });
  const { version } = await client.getCatalog();
  assert.deepEqual(await next(events), {
    kind: "changed",
    version,
    upserted: ["s.b"],
    deleted: [],
    settingsChanged: false,
  });
  await client.syncServer("s", [tool("b")]);
  const event = await next(events);
  assert.ok(event.kind === "changed");
  assert.deepEqual(event.deleted, ["s.a"]);
  await client.updateSettings({ pinned: ["s.b"] });
  const settled = await next(events);
  assert.ok(settled.kind === "changed" && settled.settingsChanged);
  await client.deleteCatalog();
  assert.equal((await next(events)).kind, "deleted");
  assert.deepEqual(await events.next(), { value: undefined, done: true });
});

for (const how of ["drained", "killed"]) {
  test(`a watch survives that the service is ${how} and misses nothing`, async (t) => {
    const store = join(await folder(t), "store.db");
    const options = ["--listen", await unusedAddress(), "--store", `sqlite:${store}`];
    const before = await Server.start(t, ...options);
    const client = connect(t, before.address);
    await client.syncServer("s", [tool("a")]);
    const events = client.watch(bounded());
    assert.equal((await next(events)).kind, "current");
    if (how === "drained") {
      before.drain();
      await before.ended;
    } else {
      await before.kill();
    }
    await Server.start(t, ...options);
    const other = connect(t, before.address);
    await other.syncServer("s", [tool("a"), tool("b")]);
    await other.syncServer("s", [tool("b")]);
    const changed: string[] = [];
    while (changed.length < 2) {
      const event = await next(events);
      changed.push(...(event.kind === "changed" ? [...event.upserted, ...event.deleted] : []));
    }
    assert.deepEqual(changed, ["s.b", "s.a"]);
    await events.return();
  });
}

test("a watch of nothing is not found", async (t) => {
  await assert.rejects(all(connect(t, server.address, { tenant: newTenant() }).watch(bounded())), NotFound);
});

test("a watch that never connected fails", async (t) => {
  await assert.rejects(all(connect(t, await unusedAddress()).watch(bounded())), Unavailable);
});

for (const how of ["its signal is aborted", "its client is closed"]) {
  test(`a watch ends when ${how}, while it is reconnecting too`, async (t) => {
    const giving = new AbortController();
    let attempts = 0;
    const target = await serve(t, {
      watch: (stream) => {
        attempts += 1;
        if (attempts === 1) {
          stream.write({ version: { revision: 1n }, event: { case: "current", value: {} } });
        } else if (attempts === 3) {
          end();
        }
        stream.emit("error", { code: status.UNAVAILABLE, details: "not now" });
      },
    });
    const client = connect(t, target);
    const end = () => {
      if (how === "its signal is aborted") {
        giving.abort(new Error("the client is closed, or so"));
      } else {
        client.close();
      }
    };
    await assert.rejects(all(client.watch({ signal: giving.signal })), /the client is closed/);
  });

  test(`a watch ends when ${how}, while it is connected`, async (t) => {
    const client = connect(t, server.address, { tenant: newTenant() });
    await client.syncServer("s", [tool("a")]);
    const giving = new AbortController();
    const events = client.watch({ signal: giving.signal });
    await next(events);
    const waiting = assert.rejects(events.next(), /the client is closed/);
    if (how === "its signal is aborted") {
      giving.abort(new Error("the client is closed, or so"));
    } else {
      client.close();
    }
    await waiting;
  });
}

test("a watch that is left ends its stream", async (t) => {
  let told: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    told = resolve;
  });
  const target = await serve(t, {
    watch: (stream) => {
      stream.on("cancelled", told);
      stream.write({ version: { revision: 1n }, event: { case: "current", value: {} } });
    },
  });
  for await (const event of connect(t, target).watch()) {
    assert.equal(event.version.revision, 1);
    break;
  }
  await ended;
});

test("an event that is newer than the client is told as unknown", async (t) => {
  const target = await serve(t, {
    watch: (stream) => {
      stream.write({ version: { revision: 1n } });
    },
  });
  const events = connect(t, target).watch(bounded());
  assert.equal((await next(events)).kind, "unknown");
  await events.return();
});
