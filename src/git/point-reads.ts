import type { Repository, Tree, TreeEntry as NodegitEntry } from "nodegit";
import { assert } from "../base/assert.js";
import { revisionProblem } from "../model/revision-syntax.js";
import { readCommitDate } from "./commit-facts.js";
import { diffTrees, resolveRevision, type TreeChange } from "./objects.js";
import { isOid } from "./refs.js";
import type { StopSignal } from "./run.js";

type Nodegit = typeof import("nodegit");

/**
 * Directories that a comparison opens through nodegit before it leaves the rest to `git diff-tree`. Measured on Linux for
 * one changed file: 4 ms here, 5 ms there with its process. Where the two cross with more directories was not measured.
 */
const directoriesMax = 64;

/** What nodegit makes of bytes that are not UTF-8. A name that truly contains it only costs the slower way. */
const replacementCharacter = "\ufffd";

/**
 * Quick questions about one mirror, without starting a process: for the small commit that shall be searchable at
 * once. Everything that nodegit cannot answer exactly goes to git: SHA-256 repositories, names that are not UTF-8,
 * revisions that it does not resolve, large differences. So the answers are those of `objects.ts`, sooner.
 *
 * Blobs are not read here: nodegit unpacks a blob whole before it tells the size, so that one hostile object could
 * exhaust memory. Use `BlobReader`.
 *
 * Contract: `close` is idempotent, and nothing is called after it.
 */
export class PointReader {
  readonly #directory: string;
  readonly #stop: StopSignal;
  readonly #nodegit: Nodegit;
  #repository: Repository | null;

  private constructor(directory: string, stop: StopSignal, nodegit: Nodegit, repository: Repository | null) {
    this.#directory = directory;
    this.#stop = stop;
    this.#nodegit = nodegit;
    this.#repository = repository;
  }

  /** Loads nodegit on the first call of a thread, which takes 0.2 to 0.5 s. */
  static async open(directory: string, stop: StopSignal): Promise<PointReader> {
    const { default: nodegit } = (await import("nodegit")) as unknown as { default: Nodegit };
    const repository = await nodegit.Repository.openBare(directory).catch(() => null);
    return new PointReader(directory, stop, nodegit, repository);
  }

  /** As `resolveRevision` of `objects.ts`. */
  async resolve(revision: string): Promise<string | null> {
    if (revisionProblem(revision) !== null) return null;
    return (await this.#resolveQuickly(revision)) ?? resolveRevision(this.#directory, revision, this.#stop);
  }

  /** As `diffTrees` of `objects.ts`, for commits. */
  async diffTrees(oldCommit: string, newCommit: string): Promise<TreeChange[]> {
    assert(isOid(oldCommit) && isOid(newCommit), "trees are compared by oid");
    return (
      (await this.#diffQuickly(oldCommit, newCommit)) ??
      diffTrees(this.#directory, oldCommit, newCommit, this.#stop)
    );
  }

  /** As `readCommitDate` of `commit-facts.ts`. */
  async readCommitDate(commit: string): Promise<number> {
    assert(isOid(commit), "a commit is read by oid");
    return (await this.#readDateQuickly(commit)) ?? readCommitDate(this.#directory, commit, this.#stop);
  }

  close(): void {
    this.#repository?.cleanup();
    this.#repository = null;
  }

  async #resolveQuickly(revision: string): Promise<string | null> {
    if (this.#repository === null || revision === "" || revision.includes("\0")) return null;
    try {
      const object = await this.#nodegit.Revparse.single(this.#repository, `${revision}^{commit}`);
      return object.id().tostrS();
    } catch {
      return null;
    }
  }

  async #readDateQuickly(commit: string): Promise<number | null> {
    try {
      return (await this.#repository?.getCommit(commit))?.time() ?? null;
    } catch {
      return null;
    }
  }

  async #diffQuickly(oldCommit: string, newCommit: string): Promise<TreeChange[] | null> {
    if (this.#repository === null) return null;
    try {
      const repository = this.#repository;
      const [older, newer] = await Promise.all([repository.getCommit(oldCommit), repository.getCommit(newCommit)]);
      const comparison = new TreeComparison(this.#nodegit, repository);
      const isComplete = await comparison.compare(older.treeId().tostrS(), newer.treeId().tostrS(), "");
      if (!isComplete) return null;
      return comparison.changes.sort((a, b) => Buffer.compare(a.path, b.path));
    } catch {
      // git says what is wrong, or that nothing is.
      return null;
    }
  }
}

/** Walks down two trees where they differ. */
class TreeComparison {
  readonly changes: TreeChange[] = [];
  readonly #nodegit: Nodegit;
  readonly #repository: Repository;
  #directoryCount = 0;

  constructor(nodegit: Nodegit, repository: Repository) {
    this.#nodegit = nodegit;
    this.#repository = repository;
  }

  /** Collects the changes below two directories; false when the comparison is to be left to git. */
  async compare(oldTree: string | null, newTree: string | null, prefix: string): Promise<boolean> {
    if (oldTree === newTree) return true;
    const [olds, news] = await Promise.all([this.#entries(oldTree), this.#entries(newTree)]);
    if (olds === null || news === null) return false;
    for (const name of new Set([...olds.keys(), ...news.keys()])) {
      const older = olds.get(name) ?? null;
      const newer = news.get(name) ?? null;
      if (older?.sha() === newer?.sha() && older?.filemode() === newer?.filemode()) continue;
      const path = prefix + name;
      if (!(await this.compare(treeOid(older), treeOid(newer), `${path}/`))) return false;
      this.#addChange(fileOrNull(older), fileOrNull(newer), path);
    }
    return true;
  }

  #addChange(older: NodegitEntry | null, newer: NodegitEntry | null, path: string): void {
    if (older === null && newer === null) return;
    this.changes.push({
      status: older === null ? "added" : newer === null ? "deleted" : "modified",
      oldMode: older?.filemode() ?? 0,
      oldOid: older?.sha() ?? null,
      newMode: newer?.filemode() ?? 0,
      newOid: newer?.sha() ?? null,
      path: Buffer.from(path),
    });
  }

  async #entries(oid: string | null): Promise<Map<string, NodegitEntry> | null> {
    const entries = new Map<string, NodegitEntry>();
    if (oid === null) return entries;
    if (++this.#directoryCount > directoriesMax) return null;
    const tree: Tree = await this.#nodegit.Tree.lookup(this.#repository, this.#nodegit.Oid.fromString(oid));
    for (const entry of tree.entries()) {
      if (entry.name().includes(replacementCharacter)) return null;
      entries.set(entry.name(), entry);
    }
    return entries;
  }
}

function treeOid(entry: NodegitEntry | null): string | null {
  return entry !== null && entry.isTree() ? entry.sha() : null;
}

function fileOrNull(entry: NodegitEntry | null): NodegitEntry | null {
  return entry !== null && !entry.isTree() ? entry : null;
}
