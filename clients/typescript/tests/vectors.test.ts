/** The shared vectors, replayed; tests/vectors/README.md of the repository says what they are. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { type DescMethod, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  type CatalogSettings,
  type Client,
  type Entry,
  type EntryInput,
  type Match,
  type PlanOptions,
  type PlanResult,
  type SearchOptions,
  ToolSearchError,
  type UsageReport,
  type Version,
  type WatchEvent,
  type WriteOptions,
} from "toolsearch";
import { CatalogService, ToolSearchService } from "toolsearch/v1";
import { all, connect, newTenant, Server } from "./server.js";

interface Step {
  about: string;
  method: string;
  request: JsonObject;
  response?: JsonValue;
  responses?: JsonValue[];
  error?: { code: string; reason: string; field: string };
}

const vectors = new URL("../../../../tests/vectors/", import.meta.url);
const stories = new Map(
  readdirSync(vectors)
    .filter((name) => name.endsWith(".json"))
    .map((name) => [name, JSON.parse(readFileSync(new URL(name, vectors), "utf-8")) as { steps: Step[] }]),
);
const methods = new Map<string, DescMethod>(
  [...ToolSearchService.methods, ...CatalogService.methods].map((method) => [method.name, method]),
);
const server = await Server.launch();
after(() => server.kill());

for (const [name, story] of stories) {
  test(`the client gets what ${name} says`, async (t) => {
    const clients = new Map<string, Client>(); // a client is one catalog's
    const tenant = newTenant();
    for (const step of story.steps) {
      const { catalog = "default", ...request } = step.request as JsonObject & { catalog?: string };
      const client = clients.get(catalog) ?? connect(t, server.address, { tenant, catalog });
      clients.set(catalog, client);
      await replay(client, step, request);
    }
  });
}

test("every method of the contract is in the vectors, and every method is replayed", () => {
  const used = [...stories.values()].flatMap(({ steps }) => steps.map(({ method }) => method));
  assert.deepEqual(new Set(used), new Set(methods.keys()));
  assert.deepEqual(new Set(Object.keys(replayed)), new Set(methods.keys()));
});

async function replay(client: Client, step: Step, request: JsonObject): Promise<void> {
  const method = methods.get(step.method);
  assert.ok(method !== undefined, step.method);
  const { output } = method;
  const send = replayed[step.method] as (client: Client, request: never) => AsyncIterable<object>;
  const answers = send(client, argument("", request) as never)[Symbol.asyncIterator]();
  if (step.error !== undefined) {
    await assert.rejects(answers.next(), (error) => {
      assert.ok(error instanceof ToolSearchError);
      assert.deepEqual({ code: error.code, reason: error.reason, field: error.field }, step.error, step.about);
      return true;
    });
    return;
  }
  for (const expected of step.responses ?? [step.response ?? null]) {
    const { value } = (await answers.next()) as IteratorYieldResult<object>;
    const message = fromJson(output, plain(value) as JsonObject);
    const differences = [...missing(expected, toJson(output, message, { alwaysEmitImplicit: true }), "")];
    assert.deepEqual(differences, [], step.about);
  }
  await answers.return?.();
}

/** What was expected and is not so. */
function* missing(expected: unknown, answered: unknown, path: string): Generator<string> {
  if (/\.(definition|payload)$/.test(path) && typeof expected === "object" && typeof answered === "string") {
    answered = JSON.parse(answered);
  }
  if (isObject(expected) && isObject(answered)) {
    for (const [name, value] of Object.entries(expected)) {
      yield* missing(value, answered[name], `${path}.${name}`);
    }
  } else if (Array.isArray(expected) && Array.isArray(answered) && expected.length === answered.length) {
    for (const [index, value] of expected.entries()) {
      yield* missing(value, answered[index], `${path}[${index}]`);
    }
  } else if (expected !== answered) {
    yield `${path} should be ${JSON.stringify(expected)}, not ${JSON.stringify(answered)}`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// From the JSON of requests to the client's arguments

const prefixes: Record<string, string> = {
  strategy: "STRATEGY_",
  detail: "DETAIL_",
  kind: "ENTRY_KIND_",
  kinds: "ENTRY_KIND_",
  fields: "SEARCH_FIELD_",
  matchedBy: "MATCHED_BY_",
  execution: "SEARCH_EXECUTION_",
  outcome: "USAGE_OUTCOME_",
};

function argument(name: string, value: JsonValue | undefined): unknown {
  const prefix = prefixes[name];
  const convert = converted[name];
  if (convert !== undefined) {
    return convert(value as never);
  }
  if (Array.isArray(value)) {
    return value.map((each) => argument(name, each));
  }
  if (isObject(value) && name !== "definition") {
    return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, argument(member, each)]));
  }
  return prefix !== undefined && typeof value === "string" ? value.replace(prefix, "").toLowerCase() : value;
}

/** What the client spells otherwise than the contract, by name. */
const converted: Record<string, (value: never) => unknown> = {
  minTokens: Number,
  eagerTools: (servers: Record<string, { globs: string[] }>) => {
    return Object.fromEntries(Object.entries(servers).map(([server, { globs }]) => [server, globs]));
  },
  resources: (resources: { content?: string }[]) => {
    return resources.map(({ content = "", ...rest }) => ({ ...rest, content: Buffer.from(content, "base64") }));
  },
  settings: ({ weights = {}, synonyms = [], ...rest }: SettingsMessage) => ({
    ...Object.fromEntries(Object.entries(weights).map(([place, weight]) => [`${place}Weight`, weight])),
    synonyms: synonyms.map(({ words }) => words),
    ...rest,
  }),
};

interface SettingsMessage {
  weights?: Record<string, number>;
  synonyms?: { words: string[] }[];
}

/** Of several methods at once. */
interface Request extends SearchOptions, PlanOptions, WriteOptions {
  queries: string[];
  names: string[];
  provider: string;
  model: string;
  withoutPayload?: boolean;
  reports: UsageReport[];
  name: string;
  path: string;
  settings: Partial<CatalogSettings>;
  server: string;
  entries: EntryInput[];
  fromRevision?: number;
}

const replayed = {
  async *SearchTools(client: Client, { queries, ...options }: Request) {
    const { matches, ...answer } = await client.search(queries, options);
    yield { ...answer, matches: matches.map(asMatch) };
  },
  async *ListTools(client: Client, options: object) {
    yield { entries: await all(client.listTools(options)) };
  },
  async *ListNamespaces(client: Client, options: object) {
    yield { namespaces: await all(client.listNamespaces(options)) };
  },
  async *GetTools(client: Client, { names, ...options }: Request) {
    yield client.getTools(names, options);
  },
  async *PlanTools(client: Client, { provider, model, withoutPayload = false, ...options }: Request) {
    yield asPlan(await client.planTools(provider, model, { ...options, payload: !withoutPayload }));
  },
  async *ReportUsage(client: Client, { reports }: Request) {
    const unknownNames = await client.reportUsage(reports);
    yield { accepted: reports.length - unknownNames.length, unknownNames };
  },
  async *ReadResource(client: Client, { name, path }: Request) {
    yield { data: Buffer.from(await client.readResource(name, path)).toString("base64") };
  },
  async *WatchCatalog(client: Client, { fromRevision }: Request) {
    const start: Version | undefined = fromRevision === undefined ? undefined : { epoch: "", revision: fromRevision };
    for await (const event of client.watch({ start })) {
      yield asEvent(event);
    }
  },
  async *ApplyChanges(client: Client, changes: object) {
    const { version, ...summary } = await client.applyChanges(changes, changes);
    yield { version, summary };
  },
  async *SyncServer(client: Client, { server, entries, ...options }: Request) {
    const { version, ...summary } = await client.syncServer(server, entries, options);
    yield { version, summary };
  },
  async *DeleteServer(client: Client, { server, ...options }: Request) {
    const { version, ...summary } = await client.deleteServer(server, options);
    yield { version, summary };
  },
  async *GetSettings(client: Client) {
    yield { settings: asSettings(await client.getSettings()) };
  },
  async *UpdateSettings(client: Client, { settings, ...options }: Request) {
    const { version } = await client.updateSettings(settings, options);
    yield { version };
  },
  async *GetCatalog(client: Client) {
    const { kinds, ...catalog } = await client.getCatalog();
    yield { catalog: { ...catalog, kinds: Object.entries(kinds).map(([kind, entryCount]) => ({ kind, entryCount })) } };
  },
  async *ListCatalogs(client: Client, options: object) {
    yield { catalogs: await all(client.listCatalogs(options)) };
  },
  async *ListTenants(client: Client, options: object) {
    yield { tenants: await all(client.listTenants(options)) };
  },
  async *DeleteCatalog(client: Client, options: object) {
    await client.deleteCatalog(options);
    yield {};
  },
} as Record<string, unknown>;

// From the client's values to the JSON of responses

function asMatch(match: Match): object {
  const { score, relevance, reason, matchedBy, explanation, ...entry } = match;
  return { entry: entry satisfies Entry, score, relevance, reason, matchedBy, explanation };
}

function asEvent(event: WatchEvent): object {
  if (event.kind === "changed") {
    const { version, upserted, deleted, settingsChanged } = event;
    return { version, changed: { upsertedNames: upserted, deletedNames: deleted, settingsChanged } };
  }
  return { version: event.version, [event.kind]: {} };
}

function asPlan(plan: PlanResult): object {
  const { tools, payload, searchTool, byProvider, version, ...report } = plan;
  const eagerCount = tools.filter(({ eager }) => eager).length;
  return {
    tools,
    payload: payload.length === 0 ? "" : JSON.stringify(payload),
    report: { ...report, eagerCount, deferredCount: tools.length - eagerCount },
    version,
    searchTool,
    execution: searchTool === "" ? "unspecified" : byProvider ? "provider" : "client",
  };
}

function asSettings(settings: CatalogSettings): object {
  const { nameWeight, descriptionWeight, parametersWeight, synonyms, ...rest } = settings;
  return {
    weights: { name: nameWeight, description: descriptionWeight, parameters: parametersWeight },
    synonyms: synonyms.map((words) => ({ words })),
    ...rest,
  };
}

const ours = new Set(["staleMs", "definitionText", "payloadText"]); // spelled otherwise in the contract

function plain(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => plain(each, name));
  }
  if (isObject(value) && name !== "definition") {
    const members = Object.entries(value).filter(([member, each]) => !ours.has(member) && !(each instanceof Date));
    return Object.fromEntries(members.map(([member, each]) => [member, plain(each, member)]));
  }
  if (name === "definition") {
    return value === undefined ? "" : JSON.stringify(value);
  }
  const prefix = prefixes[name];
  return prefix !== undefined && typeof value === "string" ? prefix + value.toUpperCase() : value;
}
