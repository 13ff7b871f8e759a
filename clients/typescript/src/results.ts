/** From the messages of the contract to values. */

import { durationMs, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type * as catalog from "./toolsearch/v1/catalog_service_pb.js";
import { EntryKind, type Entry as EntryMessage, type Version as VersionMessage } from "./toolsearch/v1/entry_pb.js";
import { type PlanToolsResponse, SearchExecution } from "./toolsearch/v1/plan_pb.js";
import * as search from "./toolsearch/v1/search_service_pb.js";
import { Strategy } from "./toolsearch/v1/strategy_pb.js";
import type * as t from "./types.js";

/** An enum's value in lower case, or "unknown" if it is newer than this client. */
function enumName<Enum extends Record<string, string | number>>(values: Enum, number: number): t.EnumName<Enum> | t.Unknown {
  const name = number === 0 ? undefined : values[number];
  return typeof name === "string" ? (name.toLowerCase() as t.EnumName<Enum>) : "unknown";
}

export function version(message: VersionMessage | undefined): t.Version {
  return {
    epoch: message?.epoch ?? "",
    revision: Number(message?.revision ?? 0),
    staleMs: message?.staleness === undefined ? 0 : durationMs(message.staleness),
  };
}

function date(message: Timestamp | undefined): Date {
  return message === undefined ? new Date(0) : timestampDate(message);
}

export function entry(message: EntryMessage): t.Entry {
  const hints = message.annotations;
  return {
    name: message.name,
    alias: message.alias,
    server: message.server,
    localName: message.localName,
    kind: enumName(EntryKind, message.kind),
    title: message.title,
    summary: message.summary,
    description: message.description || message.summary,
    tags: message.tags,
    capabilities: message.capabilities,
    annotations: {
      readOnly: hints?.readOnly ?? false,
      destructive: hints?.destructive ?? false,
      idempotent: hints?.idempotent ?? false,
      openWorld: hints?.openWorld ?? false,
    },
    digest: message.digest,
    tokens: message.tokens,
    definition: message.definition === "" ? undefined : (JSON.parse(message.definition) as t.Definition),
    definitionText: message.definition,
    resources: message.resources.map(({ path, mediaType, size, digest }) => ({ path, mediaType, size: Number(size), digest })),
  };
}

export function searchResult(message: search.SearchToolsResponse): t.SearchResult {
  return {
    matches: message.matches.map(match),
    total: message.total,
    version: version(message.version),
    strategy: enumName(Strategy, message.strategy),
    message: message.message,
    nearNames: message.nearNames,
    searchId: message.searchId,
  };
}

function match(message: search.Match): t.Match {
  if (message.entry === undefined) {
    throw new TypeError("the service answered with a match without an entry");
  }
  return {
    ...entry(message.entry),
    score: message.score,
    relevance: message.relevance,
    reason: message.reason,
    matchedBy: message.matchedBy.map((by) => enumName(search.MatchedBy, by)),
    explanation: message.explanation.map(({ name, value, detail }) => ({ name, value, detail })),
  };
}

export function getResult(message: search.GetToolsResponse): t.GetResult {
  return {
    entries: message.entries.map(entry),
    missing: message.missing.map(({ name, nearNames }) => ({ name, nearNames })),
    version: version(message.version),
  };
}

export function namespace({ name, entryCount, totalEntryCount }: search.Namespace): t.Namespace {
  return { name, entryCount, totalEntryCount };
}

export function planResult(message: PlanToolsResponse): t.PlanResult {
  const { payload, report } = message;
  return {
    tools: message.tools.map(({ name, alias, server, eager, tokens, reason }) => {
      return { name, alias, server, eager, tokens, reason };
    }),
    payload: payload === "" ? [] : (JSON.parse(payload) as t.PlanResult["payload"]),
    payloadText: payload,
    searchTool: message.searchTool,
    byProvider: message.execution === SearchExecution.PROVIDER,
    tokensBefore: Number(report?.tokensBefore ?? 0),
    tokensAfter: Number(report?.tokensAfter ?? 0),
    unmatchedPatterns: report?.unmatchedPatterns ?? [],
    warnings: report?.warnings ?? [],
    contextWindow: Number(report?.contextWindow ?? 0),
    version: version(message.version),
  };
}

export function watchEvent(message: search.WatchCatalogResponse): t.WatchEvent {
  const { event } = message;
  const at = version(message.version);
  switch (event.case) {
    case "changed":
      return {
        kind: "changed",
        version: at,
        upserted: event.value.upsertedNames,
        deleted: event.value.deletedNames,
        settingsChanged: event.value.settingsChanged,
      };
    case "current":
    case "deleted":
      return { kind: event.case, version: at };
    case "snapshotNeeded":
      return { kind: "snapshot_needed", version: at };
    default:
      return { kind: "unknown", version: at };
  }
}

/** An answer without a summary is one about settings, which changes no entries. */
export function writeResult(message: {
  version?: VersionMessage | undefined;
  summary?: catalog.ChangeSummary | undefined;
}): t.WriteResult {
  const { summary } = message;
  return {
    version: version(message.version),
    added: summary?.added ?? [],
    updated: summary?.updated ?? [],
    deleted: summary?.deleted ?? [],
    unchanged: summary?.unchanged ?? 0,
    notices: (summary?.notices ?? []).map(({ server, localName, name, alias, explanation }) => {
      return { server, localName, name, alias, explanation };
    }),
  };
}

export function settings({ settings: found }: catalog.GetSettingsResponse): t.CatalogSettings {
  return {
    nameWeight: found?.weights?.name ?? 1,
    descriptionWeight: found?.weights?.description ?? 1,
    parametersWeight: found?.weights?.parameters ?? 1,
    synonyms: (found?.synonyms ?? []).map(({ words }) => words),
    pinned: found?.pinned ?? [],
    banned: found?.banned ?? [],
    ignoreUsage: found?.ignoreUsage ?? false,
  };
}

export function catalogInfo({ catalog: found }: catalog.GetCatalogResponse): t.CatalogInfo {
  return {
    name: found?.name ?? "",
    version: version(found?.version),
    updated: date(found?.updateTime),
    entryCount: found?.entryCount ?? 0,
    tokens: Number(found?.tokens ?? 0),
    servers: (found?.servers ?? []).map(({ server, entryCount, tokens }) => ({ server, entryCount, tokens: Number(tokens) })),
    kinds: Object.fromEntries((found?.kinds ?? []).map(({ kind, entryCount }) => [enumName(EntryKind, kind), entryCount])),
  };
}

export function catalogListing(message: catalog.CatalogListing): t.CatalogListing {
  return {
    name: message.name,
    version: version(message.version),
    updated: date(message.updateTime),
    entryCount: message.entryCount,
    bytes: Number(message.bytes),
  };
}

export function tenantListing({ name, catalogCount, entryCount, bytes }: catalog.TenantListing): t.TenantListing {
  return { name, catalogCount, entryCount: Number(entryCount), bytes: Number(bytes) };
}
