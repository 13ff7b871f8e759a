import type { Call, Page } from "./calls.js";
import * as calls from "./calls.js";
import { Channel, type ConnectionOptions } from "./channel.js";
import { Unavailable } from "./errors.js";
import { type Reading, Session } from "./session.js";
import type * as t from "./types.js";

const firstDelay = 100;
const longestDelay = 5_000;

export interface ClientOptions extends ConnectionOptions {
  /** The catalog that every call means: "default", unless given. */
  readonly catalog?: string | undefined;
  /** Of each call, in milliseconds, retries included: 10 seconds, unless given. Watches have none. */
  readonly timeout?: number | undefined;
}

/**
 * A connection to toolsearch, for one catalog. Make one and keep it.
 *
 * ```ts
 * const client = new Client("localhost:50051");
 * await client.syncServer("github", tools);
 * const { matches } = await client.search("open a bug report");
 * for (const match of matches) console.log(match.name, match.relevance, match.reason);
 * client.close();
 * ```
 *
 * Reads see this client's own writes (`minRevision: 0` turns that off for a call) and are retried when a replica goes away;
 * writes are not retried. What the service refuses or cannot do is a ToolSearchError; values that cannot even be sent are a
 * TypeError or a RangeError; a call that was given up is rejected with its signal's reason.
 */
export class Client {
  readonly target: string;
  readonly catalog: string;
  readonly #timeout: number;
  readonly #channel: Channel;
  readonly #session: Session;

  /** Does not wait for a connection: what is wrong with one, the first call tells. */
  constructor(target = "localhost:50051", options: ClientOptions = {}) {
    this.target = target;
    this.catalog = options.catalog ?? "default";
    this.#timeout = options.timeout ?? 10_000;
    this.#channel = new Channel(target, options);
    this.#session = new Session(this.catalog);
  }

  /** Ends the connection, and with it the calls and watches under way. */
  close(): void {
    this.#channel.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  // Reading

  /** The entries that fit the words of a task, a name or a pattern, best first. Several phrasings give one list. */
  async search(query: string | Iterable<string>, options: t.SearchOptions = {}): Promise<t.SearchResult> {
    return await this.#run(calls.search(this.#reading(options), query, options), options);
  }

  /** All entries by canonical name, fetched a page at a time; `timeout` is for each page. */
  listTools(options: t.ListToolsOptions = {}): AsyncGenerator<t.Entry, void, undefined> {
    return this.#pages((token) => calls.listTools(this.#reading(options), options, token), options);
  }

  /** The namespaces of canonical names, with counts. */
  listNamespaces(options: t.ListNamespacesOptions = {}): AsyncGenerator<t.Namespace, void, undefined> {
    return this.#pages((token) => calls.listNamespaces(this.#reading(options), options, token), options);
  }

  /** Entries in full by canonical name or alias, in the order asked for; those that do not exist are in `missing`. */
  async getTools(names: Iterable<string>, options: t.GetToolsOptions = {}): Promise<t.GetResult> {
    const { detail = "full" } = options;
    const reading = this.#reading(options);
    const entries: t.Entry[] = [];
    const missing: t.MissingEntry[] = [];
    for (let wanted = names; ;) {
      const { result, omitted } = await this.#run(calls.getTools(reading, wanted, detail), options);
      entries.push(...result.entries);
      missing.push(...result.missing);
      if (omitted.length === 0) {
        return { entries, missing, version: result.version };
      }
      wanted = omitted; // an answer has a largest size
    }
  }

  /**
   * Which tools to load up front and which to find by search, and what to send to the provider: "anthropic", "openai" (Responses),
   * "openai-chat". Once per conversation will do.
   */
  async planTools(provider: string, model: string, options: t.PlanOptions = {}): Promise<t.PlanResult> {
    return await this.#run(calls.planTools(this.#reading(options), provider, model, options), options);
  }

  /**
   * Say what became of entries that were used, so that what is used much comes a little earlier. The names that no entry has
   * are returned.
   */
  async reportUsage(reports: Iterable<t.UsageReport>, options: t.CallOptions = {}): Promise<readonly string[]> {
    return await this.#run(calls.reportUsage(this.catalog, reports), options);
  }

  /** The content of a file that comes with an entry, which is given by canonical name or alias. */
  async readResource(name: string, path: string, options: t.ReadOptions = {}): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#stream(calls.readResource(this.#reading(options), name, path), options)) {
      pieces.push(piece);
    }
    return new Uint8Array(Buffer.concat(pieces)); // a copy: a Buffer may share its memory with others
  }

  /**
   * What changes in the catalog, after `start` or from now on. A lost connection is taken up again where it was lost; what was
   * missed meanwhile is told then, or the event is `snapshot_needed`.
   *
   * It ends after the catalog was deleted, or throws: the signal's reason, a refusal such as NotFound, or, as long as there
   * is no version to continue from, Unavailable. To stop, leave the loop or abort the signal; either ends the stream.
   */
  async *watch(options: t.WatchOptions = {}): AsyncGenerator<t.WatchEvent, void, undefined> {
    let { start } = options;
    let delay = firstDelay;
    for (;;) {
      try {
        for await (const event of this.#stream(calls.watch(this.catalog, start), { ...options, timeout: Infinity })) {
          start = event.version;
          delay = firstDelay;
          yield event;
          if (event.kind === "deleted") {
            return;
          }
        }
      } catch (error) {
        if (!(error instanceof Unavailable) || start === undefined) {
          throw error;
        }
      }
      // Jitter, so that many clients do not come back at once.
      await this.#channel.pause(delay * (0.5 + Math.random() / 2), options.signal);
      delay = Math.min(2 * delay, longestDelay);
    }
  }

  // Writing

  /** Add or replace entries, and delete others by canonical name or alias. */
  async applyChanges(changes: t.Changes, options: t.WriteOptions = {}): Promise<t.WriteResult> {
    return await this.#write(calls.applyChanges(this.catalog, changes, options.expectedRevision), options);
  }

  /** Say what one server offers now, as MCP tool JSON: what it no longer offers is deleted. */
  async syncServer(
    server: string,
    tools: Iterable<t.EntryInput | t.DefinitionInput>,
    options: t.WriteOptions = {},
  ): Promise<t.WriteResult> {
    return await this.#write(calls.syncServer(this.catalog, server, tools, options.expectedRevision), options);
  }

  /** Delete everything that came from one server. */
  async deleteServer(server: string, options: t.WriteOptions = {}): Promise<t.WriteResult> {
    return await this.#write(calls.deleteServer(this.catalog, server, options.expectedRevision), options);
  }

  /** How the catalog is searched. */
  async getSettings(options: t.ReadOptions = {}): Promise<t.CatalogSettings> {
    return await this.#run(calls.getSettings(this.#reading(options)), options);
  }

  /** Say how the catalog is searched, in the place of all earlier settings: what is left out has its default again. */
  async updateSettings(settings: Partial<t.CatalogSettings>, options: t.WriteOptions = {}): Promise<t.WriteResult> {
    return await this.#write(calls.updateSettings(this.catalog, settings, options.expectedRevision), options);
  }

  /** Counts, version and token totals. */
  async getCatalog(options: t.CallOptions = {}): Promise<t.CatalogInfo> {
    return await this.#run(calls.getCatalog(this.catalog), options);
  }

  /** The tenant's catalogs by name. */
  listCatalogs(options: t.PageOptions & t.CallOptions = {}): AsyncGenerator<t.CatalogListing, void, undefined> {
    return this.#pages((token) => calls.listCatalogs(options.pageSize ?? 0, token), options);
  }

  /** All tenants that have catalogs, by name. For administrators. */
  listTenants(options: t.PageOptions & t.CallOptions = {}): AsyncGenerator<t.TenantListing, void, undefined> {
    return this.#pages((token) => calls.listTenants(options.pageSize ?? 0, token), options);
  }

  /** Delete the catalog with everything in it. */
  async deleteCatalog(options: t.WriteOptions = {}): Promise<void> {
    await this.#run(calls.deleteCatalog(this.catalog, options.expectedRevision), options);
    this.#session.forget();
  }

  // Running calls

  #reading(options: t.ReadOptions): Reading {
    return this.#session.reading(options.minRevision);
  }

  async #run<Result>(call: Call<Result>, options: t.CallOptions): Promise<Result> {
    const { timeout = this.#timeout, signal } = options;
    return call.result(await this.#channel.unary(call.path, call.request, { timeout, signal }));
  }

  async #write(call: Call<t.WriteResult>, options: t.CallOptions): Promise<t.WriteResult> {
    const result = await this.#run(call, options);
    this.#session.note(result.version);
    return result;
  }

  async *#stream<Result>(call: Call<Result>, options: t.CallOptions): AsyncGenerator<Result, void, undefined> {
    const { timeout = this.#timeout, signal } = options;
    for await (const response of this.#channel.stream(call.path, call.request, { timeout, signal })) {
      yield call.result(response);
    }
  }

  async *#pages<Item>(
    page: (token: string) => Call<Page<Item>>,
    options: t.CallOptions,
  ): AsyncGenerator<Item, void, undefined> {
    for (let token = ""; ;) {
      const { items, nextToken } = await this.#run(page(token), options);
      yield* items;
      if (nextToken === "") {
        return;
      }
      token = nextToken;
    }
  }
}
