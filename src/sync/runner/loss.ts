import { noQuarantine, type Quarantine } from "../../model/quarantine.js";
import type { Repository } from "../../model/repository.js";
import type { IngestLoss } from "../../pool/ingest-pool.js";

/** With more files than this in quarantine, the repository is not indexed as a whole until it changes. */
const filesMax = 100;

/** What is done about a repository whose sync took a thread with it. */
export type LossVerdict =
  /** It is tried again, alone. */
  | { readonly kind: "again" }
  /** The same, without what the thread did not get past. */
  | { readonly kind: "quarantine"; readonly quarantine: Quarantine }
  /** Nothing is known that could be left out: it fails, and is tried again after the usual delays. */
  | { readonly kind: "failed" };

/**
 * Decides what follows from the loss of threads that synced repositories.
 *
 * A thread that hung did so because of what it was at. One that ended by itself may have been an accident, so that
 * counts the second time at the same thing.
 */
export class LossJudge {
  readonly #program: string;
  /** What threads ended at by themselves, once each. */
  readonly #ended = new Set<string>();

  constructor(program: string) {
    this.#program = program;
  }

  /**
   * Which of the repositories of a task are to be suspected: the one that the thread was at, or all of them when it may
   * have been any.
   */
  suspects(ids: readonly number[], { doing }: IngestLoss): readonly number[] {
    // Repositories are fetched side by side, so the thread may have been at another one.
    const isKnown = doing.state !== "" && ids.includes(doing.repositoryId);
    return isKnown ? [doing.repositoryId] : ids;
  }

  /** Of the one repository that the task was about, or that is suspected. */
  judge(repository: Repository, loss: IngestLoss): LossVerdict {
    const { doing, reason } = loss;
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

  /** The quarantine of a repository; undefined when there is none, or when it is another program's. */
  current({ quarantine }: Repository): Quarantine | undefined {
    return quarantine?.program === this.#program ? quarantine : undefined;
  }

  /**
   * What is left of the quarantine after a sync that indexed the repository: its commits are not those that are left
   * out.
   */
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
      return `${where} took more memory than an ingest thread may have`;
    case "died":
      return `the thread ended ${where}`;
    default:
      return `${where} did not end`;
  }
}
