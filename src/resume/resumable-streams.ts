import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { callEvery, monotonicMs, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import { originFields } from "../model/request-origin.js";
import type { SearchRequest } from "../model/search-request.js";
import type { Viewer } from "../model/viewer.js";
import type { Searcher } from "../search/searcher.js";
import { isVisibleInSteps, type SnapshotUse } from "../search/snapshot/search-snapshot.js";
import { gone, ResumableStream, type StoredRequest } from "./resumable-stream.js";
import { type NumberedSink, StreamReader, EventIds } from "./stream-reader.js";
import type { StreamRun } from "./stream-run.js";
import { uptime } from "node:os";

const dayMs = 86_400_000;
const sweepMs = 600_000;
const keyBytes = 32;

/** One stream may have this part of the bytes of all, and so may all streams of one user that nobody uses. */
const streamShare = 0.5;
/** The part of the number of streams that one user may have, apart from those in use. */
const ownerShare = 0.1;

export interface ResumeLimits {
  readonly countMax: number;
  /** Of the files of all streams. */
  readonly bytesMax: number;
  readonly retentionDays: number;
}

export interface ResumeEnvironment {
  readonly folder: string;
  readonly version: string;
  readonly searcher: Pick<Searcher, "run">;
  readonly tableOf: (viewer: Viewer) => RepositoryTable;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "resumableStreamStarts">;
  readonly limits: ResumeLimits;
}

/** A stream that was found, and where it goes on. */
export interface FoundStream {
  readonly stream: ResumableStream;
  readonly offset: number;
  /** Whether a search is needed, because the one that wrote it was interrupted. */
  readonly isInterrupted: boolean;
}

/**
 * The searches that can be resumed. Each writes its events to a file, at the speed of the disk, also when nobody reads
 * it; clients read the file. The files that were not used for the longest time are removed when there are too many, or
 * when they are too old.
 */
export class ResumableStreams {
  readonly #environment: ResumeEnvironment;
  readonly #streams = new Map<string, ResumableStream>();
  readonly #clock: ClockSteps;
  #ids: EventIds | undefined;
  #sweep: PendingCall | undefined;
  #isStopping = false;
  /** Streams that are looked at or continued, one request after the other. */
  readonly #locks = new Map<string, Promise<unknown>>();

  constructor(environment: ResumeEnvironment) {
    this.#environment = environment;
    this.#clock = new ClockSteps(join(environment.folder, "clock"));
  }

  /** Finds the files. Ages on the wall clock are used only here. */
  async load(): Promise<void> {
    const { folder } = this.#environment;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#ids = new EventIds(readKey(join(folder, "key")));
    for (const file of await readdir(folder)) {
      const [, name, owner] = /^([A-Za-z0-9_-]{22})\.([0-9]{1,15})\.events$/.exec(file) ?? [];
      if (name === undefined) continue;
      const { size, mtimeMs } = await stat(join(folder, file));
      const usedMs = monotonicMs() - this.#clock.ageMs(mtimeMs);
      this.#streams.set(
        name,
        new ResumableStream({ name, path: join(folder, file), owner: Number(owner) }, usedMs, size),
      );
    }
    this.#sweep = callEvery(sweepMs, () => void this.#clean());
    await this.#clean();
  }

  async #clean(): Promise<void> {
    await this.#removeOld();
    if (this.#clock.hasStepped) await this.#correctTimes();
  }

  /** After the wall clock was set, the times of the files are corrected: the next start derives their ages from them. */
  async #correctTimes(): Promise<void> {
    try {
      for (const { path, usedMs, isUsed } of this.#streams.values()) if (!isUsed) await setTime(path, usedMs);
      await this.#clock.record();
    } catch (error) {
      this.#environment.log.warn({ error: errorMessage(error) }, "the times of resumable streams were not corrected");
    }
  }

  /** Stops the searches. Their streams can be resumed after the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#sweep?.cancel();
    await Promise.all([...this.#streams.values()].map((stream) => stream.stop()));
  }

  /** Searches, and sends the events to the client. Throws `overloaded` if all streams that may exist are in use. */
  async start(request: SearchRequest, sink: NumberedSink): Promise<void> {
    const { folder, version, limits, metrics } = this.#environment;
    await this.#removeOld(1);
    if (this.#streams.size >= limits.countMax) {
      metrics.resumableStreamStarts.inc({ outcome: "refused" });
      throw new TrawlError(
        "overloaded",
        `${limits.countMax} resumable streams are in use (the option resume.countMax); try again, or search without resume=1`,
      );
    }
    const name = randomBytes(16).toString("base64url");
    const owner = request.viewer.userId ?? 0;
    const stream = new ResumableStream(
      { name, path: join(folder, `${name}.${owner}.events`), owner },
      monotonicMs(),
      0,
    );
    this.#streams.set(name, stream);
    try {
      const begin = { version, request: stored(request) };
      const { run, snapshot } = await stream.create(begin, this.#streamBytesMax);
      this.#search(stream, request, run, snapshot);
    } catch (error) {
      this.#streams.delete(name);
      throw error;
    }
    metrics.resumableStreamStarts.inc({ outcome: "started" });
    this.#read(stream, stream.writtenBytes, sink, request);
  }

  /** How many streams there are, how many of them are being written or read, and the bytes of all. */
  usage(): { readonly count: number; readonly usedCount: number; readonly bytes: number } {
    const streams = [...this.#streams.values()];
    const bytes = streams.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0);
    return { count: streams.length, usedCount: streams.filter(({ isUsed }) => isUsed).length, bytes };
  }

  /**
   * Finds the stream of an event. Throws `bad-request` for an id that this user was not given or that belongs to
   * another search, and `gone` if the stream cannot be resumed any more.
   */
  async find(id: string, request: SearchRequest): Promise<FoundStream> {
    try {
      return await this.#find(id, request);
    } catch (error) {
      const isGone = error instanceof TrawlError && error.code === "gone";
      this.#environment.metrics.resumableStreamStarts.inc({ outcome: isGone ? "gone" : "refused" });
      throw error;
    }
  }

  async #find(id: string, request: SearchRequest): Promise<FoundStream> {
    const { name, offset } = this.#eventIds.parse(id, request.viewer.userId);
    return this.#alone(name, async () => {
      await this.#removeOld();
      const stream = this.#streams.get(name);
      if (stream === undefined)
        throw gone("it was removed because it is too old, or because there were too many (the options resume.*)");
      await this.#check(stream, request);
      await stream.look();
      if (offset > stream.writtenBytes) {
        await this.#remove(stream);
        throw gone("its last events were lost when the machine stopped");
      }
      return { stream, offset, isInterrupted: stream.state === "interrupted" };
    });
  }

  /** Sends the events after the position, and continues the search if it was interrupted. */
  async resume({ stream, offset }: FoundStream, request: SearchRequest, sink: NumberedSink): Promise<void> {
    await this.#alone(stream.name, async () => {
      if (this.#isStopping || stream.state !== "interrupted") return;
      const { request: begun } = await stream.begin();
      const { run, snapshot } = await stream.continue(this.#streamBytesMax);
      this.#search(
        stream,
        { ...begun, viewer: request.viewer, client: request.client, origin: request.origin },
        run,
        snapshot,
      );
    });
    this.#environment.metrics.resumableStreamStarts.inc({ outcome: "resumed" });
    this.#read(stream, offset, sink, request);
  }

  get #eventIds(): EventIds {
    if (this.#ids === undefined) throw new TrawlError("overloaded", "the daemon is starting; try again in a moment");
    return this.#ids;
  }

  get #streamBytesMax(): number {
    return Math.floor(this.#environment.limits.bytesMax * streamShare);
  }

  #search(stream: ResumableStream, request: SearchRequest, run: StreamRun, snapshot: SnapshotUse): void {
    run.onClosed(() => {
      stream.usedMs = monotonicMs();
    });
    this.#environment.searcher.run(request, run, undefined, snapshot);
  }

  #read(stream: ResumableStream, offset: number, sink: NumberedSink, { viewer, origin }: SearchRequest): void {
    stream.usedMs = monotonicMs();
    new StreamReader(stream, offset, sink, this.#eventIds, viewer.userId)
      .run()
      .catch((error: unknown) => {
        const fields = { ...originFields(origin), error: errorMessage(error) };
        this.#environment.log.warn(fields, "a resumable stream could not be read");
        sink.fail(`the events of this stream could not be read: ${errorMessage(error)}`);
      })
      .finally(() => {
        stream.usedMs = monotonicMs();
        // Only the next start reads this time. The file is missing if the stream was removed meanwhile.
        setTime(stream.path, stream.usedMs).catch(() => undefined);
      });
  }

  async #check(stream: ResumableStream, { viewer, ...request }: SearchRequest): Promise<void> {
    const begin = await stream.begin();
    const { diffType: _, refusesOwners: ___, ...asked } = stored({ viewer, ...request });
    const { diffType: __, refusesOwners: ____, ...begun } = begin.request;
    if (!isDeepStrictEqual(asked, begun))
      throw new TrawlError(
        "bad-request",
        "the Last-Event-ID is that of a search with another query or other parameters; search again without it",
      );
    if (begin.version !== this.#environment.version) throw gone("it is that of another version of this program");
    const parts = (await stream.snapshot())?.parts ?? [];
    if (!(await resultWhileYielding(isVisibleInSteps(parts, this.#environment.tableOf(viewer)))))
      throw gone("a repository of its snapshot was removed, or is no longer visible to you");
  }

  async #alone<T>(name: string, act: () => Promise<T>): Promise<T> {
    const earlier = this.#locks.get(name) ?? Promise.resolve();
    const done = earlier.then(act);
    const lock = done.catch(() => undefined);
    this.#locks.set(name, lock);
    try {
      return await done;
    } finally {
      if (this.#locks.get(name) === lock) this.#locks.delete(name);
    }
  }

  /**
   * Removes what is too old, and then what was not used for the longest time: of users who have more than their share,
   * and of all, until `newCount` more may be created.
   */
  async #removeOld(newCount = 0): Promise<void> {
    const { countMax, bytesMax, retentionDays } = this.#environment.limits;
    const oldestMs = monotonicMs() - retentionDays * dayMs;
    const all = new StreamUsage();
    const byOwner = new Map<number, StreamUsage>();
    for (const stream of this.#streams.values()) {
      const own = byOwner.get(stream.owner) ?? new StreamUsage();
      byOwner.set(stream.owner, own);
      for (const usage of [all, own]) usage.add(stream, 1);
    }
    const unused = [...this.#streams.values()].filter(({ isUsed }) => !isUsed).sort((a, b) => a.usedMs - b.usedMs);
    for (const stream of unused) {
      const own = byOwner.get(stream.owner) as StreamUsage;
      const isWithin =
        !all.exceeds(countMax - newCount, bytesMax) &&
        !own.exceeds(Math.max(1, countMax * ownerShare), bytesMax * streamShare);
      if (isWithin && stream.usedMs > oldestMs) continue;
      for (const usage of [all, own]) usage.add(stream, -1);
      await this.#remove(stream);
    }
  }

  async #remove(stream: ResumableStream): Promise<void> {
    this.#streams.delete(stream.name);
    try {
      await stream.stop();
      await rm(stream.path, { force: true });
    } catch (error) {
      this.#environment.log.warn({ error: errorMessage(error) }, "the file of a resumable stream was not removed");
    }
  }
}

/** Sets the time of a file to that of its last use, which is on the monotonic clock. */
async function setTime(path: string, usedMs: number): Promise<void> {
  const seconds = (new Date().getTime() - (monotonicMs() - usedMs)) / 1000;
  await utimes(path, seconds, seconds);
}

/** Without the sender. */
function stored({ viewer: _, client: __, scope: ___, origin: ____, ...request }: SearchRequest): StoredRequest {
  return request;
}

/** The key of the event ids, which stays the same as long as the files do. */
function readKey(path: string): Uint8Array {
  try {
    const key = readFileSync(path);
    if (key.length === keyBytes) return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const key = randomBytes(keyBytes);
  writeFileSync(path, key, { mode: 0o600 });
  return key;
}

/** The folder of all resumable streams. */
export function resumeFolder(dataFolder: string): string {
  return join(dataFolder, "resume");
}

/** Of all streams, or of those of one user. */
class StreamUsage {
  #count = 0;
  #bytes = 0;

  add({ writtenBytes }: ResumableStream, sign: 1 | -1): void {
    this.#count += sign;
    this.#bytes += sign * writtenBytes;
  }

  exceeds(countMax: number, bytesMax: number): boolean {
    return this.#count > countMax || this.#bytes > bytesMax;
  }
}

/** A difference that is rounding, or the clock being adjusted slowly. */
const toleranceMs = 60_000;

/** When the machine was started, by the wall clock at the time of recording. */
interface Recorded {
  readonly bootId: string;
  readonly bootedMs: number;
}

/**
 * Computes the ages of files although the wall clock may have been set since they were written. The file `path` records
 * when the machine was started by the wall clock. A different start time for the same boot means that the clock was set.
 *
 * A step never makes an age too large. It may make it too small, down to 0.
 */
class ClockSteps {
  readonly #path: string;
  readonly #bootId = readBootId();
  #recorded: Recorded | undefined;

  constructor(path: string) {
    this.#path = path;
    try {
      this.#recorded = JSON.parse(readFileSync(path, "utf8")) as Recorded;
    } catch {
      // There is none yet, or it is damaged: ages are what the clock says.
    }
  }

  /** The age of a file that was last written at `mtimeMs`. */
  ageMs(mtimeMs: number): number {
    const nowMs = new Date().getTime();
    return Math.max(0, Math.min(nowMs - mtimeMs, nowMs - this.#stepMs(nowMs) - mtimeMs));
  }

  /** Whether the clock was set since it was recorded, so that the times of the files are wrong. */
  get hasStepped(): boolean {
    return this.#recorded?.bootId !== this.#bootId || Math.abs(this.#stepMs(new Date().getTime())) > toleranceMs;
  }

  /** Must be called after the times of all files have been corrected. */
  async record(): Promise<void> {
    const recorded = { bootId: this.#bootId, bootedMs: bootedMs(new Date().getTime()) };
    await writeFile(this.#path, JSON.stringify(recorded), { mode: 0o600 });
    this.#recorded = recorded;
  }

  #stepMs(nowMs: number): number {
    return this.#recorded?.bootId === this.#bootId ? bootedMs(nowMs) - this.#recorded.bootedMs : 0;
  }
}

function bootedMs(nowMs: number): number {
  return nowMs - uptime() * 1000;
}

function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
