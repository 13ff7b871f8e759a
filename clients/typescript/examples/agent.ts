/**
 * The smallest loop of an agent that finds its tools instead of carrying them all: the model starts with one tool, find_tools,
 * and gets the definitions of what it finds. The model is scripted, so that the example needs no key.
 *
 *     make run                                            # a server with a sample catalog, in another terminal
 *     npm run example [HOST:PORT]
 */

import { pathToFileURL } from "node:url";
import { Client, type Definition, type Entry, toolForModel } from "toolsearch";

const findTools: Definition = {
  name: "find_tools",
  description: "Finds tools for a task, described in a few words. They can be called from the next turn on.",
  inputSchema: { type: "object", properties: { task: { type: "string" } }, required: ["task"] },
};

/** What a model answers: a tool that it wants called, or a text when it is done. */
type Answer = { tool: string; arguments: Record<string, string> } | { text: string };

/** Stands for a provider's API: it sees the tools and the result of its last call, and answers. */
type Model = (tools: readonly Definition[], result: string) => Answer;

export async function runAgent(client: Client, model: Model, task: string, say: (line: string) => void): Promise<void> {
  const tools = [findTools];
  const loaded = new Map<string, Entry>(); // by alias: what the model may call
  for (let result = task; ;) {
    const answer = model(tools, result);
    if ("text" in answer) {
      say(`done: ${answer.text}`);
      return;
    }
    const entry = loaded.get(answer.tool);
    if (answer.tool === findTools.name) {
      const found = await find(client, answer.arguments["task"] ?? "", say);
      const fresh = found.entries.filter(({ alias }) => !loaded.has(alias)); // providers refuse two tools of one name
      fresh.forEach((each) => loaded.set(each.alias, each));
      tools.push(...fresh.map(toolForModel));
      result = found.message;
    } else if (entry === undefined) {
      result = `there is no tool ${answer.tool}`; // a model's mistake is its to correct
    } else {
      result = call(entry, answer.arguments, say);
    }
  }
}

/** Searches, and fetches the definitions of what was found. */
async function find(client: Client, task: string, say: (line: string) => void) {
  const { matches, message } = await client.search(task, { limit: 3 });
  for (const { name, relevance, reason } of matches) {
    say(`found ${name} (${relevance.toFixed(2)}): ${reason}`);
  }
  if (matches.length === 0) {
    return { entries: [], message };
  }
  const { entries } = await client.getTools(matches.map(({ name }) => name));
  return { entries, message };
}

/** Where a real agent talks to the MCP server. */
function call({ localName, server }: Entry, values: Record<string, string>, say: (line: string) => void): string {
  say(`calling ${localName} on ${server} with ${JSON.stringify(values)}`);
  return "ok";
}

/** A model that looks for a tool, calls the first one that it is given, and is done. */
export function scripted(): Model {
  let turn = 0;
  return (tools, result) => {
    turn += 1;
    const first = tools[1];
    if (turn === 1) {
      return { tool: "find_tools", arguments: { task: result } };
    }
    if (turn === 2 && first !== undefined) {
      return { tool: first.name, arguments: { title: "the build is broken" } };
    }
    return { text: result };
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const client = new Client(process.argv[2]);
  try {
    await runAgent(client, scripted(), "open a bug report", console.log);
  } finally {
    client.close();
  }
}
