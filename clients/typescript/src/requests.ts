/** From the values of callers to the messages of the contract. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type EntryInputSchema, EntryKind, type FilterSchema } from "./toolsearch/v1/entry_pb.js";
import type { DefinitionInput, EntryInput, Filter } from "./types.js";

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

export function filterMessage(filter: Filter | undefined): MessageInitShape<typeof FilterSchema> | undefined {
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

export function revision(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

export function entryMessage(value: EntryInput | DefinitionInput): MessageInitShape<typeof EntryInputSchema> {
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
  };
}

/** A definition has a name; what is around one has none. */
function isEntryInput(value: EntryInput | DefinitionInput): value is EntryInput {
  return "definition" in value && !("name" in value);
}

/** Compact JSON. Throws a TypeError for what JSON cannot say, such as NaN, which JSON.stringify alone makes null of. */
function definitionText(definition: DefinitionInput): string {
  return JSON.stringify(definition, (member, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`JSON cannot say ${value}, in ${member} of the definition of ${definition.name}`);
    }
    return value;
  });
}
