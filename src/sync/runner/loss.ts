import { assert } from "../../base/assert.js";
import { noQuarantine, type Quarantine } from "../../model/quarantine.js";
import type { Repository } from "../../model/repository.js";
import type { IngestLoss } from "../../pool/ingest-pool.js";

/** With more quarantined files than this, the repository is not indexed at all until it changes. */
const filesMax = 100;

/** What to do about a repository whose sync lost a thread. */
export type LossVerdict =
  /** Try it again, alone. */
  | { readonly kind: "again" }
  /** Try it again, without the items on which the thread hung or crashed. */
  | { readonly kind: "quarantine"; readonly quarantine: Quarantine }
  /** Nothing is known that could be excluded: it fails, and is retried after the usual delays. */
  | { readonly kind: "failed" };

/**
 * Decides how to handle the loss of threads that were syncing repositories.
 *
 * If a thread hung, what it was working on is the cause. If it exited unexpectedly, that may have been a coincidence,
 * so it counts only the second time with the same item.
 */
export class LossJudge {
  readonly #program: string;
  /** Items on which threads have exited unexpectedly once. */
  readonly #ended = new Set<string>();

  constructor(program: string) {
    this.#program = program;
  }

  /**
   * Which repositories of a task are suspected: the one that the thread was working on, or all of them if it may have
   * been any.
   */
  suspects(ids: readonly number[], { doing }: IngestLoss): readonly number[] {
    // Repositories are fetched concurrently, so the thread may have been working on another one.
    const isKnown = doing.state !== "" && ids.includes(doing.repositoryId);
    return isKnown ? [doing.repositoryId] : ids;
  }

  /** For the only repository of the task, or the suspected one. */
  judge(repository: Repository, loss: IngestLoss): LossVerdict {
    const { doing, reason } = loss;
    assert(doing.state === "" || doing.repositoryId > 0, "a thread that names a state works on a repository");
    if (reason !== "stalled" && !this.#isSecond(`${repository.id} ${doing.state} ${doing.oid}`))
      return { kind: "again" };
    if (doing.state === "") return { kind: "failed" };
    const before = this.current(repository) ?? noQuarantine(this.#program);
    const isNew = doing.oid !== "" && !before.files.some(({ oid }) => oid === doing.oid);
    if (isNew && before.files.length < filesMax) {
      const file = { oid: doing.oid, path: doing.path, reason: describe(loss) };
      return { kind: "quarantine", quarantine: { ...before, files: [...before.files, file] } };
    }
    return { kind: "quarantine", quarantine: { ...before, state: doing.state, stateReason: describe(loss) } };
  }

  /** The quarantine of a repository; undefined if there is none, or if another version created it. */
  current({ quarantine }: Repository): Quarantine | undefined {
    return quarantine?.program === this.#program ? quarantine : undefined;
  }

  /** The remaining quarantine after a sync that indexed the repository: its commits are not the excluded ones. */
  afterSync(repository: Repository): Quarantine | undefined {
    const quarantine = this.current(repository);
    return quarantine === undefined || quarantine.files.length === 0
      ? undefined
      : { ...quarantine, state: "", stateReason: "" };
  }

  #isSecond(what: string): boolean {
    if (this.#ended.delete(what)) return true;
    this.#ended.add(what);
    return false;
  }
}

function describe({ reason, doing }: IngestLoss): string {
  const where = doing.phase === "indexing" ? "indexing it" : doing.phase;
  switch (reason) {
    case "memory":
      return `${where} exceeded the memory limit of an ingest thread`;
    case "died":
      return `the thread exited ${where}`;
    default:
      return `${where} did not finish`;
  }
}
