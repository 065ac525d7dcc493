import { mkdir, open, type FileHandle, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { TrawlError } from "../base/errors.js";
import type { ReadPool } from "../pool/read-pool.js";
import type { ConvertedResults, ConvertResults, TableFormat } from "../protocol/read-messages.js";
import type { JobRecord } from "./job-record.js";

/** Of one part, waiting for a thread included. */
const partTimeoutMs = 120_000;

/** A part has at most this many bytes, unless it is a single large result. */
const partBytesMax = 64 << 20;

export interface ExportEnvironment {
  /** For these files only: it is emptied when the daemon starts. */
  readonly folder: string;
  readonly reads: Pick<ReadPool, "run">;
  /** Bytes of all files. */
  readonly bytesMax: number;
  /** What precedes the paths of pages in URLs. */
  readonly baseUrl: () => string;
}

/** Who wants a table. */
export interface ExportRequest {
  readonly client: string;
  /** Whether it is still wanted. */
  readonly isOpen: () => boolean;
  readonly onClosed: (callback: () => void) => void;
}

/** A table to be read. Its file stays readable when the table is removed. */
export interface OpenTable {
  readonly file: FileHandle;
  readonly byteCount: number;
}

/** The file of a job in one format, as far as it is converted. */
interface Table {
  readonly jobId: number;
  /** Of the run of the job that the results are from. */
  readonly startedAt: string;
  readonly format: TableFormat;
  readonly path: string;
  /** Bytes of the JSON lines that are converted. */
  sourceBytes: number;
  byteCount: number;
  /** Of a Parquet file: what its end has to say about its parts, while it has none. */
  rowGroups: readonly Uint8Array[];
  /** Whether the file can be read. A Parquet file has an end, after which nothing can be appended. */
  isReadable: boolean;
  /** Bytes that the part being converted may have. */
  reservedBytes: number;
  /** Resolves when what was committed at its start is converted. */
  running: Promise<void> | undefined;
  stop: Int32Array;
  waitingCount: number;
  isRemoved: boolean;
}

type PartRequest = Omit<ConvertResults, "from" | "targetBytes" | "targetBytesMax">;

/**
 * The results of jobs as tables: a cache of files, which the read workers write from the JSON lines, one part after another.
 * A conversion that nobody waits for any more stops, and goes on from there with the next request. What more a running job
 * commits is appended to CSV; a Parquet file is made again.
 */
export class JobExports {
  readonly #environment: ExportEnvironment;
  /** The one that was not used for the longest time first. */
  readonly #tables = new Map<string, Table>();
  #byteCount = 0;
  #tableCount = 0;
  #resolveStarted: () => void = () => undefined;
  readonly #started = new Promise<void>((resolve) => {
    this.#resolveStarted = resolve;
  });

  constructor(environment: ExportEnvironment) {
    this.#environment = environment;
  }

  /** Requests wait until it has resolved. */
  async start(): Promise<void> {
    const { folder } = this.#environment;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    this.#resolveStarted();
  }

  stop(): void {
    for (const { stop } of this.#tables.values()) Atomics.store(stop, 0, 1);
  }

  /**
   * The table of at least what the job had committed when this was called; of a Parquet file, when its conversion began.
   * `source` has the JSON lines.
   */
  async open(job: JobRecord, source: string, format: TableFormat, request: ExportRequest): Promise<OpenTable> {
    await this.#started;
    // Reports a missing file with its code. There may be none if it would be empty.
    if (job.resultBytes > 0) await stat(source);
    const table = this.#find(job, format);
    const leave = (): void => {
      if (--table.waitingCount === 0) Atomics.store(table.stop, 0, 1);
    };
    table.waitingCount++;
    let hasLeft = false;
    request.onClosed(() => {
      if (!hasLeft) leave();
      hasLeft = true;
    });
    try {
      await this.#complete(table, job, source, request);
      return { file: await open(table.path, "r"), byteCount: table.byteCount };
    } catch (error) {
      // The disk is full, or someone has deleted the file.
      if (!(error instanceof TrawlError) || error.code === "storage") void this.#discard(table);
      throw error;
    } finally {
      if (!hasLeft) leave();
      hasLeft = true;
    }
  }

  /** The job no longer exists. */
  async remove(jobId: number): Promise<void> {
    for (const table of [...this.#tables.values()]) if (table.jobId === jobId) await this.#remove(table);
  }

  #find({ id, startedAt, resultBytes }: JobRecord, format: TableFormat): Table {
    const key = `${id}.${format}`;
    const known = this.#tables.get(key);
    this.#tables.delete(key);
    const isEnded = known?.format === "parquet" && known.isReadable && known.sourceBytes < resultBytes;
    if (known !== undefined && known.startedAt === startedAt && !isEnded) {
      this.#tables.set(key, known);
      return known;
    }
    if (known !== undefined) void this.#discard(known);
    const table: Table = {
      jobId: id,
      startedAt,
      format,
      // Those who read an earlier table of the job are not disturbed.
      path: join(this.#environment.folder, `${id}-${++this.#tableCount}.${format}`),
      sourceBytes: 0,
      byteCount: 0,
      rowGroups: [],
      isReadable: false,
      reservedBytes: 0,
      running: undefined,
      stop: newStop(),
      waitingCount: 0,
      isRemoved: false,
    };
    this.#tables.set(key, table);
    return table;
  }

  /** Joins the conversion that runs, and starts another one until all is converted that was committed. */
  async #complete(table: Table, job: JobRecord, source: string, request: ExportRequest): Promise<void> {
    while (!table.isReadable || (table.format === "csv" && table.sourceBytes < job.resultBytes)) {
      if (!request.isOpen()) throw new TrawlError("cancelled", "the client that asked for the export has left");
      if (table.isRemoved) throw new TrawlError("not-found", "the search job or its table was removed meanwhile");
      if (table.running === undefined) {
        table.stop = newStop();
        table.running = this.#convert(table, job.resultBytes, source, request.client).finally(() => {
          table.running = undefined;
        });
      }
      const { stop } = table;
      try {
        await table.running;
      } catch (error) {
        // It was stopped because nobody waited for it, and then this request came.
        if (Atomics.load(stop, 0) === 0) throw error;
      }
    }
  }

  async #convert(table: Table, to: number, source: string, client: string): Promise<void> {
    const { baseUrl } = this.#environment;
    const { format, path: target } = table;
    const request = { kind: "convert-results", format, source, to, target, baseUrl: baseUrl() } as const;
    if (table.sourceBytes < to || table.byteCount === 0) {
      do {
        const { rowGroup } = await this.#convertPart(table, { ...request, rowGroups: undefined }, client);
        if (rowGroup !== undefined) table.rowGroups = [...table.rowGroups, rowGroup];
      } while (table.sourceBytes < to);
    }
    if (format === "parquet") await this.#convertPart(table, { ...request, rowGroups: table.rowGroups }, client);
    table.rowGroups = [];
    table.isReadable = true;
  }

  async #convertPart(table: Table, request: PartRequest, client: string): Promise<ConvertedResults> {
    const { sourceBytes: from, byteCount: targetBytes, stop } = table;
    const targetBytesMax = targetBytes + this.#reserve(table);
    try {
      const limits = { timeoutMs: partTimeoutMs, stop, client };
      const done = await this.#environment.reads.run({ ...request, from, targetBytes, targetBytesMax }, limits);
      if (!table.isRemoved) this.#byteCount += done.targetBytes - targetBytes;
      table.sourceBytes = done.to;
      table.byteCount = done.targetBytes;
      return done;
    } finally {
      this.#byteCount -= table.reservedBytes;
      table.reservedBytes = 0;
    }
  }

  /** Takes room for a part. Removes tables that nobody waits for, as far as it has to. */
  #reserve(table: Table): number {
    const { bytesMax } = this.#environment;
    for (const one of [...this.#tables.values()]) {
      if (this.#byteCount + partBytesMax <= bytesMax) break;
      if (one !== table && one.waitingCount === 0 && one.running === undefined) void this.#discard(one);
    }
    table.reservedBytes = Math.max(0, Math.min(partBytesMax, bytesMax - this.#byteCount));
    this.#byteCount += table.reservedBytes;
    return table.reservedBytes;
  }

  /** Like `#remove`; a file that could not be deleted is deleted when the daemon starts. */
  async #discard(table: Table): Promise<void> {
    await this.#remove(table).catch(() => undefined);
  }

  async #remove(table: Table): Promise<void> {
    const key = `${table.jobId}.${table.format}`;
    if (this.#tables.get(key) === table) this.#tables.delete(key);
    if (!table.isRemoved) this.#byteCount -= table.byteCount;
    table.isRemoved = true;
    Atomics.store(table.stop, 0, 1);
    await table.running?.catch(() => undefined);
    await rm(table.path, { force: true });
  }
}

function newStop(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4));
}
