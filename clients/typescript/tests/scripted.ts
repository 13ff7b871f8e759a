/** A server that does what a real one cannot be made to do on command, and shows what arrives there. */

import type { TestContext } from "node:test";
import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import {
  CatalogService,
  type GetSettingsResponseSchema,
  type PlanToolsRequest,
  type ReadResourceRequest,
  type ReadResourceResponseSchema,
  type SearchToolsRequest,
  type SearchToolsResponseSchema,
  type SyncServerResponseSchema,
  ToolSearchService,
  type WatchCatalogRequest,
  WatchCatalogResponseSchema,
} from "toolsearch/v1";

export type SearchCall = grpc.ServerUnaryCall<SearchToolsRequest, unknown>;
export type PlanCall = grpc.ServerUnaryCall<PlanToolsRequest, unknown>;
export type WatchStream = grpc.ServerWritableStream<WatchCatalogRequest, MessageInitShape<typeof WatchCatalogResponseSchema>>;

export type ResourceStream = grpc.ServerWritableStream<
  ReadResourceRequest,
  MessageInitShape<typeof ReadResourceResponseSchema>
>;

export interface Script {
  /** Throws a status, or answers. */
  readonly search?: (call: SearchCall) => MessageInitShape<typeof SearchToolsResponseSchema> | Promise<never>;
  readonly write?: () => MessageInitShape<typeof SyncServerResponseSchema>;
  readonly watch?: (stream: WatchStream) => void;
  readonly plan?: (request: PlanToolsRequest) => void;
  readonly settings?: () => MessageInitShape<typeof GetSettingsResponseSchema>;
  readonly resource?: (stream: ResourceStream) => void;
}

/** Gives the target to connect to. */
export async function serve(test: TestContext, script: Script, listen = "127.0.0.1:0"): Promise<string> {
  const server = new grpc.Server();
  const { searchTools, planTools, watchCatalog, readResource } = ToolSearchService.method;
  const { syncServer, getSettings } = CatalogService.method;
  const methods = { searchTools, planTools, watchCatalog, readResource, syncServer, getSettings };
  server.addService(Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, definition(method)])), {
    searchTools: answering((call: SearchCall) => script.search?.(call) ?? {}),
    planTools: answering(({ request }: PlanCall) => script.plan?.(request) ?? {}),
    syncServer: answering(() => script.write?.() ?? {}),
    getSettings: answering(() => script.settings?.() ?? {}),
    watchCatalog: (stream: WatchStream) => script.watch?.(stream),
    readResource: (stream: ResourceStream) => script.resource?.(stream),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(listen, grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) {
        resolve(bound);
      } else {
        reject(error);
      }
    });
  });
  test.after(() => {
    server.forceShutdown();
  });
  return listen.replace(/:0$/, `:${port}`);
}

function answering<Request>(
  answer: (call: grpc.ServerUnaryCall<Request, unknown>) => unknown,
): grpc.handleUnaryCall<Request, unknown> {
  return (call, done) => {
    Promise.resolve(call)
      .then(answer)
      .then(
        (response) => {
          done(null, response);
        },
        (error: unknown) => {
          done(error as grpc.ServiceError);
        },
      );
  };
}

function definition(method: DescMethod): grpc.MethodDefinition<Record<string, unknown>, Record<string, unknown>> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: method.methodKind === "server_streaming",
    requestSerialize: (request) => Buffer.from(toBinary(method.input, create(method.input, request))),
    requestDeserialize: (bytes) => fromBinary(method.input, bytes),
    responseSerialize: (response) => Buffer.from(toBinary(method.output, create(method.output, response))),
    responseDeserialize: (bytes) => fromBinary(method.output, bytes),
  };
}
