import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { Metadata, status } from "@grpc/grpc-js";
import { type Client, Unavailable, type Version } from "toolsearch";
import { type SearchCall, serve } from "./scripted.js";
import { connect, Server, tool, until } from "./server.js";

/** Replicas with stores of their own, told apart by the epochs of what they hold. */
async function replicas(t: Parameters<typeof connect>[0], ...servers: Server[]): Promise<[Client, Map<string, Server>]> {
  const epochs = new Map<string, Server>();
  for (const server of servers) {
    const { version } = await connect(t, server.address).syncServer("s", [tool("a")]);
    epochs.set(version.epoch, server);
  }
  return [connect(t, `ipv4:${servers.map(({ address }) => address).join(",")}`), epochs];
}

test("calls are spread over replicas, and one that is killed is missed by nobody who reads", async (t) => {
  const going = await Server.start(t);
  const staying = await Server.start(t);
  const [client, epochs] = await replicas(t, going, staying);
  const answered = async () => epochs.get((await client.search("thing")).version.epoch);
  const seen = new Set<Server | undefined>();
  await until("both replicas answer", async () => seen.add(await answered()).size === 2);
  const killed = going.kill();
  for (let i = 0; i < 50; i += 1) {
    await answered();
  }
  await killed;
  assert.equal(await answered(), staying);
});

test("a replica that drains and stops while many read fails no reads", async (t) => {
  const going = await Server.start(t, "--drain-grace", "5");
  const staying = await Server.start(t);
  const [client] = await replicas(t, going, staying);
  let stopping = true;
  const reading = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (stopping) {
        await client.search("thing");
      }
    }),
  );
  await client.search("thing");
  going.drain();
  await Promise.race([going.ended, reading]);
  stopping = false;
  await reading;
});

test("a client finds the service again after a restart", async (t) => {
  const before = await Server.start(t);
  const client = connect(t, before.address);
  await client.syncServer("s", [tool("a")]);
  await before.kill();
  await assert.rejects(client.syncServer("s", [tool("a")]), Unavailable);
  await Server.start(t, "--listen", before.address);
  await until("it is written", async () => {
    try {
      return (await client.syncServer("s", [tool("b")])).added.length === 1;
    } catch (error) {
      assert.ok(error instanceof Unavailable);
      return false;
    }
  });
  assert.equal((await client.search("thing")).total, 1);
});

test("reads are retried while the service is unavailable", async (t) => {
  let attempts = 0;
  const refuseTwice = () => {
    attempts += 1;
    if (attempts % 3 !== 0) {
      throw Object.assign(new Error(), { code: status.UNAVAILABLE, details: "not now" });
    }
    return {};
  };
  const client = connect(t, await serve(t, { search: refuseTwice, settings: refuseTwice }));
  await client.search("x");
  await client.getSettings();
  assert.equal(attempts, 6);
});

test("writes are sent once, and the error says when to try again", async (t) => {
  let attempts = 0;
  const write = () => {
    attempts += 1;
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", Buffer.from(refusal("STORE_UNAVAILABLE", { field: "f" }, 3)));
    throw Object.assign(new Error(), { code: status.UNAVAILABLE, details: "not now", metadata });
  };
  const client = connect(t, await serve(t, { write }));
  await assert.rejects(client.syncServer("s", []), (error) => {
    assert.ok(error instanceof Unavailable);
    assert.deepEqual([error.message, error.reason, error.field, error.retryAfterMs], ["later", "STORE_UNAVAILABLE", "f", 3000]);
    return true;
  });
  assert.equal(attempts, 1);
});

test("details that cannot be read leave the code and the text", async (t) => {
  const write = () => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", Buffer.from([0x1a, 0xff]));
    throw Object.assign(new Error(), { code: status.UNAVAILABLE, details: "not now", metadata });
  };
  await assert.rejects(connect(t, await serve(t, { write })).syncServer("s", []), /cannot reach toolsearch at .*: not now/);
});

test("reads ask for the latest version written, unless told otherwise", async (t) => {
  const versions: Version[] = [];
  const asked: [bigint, string][] = [];
  const client = connect(
    t,
    await serve(t, {
      write: () => {
        const { epoch, revision } = versions.pop() ?? { epoch: "", revision: 0 };
        return { version: { epoch, revision: BigInt(revision) } };
      },
      search: ({ request }: SearchCall) => {
        asked.push([request.minRevision, request.epoch]);
        return {};
      },
    }),
  );
  const expect = async (revision: number, epoch: string, options = {}) => {
    await client.search("x", options);
    assert.deepEqual(asked.pop(), [BigInt(revision), epoch]);
  };
  await expect(0, "");
  const steps: [answered: Version, expected: Version][] = [
    [
      { epoch: "e", revision: 5 },
      { epoch: "e", revision: 5 },
    ],
    [
      { epoch: "e", revision: 4 }, // overtaken on its way
      { epoch: "e", revision: 5 },
    ],
    [
      { epoch: "f", revision: 1 },
      { epoch: "f", revision: 1 },
    ],
  ];
  for (const [answered, expected] of steps) {
    versions.push(answered);
    await client.syncServer("s", []);
    await expect(expected.revision, expected.epoch);
  }
  await expect(3, "", { minRevision: 3 });
  await expect(0, "", { minRevision: 0 });
});

/** google.rpc.Status with ErrorInfo, RetryInfo and a detail of a kind that is not known. */
function refusal(reason: string, metadata: Record<string, string>, seconds: number): Uint8Array {
  const entries = Object.entries(metadata).map(([key, value]): Part => [3, message([1, key], [2, value])]);
  const delay = toBinary(DurationSchema, create(DurationSchema, { seconds: BigInt(seconds) }));
  const detail = (type: string, value: Uint8Array): Part => [
    3,
    message([1, `type.googleapis.com/google.rpc.${type}`], [2, value]),
  ];
  return message(
    [2, "later"],
    detail("Help", message([1, "nothing"])),
    detail("ErrorInfo", message([1, reason], ...entries)),
    detail("RetryInfo", message([1, delay])),
  );
}

type Part = [field: number, value: string | Uint8Array];

function message(...parts: Part[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, value] of parts) {
    writer.tag(field, WireType.LengthDelimited).bytes(typeof value === "string" ? Buffer.from(value) : value);
  }
  return writer.finish();
}
