import { mkdirSync } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { callEvery, monotonicMs, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { syncToDisk } from "../base/sync-to-disk.js";
import {
  type PreciseCandidate,
  type PreciseIndexRecord,
  preciseFolder,
  preciseIndexName,
} from "../model/precise-index.js";
import type { Repository } from "../model/repository.js";
import type { Viewer } from "../model/viewer.js";
import type { BuildPreciseTask, BuildPreciseTaskResult } from "../protocol/ingest-messages.js";
import type { Records } from "../store/records.js";
import { ArrivingPart } from "./arriving-part.js";
import { PreciseStore } from "./precise-store.js";
import { noUpload, UnfinishedUploads } from "./unfinished-uploads.js";

export interface PreciseLimits {
  /** Bytes of one upload, as it is sent. */
  readonly uploadBytesMax: number;
  /** Bytes of its index when it is decompressed. */
  readonly indexBytesMax: number;
  /** Bytes of all indexes together. */
  readonly totalBytesMax: number;
  /** Indexes that are kept of a repository, for each root and indexer. */
  readonly keptMax: number;
}

/** What the uploaded indexes need of the daemon. */
export interface PreciseEnvironment {
  readonly dataFolder: string;
  readonly store: Records;
  readonly repository: (id: number) => Repository | undefined;
  /** Whether the mirror of the repository has the commit, which is fetched if it does not. */
  readonly bringCommit: (repository: Repository, commit: string) => Promise<boolean>;
  readonly build: (task: BuildPreciseTask) => Promise<BuildPreciseTaskResult>;
  readonly log: Log;
  readonly limits: PreciseLimits;
}

/** What a client says about an index that it uploads. */
export type UploadDescription = Pick<
  PreciseIndexRecord,
  "repositoryId" | "commit" | "root" | "indexer" | "indexerVersion" | "uploaderId" | "partCount"
>;

/** How often uploads are looked for that do not arrive. */
const giveUpPeriodMs = 300_000;

/** Indexes that are kept of a repository, whatever their roots and indexers: these are free texts. */
const indexesMax = 1_000;

/** Indexes that one question about packages looks at: some milliseconds. Many may be of repositories that it may not see. */
const lookedAtMax = 5_000;

/** How many uploads that failed are kept of a repository, to tell why. */
const failedKeptMax = 10;

/**
 * The indexes of definitions and references that indexers made and clients uploaded. An upload is a record and the files of its
 * parts; an ingest worker builds the index from them, one upload after another.
 */
export class PreciseIndexes {
  readonly #environment: PreciseEnvironment;
  readonly #store: PreciseStore;
  readonly #folder: string;
  readonly #candidates = new Map<number, readonly PreciseCandidate[]>();
  /** Settles when the uploads so far have been built. */
  #queue: Promise<unknown> = Promise.resolve();
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  readonly #unfinished: UnfinishedUploads;
  #giveUpCall: PendingCall | undefined;
  /** Numbers the files of parts that arrive. */
  #arrivingCount = 0;

  constructor(environment: PreciseEnvironment) {
    this.#environment = environment;
    this.#unfinished = new UnfinishedUploads(environment.limits.uploadBytesMax);
    this.#store = new PreciseStore(environment.store);
    this.#folder = join(environment.dataFolder, preciseFolder);
  }

  get limits(): PreciseLimits {
    return this.#environment.limits;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    yield* this.#store.load();
  }

  /** Deletes what belongs to no record, and continues with the uploads that have not been built. */
  async start(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const { repository, log } = this.#environment;
    const gone = [...this.#store.values()].filter(
      ({ repositoryId, state }) => repository(repositoryId) === undefined || state === "UPLOADING",
    );
    await this.#store.remove(gone.map(({ id }) => id));
    const files = new Set(await readdir(this.#folder));
    const known = new Set<string>();
    for (const record of [...this.#store.values()]) {
      if (record.state === "ERRORED") continue;
      const isBuilt = record.state === "COMPLETED";
      const names = isBuilt ? [preciseIndexName(record.id)] : partNames(record);
      if (!names.every((name) => files.has(name))) {
        await this.#fail(record, "its file is missing, for example because the data was restored; upload it again");
        continue;
      }
      for (const name of names) known.add(name);
      if (!isBuilt) await this.#resume(record);
    }
    for (const name of files) if (!known.has(name)) await rm(join(this.#folder, name), { force: true });
    if (gone.length > 0) log.info({ count: gone.length }, "uploads that had not arrived were given up");
    this.#giveUpCall = callEvery(
      giveUpPeriodMs,
      () =>
        void this.remove(this.#unfinished.late(monotonicMs())).catch((error: unknown) =>
          log.error({ err: error }, "uploads that do not arrive could not be deleted"),
        ),
    );
  }

  /** Continues with an upload that arrived before the daemon started. Its index is read twice at most: it may be what ends the daemon. */
  async #resume(record: PreciseIndexRecord): Promise<void> {
    const isRetried = record.state === "PROCESSING";
    if (isRetried && record.isRetried === true) {
      await this.#fail(
        record,
        "the daemon ended twice while it read the index; upload it again, or index a part of the repository at a time",
      );
      return;
    }
    this.#unfinished.resume(record.id, record.uploaderId, record.uploadBytes);
    void this.#enqueue({ ...record, state: "QUEUED", isRetried });
  }

  async stop(): Promise<void> {
    this.#giveUpCall?.cancel();
    Atomics.store(this.#stop, 0, 1);
    await this.#queue;
  }

  /** The indexes of a repository in which something can be looked up, the newest first. */
  candidates(repositoryId: number): readonly PreciseCandidate[] {
    let found = this.#candidates.get(repositoryId);
    if (found !== undefined) return found;
    found = this.list(repositoryId).flatMap(({ id, commit, root, state }) =>
      state === "COMPLETED" ? [{ id, commit, root }] : [],
    );
    if (found.length > 0) this.#candidates.set(repositoryId, found);
    return found;
  }

  /**
   * By repository, the newest indexes that define, or otherwise use, symbols of one of these packages: of each root and indexer one.
   * `isWanted` says of which repositories; `countMax` limits the indexes, and `limitHit` tells whether there may be more.
   */
  inPackages(
    packages: readonly number[],
    definingOnly: boolean,
    isWanted: (repositoryId: number) => boolean,
    countMax: number,
  ): { readonly candidates: ReadonlyMap<number, readonly PreciseCandidate[]>; readonly limitHit: boolean } {
    const found = new Map<number, PreciseCandidate[]>();
    const known = new Set<string>();
    let lookedAt = 0;
    for (const { id, repositoryId, commit, root, indexer, state } of this.#store.forPackages(packages, definingOnly)) {
      if (++lookedAt > lookedAtMax) return { candidates: found, limitHit: true };
      if (state !== "COMPLETED" || !isWanted(repositoryId)) continue;
      const key = JSON.stringify([repositoryId, root, indexer]);
      if (known.has(key)) continue;
      if (known.size >= countMax) return { candidates: found, limitHit: true };
      known.add(key);
      const others = found.get(repositoryId);
      if (others === undefined) found.set(repositoryId, [{ id, commit, root }]);
      else others.push({ id, commit, root });
    }
    return { candidates: found, limitHit: false };
  }

  /** All indexes and uploads of a repository, the newest first. */
  list(repositoryId: number): readonly PreciseIndexRecord[] {
    return this.#store.forRepository(repositoryId);
  }

  get(id: number): PreciseIndexRecord | undefined {
    return this.#store.get(id);
  }

  /** Bytes of all indexes. */
  get storedBytes(): number {
    let sum = 0;
    for (const { counts } of this.#store.values()) sum += counts?.storedBytes ?? 0;
    return sum;
  }

  /**
   * Begins an upload. Throws `not-found` without its repository, `overloaded` if too many are not finished, `insufficient-storage`
   * without room.
   */
  async begin(description: UploadDescription): Promise<PreciseIndexRecord> {
    this.#requireRoom();
    const id = this.#store.newId();
    this.#unfinished.begin(id, description.uploaderId, monotonicMs());
    const record: PreciseIndexRecord = {
      ...description,
      id,
      state: "UPLOADING",
      failure: "",
      uploadedAt: new Date().toISOString(),
      startedAt: "",
      endedAt: "",
      uploadBytes: 0,
      counts: undefined,
    };
    try {
      await this.#store.add(record);
    } catch (error) {
      this.#unfinished.delete(id);
      throw error;
    }
    if (this.#environment.repository(record.repositoryId) !== undefined) return record;
    await this.remove([id]);
    throw new TrawlError("not-found", "the repository was deleted");
  }

  /**
   * The upload in parts with this id that has not arrived. Throws `not-found` if there is none, or it is that of another user, and
   * the viewer is no site admin.
   */
  requireUploading(id: number, { userId, isSiteAdmin }: Pick<Viewer, "userId" | "isSiteAdmin">): PreciseIndexRecord {
    const record = this.#store.get(id);
    if (record?.state !== "UPLOADING" || record.partCount === 0) throw noUpload(id);
    if (record.uploaderId !== userId && !isSiteAdmin) throw noUpload(id);
    this.#unfinished.requireOpen(id);
    return record;
  }

  /** A part, or the whole upload, begins to arrive. Throws `not-found` if the upload has ended. */
  openPart({ id }: PreciseIndexRecord, part: number): Promise<ArrivingPart> {
    const path = join(this.#folder, `${id}.arriving-${this.#arrivingCount++}`);
    return ArrivingPart.create(this.#unfinished, id, part, path, join(this.#folder, partName(id, part)));
  }

  /**
   * Everything of an upload has arrived: its index is built when those before it are. Resolves with its record, COMPLETED or
   * ERRORED. Throws `bad-request` if a part is missing, `not-found` if it has ended already.
   */
  async finish(record: PreciseIndexRecord): Promise<PreciseIndexRecord> {
    this.#unfinished.complete(record.id);
    let queued: PreciseIndexRecord;
    try {
      queued = await this.#collect(record);
    } catch (error) {
      this.#unfinished.reopen(record.id);
      throw error;
    }
    return queued.state === "QUEUED" ? this.#enqueue(queued) : queued;
  }

  /** The record of an upload whose parts are all there. */
  async #collect(record: PreciseIndexRecord): Promise<PreciseIndexRecord> {
    let uploadBytes = 0;
    for (const [part, name] of partNames(record).entries()) {
      const size = await stat(join(this.#folder, name)).then(
        (found) => found.size,
        () => undefined,
      );
      if (size === undefined)
        throw new TrawlError(
          "bad-request",
          `part ${part} of ${record.partCount} of upload ${record.id} is missing; send it`,
        );
      uploadBytes += size;
    }
    if (uploadBytes > this.limits.uploadBytesMax)
      return this.#fail(
        record,
        `the upload has ${uploadBytes} bytes, more than precise.uploadBytes (${this.limits.uploadBytesMax})`,
      );
    const queued: PreciseIndexRecord = { ...record, state: "QUEUED", uploadBytes };
    await syncToDisk([this.#folder]);
    await this.#put(queued);
    return queued;
  }

  /** Deletes an upload that will not arrive, or an index. */
  async remove(ids: readonly number[]): Promise<void> {
    this.#candidates.clear();
    const records = ids.flatMap((id) => this.#store.get(id) ?? []);
    if (records.length === 0) return;
    await this.#store.remove(ids);
    for (const record of records) await this.#removeFiles(record);
  }

  /** Deletes the indexes of repositories that are not there any more. */
  async removeRepositories(repositoryIds: readonly number[]): Promise<void> {
    const ids = repositoryIds.flatMap((repositoryId) => this.list(repositoryId).map(({ id }) => id));
    if (ids.length > 0) await this.remove(ids);
  }

  /** An index could not be read: it is not used any more. */
  async recordDamage(id: number, reason: string): Promise<void> {
    const record = this.#store.get(id);
    if (record?.state !== "COMPLETED") return;
    this.#environment.log.error({ index: id, reason }, "an uploaded index is damaged; upload it again");
    await this.#fail(record, `its file is damaged (${reason}); upload it again`);
  }

  #enqueue(record: PreciseIndexRecord): Promise<PreciseIndexRecord> {
    const done = this.#queue.then(() => this.#process(record));
    this.#queue = done.catch((error: unknown) =>
      this.#environment.log.error({ err: error, index: record.id }, "an uploaded index could not be processed"),
    );
    return done;
  }

  async #process(queued: PreciseIndexRecord): Promise<PreciseIndexRecord> {
    // It continues at the next start.
    if (Atomics.load(this.#stop, 0) !== 0) return queued;
    if (this.#store.get(queued.id) === undefined) return { ...queued, state: "ERRORED", failure: "it was deleted" };
    const record: PreciseIndexRecord = { ...queued, state: "PROCESSING", startedAt: new Date().toISOString() };
    await this.#put(record);
    try {
      return await this.#build(record);
    } catch (error) {
      if (Atomics.load(this.#stop, 0) !== 0) {
        await this.#put(queued);
        return queued;
      }
      return await this.#fail(record, errorMessage(error));
    }
  }

  async #build(record: PreciseIndexRecord): Promise<PreciseIndexRecord> {
    const { repository: findRepository, bringCommit, build, limits } = this.#environment;
    const { repositoryId, commit, root } = record;
    const repository = findRepository(repositoryId);
    if (repository === undefined) return this.#fail(record, "its repository was deleted");
    if (!(await bringCommit(repository, commit)))
      return this.#fail(
        record,
        `commit ${commit} is not in ${repository.name}: push it, and upload the index again, or name another commit`,
      );
    const target = join(this.#folder, `${record.id}.building`);
    const built = await build({
      kind: "precise",
      repositoryId,
      commit,
      root,
      files: partNames(record).map((name) => join(this.#folder, name)),
      target,
      indexBytesMax: limits.indexBytesMax,
      stop: this.#stop,
    });
    if (built.kind === "failed") {
      if (built.error.code === "cancelled") throw new TrawlError("cancelled", built.error.message);
      return this.#fail(record, built.error.message);
    }
    const { kind: _, toolName, toolVersion, ...counts } = built;
    const named = {
      ...record,
      indexer: record.indexer || toolName,
      indexerVersion: record.indexerVersion || toolVersion,
    };
    await this.#makeRoom(named, counts.storedBytes);
    await rename(target, join(this.#folder, preciseIndexName(record.id)));
    await syncToDisk([this.#folder]);
    // It was deleted meanwhile.
    if (this.#store.get(record.id) === undefined) return this.#dropped(record);
    const completed: PreciseIndexRecord = {
      ...named,
      state: "COMPLETED",
      endedAt: new Date().toISOString(),
      counts,
    };
    await this.#put(completed);
    await this.#removeParts(record);
    await this.#removeReplaced(completed);
    return completed;
  }

  async #dropped(record: PreciseIndexRecord): Promise<PreciseIndexRecord> {
    await this.#removeFiles(record);
    return { ...record, state: "ERRORED", failure: "it was deleted" };
  }

  /**
   * Of indexes with the same root and indexer, those of the same commit are replaced, and the oldest ones are deleted; so are the
   * oldest ones of the repository if it has too many.
   */
  async #removeReplaced(record: PreciseIndexRecord): Promise<void> {
    const similar = this.#similar(record);
    const replaced = similar.filter(({ commit }) => commit === record.commit);
    const older = similar.filter(({ commit }) => commit !== record.commit).slice(this.limits.keptMax - 1);
    await this.remove([...replaced, ...older].map(({ id }) => id));
    const left = this.list(record.repositoryId).filter(({ state }) => state === "COMPLETED");
    await this.remove(left.slice(indexesMax).map(({ id }) => id));
  }

  /** The other indexes of its repository with the same root and indexer, the newest first. */
  #similar({ id, repositoryId, root, indexer }: PreciseIndexRecord): PreciseIndexRecord[] {
    return this.list(repositoryId).filter(
      (other) => other.id !== id && other.state === "COMPLETED" && other.root === root && other.indexer === indexer,
    );
  }

  #requireRoom(): void {
    const { totalBytesMax } = this.limits;
    if (this.storedBytes >= totalBytesMax) throw this.#noRoom();
  }

  /** Deletes older indexes of the repository with the same root and indexer, if that makes room for the new one. */
  async #makeRoom(record: PreciseIndexRecord, byteCount: number): Promise<void> {
    let missingBytes = this.storedBytes + byteCount - this.limits.totalBytesMax;
    const oldest: number[] = [];
    for (const { id, counts } of this.#similar(record).reverse()) {
      if (missingBytes <= 0) break;
      missingBytes -= counts?.storedBytes ?? 0;
      oldest.push(id);
    }
    if (missingBytes > 0) throw this.#noRoom();
    await this.remove(oldest);
  }

  #noRoom(): TrawlError {
    return new TrawlError(
      "insufficient-storage",
      `there is no room for another index: all have ${this.storedBytes} bytes of the ${this.limits.totalBytesMax} of precise.totalBytes; delete some with deletePreciseIndex, or raise it`,
    );
  }

  async #fail(record: PreciseIndexRecord, failure: string): Promise<PreciseIndexRecord> {
    const failed: PreciseIndexRecord = {
      ...record,
      state: "ERRORED",
      failure,
      endedAt: new Date().toISOString(),
      counts: undefined,
    };
    await this.#put(failed);
    await this.#removeFiles(record);
    const older = this.list(record.repositoryId).filter(({ state }) => state === "ERRORED");
    await this.remove(older.slice(failedKeptMax).map(({ id }) => id));
    return failed;
  }

  async #put(record: PreciseIndexRecord): Promise<void> {
    await this.#store.put(record);
    this.#candidates.delete(record.repositoryId);
  }

  async #removeParts(record: PreciseIndexRecord): Promise<void> {
    // First: a part that is complete in this moment looks whether its upload is there still.
    this.#unfinished.delete(record.id);
    for (const name of partNames(record)) await rm(join(this.#folder, name), { force: true });
  }

  async #removeFiles(record: PreciseIndexRecord): Promise<void> {
    await this.#removeParts(record);
    for (const name of [preciseIndexName(record.id), `${record.id}.building`])
      await rm(join(this.#folder, name), { force: true });
  }
}

function partName(id: number, part: number): string {
  return `${id}.part-${part}`;
}

/** The files of an upload, in their order. */
function partNames({ id, partCount }: PreciseIndexRecord): string[] {
  return Array.from({ length: Math.max(1, partCount) }, (_, part) => partName(id, part));
}
