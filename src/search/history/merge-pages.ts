import type { FoundCommit } from "../../protocol/commit-page.js";

/** Results in order, some at a time. */
export type ResultPages = AsyncGenerator<readonly FoundCommit[], void>;

/** Results that are found once they are needed. */
export interface PageSource {
  /** No result is newer; Unix seconds, or Infinity. */
  readonly newest: number;
  /** Called at most once. */
  readonly open: () => ResultPages;
}

/** Negative if `a` comes first: the newer one, then the one with the smaller oid, then commits before diffs. */
export function compareResults(a: FoundCommit, b: FoundCommit): number {
  if (a.committed !== b.committed) return b.committed - a.committed;
  if (a.oid !== b.oid) return a.oid < b.oid ? -1 : 1;
  return a.kind === b.kind ? 0 : a.kind === "commit" ? -1 : 1;
}

/** The newer one first. Infinite dates are equal, although their difference is not a number. */
function compareNewest(a: { readonly newest: number }, b: { readonly newest: number }): number {
  return b.newest - a.newest || 0;
}

/**
 * Several sequences of results as one. `aheadCount` sources are opened in advance, so that several threads search them;
 * the others only when all newer results are known, so that the newest results of a long history cost little.
 */
export async function* mergePages(sources: readonly PageSource[], aheadCount: number): ResultPages {
  if (sources.length === 1) return yield* sources[0].open();
  const heads = [...sources].sort(compareNewest).map((source) => new Head(source));
  try {
    for (;;) {
      const left = heads.filter(({ isEnded }) => !isEnded);
      if (left.length === 0) return;
      for (const head of left.slice(0, aheadCount + 1)) head.begin();
      const page = takeReady(left);
      if (page.length > 0) yield page;
      const [empty] = left.filter((head) => head.result === undefined).sort(compareNewest);
      await empty?.load();
    }
  } finally {
    await Promise.all(heads.map((head) => head.close()));
  }
}

/** The first results, as far as they are known to be the first. */
function takeReady(heads: readonly Head[]): FoundCommit[] {
  const unknown = heads.reduce(
    (newest, head) => (head.result === undefined ? Math.max(newest, head.newest) : newest),
    -Infinity,
  );
  const taken: FoundCommit[] = [];
  for (;;) {
    let first: Head | undefined;
    for (const head of heads) {
      if (head.result === undefined) continue;
      if (first?.result === undefined || compareResults(head.result, first.result) < 0) first = head;
    }
    if (first?.result === undefined || first.result.committed <= unknown) return taken;
    taken.push(first.result);
    first.take();
    if (first.result === undefined) return taken;
  }
}

/** A source, and the results of it that are known and not taken. */
class Head {
  readonly #source: PageSource;
  #pages: ResultPages | undefined;
  /** The first page, while it is not read. */
  #first: ReturnType<ResultPages["next"]> | undefined;
  #page: readonly FoundCommit[] = [];
  #at = 0;
  /** No result that is not known yet is newer. */
  newest: number;
  isEnded = false;

  constructor(source: PageSource) {
    this.#source = source;
    this.newest = source.newest;
  }

  /** The first of them. */
  get result(): FoundCommit | undefined {
    return this.#page[this.#at];
  }

  /** Opens the source and requests its first page, unless that is done. */
  begin(): ResultPages {
    if (this.#pages !== undefined) return this.#pages;
    this.#pages = this.#source.open();
    this.#first = this.#pages.next();
    // A failure is reported when its turn comes.
    this.#first.catch(() => undefined);
    return this.#pages;
  }

  take(): void {
    this.newest = this.#page[this.#at++].committed;
  }

  /** Reads pages until one is not empty, or until the end. */
  async load(): Promise<void> {
    const pages = this.begin();
    while (this.result === undefined && !this.isEnded) {
      const { value, done } = await (this.#first ?? pages.next());
      this.#first = undefined;
      this.#at = 0;
      this.#page = value ?? [];
      this.isEnded = done === true;
    }
  }

  async close(): Promise<void> {
    await this.#pages?.return();
  }
}
