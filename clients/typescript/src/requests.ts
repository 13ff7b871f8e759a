/** From the values of callers to the messages of the contract. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type EntryInputSchema, EntryKind, type FilterSchema, type ResourceInputSchema } from "./toolsearch/v1/entry_pb.js";
import {
  type ModelSupportSchema,
  SearchExecution,
  SearchFallback,
  SearchScope,
  type ToolSearchConfigSchema,
} from "./toolsearch/v1/plan_pb.js";
import { UsageOutcome, type UsageReportSchema } from "./toolsearch/v1/search_service_pb.js";
import type { CatalogSettingsSchema } from "./toolsearch/v1/settings_pb.js";
import { Strategy } from "./toolsearch/v1/strategy_pb.js";
import type * as t from "./types.js";

/** The number of an enum's value. Throws a TypeError for one that there is not. */
export function enumNumber<Enum extends Record<string, string | number>>(
  values: Enum,
  name: string,
  what: string,
): Extract<Enum[keyof Enum], number> {
  const number = values[name.toUpperCase()];
  if (typeof number !== "number" || number === 0 || name !== name.toLowerCase()) {
    const allowed = Object.values(values).filter((value) => typeof value === "string" && value !== "UNSPECIFIED");
    throw new TypeError(`${what} must be one of ${allowed.join(", ").toLowerCase()}, not ${name}`);
  }
  return number as Extract<Enum[keyof Enum], number>;
}

/** A copy. A text is a sequence of texts too, but never the one that is meant: that is a TypeError. */
export function list<Item>(values: Iterable<Item> | undefined, what: string): Item[] {
  if (typeof values === "string") {
    throw new TypeError(`${what} must be a list of strings, not a string`);
  }
  return values === undefined ? [] : [...values];
}

export function filterMessage(filter: t.Filter | undefined): MessageInitShape<typeof FilterSchema> | undefined {
  if (filter === undefined) {
    return undefined;
  }
  const { readOnly, destructive, idempotent, openWorld } = filter;
  return {
    servers: list(filter.servers, "filter.servers"),
    namespaces: list(filter.namespaces, "filter.namespaces"),
    tags: list(filter.tags, "filter.tags"),
    kinds: list(filter.kinds, "filter.kinds").map((kind) => enumNumber(EntryKind, kind, "filter.kinds")),
    capabilities: list(filter.capabilities, "filter.capabilities"),
    excludedNames: list(filter.excludedNames, "filter.excludedNames"),
    ...given({ readOnly, destructive, idempotent, openWorld }),
  };
}

/** Without the members that are undefined. */
export function given<Value extends object>(values: Value): { [Key in keyof Value]?: Exclude<Value[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Value]?: Exclude<Value[Key], undefined>;
  };
}

export function int64(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

export function entryMessage(value: t.EntryInput | t.DefinitionInput): MessageInitShape<typeof EntryInputSchema> {
  if (!isEntryInput(value)) {
    return { definition: definitionText(value) };
  }
  const { definition, server = "", kind = "tool", namespace = "", summary = "" } = value;
  return {
    server,
    kind: enumNumber(EntryKind, kind, "kind"),
    definition: typeof definition === "string" ? definition : definitionText(definition),
    namespace,
    tags: list(value.tags, "tags"),
    capabilities: list(value.capabilities, "capabilities"),
    summary,
    resources: list(value.resources, "resources").map(resourceMessage),
  };
}

function resourceMessage({ path, content, mediaType = "" }: t.ResourceInput): MessageInitShape<typeof ResourceInputSchema> {
  if (!(content instanceof Uint8Array)) {
    throw new TypeError(`content of the resource ${path} must be a Uint8Array, not ${typeof content}`);
  }
  return { path, content, mediaType };
}

/** A definition has a name; what is around one has none. */
function isEntryInput(value: t.EntryInput | t.DefinitionInput): value is t.EntryInput {
  return "definition" in value && !("name" in value);
}

/** Compact JSON. Throws a TypeError for what JSON cannot say, such as NaN, which JSON.stringify alone makes null of. */
function definitionText(definition: t.DefinitionInput): string {
  return JSON.stringify(definition, (member, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`JSON cannot say ${value}, in ${member} of the definition of ${definition.name}`);
    }
    return value;
  });
}

export function configMessage(config: t.ToolSearchConfig): MessageInitShape<typeof ToolSearchConfigSchema> {
  const { scope, strategy, eagerTools = {}, minTokens, minEager, execution, fallback, preloadTokens, ...rest } = config;
  const { enabled, maxResults, alwaysLoad, minContextShare, searchToolName, localServers, models, ...unknown } = rest;
  refuseUnknown(unknown, "config", "ToolSearchConfig");
  if (minEager !== undefined && minEager !== "auto" && typeof minEager !== "number") {
    throw new TypeError(`config.minEager must be a number or auto, not ${String(minEager)}`);
  }
  return {
    eagerTools: Object.fromEntries(
      Object.entries(eagerTools).map(([server, globs]) => [server, { globs: list(globs, `config.eagerTools.${server}`) }]),
    ),
    autoEager: minEager === "auto",
    localServers: list(localServers, "config.localServers"),
    models: list(models, "config.models").map(modelMessage),
    ...given({
      scope: scope === undefined ? undefined : enumNumber(SearchScope, scope, "config.scope"),
      strategy: strategy === undefined ? undefined : enumNumber(Strategy, strategy, "config.strategy"),
      execution: execution === undefined ? undefined : enumNumber(SearchExecution, execution, "config.execution"),
      fallback: fallback === undefined ? undefined : enumNumber(SearchFallback, fallback, "config.fallback"),
      minEager: minEager === "auto" ? undefined : minEager,
      minTokens: int64(minTokens),
      preloadTokens: int64(preloadTokens),
      ...{ enabled, maxResults, alwaysLoad, minContextShare, searchToolName },
    }),
  };
}

function modelMessage(support: t.ModelSupport): MessageInitShape<typeof ModelSupportSchema> {
  const { model, provider = "", toolSearch, contextWindow, ...unknown } = support;
  refuseUnknown(unknown, "config.models", "ModelSupport");
  return { model, provider, ...given({ toolSearch, contextWindow: int64(contextWindow) }) };
}

export function usageMessage({
  name,
  outcome = "succeeded",
  searchId = "",
}: t.UsageReport): MessageInitShape<typeof UsageReportSchema> {
  return { name, outcome: enumNumber(UsageOutcome, outcome, "outcome"), searchId };
}

export function settingsMessage(settings: Partial<t.CatalogSettings>): MessageInitShape<typeof CatalogSettingsSchema> {
  const { nameWeight, descriptionWeight, parametersWeight, synonyms, pinned, banned, ignoreUsage, ...unknown } = settings;
  refuseUnknown(unknown, "settings", "CatalogSettings");
  return {
    weights: given({ name: nameWeight, description: descriptionWeight, parameters: parametersWeight }),
    synonyms: list(synonyms, "settings.synonyms").map((words) => ({ words: list(words, "settings.synonyms") })),
    pinned: list(pinned, "settings.pinned"),
    banned: list(banned, "settings.banned"),
    ...given({ ignoreUsage }),
  };
}

/** A misspelled member would else have its default, and nobody would know. */
function refuseUnknown(unknown: object, what: string, type: string): void {
  const [name] = Object.keys(unknown);
  if (name !== undefined) {
    throw new TypeError(`${what}.${name} is not known, allowed are the members of ${type}`);
  }
}
