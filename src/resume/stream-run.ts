import { type EventPart, EventWriter } from "../model/event-writer.js";
import { bytesOfPart, type JsonElements, releaseAll, takeArray } from "../model/search-listener.js";
import type { Progress } from "../model/stream-events.js";
import type { SentResults } from "./sent-results.js";
import { makeEndRecord, makeEventRecord, type RecordWriter } from "./stream-file.js";

/** Why results were left out by chance, so that a repeated search may have left out others. */
const limits: ReadonlySet<string> = new Set(["shard-match-limit", "display"]);

/** Why the repeated search ended before it had searched everything. */
const endings: ReadonlyMap<string, string> = new Map([
  ["shard-timeout", "reached its time limit (a longer one can be set with timeout: in the query)"],
  ["budget", "has used up your search budget"],
]);

/**
 * The sink of the search of a resumable stream: writes its events to the file, whether a client reads them or not. If
 * the search is repeated, results that the file has already are left out.
 */
export class StreamRun extends EventWriter {
  readonly #writer: RecordWriter;
  readonly #sent: SentResults | undefined;
  readonly #bytesMax: number;
  readonly #onEnd: () => void;
  #isFailing = false;

  /** `sent` are the results that the file has; undefined if it has none. `onEnd` is called when the file is complete. */
  constructor(writer: RecordWriter, sent: SentResults | undefined, bytesMax: number, onEnd: () => void) {
    super();
    this.#writer = writer;
    this.#sent = sent;
    this.#bytesMax = bytesMax;
    this.#onEnd = onEnd;
  }

  override get pendingBytes(): number {
    return this.#writer.pendingBytes;
  }

  override send(event: string, data: readonly EventPart[]): void {
    if (!this.closed) this.#write(event, takeParts(data));
  }

  override matches(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    const array = takeArray(parts);
    const fresh = this.#sent === undefined ? array : this.#sent.takeAll(array);
    if (fresh !== undefined) this.#write("matches", fresh);
  }

  override progress(progress: Progress): void {
    super.progress(progress);
    if (this.#sent !== undefined && !this.closed) this.#checkRepeated(progress, this.#sent);
  }

  /** Tells the client why the stream cannot always be continued. */
  restrict(message: string): void {
    this.send("resume", [JSON.stringify({ message })]);
  }

  /** The search has sent its last event. */
  override end(): void {
    if (this.closed) return;
    this.#writer.add(makeEndRecord(this.#writer.byteCount));
    this.#onEnd();
    this.stop();
  }

  /** Stops the search; it can be continued. */
  stop(): void {
    this.close();
  }

  /** At its end, a repeated search must have found what the interrupted one had. */
  #checkRepeated({ done, skipped, receipt }: Progress, { left }: SentResults): void {
    if (!done) return;
    const ending = skipped.map(({ reason }) => endings.get(reason)).find((text) => text !== undefined);
    if (left > 0 && ending !== undefined)
      this.#fail(
        `the search was interrupted, and its repetition ${ending} before it had found ${left} of the results again that were sent; search again`,
      );
    // All results that were sent were found again. The digest of a receipt may still differ: the last result may have been cut at
    // another match.
    else if ((left > 0 || receipt !== undefined) && skipped.some(({ reason }) => limits.has(reason)))
      this.#fail(
        "the search was interrupted before it reached its limit of matches, and cannot choose the same ones again; search again, or use count:all",
      );
    else if (left > 0)
      this.#fail(
        `the snapshot of this search is gone: ${left} results that were sent are not found again; search again`,
      );
  }

  #fail(message: string): void {
    this.#isFailing = true;
    this.error(message);
    this.done();
  }

  #write(event: string, bytes: Buffer): void {
    this.#writer.add(makeEventRecord(event, [bytes]));
    if (this.#writer.byteCount > this.#bytesMax && !this.#isFailing)
      this.#fail(
        `the results of this search have more than ${this.#bytesMax} bytes, which a resumable stream may have (the option resume.bytes); ` +
          "search without resume=1, or create a search job",
      );
  }
}

/** Copies the parts, and releases them. */
function takeParts(data: readonly EventPart[]): Buffer {
  const bytes = Buffer.concat(data.map((part) => (typeof part === "string" ? Buffer.from(part) : bytesOfPart(part))));
  releaseAll(data.filter((part) => typeof part !== "string"));
  return bytes;
}
