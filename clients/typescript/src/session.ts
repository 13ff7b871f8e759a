/** What a client remembers between calls: its own writes, so that its reads see them. */

import type { Version } from "./types.js";

/** From which state to read: at least `minRevision` of `epoch`. */
export interface Reading {
  readonly catalog: string;
  readonly minRevision: bigint;
  readonly epoch: string;
}

export class Session {
  readonly #catalog: string;
  #written: Version | undefined;

  constructor(catalog: string) {
    this.#catalog = catalog;
  }

  /** undefined: what this client wrote; otherwise what the caller says, of whichever epoch is current. */
  reading(minRevision: number | undefined): Reading {
    const version = minRevision === undefined ? this.#written : { epoch: "", revision: minRevision };
    return { catalog: this.#catalog, minRevision: BigInt(version?.revision ?? 0), epoch: version?.epoch ?? "" };
  }

  /** Answers of calls made at the same time may come in any order: the latest revision stays. */
  note(version: Version): void {
    const known = this.#written;
    if (known?.epoch !== version.epoch || known.revision < version.revision) {
      this.#written = version;
    }
  }

  forget(): void {
    this.#written = undefined;
  }
}
