import { type FileHandle, open } from "node:fs/promises";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { SearchRequest } from "../model/search-request.js";
import type { SearchPlan } from "../query/plan/plan.js";
import {
  describeRestriction,
  type SearchSnapshot,
  type SnapshotPart,
  type SnapshotUse,
} from "../search/snapshot/search-snapshot.js";
import { SentResults } from "./sent-results.js";
import {
  createFile,
  hasEnd,
  makeRecord,
  makeValueRecord,
  readEvent,
  readValue,
  recordKinds,
  RecordReader,
  RecordWriter,
  type StoredRecord,
} from "./stream-file.js";
import { StreamRun } from "./stream-run.js";

/** What is searched for, without the sender. */
export type StoredRequest = Omit<SearchRequest, "viewer" | "client" | "scope">;

/** The first record of a file. */
export interface StreamBegin {
  /** Of the program: another one may plan and search in another way. */
  readonly version: string;
  readonly request: StoredRequest;
}

/** What an interrupted search left in its file. */
interface Recovered {
  readonly snapshot: SearchSnapshot | undefined;
  readonly sent: SentResults;
  /** Where whole records end. */
  readonly byteCount: number;
}

/**
 * One stream, with its file. It is `running` while a search writes the file, `complete` when the last event is in it,
 * and `interrupted` otherwise: it can then be continued.
 */
export class ResumableStream {
  readonly name: string;
  readonly path: string;
  /** The id of the user; 0 without an account. */
  readonly owner: number;
  /** When a search or a client last used it, on the monotonic clock; may be negative. */
  usedMs: number;
  /** The events before this offset can be read. */
  writtenBytes: number;
  /** Why it was interrupted; "" if the daemon was stopped. */
  message = "";
  readonly #waiters = new Set<() => void>();
  #run: StreamRun | undefined;
  #isComplete = false;
  #isEnding = false;
  /** Resolves when the file of the last search is closed. */
  closed: Promise<void> = Promise.resolve();

  constructor(
    { name, path, owner }: Pick<ResumableStream, "name" | "path" | "owner">,
    usedMs: number,
    byteCount: number,
  ) {
    this.name = name;
    this.path = path;
    this.owner = owner;
    this.usedMs = usedMs;
    this.writtenBytes = byteCount;
  }

  get state(): "running" | "complete" | "interrupted" {
    if (this.#run !== undefined) return "running";
    return this.#isComplete ? "complete" : "interrupted";
  }

  /** Whether a search writes it, or a client reads it. */
  get isUsed(): boolean {
    return this.#run !== undefined || this.#waiters.size > 0;
  }

  /** Calls back when events were written, or the state has changed. */
  addWaiter(callback: () => void): void {
    this.#waiters.add(callback);
  }

  removeWaiter(callback: () => void): void {
    this.#waiters.delete(callback);
  }

  /** Creates the file. The search sends its events to the run that is returned. */
  async create(begin: StreamBegin, bytesMax: number): Promise<{ run: StreamRun; snapshot: SnapshotUse }> {
    const { file, byteCount } = await createFile(this.path, begin);
    this.writtenBytes = byteCount;
    return this.#start(file, { snapshot: undefined, sent: undefined }, bytesMax);
  }

  /** Reads what identifies it. Throws `gone`. */
  async begin(): Promise<StreamBegin> {
    const file = await this.#open("r");
    try {
      const first = await new RecordReader(file, 0).next((await file.stat()).size);
      if (first?.kind !== recordKinds.begin) throw gone("its file is damaged");
      return readValue(first) as StreamBegin;
    } finally {
      await file.close();
    }
  }

  /** The recorded parts of its snapshot; undefined if it has none yet. */
  async snapshot(): Promise<SearchSnapshot | undefined> {
    const file = await this.#open("r");
    try {
      const records = new RecordReader(file, 0);
      const found = new SnapshotReader();
      for (let record = await records.next(this.writtenBytes); record !== undefined; ) {
        if (found.add(record)) return found.snapshot;
        record = await records.next(this.writtenBytes);
      }
      return undefined;
    } finally {
      await file.close();
    }
  }

  /** Finds out whether the file is complete, if that is not known. */
  async look(): Promise<void> {
    if (this.#run !== undefined || this.#isComplete) return;
    const file = await this.#open("r");
    try {
      const isComplete = await hasEnd(file, this.writtenBytes);
      this.#isComplete ||= isComplete;
    } finally {
      await file.close();
    }
  }

  /** Cuts off what is not whole, and goes on with another search. The caller has made sure that it is `interrupted`. */
  async continue(bytesMax: number): Promise<{ run: StreamRun; snapshot: SnapshotUse }> {
    await this.closed;
    const file = await this.#open("r+");
    try {
      const recovered = await recover(file, (await file.stat()).size);
      await file.truncate(recovered.byteCount);
      await file.close();
      this.writtenBytes = recovered.byteCount;
      return this.#start(await this.#open("a"), recovered, bytesMax);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Stops the search that writes it. */
  async stop(): Promise<void> {
    this.#run?.stop();
    await this.closed;
  }

  #start(
    file: FileHandle,
    { snapshot, sent }: { readonly snapshot: SearchSnapshot | undefined; readonly sent: SentResults | undefined },
    bytesMax: number,
  ): { run: StreamRun; snapshot: SnapshotUse } {
    const writer: RecordWriter = new RecordWriter(
      file,
      this.writtenBytes,
      (byteCount) => {
        this.writtenBytes += byteCount;
        this.#wake();
        if (writer.pendingBytes === 0) run.drained();
      },
      (error) => {
        this.message = `the events of this stream could not be stored: ${errorMessage(error)}; it goes on after the last event id when there is room`;
        run.stop();
      },
    );
    const run = new StreamRun(writer, sent === undefined || sent.isEmpty ? undefined : sent, bytesMax, () => {
      this.#isEnding = true;
    });
    this.#run = run;
    this.#isEnding = false;
    this.message = "";
    this.closed = new Promise((resolve) => {
      run.onClosed(() => void this.#close(writer).then(resolve));
    });
    const record = (kind: 2 | 3, value: unknown): void => writer.add(makeValueRecord(kind, value));
    let restriction = "";
    return {
      run,
      snapshot: {
        pinned: snapshot,
        recordPlan: (plan) => {
          restriction = describeRestriction(plan);
          record(recordKinds.plan, plan);
        },
        recordPart: (part) => record(recordKinds.part, part),
        recordEnd: () => {
          writer.add(makeRecord(recordKinds.pinned, []));
          if (restriction !== "") run.restrict(restriction);
        },
      },
    };
  }

  async #close(writer: RecordWriter): Promise<void> {
    await writer.close().catch(() => undefined);
    this.#isComplete = this.#isEnding && writer.pendingBytes === 0;
    this.#run = undefined;
    this.#wake();
  }

  #wake(): void {
    for (const callback of this.#waiters) callback();
  }

  async #open(flags: string): Promise<FileHandle> {
    try {
      return await open(this.path, flags);
    } catch (error) {
      throw gone(errorMessage(error));
    }
  }
}

/** Reads what an interrupted search left. */
async function recover(file: FileHandle, fileBytes: number): Promise<Recovered> {
  const records = new RecordReader(file, 0);
  const found = new SnapshotReader();
  const sent = new SentResults(fileBytes);
  let byteCount = 0;
  for (let record = await records.next(fileBytes); record !== undefined; record = await records.next(fileBytes)) {
    found.add(record);
    if (record.kind === recordKinds.event) {
      const { event, data } = readEvent(record);
      if (event === "matches") sent.addAll(data);
    }
    byteCount = record.end;
  }
  return { snapshot: found.snapshot, sent, byteCount };
}

/** Collects the records of a snapshot. One that is not whole was begun by a search that had no results yet. */
class SnapshotReader {
  #plan: SearchPlan | undefined;
  #parts: SnapshotPart[] = [];
  snapshot: SearchSnapshot | undefined;

  /** Returns true if the snapshot is whole. */
  add(record: StoredRecord): boolean {
    if (record.kind === recordKinds.plan) {
      this.#plan = readValue(record) as SearchPlan;
      this.#parts = [];
    } else if (record.kind === recordKinds.part) this.#parts.push(readValue(record) as SnapshotPart);
    else if (record.kind === recordKinds.pinned && this.#plan !== undefined)
      this.snapshot = { plan: this.#plan, parts: this.#parts };
    return this.snapshot !== undefined;
  }
}

export function gone(reason: string): TrawlError {
  return new TrawlError("gone", `this stream is gone: ${reason}; search again`);
}
