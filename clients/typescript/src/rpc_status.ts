/**
 * google.rpc.Status with the details that toolsearch sends (AIP-193): ErrorInfo and RetryInfo. They are read field by field,
 * because a client needs five fields of them and no package with all of Google's messages.
 */

import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { DurationSchema, durationMs } from "@bufbuild/protobuf/wkt";

export interface RpcStatus {
  message: string;
  reason: string;
  metadata: Record<string, string>;
  retryAfterMs: number | undefined;
}

/** Details of other kinds are passed over. Throws if the bytes are no message. */
export function decodeStatus(bytes: Uint8Array): RpcStatus {
  const said: RpcStatus = { message: "", reason: "", metadata: {}, retryAfterMs: undefined };
  for (const [field, value] of parts(bytes)) {
    if (field === 2) {
      said.message = text(value);
    } else if (field === 3) {
      addDetail(said, value);
    }
  }
  return said;
}

function addDetail(said: RpcStatus, any: Uint8Array): void {
  const detail = new Map(parts(any));
  const value = detail.get(2) ?? new Uint8Array();
  switch (text(detail.get(1))) {
    case "type.googleapis.com/google.rpc.ErrorInfo":
      for (const [field, part] of parts(value)) {
        if (field === 1) {
          said.reason = text(part);
        } else if (field === 3) {
          const entry = new Map(parts(part));
          said.metadata[text(entry.get(1))] = text(entry.get(2));
        }
      }
      return;
    case "type.googleapis.com/google.rpc.RetryInfo":
      said.retryAfterMs = durationMs(fromBinary(DurationSchema, new Map(parts(value)).get(1) ?? new Uint8Array()));
  }
}

/** The texts, bytes and messages in a message, with their field numbers. */
function* parts(bytes: Uint8Array): Generator<[field: number, value: Uint8Array]> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType === WireType.LengthDelimited) {
      yield [field, reader.bytes()];
    } else {
      reader.skip(wireType, field);
    }
  }
}

function text(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : new TextDecoder().decode(bytes);
}
