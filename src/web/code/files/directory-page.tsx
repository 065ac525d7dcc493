import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { CommitLine, commitLineFields, type CommitSummary } from "../commits/commit-line.js";
import { FoundCommit } from "../found.js";
import { State } from "../../ui/states.js";
import { directoryUrl, repositoryFilter, searchUrl } from "../code-urls.js";
import { formatAmount, formatBytes, formatCount } from "../../ui/numbers.js";
import { When } from "../../route/when.js";
import { Readme } from "./readme.js";
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { graphql } from "../../api/graphql.js";
import { painted } from "../../ui/delay.js";

interface Entry {
  readonly name: string;
  /** Names also an entry whose path is not UTF-8. */
  readonly url: string;
  readonly isDirectory: boolean;
  readonly byteSize?: number | null | undefined;
  readonly submodule: { readonly url: string; readonly commit: string } | null;
}

interface DirectoryCommit {
  readonly oid: string;
  readonly tree: { readonly entries: readonly Entry[] | null } | null;
  readonly ancestors: { readonly nodes: readonly CommitSummary[] } | null;
}

/** One more than is shown, to know whether there are more. */
const entriesAsked = 2001;
const entryCountMax = entriesAsked - 1;

const directoryQuery = `query Directory($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) {
      oid
      tree(path: $path) { entries(first: ${entriesAsked}) {
        name url isDirectory submodule { url commit } ... on GitBlob { byteSize }
      } }
      ancestors(first: 1, path: $path) { nodes ${commitLineFields} }
    }
  }
}`;

/** A directory: its entries, the newest commit that changed it, and its README. */
export function DirectoryPage({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const used = useGraphql("Directory", directoryQuery, {
    name,
    revision,
    path: path.path,
  });
  return (
    <FoundCommit path={path} used={used} what="the directory">
      {(commit) => <Directory path={path} commit={commit} />}
    </FoundCommit>
  );
}

function Directory({ path, commit }: { readonly path: PagePath; readonly commit: DirectoryCommit }) {
  const { oid, tree, ancestors } = commit;
  if (tree === null)
    return (
      <State title="There is no such directory">
        <p>
          This revision has nothing at <code>{path.path}</code>.
        </p>
      </State>
    );
  return <Entries path={path} oid={oid} all={tree.entries ?? []} ancestors={ancestors?.nodes ?? []} />;
}

interface EntriesProps {
  readonly path: PagePath;
  readonly oid: string;
  /** One more than is shown, if there are more. */
  readonly all: readonly Entry[];
  readonly ancestors: readonly CommitSummary[];
}

function Entries({ path, oid, all, ancestors }: EntriesProps) {
  const entries = all.slice(0, entryCountMax);
  const readme = entries.find(
    (entry) => !entry.isDirectory && /^readme(\.(md|markdown|mkd|txt|rst))?$/i.test(entry.name),
  );
  const [newest] = ancestors;
  const { commits, end } = useLastCommits({ name: path.name, oid, path: path.path });
  const missingCount = entries.filter(({ name }) => !commits.has(name)).length;
  return (
    <>
      <h1 class="unseen">{path.path === "" ? path.name : path.path}</h1>
      <section class="panel" aria-label="Files">
        {newest !== undefined && (
          <div class="panel-head">
            <CommitLine commit={newest} place={path} />
            <a href={pageUrl(path, "commits", path.path)}>History</a>
          </div>
        )}
        <ul class="entries">
          {path.path !== "" && (
            <li>
              <a href={directoryUrl(path, parentPath(path.path))} aria-label="The directory above">
                ..
              </a>
            </li>
          )}
          {entries.map((entry) => (
            <li key={entry.url}>
              <EntryLink entry={entry} />
              <LastCommit commit={commits.get(entry.name)} place={path} />
              <span class="entry-size soft small">
                {entry.submodule === null && entry.byteSize != null && formatBytes(entry.byteSize)}
              </span>
            </li>
          ))}
        </ul>
        {end === "cut" && missingCount > 0 && (
          <p class="panel-foot soft small" role="status">
            The last change of {formatAmount(missingCount, "entry", "entries")} is further back in the history than was
            looked.
          </p>
        )}
        {end === "failed" && missingCount > 0 && (
          <p class="panel-foot soft small" role="status">
            The last change of {formatAmount(missingCount, "entry", "entries")} could not be read. Load the page again.
          </p>
        )}
        {all.length > entryCountMax && (
          <p class="panel-foot soft">
            Only the first {entryCountMax} entries are shown.{" "}
            <a href={pageUrl(path, "raw", path.path)}>All names as text</a>
          </p>
        )}
      </section>
      {path.path === "" && <Languages path={path} />}
      {path.path === "" && <LeftOut path={path} />}
      {readme !== undefined && (
        <Readme path={path} file={path.path === "" ? readme.name : `${path.path}/${readme.name}`} />
      )}
    </>
  );
}

function LastCommit({ commit, place }: { readonly commit: CommitSummary | undefined; readonly place: PagePath }) {
  return (
    <span class="entry-commit small">
      {commit !== undefined && (
        <>
          <a class="soft" href={pageUrl({ name: place.name, revision: "" }, "commit", commit.oid)}>
            {commit.subject === null || commit.subject === "" ? "(no message)" : commit.subject}
          </a>
          <span class="soft">{commit.author !== null && <When date={commit.author.date} />}</span>
        </>
      )}
    </span>
  );
}

function EntryLink({ entry }: { readonly entry: Entry }) {
  if (entry.submodule !== null)
    return (
      <span class="entry submodule" title={entry.submodule.url}>
        {entry.name} <span class="soft">@ {entry.submodule.commit.slice(0, 10)}</span>
      </span>
    );
  return entry.isDirectory ? (
    <a class="entry directory" href={entry.url}>
      {entry.name}/
    </a>
  ) : (
    <a class="entry" href={entry.url}>
      {entry.name}
    </a>
  );
}

const languagesQuery = `query Languages($name: String!, $revision: String!) {
  repository(name: $name) { commit(rev: $revision) { languageStatistics { name totalBytes } } }
}`;

/**
 * The share of each language in the text, those with most first. The daemon looks at each file for it, which takes seconds
 * in a large repository, so the directory does not wait for it, and its line is there from the start.
 */
function Languages({ path: { name, revision } }: { readonly path: PagePath }) {
  const { answer } = useGraphql("Languages", languagesQuery, { name, revision });
  const statistics = (answer.kind === "ready" && answer.value.repository?.commit?.languageStatistics) || [];
  const total = statistics.reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  if (answer.kind !== "waiting" && total === 0) return null;
  return (
    <ul class="languages soft small" aria-label="Languages">
      {statistics.slice(0, 8).map(({ name, totalBytes }) => (
        <li key={name}>
          {name === "" ? "Other" : name} {((100 * totalBytes) / total).toFixed(1)} %
        </li>
      ))}
    </ul>
  );
}

/** It counts in the root only. */
const ignoreFile = ".sourcegraph/ignore";

const leftOutQuery = `query LeftOut($name: String!) {
  repository(name: $name) { leftOut { ignoredFilesCount lfsFilesCount submodulesCount warnings } }
}`;

/** What of the indexed branches searches leave out, and the files that say so, in whatever folder; for site admins also why. */
function LeftOut({ path }: { readonly path: PagePath }) {
  const { answer } = useGraphql("LeftOut", leftOutQuery, { name: path.name });
  const leftOut = answer.kind === "ready" ? answer.value.repository?.leftOut : undefined;
  if (leftOut === undefined) return null;
  const { ignoredFilesCount, lfsFilesCount, submodulesCount, warnings } = leftOut;
  const everywhere = (name: string): string => searchUrl(`${repositoryFilter(path)} file:(^|/)\\.${name.slice(1)}$`);
  const rows = [
    {
      count: ignoredFilesCount,
      one: "file is",
      many: "files are",
      why: "left out by",
      file: ignoreFile,
      url: pageUrl(path, "blob", ignoreFile),
    },
    {
      count: submodulesCount,
      one: "submodule is",
      many: "submodules are",
      why: "without contents, see",
      file: ".gitmodules",
      url: everywhere(".gitmodules"),
    },
    {
      count: lfsFilesCount,
      one: "file is",
      many: "files are",
      why: "in Git LFS without contents, see",
      file: ".gitattributes",
      url: everywhere(".gitattributes"),
    },
  ].filter(({ count }) => count > 0);
  if (rows.length === 0 && warnings.length === 0) return null;
  return (
    <section class="left-out soft small" aria-label="Not searched">
      <ul>
        {rows.map(({ count, one, many, why, file, url }) => (
          <li key={file}>
            {formatCount(count)} {count === 1 ? one : many} {why} <a href={url}>{file}</a>
          </li>
        ))}
      </ul>
      {warnings.length > 0 && (
        <details>
          <summary>{warnings.length === 1 ? "Why" : `${warnings.length} warnings`}</summary>
          <ul>
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function parentPath(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}

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

interface FoundCommits {
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
function useLastCommits({ name, oid, path }: Directory): FoundCommits {
  const found = useSignal(nothing);
  useLayoutEffect(() => {
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
