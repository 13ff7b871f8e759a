/** What the client takes and returns: plain values. Times are in milliseconds. */

import type { Detail as DetailMessage, EntryKind } from "./toolsearch/v1/entry_pb.js";
import type { SearchExecution, SearchFallback, SearchScope } from "./toolsearch/v1/plan_pb.js";
import type {
  MatchedBy as MatchedByMessage,
  SearchField as SearchFieldMessage,
  UsageOutcome as UsageOutcomeMessage,
} from "./toolsearch/v1/search_service_pb.js";
import type { Strategy as StrategyMessage } from "./toolsearch/v1/strategy_pb.js";

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
/** What became of a use; "declined": a person or a policy did not let it be called. */
export type UsageOutcome = EnumName<typeof UsageOutcomeMessage>;
/** Which entries may be deferred; "mcp": all but the caller's own. */
export type Scope = EnumName<typeof SearchScope>;
/** Who carries out the model's searches; "client" is the caller. */
export type Execution = EnumName<typeof SearchExecution>;
/** What to do where the provider or the model cannot defer tools: our search tool, or load everything. */
export type Fallback = EnumName<typeof SearchFallback>;
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

/** A file that comes with an entry: read on demand, not searched. */
export interface ResourceInput {
  /** Relative, with `/`: `scripts/check.py`. */
  readonly path: string;
  readonly content: Uint8Array;
  /** "application/octet-stream", unless given. */
  readonly mediaType?: string;
}

/** A file that comes with an entry; `readResource` reads it. */
export interface Resource {
  readonly path: string;
  readonly mediaType: string;
  readonly size: number;
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly digest: string;
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
  /** All files that come with the entry. */
  readonly resources?: readonly ResourceInput[];
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
  /** With detail "full": what `readResource` can read. */
  readonly resources: readonly Resource[];
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
  /** For UsageReport. */
  readonly searchId: string;
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

/** What a model can do, where the service's own table is wrong or behind. */
export interface ModelSupport {
  /** A glob on the model's name. */
  readonly model: string;
  /** Any, unless given. */
  readonly provider?: string | undefined;
  /** Whether definitions can be deferred and found by search. */
  readonly toolSearch?: boolean | undefined;
  /** In tokens. */
  readonly contextWindow?: number | undefined;
}

/** What is loaded up front and what is found by search. The service knows the defaults, and docs/plan.md says what each does. */
export interface ToolSearchConfig {
  /** true, unless given. */
  readonly enabled?: boolean | undefined;
  /** "mcp", unless given. */
  readonly scope?: Scope | undefined;
  /** What searches use: "auto", unless given. */
  readonly strategy?: Strategy | undefined;
  /** By server: globs on the server's own names of tools that are always eager. */
  readonly eagerTools?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Of one search: 5, unless given. */
  readonly maxResults?: number | undefined;
  /** Whether tools that their server marks with `_meta["anthropic/alwaysLoad"]` are eager: true, unless given. */
  readonly alwaysLoad?: boolean | undefined;
  /** Search only if the definitions cost more tokens than this: 10,000, unless given. */
  readonly minTokens?: number | undefined;
  /** In the place of minTokens: a share of the model's context window, above 0 up to 1. */
  readonly minContextShare?: number | undefined;
  /** So many entries stay eager: 1, unless given. "auto": three to five, those that are used most. */
  readonly minEager?: number | "auto" | undefined;
  /** "client", unless given. */
  readonly execution?: Execution | undefined;
  /** "search", unless given. */
  readonly fallback?: Fallback | undefined;
  /** "find_tools", unless given. */
  readonly searchToolName?: string | undefined;
  /** Globs on the servers whose entries are the caller's own. */
  readonly localServers?: readonly string[] | undefined;
  /** How many tokens of definitions `purpose` may preload: 2,000, unless given. */
  readonly preloadTokens?: number | undefined;
  /** What is known of models, ahead of what the service knows: the first that fits counts. */
  readonly models?: readonly ModelSupport[] | undefined;
}

/** What a plan says of one tool. */
export interface PlannedTool {
  readonly name: string;
  readonly alias: string;
  readonly server: string;
  readonly eager: boolean;
  readonly tokens: number;
  /** Why it is eager; empty for deferred ones. */
  readonly reason: string;
}

/** Which tools to load up front and which to find by search, and what to send for that. Tokens are estimates. */
export interface PlanResult {
  /** By canonical name. */
  readonly tools: readonly PlannedTool[];
  /** `tools` of the request to the provider. */
  readonly payload: readonly Readonly<Record<string, unknown>>[];
  /** The same as text: integers above 2^53, which JavaScript rounds, are exact in it. */
  readonly payloadText: string;
  /** Empty: the payload has none, and needs none. */
  readonly searchTool: string;
  /** Whether the provider carries out the searches, and not the caller. */
  readonly byProvider: boolean;
  readonly tokensBefore: number;
  /** Of what the model sees at first, the search tool included. */
  readonly tokensAfter: number;
  /** Patterns of `eagerTools` that no tool fits, as "server: pattern". */
  readonly unmatchedPatterns: readonly string[];
  /** What could not be done as asked, and what the provider may refuse. */
  readonly warnings: readonly string[];
  /** The window that was assumed, in tokens. */
  readonly contextWindow: number;
  readonly version: Version;
}

/** A use of an entry. */
export interface UsageReport {
  /** Canonical name or alias. */
  readonly name: string;
  /** "succeeded", unless given. */
  readonly outcome?: UsageOutcome;
  /** Of the answer in which it was found, if it was found by search. */
  readonly searchId?: string;
}

/** How a catalog is searched. Weights say how often words count that stand there: 0 to 10, usually 1. */
export interface CatalogSettings {
  readonly nameWeight: number;
  readonly descriptionWeight: number;
  readonly parametersWeight: number;
  /** Groups of words, or of phrases of up to four words, that mean the same. */
  readonly synonyms: readonly (readonly string[])[];
  /** Globs on canonical names of entries that come first wherever they match well, and are eager in plans. */
  readonly pinned: readonly string[];
  /** Globs on canonical names of entries that no search finds and no plan contains. */
  readonly banned: readonly string[];
  /** Do not let reported usage affect the order of matches, nor plans. */
  readonly ignoreUsage: boolean;
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
      /** The catalog's settings are others. */
      readonly settingsChanged: boolean;
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

export interface PlanOptions extends ReadOptions {
  readonly config?: ToolSearchConfig | undefined;
  /** What the conversation is about: the tools that fit it best are eager. */
  readonly purpose?: string | undefined;
  /** Which entries the agent may use. */
  readonly filter?: Filter | undefined;
  /** false: leave out what to send to the provider. */
  readonly payload?: boolean | undefined;
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
