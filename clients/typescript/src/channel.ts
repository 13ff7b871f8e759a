/**
 * How the client connects: spread over all replicas, with retries for calls that only read. The only module that knows how
 * grpc-js makes calls; what travels is bytes.
 */

import { createHash } from "node:crypto";
import { BlockList, isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as grpc from "@grpc/grpc-js";
import { fromServiceError, ToolSearchError } from "./errors.js";

/** The same as the other clients', but for health checks, which grpc-js does not make. */
const serviceConfig = {
  loadBalancingConfig: [{ round_robin: {} }],
  methodConfig: [
    {
      name: [
        { service: "toolsearch.v1.ToolSearchService" },
        { service: "toolsearch.v1.CatalogService", method: "GetCatalog" },
        { service: "toolsearch.v1.CatalogService", method: "GetSettings" },
        { service: "toolsearch.v1.CatalogService", method: "ListCatalogs" },
        { service: "toolsearch.v1.CatalogService", method: "ListTenants" },
      ],
      retryPolicy: {
        maxAttempts: 5,
        initialBackoff: "0.05s",
        maxBackoff: "1s",
        backoffMultiplier: 2.5,
        // A server that stops cancels calls that arrive meanwhile. The other clients, which check health, do not call it then.
        retryableStatusCodes: ["UNAVAILABLE", "CANCELLED"],
      },
    },
  ],
};

const maxMessageBytes = 64 * 1024 * 1024;

const channelOptions: grpc.ChannelOptions = {
  "grpc.service_config": JSON.stringify(serviceConfig),
  "grpc.service_config_disable_resolution": 1,
  // A new client connects afresh, instead of inheriting another's back-off from a process-wide pool.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.max_receive_message_length": maxMessageBytes,
  "grpc.max_send_message_length": maxMessageBytes,
  // A replica that is cut off without a goodbye is found out within 40 seconds.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
};

/** All of it is optional, in PEM. */
export interface Tls {
  /** Who signed the server's certificate, if not one of the usual authorities. */
  readonly ca?: string | Uint8Array | undefined;
  /** The client's own certificate and key, where the server asks for one. */
  readonly certificate?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  /** The name in the server's certificate, if it is not in the target. */
  readonly serverName?: string | undefined;
}

export interface ConnectionOptions {
  /** Whose catalogs are meant: for administrators, who may act for any tenant, and for servers without credentials. */
  readonly tenant?: string | undefined;
  /** Says who calls, and for which tenant. Not sent unencrypted but to this machine. */
  readonly apiKey?: string | undefined;
  /** Speak TLS: `true`, or what there is to say about it. */
  readonly tls?: Tls | boolean | undefined;
  /**
   * Calls with the same route may be sent to the same replica by a balancer that goes by the header `x-toolsearch-route`.
   * Unless given: one for each tenant and credential, from which neither can be told. Empty: no such header.
   */
  readonly route?: string | undefined;
}

export interface CallLimits {
  /** In milliseconds. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

export class Channel {
  readonly #target: string;
  readonly #metadata: grpc.Metadata;
  readonly #client: grpc.Client;
  readonly #underWay = new Set<grpc.ClientUnaryCall>();
  readonly #closing = new AbortController();

  constructor(target: string, options: ConnectionOptions) {
    const apiKey = checkedKey(options.apiKey);
    if (apiKey !== undefined && !options.tls && !isLocal(target)) {
      throw new TypeError(`an API key is not sent unencrypted to ${target}: speak TLS`);
    }
    this.#target = target;
    this.#metadata = headers(options.tenant, apiKey, options.route);
    this.#client = new grpc.Client(target, ...credentials(options.tls));
  }

  unary(path: string, request: Uint8Array, limits: CallLimits): Promise<Uint8Array> {
    const { signal } = limits;
    return new Promise((resolve, reject) => {
      this.#refuseEnded(signal);
      const call = this.#client.makeUnaryRequest(
        path,
        asBuffer,
        asIs,
        request,
        this.#metadata.clone(),
        callOptions(limits),
        (error, response) => {
          signal?.removeEventListener("abort", cancel);
          this.#underWay.delete(call);
          if (response !== undefined) {
            resolve(response);
          } else {
            reject(this.#explained(error, signal));
          }
        },
      );
      const cancel = () => {
        call.cancel();
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#underWay.add(call);
    });
  }

  async *stream(path: string, request: Uint8Array, limits: CallLimits): AsyncGenerator<Uint8Array, void, undefined> {
    const { signal } = limits;
    this.#refuseEnded(signal);
    const call = this.#client.makeServerStreamRequest(
      path,
      asBuffer,
      asIs,
      request,
      this.#metadata.clone(),
      callOptions(limits),
    );
    call.on("error", () => undefined); // one that comes when nobody reads any more would end the process
    const cancel = () => {
      call.cancel();
    };
    signal?.addEventListener("abort", cancel, { once: true });
    this.#underWay.add(call);
    try {
      yield* call as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw this.#explained(error, signal);
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#underWay.delete(call);
      call.cancel(); // for who leaves early
    }
  }

  /** Ends early, by throwing, when the signal is aborted or the channel closed. */
  async pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const ended = signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
    await sleep(milliseconds, undefined, { signal: ended }).catch(() => {
      ended.throwIfAborted();
    });
  }

  /** Ends calls and streams under way too. */
  close(): void {
    this.#closing.abort(new ToolSearchError("the client is closed", { code: "CANCELLED" }));
    for (const call of this.#underWay) {
      call.cancel();
    }
    this.#client.close();
  }

  #refuseEnded(signal: AbortSignal | undefined): void {
    this.#closing.signal.throwIfAborted();
    signal?.throwIfAborted();
  }

  #explained(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) {
      return signal.reason;
    }
    if (this.#closing.signal.aborted) {
      return this.#closing.signal.reason;
    }
    return fromServiceError(error as grpc.ServiceError, this.#target);
  }
}

function callOptions({ timeout }: CallLimits): grpc.CallOptions {
  if (!(timeout > 0)) {
    throw new RangeError(`timeout must be a positive number of milliseconds, not ${timeout}`);
  }
  return { deadline: Date.now() + timeout };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function asIs(bytes: Buffer): Uint8Array {
  return bytes;
}

function credentials(tls: Tls | boolean | undefined): [grpc.ChannelCredentials, grpc.ChannelOptions] {
  if (!tls) {
    // Not through a proxy either, which would see all of it.
    return [grpc.credentials.createInsecure(), { ...channelOptions, "grpc.enable_http_proxy": 0 }];
  }
  const { ca, certificate, key, serverName } = tls === true ? ({} as Tls) : tls;
  const named = serverName === undefined ? {} : { "grpc.ssl_target_name_override": serverName };
  return [grpc.credentials.createSsl(pem(ca), pem(key), pem(certificate)), { ...channelOptions, ...named }];
}

function pem(value: string | Uint8Array | undefined): Buffer | null {
  if (value === undefined) {
    return null;
  }
  return typeof value === "string" ? Buffer.from(value) : asBuffer(value);
}

/** grpc-js would refuse such a key too, but with a message that quotes it. */
function checkedKey(apiKey: string | undefined): string | undefined {
  const key = apiKey?.trim();
  if (key !== undefined && !/^[!-~]+$/.test(key)) {
    throw new TypeError("the API key is empty or has characters that no key has");
  }
  return key;
}

function headers(tenant: string | undefined, apiKey: string | undefined, route: string | undefined): grpc.Metadata {
  const metadata = new grpc.Metadata();
  if (tenant !== undefined) {
    metadata.set("x-toolsearch-tenant", tenant);
  }
  if (apiKey !== undefined) {
    metadata.set("authorization", `Bearer ${apiKey}`);
  }
  const routed = route ?? callerRoute(tenant ?? "", apiKey ?? "");
  if (routed !== "") {
    metadata.set("x-toolsearch-route", routed);
  }
  return metadata;
}

/** The same in every language, so that all clients of a caller take the same route. */
function callerRoute(tenant: string, apiKey: string): string {
  if (tenant === "" && apiKey === "") {
    return "";
  }
  return createHash("sha256").update(`${tenant}\n${apiKey}`).digest("hex").slice(0, 16);
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/**
 * Whether a target is this machine, so that nothing on the way could listen. Narrower than what grpc-js understands, on purpose:
 * "unix-abstract:80", for one, is a host of that name to it.
 */
function isLocal(target: string): boolean {
  if (target.startsWith("unix:")) {
    return true;
  }
  const host = /^(?:dns:\/\/\/)?(?:\[([0-9a-f:.]+)\]|([^:/@,[\]]+))(?::\d+)?$/i.exec(target)?.slice(1).find(Boolean) ?? "";
  return host === "localhost" || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? "ipv6" : "ipv4"));
}
