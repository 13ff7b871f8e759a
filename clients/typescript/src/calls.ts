/** Each call as a value: the method, the request, and what to make of the response. `client.ts` runs them. */

import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  configMessage,
  entryMessage,
  enumNumber,
  filterMessage,
  given,
  int64,
  list,
  settingsMessage,
  usageMessage,
} from "./requests.js";
import * as results from "./results.js";
import type { Reading } from "./session.js";
import { CatalogService } from "./toolsearch/v1/catalog_service_pb.js";
import { Detail } from "./toolsearch/v1/entry_pb.js";
import { SearchField, ToolSearchService } from "./toolsearch/v1/search_service_pb.js";
import { Strategy } from "./toolsearch/v1/strategy_pb.js";
import type * as t from "./types.js";

export interface Call<Result> {
  readonly path: string;
  readonly request: Uint8Array;
  readonly result: (response: Uint8Array) => Result;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextToken: string;
}

function call<Request extends DescMessage, Response extends DescMessage, Result>(
  method: DescMethod & { readonly input: Request; readonly output: Response },
  request: MessageInitShape<Request>,
  result: (response: MessageShape<Response>) => Result,
): Call<Result> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    request: toBinary(method.input, create(method.input, request)),
    result: (response) => result(fromBinary(method.output, response)),
  };
}

export function search(
  reading: Reading,
  query: string | Iterable<string>,
  options: Omit<t.SearchOptions, keyof t.ReadOptions>,
): Call<t.SearchResult> {
  const { limit = 5, strategy = "auto", detail = "summary", explain, caseSensitive, minRelevance } = options;
  const request = {
    ...reading,
    queries: typeof query === "string" ? [query] : [...query],
    limit,
    strategy: enumNumber(Strategy, strategy, "strategy"),
    filter: filterMessage(options.filter),
    detail: enumNumber(Detail, detail, "detail"),
    fields: list(options.fields, "fields").map((field) => enumNumber(SearchField, field, "fields")),
    ...given({ explain, caseSensitive, minRelevance }),
  };
  return call(ToolSearchService.method.searchTools, request, results.searchResult);
}

export function listTools(
  reading: Reading,
  { filter, detail = "summary", pageSize = 0 }: Omit<t.ListToolsOptions, keyof t.ReadOptions>,
  pageToken: string,
): Call<Page<t.Entry>> {
  const request = {
    ...reading,
    filter: filterMessage(filter),
    detail: enumNumber(Detail, detail, "detail"),
    pageSize,
    pageToken,
  };
  return call(ToolSearchService.method.listTools, request, (found) => {
    return { items: found.entries.map(results.entry), nextToken: found.nextPageToken };
  });
}

export function listNamespaces(
  reading: Reading,
  { parent = "", pageSize = 0 }: Omit<t.ListNamespacesOptions, keyof t.ReadOptions>,
  pageToken: string,
): Call<Page<t.Namespace>> {
  return call(ToolSearchService.method.listNamespaces, { ...reading, parent, pageSize, pageToken }, (found) => {
    return { items: found.namespaces.map(results.namespace), nextToken: found.nextPageToken };
  });
}

/** A part of what was asked for, and the names to ask for again. */
export interface PartialGet {
  readonly result: t.GetResult;
  readonly omitted: readonly string[];
}

export function getTools(reading: Reading, names: Iterable<string>, detail: t.Detail): Call<PartialGet> {
  const request = { ...reading, names: list(names, "names"), detail: enumNumber(Detail, detail, "detail") };
  return call(ToolSearchService.method.getTools, request, (found) => {
    return { result: results.getResult(found), omitted: found.omittedNames };
  });
}

export function planTools(
  reading: Reading,
  provider: string,
  model: string,
  { config = {}, purpose = "", filter, payload = true }: Omit<t.PlanOptions, keyof t.ReadOptions>,
): Call<t.PlanResult> {
  const request = {
    ...reading,
    provider,
    model,
    config: configMessage(config),
    purpose,
    filter: filterMessage(filter),
    withoutPayload: !payload,
  };
  return call(ToolSearchService.method.planTools, request, results.planResult);
}

export function reportUsage(catalog: string, reports: Iterable<t.UsageReport>): Call<readonly string[]> {
  const request = { catalog, reports: list(reports, "reports").map(usageMessage) };
  return call(ToolSearchService.method.reportUsage, request, ({ unknownNames }) => unknownNames);
}

/** Answered by a stream of pieces. */
export function readResource(reading: Reading, name: string, path: string): Call<Uint8Array> {
  return call(ToolSearchService.method.readResource, { ...reading, name, path }, ({ data }) => data);
}

export function watch(catalog: string, start: t.Version | undefined): Call<t.WatchEvent> {
  const from = start === undefined ? {} : { fromRevision: BigInt(start.revision), epoch: start.epoch };
  return call(ToolSearchService.method.watchCatalog, { catalog, ...from }, results.watchEvent);
}

export function applyChanges(
  catalog: string,
  { upserts, deletes }: t.Changes,
  expectedRevision: number | undefined,
): Call<t.WriteResult> {
  const request = {
    catalog,
    upserts: list(upserts, "upserts").map(entryMessage),
    deletes: list(deletes, "deletes"),
    ...given({ expectedRevision: int64(expectedRevision) }),
  };
  return call(CatalogService.method.applyChanges, request, results.writeResult);
}

export function syncServer(
  catalog: string,
  server: string,
  tools: Iterable<t.EntryInput | t.DefinitionInput>,
  expectedRevision: number | undefined,
): Call<t.WriteResult> {
  const entries = list(tools, "tools").map(entryMessage);
  const request = { catalog, server, entries, ...given({ expectedRevision: int64(expectedRevision) }) };
  return call(CatalogService.method.syncServer, request, results.writeResult);
}

export function deleteServer(catalog: string, server: string, expectedRevision: number | undefined): Call<t.WriteResult> {
  const request = { catalog, server, ...given({ expectedRevision: int64(expectedRevision) }) };
  return call(CatalogService.method.deleteServer, request, results.writeResult);
}

export function getSettings(reading: Reading): Call<t.CatalogSettings> {
  return call(CatalogService.method.getSettings, reading, results.settings);
}

export function updateSettings(
  catalog: string,
  settings: Partial<t.CatalogSettings>,
  expectedRevision: number | undefined,
): Call<t.WriteResult> {
  const request = {
    catalog,
    settings: settingsMessage(settings),
    ...given({ expectedRevision: int64(expectedRevision) }),
  };
  return call(CatalogService.method.updateSettings, request, results.writeResult);
}

export function getCatalog(catalog: string): Call<t.CatalogInfo> {
  return call(CatalogService.method.getCatalog, { catalog }, results.catalogInfo);
}

export function listCatalogs(pageSize: number, pageToken: string): Call<Page<t.CatalogListing>> {
  return call(CatalogService.method.listCatalogs, { pageSize, pageToken }, (found) => {
    return { items: found.catalogs.map(results.catalogListing), nextToken: found.nextPageToken };
  });
}

export function listTenants(pageSize: number, pageToken: string): Call<Page<t.TenantListing>> {
  return call(CatalogService.method.listTenants, { pageSize, pageToken }, (found) => {
    return { items: found.tenants.map(results.tenantListing), nextToken: found.nextPageToken };
  });
}

export function deleteCatalog(catalog: string, expectedRevision: number | undefined): Call<undefined> {
  const request = { catalog, ...given({ expectedRevision: int64(expectedRevision) }) };
  return call(CatalogService.method.deleteCatalog, request, () => undefined);
}
