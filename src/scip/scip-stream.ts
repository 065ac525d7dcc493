import { TrawlError } from "../base/errors.js";

/** The fields of an index that are read; others are skipped. */
export const indexFields = { metadata: 1, document: 2, externalSymbol: 3 } as const;

/** One message at the top level of an index. */
export interface IndexMessage {
  readonly field: number;
  readonly bytes: Uint8Array;
  /** Where it begins in the index, in bytes. */
  readonly offset: number;
}

/** The wire types of protobuf that an index can have at its top level. */
const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/**
 * Splits a SCIP index into the messages at its top level, without having more of it in memory than the largest of them. A
 * length is believed only as far as bytes arrive. Throws `bad-request` for what is no index, ends too early, or has a
 * message of more than `messageBytesMax` bytes. However it ends, so do the chunks: files are open behind them.
 */
export async function* splitIndex(
  chunks: AsyncIterable<Uint8Array>,
  messageBytesMax: number,
): AsyncGenerator<IndexMessage> {
  const source = new ByteSource(chunks);
  try {
    for (;;) {
      const offset = source.offset;
      if (await source.isAtEnd()) return;
      const tag = await source.varint(offset);
      const [field, wireType] = [Math.floor(tag / 8), tag % 8];
      if (field === 0) throw notAnIndex(offset);
      switch (wireType) {
        case wireTypes.varint:
          await source.varint(offset);
          break;
        case wireTypes.fixed64:
          await source.skip(8, offset);
          break;
        case wireTypes.fixed32:
          await source.skip(4, offset);
          break;
        case wireTypes.bytes: {
          const length = await source.varint(offset);
          if (field > indexFields.externalSymbol) {
            await source.skip(length, offset);
            break;
          }
          if (length > messageBytesMax)
            throw new TrawlError(
              "bad-request",
              `the message at byte ${offset} of the index has ${length} bytes; at most ${messageBytesMax} are accepted, so leave that document out`,
            );
          yield { field, bytes: await source.take(length, offset), offset };
          break;
        }
        default:
          throw notAnIndex(offset);
      }
    }
  } finally {
    await source.close();
  }
}

function notAnIndex(offset: number): TrawlError {
  return new TrawlError(
    "bad-request",
    `this is no SCIP index: at byte ${offset} no field of one begins; upload the file that an indexer such as scip-typescript writes`,
  );
}

/** Bytes that arrive in chunks. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** Bytes before the current chunk. */
  #passed = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  get offset(): number {
    return this.#passed + this.#at;
  }

  /** No more is wanted. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async isAtEnd(): Promise<boolean> {
    return this.#at === this.#chunk.length && !(await this.#next());
  }

  /** A number of at most 32 bits. `from` is where its message begins. */
  async varint(from: number): Promise<number> {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < 10; count++) {
      if (this.#at === this.#chunk.length && !(await this.#next())) throw this.#truncated(from);
      const byte = this.#chunk[this.#at++];
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) {
        if (value > 0xffffffff) break;
        return value;
      }
    }
    throw notAnIndex(from);
  }

  async skip(count: number, from: number): Promise<void> {
    for (let left = count; left > 0; ) {
      if (this.#at === this.#chunk.length && !(await this.#next())) throw this.#truncated(from);
      const step = Math.min(left, this.#chunk.length - this.#at);
      this.#at += step;
      left -= step;
    }
  }

  async take(count: number, from: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let left = count; left > 0; ) {
      if (this.#at === this.#chunk.length && !(await this.#next())) throw this.#truncated(from);
      const part = this.#chunk.subarray(this.#at, this.#at + left);
      parts.push(part);
      this.#at += part.length;
      left -= part.length;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  async #next(): Promise<boolean> {
    this.#passed += this.#chunk.length;
    this.#at = 0;
    for (;;) {
      const { value, done } = await this.#chunks.next();
      this.#chunk = done === true ? new Uint8Array(0) : value;
      if (done === true) return false;
      if (this.#chunk.length > 0) return true;
    }
  }

  #truncated(from: number): TrawlError {
    return new TrawlError(
      "bad-request",
      `the index is truncated: it ends after ${this.offset} bytes, in the middle of the message that begins at byte ${from}; make it again, and upload all of it`,
    );
  }
}
