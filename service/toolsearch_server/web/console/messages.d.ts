/** Answers of the service as JSON: the part of the contract that the console reads. int64 is text in protobuf's JSON. */

export interface Version {
  epoch: string;
  revision: string;
  staleness?: string;
}

export interface Hints {
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  openWorld: boolean;
}

export interface Entry {
  name: string;
  alias: string;
  server: string;
  localName: string;
  kind: string;
  title: string;
  summary: string;
  tags: string[];
  capabilities: string[];
  annotations?: Hints;
  digest: string;
  tokens: number;
  description: string;
  definition: string;
  resources: { path: string; mediaType: string; size: string; digest: string }[];
}

export interface ScorePart {
  name: string;
  value: number;
  detail: string;
}

export interface Match {
  entry: Entry;
  score: number;
  relevance: number;
  reason: string;
  matchedBy: string[];
  explanation: ScorePart[];
}

export interface SearchToolsResponse {
  matches: Match[];
  total: number;
  version: Version;
  strategy: string;
  message: string;
  nearNames: string[];
  searchId: string;
}

export interface ListToolsResponse {
  entries: Entry[];
  nextPageToken: string;
  totalSize: number;
  version: Version;
}

export interface GetToolsResponse {
  entries: Entry[];
  missing: { name: string; nearNames: string[] }[];
}

export interface GetSettingsResponse {
  settings: { banned: string[]; pinned: string[] };
}

export interface CatalogListing {
  name: string;
  version: Version;
  updateTime: string;
  entryCount: number;
  bytes: string;
}

export interface ListCatalogsResponse {
  catalogs: CatalogListing[];
  nextPageToken: string;
  totalSize: number;
}

export interface TenantListing {
  name: string;
  catalogCount: number;
  entryCount: string;
  bytes: string;
}

export interface ListTenantsResponse {
  tenants: TenantListing[];
  nextPageToken: string;
}

export interface ServerStats {
  server: string;
  entryCount: number;
  tokens: string;
}

export interface Catalog {
  name: string;
  version: Version;
  updateTime: string;
  entryCount: number;
  tokens: string;
  servers: ServerStats[];
  kinds: { kind: string; entryCount: number }[];
}

export interface WatchCatalogResponse {
  version: Version;
  current?: object;
  changed?: { upsertedNames: string[]; deletedNames: string[]; settingsChanged: boolean };
  snapshotNeeded?: object;
  deleted?: object;
}

export interface PlannedTool {
  name: string;
  alias: string;
  server: string;
  eager: boolean;
  tokens: number;
  reason: string;
}

export interface PlanToolsResponse {
  tools: PlannedTool[];
  payload: string;
  report: {
    eagerCount: number;
    deferredCount: number;
    tokensBefore: string;
    tokensAfter: string;
    unmatchedPatterns: string[];
    warnings: string[];
    contextWindow: string;
  };
  searchTool: string;
  execution: string;
}

/** As SearchToolsRequest has it. */
export interface Filter {
  servers?: string[];
  namespaces?: string[];
  tags?: string[];
  kinds?: string[];
  readOnly?: boolean;
  destructive?: boolean;
}

/** GET /v1/status: one replica. */
export interface Status {
  replica: string;
  version: string;
  startedAt: string;
  ready: boolean;
  store: string;
  /** Empty: there is no search by meaning. */
  embeddings: string;
  strategies: string[];
  /** Whether callers need a key. */
  credentials: boolean;
  caller: { tenant: string; role: "reader" | "writer" | "admin" };
  sampleSeconds: number;
  /** Of the last 15 minutes, the oldest first. */
  samples: Sample[];
}

export interface Sample {
  at: string;
  calls: number;
  errors: Record<string, number>;
  p50Ms: number | null;
  p90Ms: number | null;
  p99Ms: number | null;
  callsUnderWay: number;
  watches: number;
  catalogs: number;
  entries: number;
  indexBytes: number;
  maxRevisionLag: number;
  staleCatalogs: number;
  stalestSeconds: number;
  residentBytes: number;
  cpuSeconds: number;
}
