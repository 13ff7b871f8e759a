/** Real toolsearch servers for tests. */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { Client, type ClientOptions, type Definition } from "toolsearch";

/** Enough for a machine that is busy with other things. */
export const patience = 120_000;

const program = process.env["TOOLSEARCH_SERVER"] ?? "";
if (program === "") {
  throw new Error(
    "TOOLSEARCH_SERVER is not set: these tests talk to a real server; run make test-typescript, or set it to the path of toolsearch-server",
  );
}
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TOOLSEARCH_")));

// No server outlives its tests, also when they are ended for taking too long.
const running = new Set<ChildProcess>();
process.once("SIGTERM", () => process.exit(1));
process.once("exit", () => {
  running.forEach((server) => server.kill("SIGKILL"));
});

/** A process, listening at `address`. */
export class Server {
  readonly address: string;
  readonly ended: Promise<unknown>;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, address: string, ended: Promise<unknown>) {
    this.#process = process;
    this.address = address;
    this.ended = ended;
  }

  /** With its catalogs in memory on a free port. Later arguments win. */
  static async launch(...options: string[]): Promise<Server> {
    const quick = ["--listen", "127.0.0.1:0", "--store", "memory:", "--drain-delay", "0", "--drain-grace", "0"];
    const process = spawn(program, ["serve", ...quick, ...options], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
    running.add(process);
    const ended = once(process, "exit");
    let log = "";
    // Read to its end, so that the server never waits for its reader.
    const listening = new Promise<string>((resolve, reject) => {
      createInterface({ input: process.stderr }).on("line", (line) => {
        log += `${line}\n`;
        const { event, address } = record(line);
        if (event === "listening" && address !== undefined) {
          resolve(address);
        }
      });
      process.on("error", reject);
      process.on("exit", (code) => {
        reject(new Error(`the server ended with ${code ?? "a signal"}:\n${log}`));
      });
    });
    return new Server(process, await listening, ended);
  }

  /** Until the test ends. */
  static async start(test: TestContext, ...options: string[]): Promise<Server> {
    const server = await Server.launch(...options);
    test.after(() => server.kill());
    return server;
  }

  get running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Asks the server to stop in good order. */
  drain(): void {
    this.#process.kill("SIGTERM");
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.ended;
  }
}

function record(line: string): { event?: string; address?: string } {
  try {
    return JSON.parse(line) as { event?: string; address?: string };
  } catch {
    return {};
  }
}

/** Runs a command of the server's installation: "toolsearch-server" or "python". */
export async function run(command: string, ...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(join(dirname(program), command), options, { env: environment });
  return stdout.trim();
}

let tenants = 0;

/** One that nobody else is, of this process. */
export function newTenant(): string {
  tenants += 1;
  return `tenant-${tenants}`;
}

export function connect(test: TestContext, target: string, options: ClientOptions = {}): Client {
  const client = new Client(target, { timeout: patience, ...options });
  test.after(() => {
    client.close();
  });
  return client;
}

export function tool(name: string, description = "thing"): Definition {
  return { name, description, inputSchema: { type: "object" } };
}

export async function folder(test: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "toolsearch-"));
  test.after(() => rm(path, { recursive: true }));
  return path;
}

export async function unusedAddress(): Promise<string> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return `127.0.0.1:${port}`;
}

/** Waits for a condition that has no event, with a bound. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + patience; !(await condition());) {
    if (Date.now() > end) {
      throw new Error(`not within ${patience} ms: ${what}`);
    }
  }
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) {
    found.push(item);
  }
  return found;
}
