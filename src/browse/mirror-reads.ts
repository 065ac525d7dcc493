import DataLoader from "dataloader";
import { BoundedMap } from "../base/bounded-map.js";
import { TrawlError } from "../base/errors.js";
import { shownPath } from "../base/path-text.js";
import type { BlameRequest } from "../git/history/blame.js";
import type { FoundHunk } from "../git/history/blame-stream.js";
import type { CommitData, HistoryRequest } from "../git/history/commits.js";
import type { LastCommits } from "../git/history/last-commits.js";
import type { EntryData } from "../git/objects/directories.js";
import type {
  FileAnswer,
  GitReadAnswer,
  GitReadKinds,
  HighlightedText,
  TextToHighlight,
  WantedFile,
} from "../protocol/git-messages.js";
import type { ReadPool } from "../pool/read-pool.js";
import { checkRevision } from "../model/revision-syntax.js";
import type { GitOutput } from "../git/run/run.js";
import type { ReadAnswer, ReadKinds } from "../protocol/read-messages.js";
import type { BlobSource, CommitSource } from "./git-sources.js";
import type { MirrorLimits, MirrorReadKind, WantedOutput } from "./mirror-messages.js";
import type { Mirrors } from "./mirrors.js";
import type { RepositorySource } from "./repository-source.js";

/** Limit on cached commits and tree entries, neither of which ever change. */
const keptCommitBytesMax = 32 << 20;
const keptEntryBytesMax = 16 << 20;

/** Limit on cached results of blame, which do not change either: they depend on a commit and a path. */
const keptBlameBytesMax = 16 << 20;

/** Limits on cached lists of the commits of histories: on their total size, and on the commits of one list. */
const keptHistoryBytesMax = 32 << 20;
const listedCommitsMax = 500_000;

/** How long one request looks for the last commits of a directory's entries. */
const lastCommitsMs = 1_000;

/** Estimated size of a cached object in addition to its text. */
const objectBytes = 400;

/** Limit on the total text of the files of one request, because its response is built in memory. */
const requestTextBytesMax = 32 << 20;

/** Data read from mirrors by all requests, as far as it is cached. */
export class GitCache {
  readonly commits = new BoundedMap<string, CommitData>(
    keptCommitBytesMax,
    (commit) => objectBytes + 2 * commit.message.length,
  );
  readonly entries = new BoundedMap<string, { readonly entry: EntryData | null }>(
    keptEntryBytesMax,
    ({ entry }) => objectBytes + 2 * (entry?.path.length ?? 0),
  );
  /** The oids of histories of which a page after the first was requested. */
  readonly histories = new BoundedMap<string, Uint8Array>(keptHistoryBytesMax, ({ length }) => objectBytes + length);
  readonly blames = new BoundedMap<string, GitReadAnswer<"read-blame">>(
    keptBlameBytesMax,
    ({ hunks }) => objectBytes * (1 + hunks.length),
  );
  /** How far the histories of the entries of directories were read. */
  readonly lastCommits = new BoundedMap<string, LastCommits>(
    keptHistoryBytesMax,
    ({ found, left }) =>
      objectBytes * (1 + left.length) +
      found.reduce((sum, { name }) => sum + 150 + name.length, 0) +
      left.reduce((sum, { names }) => sum + names.reduce((some, name) => some + 50 + name.length, 0), 0),
  );
  /** The same for whole files, as they were streamed. */
  readonly origins = new BoundedMap<string, readonly FoundHunk[]>(
    keptBlameBytesMax,
    ({ length }) => objectBytes * (1 + length),
  );
}

interface FoundRevision {
  readonly commit: string | null;
  /** True if several commits have ids that begin so. */
  readonly isAmbiguous: boolean;
}

/**
 * The git reads of one request. They run in the read pool, here or at the node that has the mirror; individual reads requested in the same iteration of the
 * event loop are combined into one task per repository, so a list does not cost a read per item.
 */
export class GitReads {
  readonly #pool: ReadPool;
  readonly #mirrors: Mirrors;
  readonly #cache: GitCache;
  readonly #limits: () => MirrorLimits;
  readonly #revisions: BatchLoader<string, FoundRevision>;
  readonly #commits: BatchLoader<string, CommitData | null>;
  readonly #entries: BatchLoader<string, EntryData | null>;
  readonly #files: BatchLoader<WantedFile, FileAnswer>;
  readonly #highlights: BatchLoader<TextToHighlight, HighlightedText>;
  #textBytes = 0;

  constructor(pool: ReadPool, mirrors: Mirrors, cache: GitCache, limits: () => MirrorLimits) {
    this.#pool = pool;
    this.#mirrors = mirrors;
    this.#cache = cache;
    this.#limits = limits;
    this.#revisions = new BatchLoader((group, texts) => this.#resolve(Number(group), texts));
    this.#commits = new BatchLoader((group, oids) => this.#readCommits(Number(group), oids));
    this.#entries = new BatchLoader((group, paths) => this.#readEntries(group, paths));
    this.#highlights = new BatchLoader(async (group, texts) => {
      return (await pool.run({ kind: "highlight-texts", texts, patient: group === "patient" }, limits())).texts;
    });
    this.#files = new BatchLoader(
      async (group, files) => (await this.run({ kind: "read-files", repositoryId: Number(group), files })).files,
    );
  }

  /** One read of one mirror, wherever it is. Ends when the request times out or its client disconnects. */
  run<Kind extends MirrorReadKind>(
    request: ReadKinds[Kind]["request"] & { readonly kind: Kind },
  ): Promise<ReadAnswer<Kind>> {
    return this.#mirrors.run<Kind>(request, this.#limits());
  }

  /** What is read as bytes. Whoever reads it must kill it. */
  open({ record }: RepositorySource, wanted: WantedOutput): Promise<GitOutput> {
    return this.#mirrors.open(record.id, wanted, this.#limits());
  }

  /** A read of the uploaded indexes that this node has. */
  async readIndexes<Kind extends "find-precise" | "find-symbols">(
    request: GitReadKinds[Kind]["request"] & { readonly kind: Kind },
  ): Promise<GitReadAnswer<Kind>> {
    return await this.#pool.run<Kind>(request, this.#limits());
  }

  /**
   * The commit of a revision; null if there is none. The default branch is known without a read. Throws `bad-request`,
   * see `checkRevision`, and `not-found` for the beginning of several ids.
   */
  async resolve(repository: RepositorySource, revision: string): Promise<string | null> {
    const indexed = repository.indexedCommit(revision);
    if (indexed !== undefined) return indexed;
    if (revision !== "") checkRevision(revision);
    if (!repository.cloned) return null;
    const found = await this.#revisions.get(String(repository.record.id), revision === "" ? "HEAD" : revision);
    if (!found.isAmbiguous) return found.commit;
    const message = `the commit id ${JSON.stringify(revision)} is ambiguous: several commits of ${repository.name} begin with it; write more of its digits`;
    throw new TrawlError("not-found", message);
  }

  /** Null if the mirror has no such commit. */
  async commit(repository: RepositorySource, oid: string): Promise<CommitData | null> {
    const known = this.#cache.commits.get(commitKey(repository.record.id, oid));
    return known ?? this.#commits.get(String(repository.record.id), oid);
  }

  /** Throws if the mirror no longer has the commit. */
  async commitData({ repository, oid }: CommitSource): Promise<CommitData> {
    const commit = await this.commit(repository, oid);
    if (commit === null) throw new TrawlError("not-found", `commit ${oid} is no longer in ${repository.name}`);
    return commit;
  }

  /**
   * Commits of a history. All oids are listed at the first request for a later page and kept, so that the time for a page
   * does not depend on how many precede it.
   */
  async history(repository: RepositorySource, history: HistoryRequest): Promise<readonly CommitData[]> {
    const { skipCount, countMax, from } = history;
    // A relative date means another one later.
    const isKept = skipCount > 0 && skipCount < listedCommitsMax && history.after === "" && history.before === "";
    const oids = isKept ? await this.#historyOids(repository, history) : undefined;
    const oidLength = from[0].length / 2;
    if (oids === undefined || oids.length === listedCommitsMax * oidLength) {
      const { commits } = await this.run({ kind: "list-history", repositoryId: repository.record.id, history });
      this.#keep(repository, commits);
      return commits;
    }
    const page: Promise<CommitData | null>[] = [];
    const end = Math.min(oids.length, (skipCount + countMax) * oidLength);
    for (let at = skipCount * oidLength; at < end; at += oidLength)
      page.push(this.commit(repository, Buffer.from(oids.subarray(at, at + oidLength)).toString("hex")));
    return (await Promise.all(page)).filter((commit) => commit !== null);
  }

  /**
   * The newest commit that changed each entry of a directory: what is known after the first `skipCount`, or what is found in
   * a second if that is all. A later call goes on where this one ended, and finds them in the same order.
   */
  async lastCommits({ repository, oid }: CommitSource, path: string, skipCount: number): Promise<LastCommits> {
    const key = `${repository.record.id}/${oid}/${path}`;
    const known = this.#cache.lastCommits.get(key) ?? { found: [], left: undefined };
    if (known.left?.length === 0 || known.found.length > skipCount)
      return { found: known.found.slice(skipCount), left: known.left ?? [] };
    const { found, left } = await this.run({
      kind: "read-last-commits",
      repositoryId: repository.record.id,
      path,
      from: known.left ?? oid,
      timeMs: lastCommitsMs,
    });
    const all = { found: [...known.found, ...found], left };
    this.#cache.lastCommits.set(key, all);
    return { found: all.found.slice(skipCount), left };
  }

  async #historyOids({ record }: RepositorySource, history: HistoryRequest): Promise<Uint8Array> {
    const listed = { ...history, skipCount: 0, countMax: listedCommitsMax };
    const key = `${record.id}/${JSON.stringify(listed)}`;
    const known = this.#cache.histories.get(key);
    if (known !== undefined) return known;
    const { oids } = await this.run({ kind: "list-history-oids", repositoryId: record.id, history: listed });
    this.#cache.histories.set(key, oids);
    return oids;
  }

  /** Caches commits returned as part of a list. */
  #keep(repository: RepositorySource, commits: readonly CommitData[]): void {
    for (const commit of commits) this.#cache.commits.set(commitKey(repository.record.id, commit.oid), commit);
  }

  /** The entry at a path, "" for the root; null if there is none. */
  async entry(commit: CommitSource, path: string): Promise<EntryData | null> {
    const { id, lfsTree = "", lastFetched } = commit.repository.record;
    // With contents of Git LFS or of submodules, a commit may have other entries after each fetch.
    const group = `${id}/${commit.oid}/${lfsTree}/${lastFetched}`;
    const known = this.#cache.entries.get(`${group}/${path}`);
    return known !== undefined ? known.entry : this.#entries.get(group, path);
  }

  /** The path of the entry that a path with U+FFFD names, see `readEntries`; others as they are. */
  async exactPath(commit: CommitSource, path: string): Promise<string> {
    return path.includes("\ufffd") ? ((await this.entry(commit, path))?.path ?? path) : path;
  }

  /** The entry of a file. Throws `not-found` if the commit, or its mirror, no longer has it. */
  async entryOf({ commit, path, entry }: BlobSource): Promise<EntryData> {
    const found = entry ?? (await this.entry(commit, path));
    if (found === null) throw new TrawlError("not-found", `${shownPath(path)} is not in commit ${commit.oid}`);
    return found;
  }

  /** A file's text or attributes. Throws if it is too large or does not exist. */
  async file(
    blob: BlobSource,
    form: WantedFile["form"],
    startLine: number | undefined,
    endLine: number | undefined,
  ): Promise<FileAnswer & { kind: "file" }> {
    const entry = await this.entryOf(blob);
    if (entry.kind !== "file") return noText;
    const answer = await this.#files.get(String(blob.repository.record.id), {
      commit: blob.commit.oid,
      oid: entry.oid,
      path: blob.path,
      form,
      startLine,
      endLine,
    });
    switch (answer.kind) {
      case "missing":
        throw noContent(blob.path);
      case "too-large":
        throw new TrawlError(
          "bad-request",
          `${shownPath(blob.path)} has ${answer.byteCount} bytes, too many for this response; read it at its raw URL`,
        );
      case "file":
        break;
    }
    if (this.#textBytes + answer.text.length > requestTextBytesMax)
      throw new TrawlError(
        "bad-request",
        `${shownPath(blob.path)} does not fit: the files of this response would have more than ${requestTextBytesMax} characters in total; request fewer`,
      );
    this.#textBytes += answer.text.length;
    return answer;
  }

  /** The origin of all lines of a file, if it was streamed before. */
  keptOrigins({ repository, oid }: CommitSource, path: string): readonly FoundHunk[] | undefined {
    return this.#cache.origins.get(`${repository.record.id}/${oid}/${path}`);
  }

  keepOrigins({ repository, oid }: CommitSource, path: string, hunks: readonly FoundHunk[]): void {
    this.#cache.origins.set(`${repository.record.id}/${oid}/${path}`, hunks);
  }

  /** The origin of lines of a file. */
  async blame({ repository: { record } }: CommitSource, blame: BlameRequest): Promise<GitReadAnswer<"read-blame">> {
    const key = `${record.id}/${JSON.stringify(blame)}`;
    const known = this.#cache.blames.get(key);
    if (known !== undefined) return known;
    const answer = await this.run({ kind: "read-blame", repositoryId: record.id, blame });
    this.#cache.blames.set(key, answer);
    return answer;
  }

  /** A text as lines of HTML. */
  highlight(text: TextToHighlight, patient: boolean): Promise<HighlightedText> {
    return this.#highlights.get(patient ? "patient" : "", text);
  }

  /** The HTML that the Markdown describes; it is safe in any page. */
  async renderMarkdown(text: string): Promise<string> {
    return (await this.#pool.run({ kind: "render-markdown", text }, this.#limits())).html;
  }

  async #resolve(repositoryId: number, texts: readonly string[]): Promise<FoundRevision[]> {
    const specs = texts.map((typed) => ({ kind: "name" as const, typed }));
    const {
      repositories: [found],
    } = await this.run({ kind: "resolve-revisions", repositories: [{ repositoryId, specs }] });
    if (found.error !== undefined) throw new TrawlError(found.error.code, found.error.message);
    const commitOf = new Map(found.revisions.map(({ typed, commit }) => [typed, commit]));
    return texts.map((text) => ({ commit: commitOf.get(text) ?? null, isAmbiguous: found.ambiguous.includes(text) }));
  }

  async #readCommits(repositoryId: number, oids: readonly string[]): Promise<(CommitData | null)[]> {
    const { commits } = await this.run({ kind: "read-commits", repositoryId, oids });
    const byOid = new Map(commits.map((commit) => [commit.oid, commit]));
    for (const commit of commits) this.#cache.commits.set(commitKey(repositoryId, commit.oid), commit);
    return oids.map((oid) => byOid.get(oid) ?? null);
  }

  async #readEntries(group: string, paths: readonly string[]): Promise<readonly (EntryData | null)[]> {
    const [id, commit, tree] = group.split("/");
    const lfsTree = tree === "" ? undefined : tree;
    const { entries } = await this.run({ kind: "read-entries", repositoryId: Number(id), lfsTree, commit, paths });
    entries.forEach((entry, at) => this.#cache.entries.set(`${group}/${paths[at]}`, { entry }));
    return entries;
  }
}

/** The blob of a file is missing from the mirror. */
export function noContent(path: string): TrawlError {
  return new TrawlError("not-found", `the mirror has no content of ${shownPath(path)}`);
}

function commitKey(repositoryId: number, oid: string): string {
  return `${repositoryId}/${oid}`;
}

/** A submodule has no text. */
const noText = {
  kind: "file",
  byteCount: 0,
  isBinary: false,
  lineCount: 0,
  language: "",
  text: "",
  aborted: false,
} as const;

/** Loads values for keys of one group; returns them in the order of the keys. */
type LoadGroup<Key, Value> = (group: string, keys: readonly Key[]) => Promise<readonly Value[]>;

/** Further keys of a group are loaded by another call. */
const keysMax = 500;

/** Collects the keys requested in one iteration of the event loop, and loads those of a group together. Caches nothing. */
class BatchLoader<Key, Value> {
  readonly #load: LoadGroup<Key, Value>;
  readonly #groups = new Map<string, DataLoader<Key, Value>>();

  constructor(load: LoadGroup<Key, Value>) {
    this.#load = load;
  }

  get(group: string, key: Key): Promise<Value> {
    let loader = this.#groups.get(group);
    if (loader === undefined) {
      loader = new DataLoader((keys) => this.#loadGroup(group, keys), {
        cache: false,
        maxBatchSize: keysMax,
        batchScheduleFn: setImmediate,
      });
      this.#groups.set(group, loader);
    }
    return loader.load(key);
  }

  /** A group's loader is needed for one batch; a request may ask for thousands of groups. */
  #loadGroup(group: string, keys: readonly Key[]): Promise<readonly Value[]> {
    this.#groups.delete(group);
    return this.#load(group, keys);
  }
}
