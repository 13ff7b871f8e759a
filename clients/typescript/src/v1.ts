/** The messages and services of the contract as generated, for what the client does not do. */

export * from "./toolsearch/v1/catalog_service_pb.js";
export * from "./toolsearch/v1/change_pb.js";
export * from "./toolsearch/v1/entry_pb.js";
export * from "./toolsearch/v1/error_reason_pb.js";
export * from "./toolsearch/v1/plan_pb.js";
export * from "./toolsearch/v1/search_service_pb.js";
export * from "./toolsearch/v1/settings_pb.js";
export * from "./toolsearch/v1/strategy_pb.js";
