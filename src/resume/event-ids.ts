import { createHmac, timingSafeEqual } from "node:crypto";
import { TrawlError } from "../base/errors.js";

/** Bytes of the authentication code: guessing one takes 2^127 attempts on average. */
const codeBytes = 16;

/** Where a stream goes on. */
export interface StreamPosition {
  /** The name of the stream. */
  readonly name: string;
  /** Byte offset in its file. */
  readonly offset: number;
}

/**
 * The ids of events: `NAME.OFFSET.CODE`. The code authenticates name, offset and user, so that an id is of use only to
 * the user who received it, and no other position of a file can be asked for.
 */
export class EventIds {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  print({ name, offset }: StreamPosition, userId: number | undefined): string {
    return `${name}.${offset}.${this.#code(name, offset, userId).toString("base64url")}`;
  }

  /** Throws `bad-request` for an id that this daemon has not given to this user. */
  parse(id: string, userId: number | undefined): StreamPosition {
    const [, name = "", digits = "", code = ""] =
      /^([A-Za-z0-9_-]{22})\.([0-9]{1,15})\.([A-Za-z0-9_-]{22})$/.exec(id) ?? [];
    const offset = Number(digits);
    const given = Buffer.from(code, "base64url");
    if (given.length !== codeBytes || !timingSafeEqual(given, this.#code(name, offset, userId)))
      throw new TrawlError(
        "bad-request",
        "the Last-Event-ID is not that of an event which this daemon sent to you; search again without it",
      );
    return { name, offset };
  }

  #code(name: string, offset: number, userId: number | undefined): Buffer {
    const text = JSON.stringify([name, offset, userId ?? null]);
    return createHmac("sha256", this.#key).update(text).digest().subarray(0, codeBytes);
  }
}
