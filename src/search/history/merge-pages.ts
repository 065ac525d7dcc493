import type { FoundCommit } from "../../protocol/history-messages.js";

/** Results in order, some at a time. */
export type ResultPages = AsyncGenerator<readonly FoundCommit[], void>;

/** Negative if `a` comes first: the newer one, then the one with the smaller oid, then commits before diffs. */
export function compareResults(a: FoundCommit, b: FoundCommit): number {
  if (a.committed !== b.committed) return b.committed - a.committed;
  if (a.oid !== b.oid) return a.oid < b.oid ? -1 : 1;
  return a.kind === b.kind ? 0 : a.kind === "commit" ? -1 : 1;
}

/** Several sequences of results as one. */
export async function* mergePages(sources: readonly ResultPages[]): ResultPages {
  if (sources.length === 1) return yield* sources[0];
  const heads: Head[] = [];
  try {
    heads.push(...(await Promise.all(sources.map((pages) => advance({ pages, page: [], at: 0 })))));
    for (;;) {
      const open = heads.filter(({ page, at }) => at < page.length);
      if (open.length === 0) return;
      const first = open.reduce((best, one) => (compareResults(one.page[one.at], best.page[best.at]) < 0 ? one : best));
      yield [first.page[first.at++]];
      if (first.at === first.page.length) await advance(first);
    }
  } finally {
    await Promise.all(sources.map((pages) => pages.return()));
  }
}

interface Head {
  readonly pages: ResultPages;
  page: readonly FoundCommit[];
  at: number;
}

/** Reads pages until one is not empty, or until the end. */
async function advance(head: Head): Promise<Head> {
  head.page = [];
  head.at = 0;
  while (head.page.length === 0) {
    const { value, done } = await head.pages.next();
    if (done === true) break;
    head.page = value;
  }
  return head;
}
