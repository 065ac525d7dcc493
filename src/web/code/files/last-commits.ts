import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { graphqlText } from "../../api/graphql.js";
import { painted } from "../../ui/delay.js";
import { commitLineFields, type CommitSummary } from "../commits/commit-line.js";

/** Each costs a walk through the history: a few entries are asked for at a time, and shown when they are there. */
const entriesPerRequest = 12;

/** The others of a larger folder show none. */
const entryCountMax = 240;

interface LastCommitsAnswer {
  readonly repository: {
    readonly commit: Readonly<Record<string, { readonly nodes: readonly CommitSummary[] } | null>> | null;
  } | null;
}

/** The newest commit that changed each entry of a directory, by its name, as they become known. */
export function useLastCommits(
  { name, revision, path }: PagePath,
  entries: readonly { readonly name: string }[],
): ReadonlyMap<string, CommitSummary> {
  const found = useSignal<ReadonlyMap<string, CommitSummary>>(new Map());
  useEffect(() => {
    const stop = new AbortController();
    found.value = new Map();
    const names = entries.slice(0, entryCountMax).map((entry) => entry.name);
    const ask = async (): Promise<void> => {
      await painted();
      for (let at = 0; at < names.length && !stop.signal.aborted; at += entriesPerRequest) {
        const part = names.slice(at, at + entriesPerRequest);
        // Without them the directory is shown as well, and the next ones may be there.
        const commits = await readLastCommits({ name, revision, path }, part, stop.signal).catch(() => []);
        if (!stop.signal.aborted) found.value = new Map([...found.peek(), ...commits]);
      }
    };
    void ask();
    return () => stop.abort();
  }, [name, revision, path, found]);
  return found.value;
}

async function readLastCommits(
  { name, revision, path }: Omit<PagePath, "page">,
  entries: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, CommitSummary>> {
  const declared = entries.map((_, at) => `, $p${at}: String!`).join("");
  const fields = entries.map((_, at) => `e${at}: ancestors(first: 1, path: $p${at}) { nodes ${commitLineFields} }`);
  const query = `query LastCommits($name: String!, $revision: String!${declared}) {
    repository(name: $name) { commit(rev: $revision) { ${fields.join(" ")} } }
  }`;
  const paths = entries.map((entry, at) => [`p${at}`, path === "" ? entry : `${path}/${entry}`]);
  const variables = { name, revision, ...Object.fromEntries(paths) };
  const answer = await graphqlText<LastCommitsAnswer>("LastCommits", query, variables, signal);
  const commits = entries.map((entry, at) => [entry, answer.repository?.commit?.[`e${at}`]?.nodes[0]] as const);
  return new Map(commits.flatMap(([entry, commit]) => (commit === undefined ? [] : [[entry, commit] as const])));
}
