import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { graphql } from "../../api/graphql.js";
import { painted } from "../../ui/delay.js";
import { commitLineFields, type CommitSummary } from "../commits/commit-line.js";

/** Each takes a second, unless the daemon knows more: entries whose last change is further back show none. */
const requestCountMax = 15;

const lastCommitsQuery = `query LastCommits($name: String!, $revision: String!, $path: String!, $after: String) {
  repository(name: $name) {
    commit(rev: $revision) {
      tree(path: $path) {
        lastCommits(after: $after) {
          nodes { name commit ${commitLineFields} }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
}`;

interface Directory {
  readonly name: string;
  /** Names the commit for good: pages of one walk belong together. */
  readonly oid: string;
  readonly path: string;
}

export interface FoundCommits {
  readonly commits: ReadonlyMap<string, CommitSummary>;
  /** `cut` if the others are too far back to be looked for, `failed` if they could not be read. */
  readonly end: "none" | "cut" | "failed" | "all";
}

const nothing: FoundCommits = { commits: new Map(), end: "none" };

interface LastCommitsPage {
  readonly nodes: readonly { readonly name: string; readonly commit: CommitSummary }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

async function readPage(
  { name, oid, path }: Directory,
  after: string | null,
  signal: AbortSignal,
): Promise<LastCommitsPage | null | undefined> {
  const asked = { name, revision: oid, path, after };
  const { repository } = await graphql("LastCommits", lastCommitsQuery, asked, signal);
  return repository?.commit?.tree?.lastCommits;
}

/** The newest commit that changed each entry of a directory, by its name, as they become known. */
export function useLastCommits({ name, oid, path }: Directory): FoundCommits {
  const found = useSignal(nothing);
  useEffect(() => {
    const stop = new AbortController();
    found.value = nothing;
    const ask = async (): Promise<void> => {
      await painted();
      let after: string | null = null;
      for (let count = 0; count < requestCountMax && !stop.signal.aborted; count++) {
        const page: LastCommitsPage | null | undefined = await readPage({ name, oid, path }, after, stop.signal);
        if (page == null) return;
        const commits = new Map([
          ...found.peek().commits,
          ...page.nodes.map((node) => [node.name, node.commit] as const),
        ]);
        const { hasNextPage, endCursor } = page.pageInfo;
        found.value = { commits, end: hasNextPage ? "none" : "all" };
        if (!hasNextPage) return;
        after = endCursor;
      }
      if (!stop.signal.aborted) found.value = { ...found.peek(), end: "cut" };
    };
    // Without them the directory is shown as well.
    ask().catch(() => {
      if (!stop.signal.aborted) found.value = { ...found.peek(), end: "failed" };
    });
    return () => stop.abort();
  }, [name, oid, path, found]);
  return found.value;
}
