import { addressOfQuery, emptyQuery } from "../../query/query-state.js";
import { viewer } from "../../route/viewer.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { State } from "../../ui/states.js";
import { When } from "../../route/when.js";

export interface HomeRepository {
  readonly name: string;
  readonly url: string;
  readonly isPrivate: boolean;
  readonly mirrorInfo: {
    readonly cloned: boolean;
    readonly cloneInProgress: boolean;
    readonly cloneProgress: string | null;
    readonly updatedAt: string | null;
    readonly lastError: string | null;
  };
  readonly textSearchIndex: {
    readonly status: { readonly updatedAt: string; readonly contentFilesCount: number } | null;
  } | null;
}

/** Whether it is being fetched, or is fetched and not searchable yet. */
export function isChanging({
  mirrorInfo,
  textSearchIndex,
}: Pick<HomeRepository, "mirrorInfo" | "textSearchIndex">): boolean {
  return mirrorInfo.cloneInProgress || (mirrorInfo.cloned && (textSearchIndex?.status ?? undefined) === undefined);
}

interface ListProps {
  readonly nodes: readonly HomeRepository[];
  readonly totalCount: number;
}

/** The repositories with their state, or how to add the first one. */
export function RepositoryList({ nodes, totalCount }: ListProps) {
  if (totalCount === 0) return <FirstRepository />;
  return (
    <section>
      <h2>
        {formatAmount(totalCount, "repository", "repositories")}
        {viewer.isSiteAdmin && (
          <a class="button quiet" href="/site-admin/repositories">
            Add and change
          </a>
        )}
      </h2>
      <ul class="panel home-repositories" aria-label="Repositories">
        {nodes.map((repository) => (
          <li key={repository.name}>
            <span>
              <a href={repository.url}>{repository.name}</a>
              {repository.isPrivate && <span class="badge">private</span>}
            </span>
            <span class="soft small">
              <RepositoryState repository={repository} />
            </span>
          </li>
        ))}
      </ul>
      {totalCount > nodes.length && (
        <p class="small">
          <a href={addressOfQuery({ ...emptyQuery, text: "type:repo count:all" })}>
            All {formatCount(totalCount)} repositories
          </a>
        </p>
      )}
    </section>
  );
}

/** Whether it can be searched, how fresh it is, and what is wrong with it. */
function RepositoryState({ repository: { mirrorInfo, textSearchIndex } }: { readonly repository: HomeRepository }) {
  const { cloned, cloneInProgress, cloneProgress, updatedAt, lastError } = mirrorInfo;
  const status = textSearchIndex?.status ?? undefined;
  if (cloneInProgress && !cloned) return <>being fetched{cloneProgress ? `: ${cloneProgress}` : "…"}</>;
  return (
    <>
      {status === undefined
        ? cloned
          ? "being indexed…"
          : "not fetched yet"
        : formatAmount(status.contentFilesCount, "file")}
      {updatedAt !== null && (
        <>
          {" · fetched "}
          <When date={updatedAt} />
        </>
      )}
      {lastError !== null && <strong class="home-error"> · the last fetch failed: {lastError}</strong>}
    </>
  );
}

function FirstRepository() {
  return (
    <State title="There is nothing to search yet" level={2}>
      {viewer.isSiteAdmin ? (
        <p>
          <a href="/site-admin/repositories">Add a repository</a> by its address, or on the server:
        </p>
      ) : (
        <p>Whoever runs this server adds the first repository, on its pages for site admins or with the command:</p>
      )}
      <pre>trawl repo add linux https://github.com/torvalds/linux</pre>
      {viewer.name === "" && <p>Repositories that are not public are shown after a sign-in.</p>}
    </State>
  );
}
