/** What is shipped: the example runs with it, and it installs and runs elsewhere. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { folder, Server } from "./server.js";

const project = fileURLToPath(new URL("../..", import.meta.url));

async function run(command: string, options: string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(command, options, { cwd });
  return stdout;
}

test("the agent of the example finds and calls a tool", async (t) => {
  const { address } = await Server.start(t, "--sample");
  const said = await run(process.execPath, ["build/examples/agent.js", address], project);
  for (const line of [/^found github\.open_issue /m, /^calling open_issue on github with /m, /^done: ok$/m]) {
    assert.match(said, line);
  }
});

test("the package has code and types, and installs with nothing but its transport and its protobuf runtime", async (t) => {
  const elsewhere = await folder(t);
  const packed = await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", elsewhere], project);
  await writeFile(join(elsewhere, "package.json"), '{"type": "module", "private": true}');
  await run(
    "npm",
    ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", `./${packed.trim()}`],
    elsewhere,
  );
  const installed = join(elsewhere, "node_modules", "toolsearch");
  const files = (await run("find", [".", "-type", "f"], installed)).split("\n");
  assert.deepEqual(
    files.filter((file) => !/^$|^\.\/(dist\/.*\.(js|d\.ts)|package\.json|README\.md)$/.test(file)),
    [],
  );
  const { dependencies } = JSON.parse(await readFile(join(installed, "package.json"), "utf-8")) as { dependencies: object };
  assert.deepEqual(Object.keys(dependencies), ["@bufbuild/protobuf", "@grpc/grpc-js"]);

  const { address } = await Server.start(t, "--sample");
  await writeFile(
    join(elsewhere, "found.ts"),
    `import { Client, type Match } from "toolsearch";
     import { ErrorReason } from "toolsearch/v1";
     const client = new Client(process.argv[2], { timeout: 5000 });
     const [match]: readonly Match[] = (await client.search("open a bug report")).matches;
     console.log(match?.name, ErrorReason[9]);`,
  );
  const compiler = join(project, "node_modules", "typescript", "bin", "tsc");
  const types = ["--typeRoots", join(project, "node_modules", "@types"), "--types", "node"];
  const strict = ["--strict", "--target", "es2022", "--module", "nodenext", "--exactOptionalPropertyTypes"];
  await run(process.execPath, [compiler, ...strict, ...types, "found.ts"], elsewhere);
  // The client is not closed: a connection that nobody uses keeps no process alive.
  assert.equal(await run(process.execPath, ["found.js", address], elsewhere), "github.open_issue CATALOG_NOT_FOUND\n");
});
