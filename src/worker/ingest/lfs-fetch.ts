import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BoundedMap } from "../../base/bounded-map.js";
import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { replaceFile } from "../../base/sync-to-disk.js";
import { type LfsContents, readPointers } from "../../git/lfs/lfs-contents.js";
import { LfsFolder } from "../../git/lfs/lfs-folder.js";
import { hasSha256, LfsServer, type OnLfsObject } from "../../git/lfs/lfs-server.js";
import { dropLfsContents, findLfsContents, LfsStore, stateFile } from "../../git/lfs/lfs-store.js";
import { type LfsPointer, parsePointer } from "../../git/lfs/pointer.js";
import type { Mirror } from "../../git/mirror/mirror.js";
import { RemoteRules } from "../../git/mirror/remote-rules.js";
import { diffTrees, fileMode, isRegular } from "../../git/objects/objects.js";
import { blobSizes } from "../../git/objects/read-blobs.js";
import { listReadable } from "../../git/objects/readable-tree.js";
import { isOid, type RefState } from "../../git/objects/refs.js";
import type { StopSignal } from "../../git/run/run.js";
import { contentLimitsFor, isTooLarge } from "../../indexer/classify.js";
import type { ContentTreeMap } from "../../indexer/index-changes.js";
import { ruleFiles } from "../../indexer/index-repository.js";
import { isRulePath, readLfsRule } from "../../indexer/rules/commit-rules.js";
import { indexedTree } from "../../model/repository.js";
import type { SyncInput, SyncTask } from "../../protocol/ingest-messages.js";

/** One object, which is in memory as a whole. */
const objectBytesMax = 64 << 20;

/** In one sync; the next one goes on. */
const syncBytesMax = 256 << 20;
const syncCountMax = 10_000;
const syncMs = 300_000;
/** For objects that are being read when that time is over. */
const graceMs = 300_000;
/** A server that sends nothing for so long is not waited for. */
const serverSilenceMs = 30_000;

/** Commits of branches and tags that are not indexed whose pointers are looked for, in one sync. */
const otherCommitsMax = 200;

/** What was not there is asked for again after this time, which doubles each time that nothing has come; a requested sync always asks. */
const retryMsMin = 60_000;
const retryMsMax = 6 * 3_600_000;
const retries = new BoundedMap<number, { readonly atMs: number; readonly delayMs: number }>(10_000, () => 1);

const reasonsShownMax = 5;

/** A pointer in the mirror whose contents are left out. */
interface LeftOut extends LfsPointer {
  /** The oid of the blob that is the pointer. */
  readonly blob: string;
  /** One of its paths, of one character per byte. */
  readonly path: string;
  /** Why: the end of a sentence. */
  readonly reason: string;
}

/** What is known of a mirror: with it, only what has changed is looked at. */
interface LfsState {
  /** The list of contents to which it belongs. */
  readonly tree: string;
  /** Commits whose pointers are known; of one with contents of submodules, its tree with these. */
  readonly commits: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** Pointers that are not among them, because there are too many. */
  readonly unlistedCount: number;
  /** Of all contents in the mirror. */
  readonly byteCount: number;
}

export interface FetchedLfs {
  /** Undefined if the repository has none, because it is not to have them or because they cannot be had for now. */
  readonly contents: LfsContents | undefined;
  /** Whether the list with which the repository was indexed is lost. */
  readonly isLost: boolean;
  /** Sentences about what is left out. */
  readonly warnings: readonly string[];
}

const nothing: FetchedLfs = { contents: undefined, isLost: false, warnings: [] };

/** What of Git LFS the mirror has, without asking for more. */
export async function knownLfs({ repository }: SyncInput, mirror: Mirror, stop: StopSignal): Promise<FetchedLfs> {
  if (repository.lfs !== true) return nothing;
  const contents = await findLfsContents(mirror.directory, stop);
  return { contents, isLost: false, warnings: describeState(readState(mirror.directory)) };
}

/**
 * Brings the contents of Git LFS of a mirror up to date with its branches: of the pointers in the commits that are indexed, and as far as
 * that is cheap in the others that branches and tags name. What cannot be had is left out, with the reason, and asked for again later.
 * Throws `cancelled` if stopped.
 */
export async function fetchLfs(
  dataFolder: string,
  input: SyncInput,
  task: SyncTask,
  mirror: Mirror,
  wanted: readonly string[],
  trees: ContentTreeMap,
  state: RefState,
  stop: StopSignal,
): Promise<FetchedLfs> {
  const { repository } = input;
  if (repository.lfs !== true) {
    // While documents with contents are indexed, searches read them.
    if (repository.lfsTree === undefined) await dropLfsContents(mirror.directory, stop);
    return nothing;
  }
  const { lfsTree } = repository;
  const kept = await findLfsContents(mirror.directory, stop);
  const indexed =
    lfsTree === undefined || lfsTree === kept?.tree ? kept : await findLfsContents(mirror.directory, stop, lfsTree);
  const known = kept ?? indexed;
  let isLost = lfsTree !== undefined && indexed === undefined;
  try {
    const fetch = new LfsFetch(dataFolder, input, task, mirror, known, indexed, trees, stop);
    // The reference is lost where a mirror is built anew, or all of its references are written at once.
    if (kept === undefined && known !== undefined) isLost = !(await fetch.verify()) || isLost;
    return { ...(await fetch.run(wanted, state)), isLost };
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code === "cancelled") throw error;
    const warnings = [`the contents of Git LFS cannot be fetched: ${errorMessage(error)}`];
    return { contents: known, isLost, warnings };
  }
}

interface FoundPointer {
  readonly pointer: LfsPointer;
  readonly blob: string;
  readonly paths: string[];
  /** Whether it is in submodules only. */
  isElsewhere: boolean;
}

class LfsFetch {
  readonly #dataFolder: string;
  readonly #input: SyncInput;
  readonly #task: SyncTask;
  readonly #mirror: Mirror;
  readonly #known: LfsContents | undefined;
  readonly #indexed: LfsContents | undefined;
  readonly #trees: ContentTreeMap;
  readonly #stop: StopSignal;
  #before: LfsState | undefined;
  /** Those whose pointers are known. */
  readonly #commits: Set<string>;
  /** Those among whose pointers all that the commits to be indexed share with them are known. */
  readonly #bases: Set<string>;
  #unlistedCount = 0;
  /** Whether the list is written in any case. */
  #isDue = false;
  /** By oid of the blob. */
  readonly #found = new Map<string, FoundPointer>();
  readonly #blobs: Map<string, string>;
  /** What was left out before, by oid of the blob. */
  #waiting: ReadonlyMap<string, LeftOut>;
  readonly #leftOut: LeftOut[] = [];
  #byteCount: number;

  constructor(
    dataFolder: string,
    input: SyncInput,
    task: SyncTask,
    mirror: Mirror,
    known: LfsContents | undefined,
    indexed: LfsContents | undefined,
    trees: ContentTreeMap,
    stop: StopSignal,
  ) {
    this.#dataFolder = dataFolder;
    this.#input = input;
    this.#task = task;
    this.#mirror = mirror;
    this.#known = known;
    this.#indexed = indexed;
    this.#trees = trees;
    this.#stop = stop;
    const before = readState(mirror.directory);
    this.#before = before?.tree === known?.tree ? before : undefined;
    this.#commits = new Set(this.#before?.commits);
    this.#bases = new Set(this.#commits);
    this.#blobs = new Map(known?.blobs);
    this.#waiting = new Map(this.#before?.leftOut.map((one) => [one.blob, one]));
    this.#byteCount = this.#before?.byteCount ?? 0;
  }

  /** Whether the mirror has all contents of the list. What it has lost is fetched again. */
  async verify(): Promise<boolean> {
    this.#isDue = true;
    const sizes = await blobSizes(this.#mirror.directory, [...this.#blobs.values()], this.#stop);
    const pointers = [...this.#blobs.keys()].filter((_, i) => sizes[i] < 0);
    if (pointers.length === 0) return true;
    for (const pointer of pointers) this.#blobs.delete(pointer);
    this.#before = undefined;
    this.#commits.clear();
    this.#bases.clear();
    this.#waiting = new Map();
    return false;
  }

  async run(wanted: readonly string[], state: RefState): Promise<Omit<FetchedLfs, "isLost">> {
    const { directory } = this.#mirror;
    if (this.#before === undefined) this.#byteCount = await this.#measure([...this.#blobs.values()]);
    this.#unlistedCount = this.#before?.unlistedCount ?? 0;
    if (this.#unlistedCount > 0 && !wanted.every((commit) => this.#commits.has(this.#listed(commit)))) {
      // Which ones were not listed is not known.
      this.#unlistedCount = 0;
      this.#commits.clear();
      this.#bases.clear();
    }
    await this.#dropGone(wanted);
    const others = await this.#findPointers(wanted, state);
    const asked = await this.#choose(wanted, others);
    const store = new LfsStore(directory, wanted[0] ?? "", this.#task.fetch, this.#stop);
    let contents = this.#known;
    try {
      await this.#fetch(asked, store);
      const leftOut = new Set(this.#leftOut.map(({ blob }) => blob));
      const isSame =
        !this.#isDue &&
        contents !== undefined &&
        contents.isWhole === (this.#unlistedCount === 0) &&
        contents.blobs.size === this.#blobs.size &&
        contents.leftOut.size === leftOut.size &&
        [...this.#blobs.keys()].every((blob) => this.#known?.find(blob) !== undefined) &&
        [...leftOut].every((blob) => this.#known?.lacks(blob));
      if (!isSame || contents === undefined) {
        // The mirror is known to have a list before it has one: then it can be dropped at any time.
        if (this.#before === undefined) await replaceFile(join(directory, stateFile), Buffer.from("{}"));
        contents = await store.finish(this.#blobs, leftOut, this.#unlistedCount === 0, this.#indexed?.tree);
      }
    } finally {
      store.close();
    }
    await writeState(directory, {
      tree: contents.tree,
      commits: [...wanted.map((commit) => this.#listed(commit)), ...others],
      leftOut: this.#leftOut,
      unlistedCount: this.#unlistedCount,
      byteCount: this.#byteCount,
    });
    return { contents, warnings: describe(this.#leftOut, this.#unlistedCount) };
  }

  /** What has the files of a commit: its tree with the contents of submodules, or the commit. */
  #listed(commit: string): string {
    return this.#trees.get(commit) ?? commit;
  }

  /** What was left out, and is in no indexed commit any more, is not asked for again. */
  async #dropGone(wanted: readonly string[]): Promise<void> {
    if (this.#waiting.size === 0 || wanted.every((commit) => this.#commits.has(this.#listed(commit)))) return;
    const used = await this.#listBlobs(wanted);
    this.#waiting = new Map([...this.#waiting].filter(([blob]) => used.has(blob)));
    // Others may have it still.
    const listed = new Set(wanted.map((commit) => this.#listed(commit)));
    for (const commit of this.#commits) if (!listed.has(commit)) this.#commits.delete(commit);
  }

  async #listBlobs(commits: readonly string[]): Promise<ReadonlySet<string>> {
    const oids = new Set<string>();
    for (const commit of commits)
      for (const { oid } of (await listReadable(this.#mirror.directory, this.#listed(commit), this.#stop)).entries)
        oids.add(oid);
    return oids;
  }

  /** Returns the other commits whose pointers are known afterwards. */
  async #findPointers(wanted: readonly string[], { branches, tags }: RefState): Promise<string[]> {
    const known: string[] = [];
    let base = this.#input.repository.indexedBranches.map(indexedTree).find((tree) => this.#bases.has(tree));
    for (const commit of wanted) {
      const listed = this.#listed(commit);
      if (!this.#commits.has(listed)) await this.#findIn(listed, base, listed === commit ? undefined : commit);
      this.#commits.add(listed);
      base = listed;
    }
    const others = new Set([...branches.values(), ...tags.values()].filter((commit) => !wanted.includes(commit)));
    let count = 0;
    for (const commit of base === undefined ? [] : others) {
      if (!this.#commits.has(commit)) {
        if (++count > otherCommitsMax) break;
        await this.#findInOther(commit, base);
      }
      known.push(commit);
    }
    return known;
  }

  async #findInOther(commit: string, base: string | undefined): Promise<void> {
    try {
      await this.#findIn(commit, base);
    } catch (error) {
      // A tag may be of no commit, and a commit that is not indexed may lack objects.
      if (!(error instanceof TrawlError) || error.code !== "git") throw error;
    }
  }

  /**
   * Looks for pointers among the files that the commit does not share with `base`, whose pointers are known. `outer`: the commit itself
   * if the other is its tree with the contents of submodules.
   */
  async #findIn(commit: string, base: string | undefined, outer?: string): Promise<void> {
    const { directory } = this.#mirror;
    const isFile = (mode: number, path: Buffer): boolean => isRegular(mode) && !isRulePath(path);
    const changes = base === undefined ? undefined : await this.#compare(base, commit);
    // Other attributes may be about any file.
    const isPart = changes?.every(({ path }) => !isRulePath(path)) === true;
    const files = new Map<string, string[]>();
    const add = (oid: string, path: Buffer): void => {
      if (this.#blobs.has(oid) || this.#waiting.has(oid)) return;
      const paths = files.get(oid);
      if (paths === undefined) files.set(oid, [path.toString("latin1")]);
      else paths.push(path.toString("latin1"));
    };
    if (isPart)
      for (const { newOid, newMode, path } of changes) if (newOid !== null && isFile(newMode, path)) add(newOid, path);
    if (isPart && files.size === 0) return;
    const { entries } = isPart ? { entries: [] } : await listReadable(directory, commit, this.#stop);
    for (const { oid, mode, path } of entries) if (isFile(mode, path)) add(oid, path);
    const pointers = await readPointers(directory, [...files.keys()], this.#stop);
    if (pointers.size === 0) return;
    const all = isPart ? (await listReadable(directory, commit, this.#stop)).entries : entries;
    const lfs = await readLfsRule(directory, ruleFiles(all), this.#stop);
    const submodules = outer === undefined ? [] : await this.#submodulePaths(outer);
    for (const [blob, pointer] of pointers) {
      const paths = files.get(blob)?.filter((path) => lfs.holds(path)) ?? [];
      if (paths.length === 0) continue;
      const isElsewhere = paths.every((path) => submodules.some((start) => path.startsWith(start)));
      const known = this.#found.get(blob);
      if (known !== undefined) {
        known.paths.push(...paths);
        known.isElsewhere &&= isElsewhere;
      } else if (this.#blobs.size + this.#found.size >= this.#task.fetch.lfsPointersMax) this.#unlistedCount++;
      else this.#found.set(blob, { pointer, blob, paths, isElsewhere });
    }
  }

  /** Their paths, with a slash at the end, in a commit. */
  async #submodulePaths(commit: string): Promise<string[]> {
    const { entries } = await listReadable(this.#mirror.directory, commit, this.#stop);
    return entries.flatMap(({ mode, path }) => (mode === fileMode.gitlink ? [`${path.toString("latin1")}/`] : []));
  }

  /** Undefined if they cannot be compared: then all files are looked at. */
  async #compare(base: string, commit: string) {
    try {
      return await diffTrees(this.#mirror.directory, base, commit, this.#stop);
    } catch (error) {
      if (error instanceof TrawlError && error.code === "git") return undefined;
      throw error;
    }
  }

  /** What is asked for in this sync; the rest is left out. */
  async #choose(wanted: readonly string[], others: readonly string[]): Promise<readonly FoundPointer[]> {
    const { repository, isRequested } = this.#input;
    const limits = contentLimitsFor(this.#task.limits);
    const nowMs = monotonicMs();
    const isDue = isRequested || nowMs >= (retries.get(repository.id)?.atMs ?? 0);
    const asked: FoundPointer[] = [];
    let byteCount = 0;
    const leaveOut = ({ pointer, blob, paths }: FoundPointer, reason: string): void => {
      this.#leftOut.push({ ...pointer, blob, path: keptPath(paths), reason });
    };
    const consider = (one: FoundPointer, before: string | undefined): void => {
      const { size } = one.pointer;
      if (one.isElsewhere) leaveOut(one, elsewhereReason);
      else if (one.paths.every((path) => isTooLarge(size, Buffer.from(path, "latin1"), limits)))
        leaveOut(one, "they are larger than index.maxFileBytes");
      else if (size > objectBytesMax) leaveOut(one, `they are larger than ${objectBytesMax >> 20} MiB`);
      else if (before !== undefined && !isDue) leaveOut(one, before);
      else if (asked.length >= syncCountMax || byteCount + size > syncBytesMax) leaveOut(one, laterReason);
      else {
        asked.push(one);
        byteCount += size;
      }
    };
    for (const one of this.#found.values()) consider(one, undefined);
    for (const { blob, path, reason, oid, size } of this.#waiting.values())
      if (!this.#found.has(blob))
        consider(
          { pointer: { oid, size }, blob, paths: [path], isElsewhere: reason === elsewhereReason },
          reason === laterReason ? undefined : reason,
        );
    const { lfsBytesMax } = this.#task.fetch;
    const takeFitting = (some: readonly FoundPointer[]): FoundPointer[] =>
      some.filter((one) => {
        if (this.#byteCount + one.pointer.size > lfsBytesMax) {
          leaveOut(one, roomReason);
          return false;
        }
        this.#byteCount += one.pointer.size;
        return true;
      });
    if (this.#byteCount + byteCount <= lfsBytesMax || byteCount === 0) return takeFitting(asked);
    const used = await this.#listBlobs(wanted);
    const first = asked.filter(({ blob }) => used.has(blob));
    const firstBytes = first.reduce((sum, { pointer }) => sum + pointer.size, 0);
    if (firstBytes > 0 && this.#byteCount + firstBytes > lfsBytesMax)
      for (const one of await this.#forgetUnused(wanted, others, used)) leaveOut(one, roomReason);
    return takeFitting([...first, ...asked.filter(({ blob }) => !used.has(blob))]);
  }

  /** Contents that no indexed commit has make room for those of indexed ones. Returns the pointers that other commits have of them. */
  async #forgetUnused(
    wanted: readonly string[],
    others: readonly string[],
    used: ReadonlySet<string>,
  ): Promise<FoundPointer[]> {
    const known = new Set(this.#found.keys());
    for (const pointer of this.#blobs.keys()) if (!used.has(pointer)) this.#blobs.delete(pointer);
    this.#byteCount = await this.#measure([...this.#blobs.values()]);
    for (const commit of others) await this.#findInOther(commit, this.#listed(wanted[0]));
    return [...this.#found.values()].filter(({ blob }) => !known.has(blob));
  }

  async #measure(oids: readonly string[]): Promise<number> {
    const sizes = await blobSizes(this.#mirror.directory, oids, this.#stop);
    return sizes.reduce((sum, size) => sum + Math.max(0, size), 0);
  }

  async #fetch(asked: readonly FoundPointer[], store: LfsStore): Promise<void> {
    const byOid = new Map<string, FoundPointer[]>();
    for (const one of asked) byOid.set(one.pointer.oid, [...(byOid.get(one.pointer.oid) ?? []), one]);
    let hasFailed = false;
    const take: OnLfsObject = async (pointer, given) => {
      // Contents are no pointer themselves, so what has replaced a pointer is not replaced again.
      const isPointer = typeof given !== "string" && parsePointer(given) !== undefined;
      const outcome = isPointer ? "they are a pointer of Git LFS themselves" : given;
      // Pointers in different forms may name the same object.
      const own = (byOid.get(pointer.oid) ?? []).filter((one) => one.pointer.size === pointer.size);
      if (typeof outcome !== "string") {
        const oid = await store.addContents(outcome);
        for (const { blob } of own) this.#blobs.set(blob, oid);
        return;
      }
      hasFailed = true;
      this.#byteCount -= own.length * pointer.size;
      for (const { blob, paths } of own)
        this.#leftOut.push({ ...pointer, blob, path: keptPath(paths), reason: outcome });
    };
    const pointers = new Map(asked.map(({ pointer }) => [`${pointer.oid} ${pointer.size}`, pointer]));
    await this.#read([...pointers.values()], take);
    const { id } = this.#input.repository;
    const { delayMs } = retries.get(id) ?? { delayMs: retryMsMin / 2 };
    const nextMs = Math.min(2 * delayMs, retryMsMax);
    if (hasFailed) retries.set(id, { atMs: monotonicMs() + nextMs, delayMs: nextMs });
    else if (asked.length > 0) retries.delete(id);
  }

  async #read(pointers: readonly LfsPointer[], take: OnLfsObject): Promise<void> {
    const { url } = this.#mirror;
    if (url.kind === "http") {
      const rules = new RemoteRules(this.#dataFolder, this.#task.fetch.networks);
      const { source } = this.#input.repository;
      const server = new LfsServer({
        url,
        admit: (target) => rules.admitOther(target, url, source),
        endMs: monotonicMs() + syncMs,
        graceMs,
        silenceMs: serverSilenceMs,
        stop: this.#stop,
      });
      return await server.read(pointers, take);
    }
    const folder = url.kind === "local" ? new LfsFolder(url.path, this.#dataFolder) : undefined;
    for (const pointer of pointers) {
      if (this.#stop()) throw new TrawlError("cancelled", "the fetch of contents of Git LFS was stopped");
      const contents = await folder?.read(pointer);
      if (contents !== undefined && hasSha256(pointer.oid, contents)) await take(pointer, contents);
      else
        await take(
          pointer,
          folder === undefined
            ? "they are fetched by https and http only, and its remote is reached by ssh"
            : contents === undefined
              ? "they are not in lfs/objects of the repository"
              : "lfs/objects of the repository has others under their name",
        );
    }
  }
}

const laterReason = "there are so many that the next sync goes on with them";

const roomReason = "the contents of this repository together are larger than git.maxLfsBytes";
const elsewhereReason = "they are in a submodule, whose contents of Git LFS are not fetched";

/** git checks out no longer path. */
const pathBytesMax = 4_096;
const shownPathMax = 200;

function keptPath(paths: readonly string[]): string {
  return paths[0].slice(0, pathBytesMax);
}

function describeState(state: LfsState | undefined): string[] {
  return state === undefined ? [] : describe(state.leftOut, state.unlistedCount);
}

/** Sentences about what is left out, in groups. */
function describe(leftOut: readonly LeftOut[], unlistedCount: number): string[] {
  const groups = new Map<string, { count: number; example: string }>();
  for (const { reason, path } of leftOut) {
    const group = groups.get(reason) ?? { count: 0, example: shownPath(path) };
    group.count++;
    groups.set(reason, group);
  }
  const sentences = [...groups].map(
    ([reason, { count, example }]) =>
      `${lfsProblemStart}the contents of ${count} ${count === 1 ? "file" : "files"} are left out, such as ${example}: ${reason}`,
  );
  if (unlistedCount > 0)
    sentences.unshift(
      `${lfsProblemStart}the contents of ${unlistedCount} ${unlistedCount === 1 ? "pointer" : "pointers"} are left out, because there are more than git.maxLfsPointers in this repository`,
    );
  const rest = sentences.splice(reasonsShownMax);
  return rest.length === 0 ? sentences : [...sentences, `${lfsProblemStart}${rest.length} more reasons are not listed`];
}

function shownPath(path: string): string {
  const text = Buffer.from(path, "latin1").toString();
  return JSON.stringify(text.length <= shownPathMax ? text : `${text.slice(0, shownPathMax)}…`);
}

const lfsProblemStart = "Git LFS: ";

/** Undefined if there is none, or if it is damaged. */
function readState(mirror: string): LfsState | undefined {
  try {
    const state = JSON.parse(readFileSync(join(mirror, stateFile), "utf8")) as LfsState;
    const { tree, commits, leftOut, unlistedCount, byteCount } = state;
    const isWhole =
      isOid(tree) &&
      commits.every(isOid) &&
      Number.isSafeInteger(byteCount) &&
      Number.isSafeInteger(unlistedCount) &&
      leftOut.every(
        ({ oid, size, blob, path, reason }) =>
          isOid(oid) &&
          Number.isSafeInteger(size) &&
          isOid(blob) &&
          typeof path === "string" &&
          typeof reason === "string",
      );
    return isWhole ? state : undefined;
  } catch {
    return undefined;
  }
}

async function writeState(mirror: string, state: LfsState): Promise<void> {
  await replaceFile(join(mirror, stateFile), Buffer.from(JSON.stringify(state)));
}
