import { createHmac, timingSafeEqual } from "node:crypto";
import { open } from "node:fs/promises";
import type { ResumableStream } from "./resumable-stream.js";
import { readEvent, RecordReader, recordKinds } from "./stream-file.js";
import { TrawlError } from "../base/errors.js";

/** The next events are read when the client has read these. */
const batchBytes = 256 * 1024;

/** A writer of events that writes the id of an event before it. */
export interface NumberedSink {
  send(event: string, data: readonly Uint8Array[], id: string): void;
  /** Ends the stream with an `error` event. */
  fail(message: string): void;
  readonly pendingBytes: number;
  readonly closed: boolean;
  onDrain(callback: () => void): void;
  onClosed(callback: () => void): void;
  end(): void;
}

/**
 * Sends the events after a position of a stream to a client, at the pace of the client, and then those that are still
 * written. Never rejects.
 */
export class StreamReader {
  readonly #stream: ResumableStream;
  readonly #sink: NumberedSink;
  readonly #ids: EventIds;
  readonly #userId: number | undefined;
  #offset: number;
  #wake: () => void = () => undefined;

  constructor(stream: ResumableStream, offset: number, sink: NumberedSink, ids: EventIds, userId: number | undefined) {
    this.#stream = stream;
    this.#offset = offset;
    this.#sink = sink;
    this.#ids = ids;
    this.#userId = userId;
  }

  async run(): Promise<void> {
    const wake = (): void => this.#wake();
    this.#sink.onDrain(wake);
    this.#sink.onClosed(wake);
    this.#stream.addWaiter(wake);
    try {
      await this.#copy();
    } finally {
      this.#stream.removeWaiter(wake);
    }
  }

  async #copy(): Promise<void> {
    const file = await open(this.#stream.path, "r");
    try {
      const records = new RecordReader(file, this.#offset);
      while (!this.#sink.closed) {
        // Before the state is looked at, so that no change is missed.
        const changed = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if (this.#sink.pendingBytes > 0) await changed;
        else if (this.#offset < this.#stream.writtenBytes) await this.#sendBatch(records);
        else if (this.#stream.state === "running") await changed;
        else return this.#finish();
      }
    } finally {
      await file.close();
    }
  }

  async #sendBatch(records: RecordReader): Promise<void> {
    const { writtenBytes } = this.#stream;
    const batchEnd = Math.min(writtenBytes, this.#offset + batchBytes);
    while (this.#offset < batchEnd && !this.#sink.closed) {
      const record = await records.next(writtenBytes);
      if (record === undefined) return this.#sink.fail("the stored events of this stream are damaged; search again");
      this.#offset = record.end;
      if (record.kind !== recordKinds.event) continue;
      const { event, data } = readEvent(record);
      this.#sink.send(event, [data], this.#ids.print({ name: this.#stream.name, offset: record.end }, this.#userId));
    }
  }

  #finish(): void {
    const { state, message } = this.#stream;
    // Without a last event, a browser connects again.
    if (state === "complete" || message === "") this.#sink.end();
    else this.#sink.fail(message);
  }
}

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
