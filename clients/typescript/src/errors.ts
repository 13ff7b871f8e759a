/**
 * What goes wrong with a call.
 *
 * ToolSearchError
 * ├── InvalidRequest       the request itself is wrong; `field` says where
 * ├── NotFound             there is no such catalog, or resource
 * ├── Conflict             another writer was faster, or `expectedRevision` no longer holds
 * ├── LimitReached         the catalog or the caller has had all it may have
 * ├── Unauthenticated      no credential, or one that the service does not know (any more)
 * ├── Forbidden            the credential's role or tenant does not allow it
 * ├── NotPossible          this server lacks what the request needs
 * ├── Unavailable          the service cannot be reached or cannot answer now; trying again later may work
 * ├── TimedOut             no answer in time; a write may have happened
 * └── ServiceFailed        a defect of the service or of what is between
 */

import { type ServiceError, status } from "@grpc/grpc-js";
import { decodeStatus, type RpcStatus } from "./rpc_status.js";

export interface ErrorDetails {
  readonly code?: string;
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number | undefined;
}

/** A call that failed. */
export class ToolSearchError extends Error {
  /** gRPC's name for it, such as "INVALID_ARGUMENT". */
  readonly code: string;
  /** An ErrorReason of the contract, such as "CATALOG_NOT_FOUND"; empty if the service did not answer. */
  readonly reason: string;
  /** Whatever else is known: "field", "given", "allowed", "limit", "request_id". */
  readonly metadata: Readonly<Record<string, string>>;
  /** When to try again, if the service said so. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message);
    this.code = details.code ?? "";
    this.reason = details.reason ?? "";
    this.metadata = details.metadata ?? {};
    this.retryAfterMs = details.retryAfterMs;
  }

  override get name(): string {
    return this.constructor.name;
  }

  /** The path of the offending field, such as "upserts[2].definition"; empty if none is to blame. */
  get field(): string {
    return this.metadata["field"] ?? "";
  }

  /** What was in the field. */
  get given(): string {
    return this.metadata["given"] ?? "";
  }

  /** What may be in it. */
  get allowed(): string {
    return this.metadata["allowed"] ?? "";
  }
}

export class InvalidRequest extends ToolSearchError {}
export class NotFound extends ToolSearchError {}
export class Conflict extends ToolSearchError {}
export class LimitReached extends ToolSearchError {}
export class Unauthenticated extends ToolSearchError {}
export class Forbidden extends ToolSearchError {}
export class NotPossible extends ToolSearchError {}
export class Unavailable extends ToolSearchError {}
export class TimedOut extends ToolSearchError {}
export class ServiceFailed extends ToolSearchError {}

const classes: ReadonlyMap<status, typeof ToolSearchError> = new Map([
  [status.INVALID_ARGUMENT, InvalidRequest],
  [status.NOT_FOUND, NotFound],
  [status.ABORTED, Conflict],
  [status.RESOURCE_EXHAUSTED, LimitReached],
  [status.UNAUTHENTICATED, Unauthenticated],
  [status.PERMISSION_DENIED, Forbidden],
  [status.FAILED_PRECONDITION, NotPossible],
  [status.UNAVAILABLE, Unavailable],
  [status.CANCELLED, Unavailable], // by a server that stops; what the caller cancels does not come here
  [status.DEADLINE_EXCEEDED, TimedOut],
]);

/** The error for a failed call, with what the service said about it. */
export function fromServiceError(error: ServiceError, target: string): ToolSearchError {
  const code = (status[error.code] as string | undefined) ?? String(error.code);
  const Failure = classes.get(error.code) ?? ServiceFailed;
  const said = saidStatus(error);
  if (said !== undefined) {
    return new Failure(said.message, { code, reason: said.reason, metadata: said.metadata, retryAfterMs: said.retryAfterMs });
  }
  if (Failure === Unavailable) {
    return new Failure(`cannot reach toolsearch at ${target}: ${error.details || code}`, { code });
  }
  if (error.code === status.DEADLINE_EXCEEDED) {
    return new Failure(`no answer from toolsearch at ${target} in time`, { code });
  }
  return new Failure(error.details || code, { code });
}

function saidStatus(error: ServiceError): RpcStatus | undefined {
  const [encoded] = error.metadata.get("grpc-status-details-bin");
  if (!(encoded instanceof Uint8Array)) {
    return undefined;
  }
  try {
    return decodeStatus(encoded);
  } catch {
    return undefined; // not from toolsearch, or mangled on its way: the code and the text have to do
  }
}
