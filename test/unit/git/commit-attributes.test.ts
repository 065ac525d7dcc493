import t from "tap";
import { sleep } from "../../../src/base/deadline.js";
import { TrawlError } from "../../../src/base/errors.js";
import { CommitAttributeReader } from "../../../src/search/revisions/commit-attributes.js";
import type {
  CommitAttribute,
  CommitOfRepository,
  CommitQuestion,
  ReadCommitAttributes,
} from "../../../src/protocol/read-messages.js";
import type { ReadLimits, ReadPool } from "../../../src/pool/read-pool.js";

// Look-ups in mirrors on behalf of searches: fairness, caching, and the effect of failures.

const owners: CommitQuestion = { kind: "code-owners" };
const authors: CommitQuestion = { kind: "contributors", filters: [{ source: "a", foldCase: true }] };
const yes: CommitAttribute = { kind: "known", holds: true, bytes: undefined };

function commits(count: number, from = 1): CommitOfRepository[] {
  return Array.from({ length: count }, (_, i) => ({
    repositoryId: from + i,
    commit: String(from + i).padStart(40, "0"),
  }));
}

function limits(ms = 10_000) {
  return { deadlineMs: performance.now() + ms, stop: new Int32Array(new SharedArrayBuffer(4)), client: "a" };
}

/** A pool whose reads end when the test ends them. */
class FakePool {
  readonly asked: ReadCommitAttributes[] = [];
  readonly #ends: (() => void)[] = [];
  runningMax = 0;
  #running = 0;

  constructor(
    readonly answer: (request: ReadCommitAttributes, limits: ReadLimits) => CommitAttribute[] = ({ commits }) =>
      commits.map(() => yes),
    readonly waits = false,
  ) {}

  readonly run = async (request: unknown, limits: ReadLimits): Promise<unknown> => {
    const asked = request as ReadCommitAttributes;
    this.asked.push(asked);
    this.#running++;
    this.runningMax = Math.max(this.runningMax, this.#running);
    if (this.waits) await new Promise<void>((resolve) => this.#ends.push(resolve));
    else await new Promise((resolve) => setImmediate(resolve));
    this.#running--;
    return { attributes: this.answer(asked, limits) };
  };

  /** Ends the oldest running read, if there is one. */
  async endOne(): Promise<void> {
    while (this.#ends.length === 0) await sleep(1);
    this.#ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  get asPool(): Pick<ReadPool, "run"> {
    return this as unknown as Pick<ReadPool, "run">;
  }
}

t.test("all commits are looked up, a few at a time, and results are cached", async (t) => {
  const pool = new FakePool();
  const reader = new CommitAttributeReader(pool.asPool, 2, undefined);
  const first = await reader.ask(owners, commits(100), limits());
  t.equal(first.attributes.size, 100);
  t.same(first.failures, []);
  t.ok(pool.asked.every((request) => request.commits.length <= 8));
  t.ok(pool.runningMax <= 2);
  const { length } = pool.asked;
  t.equal((await reader.ask(owners, commits(100), limits())).attributes.size, 100);
  t.equal(pool.asked.length, length, "nothing is asked again");
  await reader.ask({ kind: "commit-date" }, commits(1), limits());
  t.equal(pool.asked.length, length + 1, "another question is");
});

t.test("histories are read one at a time, which leaves a reader for others", async (t) => {
  const pool = new FakePool();
  await new CommitAttributeReader(pool.asPool, 3, undefined).ask(authors, commits(10), limits());
  t.ok(pool.asked.every((request) => request.commits.length === 1));
  t.equal(pool.runningMax, 2);
});

t.test("a failure affects only its commit, and is not cached", async (t) => {
  const pool = new FakePool(({ commits }) =>
    commits.map(({ repositoryId }) =>
      repositoryId === 3 ? { kind: "failed", error: { code: "git", message: "the mirror is damaged" } } : yes,
    ),
  );
  const reader = new CommitAttributeReader(pool.asPool, 2, undefined);
  for (const time of ["the first", "the second"]) {
    const { attributes, failures } = await reader.ask(owners, commits(5), limits());
    t.equal(attributes.size, 4, time);
    t.same(failures, [{ repositoryId: 3, reason: "the mirror is damaged", isLate: false }]);
  }
  t.same(
    pool.asked.map((request) => request.commits.length),
    [5, 1],
  );
});

t.test("a read that fails as a whole affects all its commits", async (t) => {
  const pool = new FakePool(() => {
    throw new TrawlError("overloaded", "too many");
  });
  const { attributes, failures } = await new CommitAttributeReader(pool.asPool, 2, undefined).ask(
    owners,
    commits(9),
    limits(),
  );
  t.equal(attributes.size, 0);
  t.equal(failures.length, 9);
  t.match(failures[0], { reason: "too many", isLate: false });
});

t.test("deadline and stop", async (t) => {
  const pool = new FakePool();
  const reader = new CommitAttributeReader(pool.asPool, 2, undefined);
  const late = await reader.ask(owners, commits(3), limits(-1));
  t.same(
    late.failures.map(({ isLate }) => isLate),
    [true, true, true],
  );
  const stopped = limits();
  stopped.stop[0] = 1;
  t.equal((await reader.ask(owners, commits(3), stopped)).failures.length, 3);
  t.equal(pool.asked.length, 0);
});

t.test("a search that waits for another one's read ends at its own deadline", async (t) => {
  const pool = new FakePool(undefined, true);
  const reader = new CommitAttributeReader(pool.asPool, 2, undefined);
  const long = reader.ask(authors, commits(2), limits());
  // The sleep keeps the process alive, which the reader's timers do not.
  const [{ failures }] = await Promise.all([reader.ask(authors, commits(1, 10), limits(20)), sleep(50)]);
  t.match(failures, [{ repositoryId: 10, isLate: true }]);
  t.equal(pool.asked.length, 1, "and never asks");
  await pool.endOne();
  await pool.endOne();
  t.equal((await long).attributes.size, 2);
  const next = reader.ask(authors, commits(1, 20), limits());
  await pool.endOne();
  t.equal((await next).attributes.size, 1, "the turn is not lost");
});

t.test("searches take turns", async (t) => {
  const pool = new FakePool(undefined, true);
  const reader = new CommitAttributeReader(pool.asPool, 2, undefined);
  const a = reader.ask(authors, commits(3), limits());
  const b = reader.ask(authors, commits(3, 10), limits());
  for (let i = 0; i < 6; i++) await pool.endOne();
  await Promise.all([a, b]);
  t.same(
    pool.asked.map((request) => request.commits[0].repositoryId),
    [1, 10, 2, 11, 3, 12],
  );
});

t.test(
  "contributors are looked up in the index first, and in the mirror if it does not have all of them",
  async (t) => {
    const pool = new FakePool();
    const bytes = new Uint8Array(8);
    const indexed = {
      find: async ({ repositoryId }: { repositoryId: number }) => (repositoryId === 1 ? bytes : undefined),
    };
    const reader = new CommitAttributeReader(pool.asPool, 2, indexed);
    const asked = [1, 2].map((repositoryId) => ({ ...commits(1)[0], repositoryId }));
    const { attributes, failures } = await reader.ask(authors, asked, limits());
    t.same(failures, []);
    t.equal(attributes.size, 2);
    t.equal([...attributes.values()].filter((one) => one.bytes === bytes).length, 1);
    t.same(
      pool.asked.map((request) => request.commits.map(({ repositoryId }) => repositoryId)),
      [[2]],
    );
  },
);
