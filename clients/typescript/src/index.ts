/** Tool search for AI agents: the client of the toolsearch service. */

export type { ConnectionOptions, Tls } from "./channel.js";
export { Client, type ClientOptions } from "./client.js";
export {
  Conflict,
  type ErrorDetails,
  Forbidden,
  InvalidRequest,
  LimitReached,
  NotFound,
  NotPossible,
  ServiceFailed,
  TimedOut,
  ToolSearchError,
  Unauthenticated,
  Unavailable,
} from "./errors.js";
export { toolForModel, toolsFromMcp } from "./mcp.js";
export type * from "./types.js";
