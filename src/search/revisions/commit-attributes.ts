import { BoundedMap } from "../../base/bounded-map.js";
import { callAfter } from "../../base/deadline.js";
import { FairQueue } from "../../base/fair-semaphore.js";
import type { IndexedContributors } from "../history/indexed-contributors.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { CommitAttribute, CommitOfRepository, CommitQuestion } from "../../protocol/read-messages.js";
import type { ReadPool } from "../../pool/read-pool.js";
import { commitKey } from "../repositories/repository-resolver.js";

/** Limit on cached answers. */
const keptBytesMax = 64 * 1024 * 1024;

/** Cost assigned to an answer without bytes. */
const answerBytesMin = 256;

/** Commits per request: these take about 50 ms, after which other clients are served. */
const commitsPerRequest: Readonly<Record<CommitQuestion["kind"], number>> = {
  "commit-date": 64,
  "code-owners": 8,
  contributors: 1,
  "has-file": 1,
};

/** When an answer is no longer wanted. */
export interface AskLimits {
  /** On the clock of `performance.now()`. */
  readonly deadlineMs: number;
  /** Stop if word 0 is not 0. */
  readonly stop: Int32Array;
  readonly client: string;
}

export type KnownAttribute = Extract<CommitAttribute, { kind: "known" }>;

export interface AttributeAnswers {
  /** By `commitKey`. */
  readonly attributes: ReadonlyMap<string, KnownAttribute>;
  /** Commits without an answer. */
  readonly failures: readonly AttributeFailure[];
}

export interface AttributeFailure {
  readonly repositoryId: number;
  /** Follows the name of the repository. */
  readonly reason: string;
  /** True if there was not enough time. */
  readonly isLate: boolean;
}

/**
 * Looks up information about commits in the mirrors, on behalf of searches. Answers are cached, because a commit never
 * changes; those about its files until contents of Git LFS or of submodules may have arrived.
 *
 * Reading a whole history, or all texts of a commit, may take minutes; the number of such requests that run at the same
 * time leaves one reader for others. Requests of several searches are served round-robin by client.
 */
export class CommitAttributeReader {
  readonly #pool: Pick<ReadPool, "run">;
  readonly #indexed: Pick<IndexedContributors, "find"> | undefined;
  readonly #short: FairLimit;
  readonly #long: FairLimit;
  readonly #kept = new BoundedMap<string, KnownAttribute>(
    keptBytesMax,
    ({ bytes }) => answerBytesMin + (bytes?.length ?? 0),
  );

  /** `indexed` is asked first for the contributors of a history. */
  constructor(
    pool: Pick<ReadPool, "run">,
    readerCount: number,
    indexed: Pick<IndexedContributors, "find"> | undefined,
  ) {
    this.#pool = pool;
    this.#indexed = indexed;
    this.#short = new FairLimit(readerCount);
    this.#long = new FairLimit(Math.max(1, readerCount - 1));
  }

  async ask(
    question: CommitQuestion,
    commits: readonly CommitOfRepository[],
    limits: AskLimits,
  ): Promise<AttributeAnswers> {
    const about = JSON.stringify(question);
    const attributes = new Map<string, KnownAttribute>();
    const failures: AttributeFailure[] = [];
    const keptKey = (commit: CommitOfRepository): string =>
      `${about} ${commitKey(commit)} ${question.kind === "has-file" ? (commit.files ?? "") : ""}`;
    const asked = commits.filter((commit) => {
      const kept = this.#kept.get(keptKey(commit));
      if (kept !== undefined) attributes.set(commitKey(commit), kept);
      return kept === undefined;
    });
    const isLong = question.kind === "contributors" || question.kind === "has-file";
    const turns = isLong ? this.#long : this.#short;
    const batches = splitBatches(asked, commitsPerRequest[question.kind]);
    const work = async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        const answers = await turns.run(limits, (isTurn) =>
          this.#read(question, batch as readonly CommitOfRepository[], limits, isTurn),
        );
        batch.forEach((commit, i) => {
          const answer = answers[i];
          if (answer.kind === "failed")
            failures.push({
              repositoryId: commit.repositoryId,
              reason: answer.error.message,
              isLate: answer.error.code === "cancelled",
            });
          else {
            attributes.set(commitKey(commit), answer);
            this.#kept.set(keptKey(commit), answer);
          }
        });
      }
    };
    await Promise.all(Array.from({ length: Math.min(turns.countMax, batches.length) }, work));
    return { attributes, failures };
  }

  /**
   * Returns as many answers as commits. If the permit did not arrive in time, no time is left, although the timer may
   * fire slightly early.
   */
  async #read(
    question: CommitQuestion,
    commits: readonly CommitOfRepository[],
    { deadlineMs, stop, client }: AskLimits,
    isTurn: boolean,
  ): Promise<readonly CommitAttribute[]> {
    const timeoutMs = deadlineMs - performance.now();
    try {
      if (!isTurn || timeoutMs <= 0 || Atomics.load(stop, 0) !== 0)
        throw new TrawlError("cancelled", "no time was left to read it");
      const bytes =
        question.kind === "contributors"
          ? await this.#indexed?.find(commits[0], question.filters, { timeoutMs, stop, client })
          : undefined;
      if (bytes !== undefined) return [{ kind: "known", holds: true, bytes }];
      const { attributes } = await this.#pool.run<"commit-attributes">(
        { kind: "commit-attributes", question, commits },
        { timeoutMs, stop, client },
      );
      return attributes;
    } catch (error) {
      const code = error instanceof TrawlError ? error.code : "internal";
      const message = code === "cancelled" ? "there was not enough time to read it" : errorMessage(error);
      return commits.map(() => ({ kind: "failed", error: { code, message } }));
    }
  }
}

function splitBatches<T>(items: readonly T[], size: number): (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** Limits concurrency, serving clients round-robin. */
class FairLimit {
  readonly countMax: number;
  readonly #waiting = new FairQueue<(isTurn: boolean) => void>();
  #running = 0;

  constructor(countMax: number) {
    this.countMax = countMax;
  }

  /**
   * Runs `work` when it is its turn. If that does not happen in time, `work` is called with false, and must do almost
   * nothing.
   */
  async run<T>(limits: AskLimits, work: (isTurn: boolean) => Promise<T>): Promise<T> {
    let isTurn = true;
    if (this.#running < this.countMax) this.#running++;
    else isTurn = await this.#wait(limits);
    try {
      return await work(isTurn);
    } finally {
      if (isTurn) this.#end();
    }
  }

  #wait({ deadlineMs, client }: AskLimits): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = callAfter(Math.max(0, deadlineMs - performance.now()), () => {
        this.#waiting.remove(client, start);
        resolve(false);
      });
      const start = (isTurn: boolean): void => {
        timer.cancel();
        resolve(isTurn);
      };
      this.#waiting.push(client, start);
    });
  }

  #end(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#running--;
    else next(true);
  }
}
