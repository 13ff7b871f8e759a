/** What the client takes and returns: plain values. Times are in milliseconds. */

import type { Detail as DetailMessage, EntryKind } from "./toolsearch/v1/entry_pb.js";
import type {
  MatchedBy as MatchedByMessage,
  SearchField as SearchFieldMessage,
  Strategy as StrategyMessage,
} from "./toolsearch/v1/search_service_pb.js";

/** The values of an enum of the contract, in lower case. */
export type EnumName<Enum> = Lowercase<Exclude<keyof Enum & string, "UNSPECIFIED">>;

/** What sort of thing an entry is. */
export type Kind = EnumName<typeof EntryKind>;
/** How a search is done. */
export type Strategy = EnumName<typeof StrategyMessage>;
/** How much of each entry an answer carries. */
export type Detail = EnumName<typeof DetailMessage>;
/** What a regular expression is matched against. */
export type SearchField = EnumName<typeof SearchFieldMessage>;
/** What made an entry match. */
export type MatchedBy = EnumName<typeof MatchedByMessage>;
/** Newer than this client. */
export type Unknown = "unknown";

/** Which state of a catalog an answer reflects. Revisions of different epochs cannot be compared. */
export interface Version {
  readonly epoch: string;
  readonly revision: number;
  /** How long ago the replica that answered last knew that it had everything. 0: it has everything now. */
  readonly staleMs?: number;
}

/** MCP's hints about what a call does, with MCP's defaults for those that the server left unset. */
export interface Annotations {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
}

/** The JSON that describes an entry: for a tool, MCP tool JSON. */
export interface Definition {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** A definition to write: a Definition, or a value of some other type that is one, such as the MCP SDK's `Tool`. */
export type DefinitionInput = Definition | { readonly name: string };

/**
 * Which entries an answer may contain: every member that is set must hold.
 *
 * A list holds when any of its values does, except `capabilities`, where all must. `servers` are globs; `namespaces`
 * include what is below them; `excludedNames` are canonical names or aliases.
 */
export interface Filter {
  readonly servers?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly tags?: readonly string[];
  readonly kinds?: readonly Kind[];
  readonly capabilities?: readonly string[];
  readonly readOnly?: boolean | undefined;
  readonly destructive?: boolean | undefined;
  readonly idempotent?: boolean | undefined;
  readonly openWorld?: boolean | undefined;
  readonly excludedNames?: readonly string[];
}

/** An entry to write, where its definition alone does not say everything. */
export interface EntryInput {
  /** As a value, or as JSON text, which is sent as it is. */
  readonly definition: DefinitionInput | string;
  readonly server?: string;
  /** A tool, unless said otherwise. */
  readonly kind?: Kind;
  readonly namespace?: string;
  readonly tags?: readonly string[];
  readonly capabilities?: readonly string[];
  /** One line; derived from the description when empty. */
  readonly summary?: string;
}

/** One findable thing. What `detail` left out is empty. */
export interface Entry {
  /** Canonical name, unique in the catalog: `github.create_issue`. */
  readonly name: string;
  /** The same in the characters that model providers accept: `github_create_issue`. */
  readonly alias: string;
  readonly server: string;
  /** What the server itself calls it. */
  readonly localName: string;
  readonly kind: Kind | Unknown;
  readonly title: string;
  /** One line. */
  readonly summary: string;
  /** All of it with detail "full"; otherwise the summary. */
  readonly description: string;
  readonly tags: readonly string[];
  readonly capabilities: readonly string[];
  readonly annotations: Annotations;
  /** Changes whenever anything about the entry changes, and only then. */
  readonly digest: string;
  /** Estimated tokens that the definition costs in a model's context. */
  readonly tokens: number;
  /** With detail "full": the JSON that was given, e.g. an MCP tool. */
  readonly definition: Definition | undefined;
  /** The same as the text that it is kept as: integers above 2^53, which JavaScript rounds, are exact in it. */
  readonly definitionText: string;
}

/** One addend of a match's score. */
export interface ScorePart {
  readonly name: string;
  readonly value: number;
  readonly detail: string;
}

/** An entry that a search found. */
export interface Match extends Entry {
  /** Orders the matches of one answer. */
  readonly score: number;
  /** 0 to 1, comparable between queries. */
  readonly relevance: number;
  /** One line: which words matched where. */
  readonly reason: string;
  readonly matchedBy: readonly (MatchedBy | Unknown)[];
  /** With `explain`. */
  readonly explanation: readonly ScorePart[];
}

export interface SearchResult {
  /** Best first. */
  readonly matches: readonly Match[];
  /** How many entries matched, of which `matches` are the best. */
  readonly total: number;
  readonly version: Version;
  /** What was used: what "auto" chose. */
  readonly strategy: Strategy | Unknown;
  /** For a person or a model: what was found, or why nothing was and what is near. */
  readonly message: string;
  readonly nearNames: readonly string[];
}

export interface MissingEntry {
  readonly name: string;
  readonly nearNames: readonly string[];
}

export interface GetResult {
  readonly entries: readonly Entry[];
  readonly missing: readonly MissingEntry[];
  readonly version: Version;
}

export interface Namespace {
  readonly name: string;
  readonly entryCount: number;
  readonly totalEntryCount: number;
}

/** Says that an entry's name or alias carries a hash, and why. */
export interface NameNotice {
  readonly server: string;
  readonly localName: string;
  readonly name: string;
  readonly alias: string;
  readonly explanation: string;
}

/** What a write did, by canonical name. */
export interface WriteResult {
  readonly version: Version;
  readonly added: readonly string[];
  readonly updated: readonly string[];
  readonly deleted: readonly string[];
  readonly unchanged: number;
  readonly notices: readonly NameNotice[];
}

export interface ServerStats {
  readonly server: string;
  readonly entryCount: number;
  readonly tokens: number;
}

export interface CatalogInfo {
  readonly name: string;
  readonly version: Version;
  readonly updated: Date;
  readonly entryCount: number;
  /** Estimated tokens of all definitions together: what an agent would pay without search. */
  readonly tokens: number;
  readonly servers: readonly ServerStats[];
  readonly kinds: Readonly<Partial<Record<Kind | Unknown, number>>>;
}

export interface CatalogListing {
  readonly name: string;
  readonly version: Version;
  readonly updated: Date;
  readonly entryCount: number;
  /** What the store keeps for the entries. */
  readonly bytes: number;
}

export interface TenantListing {
  readonly name: string;
  readonly catalogCount: number;
  readonly entryCount: number;
  readonly bytes: number;
}

/**
 * What a watch tells. `current`: the catalog is at this version, nothing was missed. `snapshot_needed`: changes were missed that
 * nobody remembers, so read the catalog anew. `deleted`: the catalog is gone, and the watch ends.
 */
export type WatchEvent =
  | { readonly kind: "current" | "snapshot_needed" | "deleted" | Unknown; readonly version: Version }
  | {
      readonly kind: "changed";
      readonly version: Version;
      /** Canonical names of entries that are new, changed or renamed. */
      readonly upserted: readonly string[];
      /** Canonical names that are gone. */
      readonly deleted: readonly string[];
    };

/** For every call. */
export interface CallOptions {
  /** In milliseconds, retries included; the client's own unless given. Infinity: as long as it takes. */
  readonly timeout?: number | undefined;
  /** Gives the call up; it is then rejected with the signal's reason. A write may have happened. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReadOptions extends CallOptions {
  /** Wait until the catalog has reached this revision. Unless given: what this client wrote. 0: whatever there is. */
  readonly minRevision?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Refuse unless the catalog is at this revision. 0: it must not exist yet. */
  readonly expectedRevision?: number | undefined;
}

export interface SearchOptions extends ReadOptions {
  /** How many matches to return: 5, unless given. */
  readonly limit?: number;
  readonly strategy?: Strategy;
  readonly filter?: Filter | undefined;
  /** "summary", unless given. */
  readonly detail?: Detail;
  /** Fill `explanation`. */
  readonly explain?: boolean;
  /** For regular expressions; names, unless given. */
  readonly fields?: readonly SearchField[];
  /** For regular expressions. */
  readonly caseSensitive?: boolean;
  /** Leave out matches below this relevance, 0 to 1. */
  readonly minRelevance?: number;
}

export interface PageOptions {
  /** How many to fetch at a time. */
  readonly pageSize?: number;
}

export interface ListToolsOptions extends ReadOptions, PageOptions {
  readonly filter?: Filter | undefined;
  /** "summary", unless given. */
  readonly detail?: Detail;
}

export interface ListNamespacesOptions extends ReadOptions, PageOptions {
  /** Only namespaces below this one. */
  readonly parent?: string;
}

export interface GetToolsOptions extends ReadOptions {
  /** "full", unless given. */
  readonly detail?: Detail;
}

export interface Changes {
  readonly upserts?: Iterable<EntryInput | DefinitionInput>;
  /** Canonical names or aliases. */
  readonly deletes?: Iterable<string>;
}

export interface WatchOptions {
  /** Tell what changed after this version. Unless given: what changes from now on. */
  readonly start?: Version | undefined;
  /** Ends the watch, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}
