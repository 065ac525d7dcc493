import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { FoundCommit } from "../found.js";
import { State } from "../../ui/states.js";
import { pathFilter, repositoryFilter, searchUrl } from "../code-urls.js";
import { CommitLine, commitLineFields } from "./commit-line.js";

const historyQuery = `query History($name: String!, $revision: String!, $path: String!, $follow: Boolean!, $after: String) {
  repository(name: $name) {
    commit(rev: $revision) {
      ancestors(first: 50, path: $path, follow: $follow, afterCursor: $after) {
        nodes ${commitLineFields}
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

/** The commits that a revision reaches, or those that changed a path, newest first. */
export function HistoryPage({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const cursors = useSignal<readonly (string | null)[]>([null]);
  useLayoutEffect(() => {
    cursors.value = [null];
  }, [name, revision, path.path, cursors]);
  return (
    <section class="panel" aria-label="Commits">
      <h1 class="panel-head">
        {path.path === "" ? "Commits" : `Commits that changed ${path.path}, also under its former names`}
        <a class="small" href={searchUrl(searchText(path))}>
          Search these commits
        </a>
      </h1>
      {cursors.value.map((cursor, i) => (
        <HistoryPart
          key={cursor ?? ""}
          path={path}
          after={cursor}
          isLast={i === cursors.value.length - 1}
          more={(next) => {
            cursors.value = [...cursors.value, next];
          }}
        />
      ))}
    </section>
  );
}

/** A search of the commits, to which words, an author or a time can be added. */
function searchText(path: PagePath): string {
  const file = path.path === "" ? "" : `${pathFilter(path.path)} `;
  return `${repositoryFilter(path)} ${file}type:commit `;
}

interface HistoryPartProps {
  readonly path: PagePath;
  readonly after: string | null;
  readonly isLast: boolean;
  readonly more: (cursor: string) => void;
}

/** Of a revision without commits. */
const noCommits = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

function HistoryPart({ path, after, isLast, more }: HistoryPartProps) {
  const { name, revision } = path;
  const used = useGraphql("History", historyQuery, {
    name,
    revision,
    path: path.path,
    follow: path.path !== "",
    after,
  });
  return (
    <FoundCommit path={path} used={used} what="the commits">
      {({ ancestors }) => {
        const { nodes, pageInfo } = ancestors ?? noCommits;
        return (
          <>
            {nodes.length === 0 && after === null && <State title="No commit changed this path" />}
            <ul class="commit-list">
              {nodes.map((commit) => (
                <li key={commit.oid}>
                  <CommitLine commit={commit} place={path} />
                </li>
              ))}
            </ul>
            {isLast && pageInfo.hasNextPage && pageInfo.endCursor !== null && (
              <p class="panel-foot">
                <button type="button" class="button" onClick={() => more(pageInfo.endCursor ?? "")}>
                  Older commits
                </button>
              </p>
            )}
          </>
        );
      }}
    </FoundCommit>
  );
}
