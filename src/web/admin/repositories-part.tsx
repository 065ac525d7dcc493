import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { callAfter } from "../ui/delay.js";
import { Form, TextField } from "../ui/form.js";
import { Found } from "../ui/states.js";
import { formatAmount, formatTime, formatBytes } from "../ui/numbers.js";

interface AdminRepository {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly isPrivate: boolean;
  readonly permissionsInfo: { readonly syncedAt: string | null; readonly closedReason: string | null } | null;
  readonly mirrorInfo: {
    readonly remoteURL: string | null;
    readonly cloned: boolean;
    readonly cloneInProgress: boolean;
    readonly cloneProgress: string | null;
    readonly updatedAt: string | null;
    readonly lastError: string | null;
    readonly byteSize: string | null;
  };
  readonly textSearchIndex: { readonly status: { readonly contentFilesCount: number } | null } | null;
  readonly historyIndex: { readonly upToDate: boolean; readonly lastError: string | null } | null;
}

interface RepositoriesData {
  readonly repositories: {
    readonly nodes: readonly AdminRepository[];
    readonly totalCount: number;
    readonly notListed: readonly string[] | null;
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

const pageSize = 50;

const repositoriesQuery = `query AdminRepositories($query: String!, $after: String, $failed: Boolean!, $indexed: Boolean!) {
  repositories(first: ${pageSize}, after: $after, query: $query, failedFetch: $failed, indexed: $indexed) {
    totalCount
    notListed
    pageInfo { hasNextPage endCursor }
    nodes {
      id name url isPrivate
      permissionsInfo { syncedAt closedReason }
      mirrorInfo { remoteURL cloned cloneInProgress cloneProgress updatedAt lastError byteSize }
      textSearchIndex { status { contentFilesCount } }
      historyIndex { upToDate lastError }
    }
  }
}`;

const addMutation = `mutation AddRepository($name: String!, $cloneURL: String!, $private: Boolean!) {
  addRepository(name: $name, cloneURL: $cloneURL, private: $private) { id }
}`;

/** How soon a list in which something is being fetched is read again. */
const refreshMs = 2000;

/** All repositories: state, errors, and what can be done with each. */
export function RepositoriesPart() {
  const query = useSignal("");
  const state = useSignal<"all" | "failed" | "unsearchable">("all");
  const cursors = useSignal<readonly (string | null)[]>([null]);
  const used = useGraphql("AdminRepositories", repositoriesQuery, {
    query: query.value,
    after: cursors.value.at(-1) ?? null,
    failed: state.value === "failed",
    indexed: state.value !== "unsearchable",
  });
  const { answer, retry } = used;
  const nodes = answer.kind === "ready" ? (answer.value.repositories?.nodes ?? []) : [];
  const isBusy = nodes.some(({ mirrorInfo }) => mirrorInfo.cloneInProgress);
  useLayoutEffect(() => {
    if (!isBusy) return undefined;
    const pending = callAfter(refreshMs, retry);
    return () => pending.cancel();
  }, [answer, isBusy]);
  const restart = (): void => {
    cursors.value = [null];
  };
  return (
    <>
      <AddRepository added={retry} />
      <form class="admin-bar" onSubmit={(event) => event.preventDefault()}>
        <input
          class="field"
          type="search"
          aria-label="Part of the name"
          placeholder="Part of the name"
          onChange={({ currentTarget }) => {
            restart();
            query.value = currentTarget.value;
          }}
        />
        <select
          class="field"
          aria-label="State"
          value={state.value}
          onChange={({ currentTarget }) => {
            restart();
            state.value = currentTarget.value as typeof state.value;
          }}
        >
          <option value="all">All</option>
          <option value="failed">Failed last time</option>
          <option value="unsearchable">Not searchable yet</option>
        </select>
        <button type="button" class="button" onClick={retry}>
          Read again
        </button>
      </form>
      <Found used={used} what="the repositories">
        {({ repositories: found }) =>
          found !== null && (
            <>
              <p class="soft small" role="status">
                {formatAmount(found.totalCount, "repository", "repositories")}
              </p>
              {found.notListed && <p role="alert">Not all are listed: {found.notListed.join("; ")}.</p>}
              {found.nodes.length > 0 && (
                <ul class="rows panel" aria-label="Repositories">
                  {found.nodes.map((repository) => (
                    <RepositoryRow key={repository.id} repository={repository} changed={retry} />
                  ))}
                </ul>
              )}
              <Pages cursors={cursors} next={found.pageInfo} />
            </>
          )
        }
      </Found>
    </>
  );
}

interface PagesProps {
  readonly cursors: { value: readonly (string | null)[] };
  readonly next: RepositoriesData["repositories"]["pageInfo"];
}

function Pages({ cursors, next: { hasNextPage, endCursor } }: PagesProps) {
  if (!hasNextPage && cursors.value.length === 1) return null;
  return (
    <p class="admin-bar">
      <button
        type="button"
        class="button"
        disabled={cursors.value.length === 1}
        onClick={() => {
          cursors.value = cursors.value.slice(0, -1);
        }}
      >
        Previous page
      </button>
      <button
        type="button"
        class="button"
        disabled={!hasNextPage}
        onClick={() => {
          cursors.value = [...cursors.value, endCursor];
        }}
      >
        Next page
      </button>
    </p>
  );
}

function AddRepository({ added }: { readonly added: () => void }) {
  const round = useSignal(0);
  return (
    <details>
      <summary>Add a repository</summary>
      <Form
        key={round.value}
        submitLabel="Add the repository"
        submit={async (fields) => {
          await graphql("AddRepository", addMutation, {
            name: fields.get("name"),
            cloneURL: fields.get("url"),
            private: fields.get("private") === "on",
          });
          round.value += 1;
          added();
        }}
      >
        <TextField label="Name" name="name" hint="As it is searched, such as github.com/owner/name." />
        <TextField
          label="Clone URL"
          name="url"
          hint="https://…, ssh://… or git@host:path. The first fetch begins at once."
        />
        <label>
          <input type="checkbox" name="private" /> Private: only site admins see it, until readers are set
        </label>
      </Form>
    </details>
  );
}

interface RowProps {
  readonly repository: AdminRepository;
  readonly changed: () => void;
}

const syncMutation = `mutation SyncRepository($id: ID!) { updateMirrorRepository(repository: $id) { alwaysNil } }`;
const reindexMutation = `mutation ReindexRepository($id: ID!) { reindexRepository(repository: $id) { alwaysNil } }`;
const deleteMutation = `mutation DeleteRepository($id: ID!) { deleteRepository(repository: $id) { alwaysNil } }`;

const orders = [
  ["Sync", "SyncRepository", syncMutation],
  ["Reindex", "ReindexRepository", reindexMutation],
] as const;

type Order = (typeof orders)[number][1] | "DeleteRepository";

function RepositoryRow({ repository, changed }: RowProps) {
  const { id, name, url, isPrivate, permissionsInfo, mirrorInfo, textSearchIndex, historyIndex } = repository;
  const action = useAction();
  const files = textSearchIndex?.status?.contentFilesCount;
  const order = (operation: Order, text: string): Promise<void> =>
    action.run(async () => {
      await graphql(operation, text, { id });
      changed();
    });
  return (
    <li>
      <div class="row-main">
        <span class="row-title">
          <a href={url}>{name}</a>
          <StateBadge repository={repository} />
          {isPrivate && <span class="badge">private</span>}
        </span>
        <span class="soft small">
          {mirrorInfo.remoteURL ?? url} · fetched {formatTime(mirrorInfo.updatedAt)}
          {files !== undefined && ` · ${formatAmount(files, "file")}`}
          {mirrorInfo.cloned && mirrorInfo.byteSize !== null && ` · ${formatBytes(mirrorInfo.byteSize)} of text`}
          {historyIndex === null || historyIndex.upToDate ? "" : " · history not indexed completely"}
        </span>
        {mirrorInfo.cloneProgress !== null && mirrorInfo.cloneProgress !== "" && (
          <span class="small">{mirrorInfo.cloneProgress}</span>
        )}
        {permissionsInfo !== null && permissionsInfo.syncedAt !== null && (
          <span class="soft small">the code host said {formatTime(permissionsInfo.syncedAt)} who may read it</span>
        )}
        {permissionsInfo !== null && permissionsInfo.closedReason !== null && (
          <span class="row-error">Only site admins may read it: {permissionsInfo.closedReason}</span>
        )}
        {mirrorInfo.lastError !== null && <span class="row-error">{mirrorInfo.lastError}</span>}
        {(historyIndex?.lastError ?? null) !== null && <span class="row-error">{historyIndex?.lastError}</span>}
        <ActionError action={action} />
      </div>
      <div class="row-actions">
        {orders.map(([label, operation, text]) => (
          <button
            key={operation}
            type="button"
            class="button"
            disabled={action.isRunning.value}
            onClick={() => void order(operation, text)}
          >
            {label}
            <span class="unseen"> {name}</span>
          </button>
        ))}
        <ConfirmButton isFinal label="Remove" about={name} act={() => void order("DeleteRepository", deleteMutation)}>
          Its mirror and its index are deleted, and nobody finds it any more. It can be added again, which fetches it
          anew.
        </ConfirmButton>
      </div>
    </li>
  );
}

function StateBadge({ repository: { mirrorInfo, textSearchIndex } }: { readonly repository: AdminRepository }) {
  if (mirrorInfo.cloneInProgress) return <span class="badge warn">being fetched</span>;
  if (mirrorInfo.lastError !== null) return <span class="badge bad">failed</span>;
  if (textSearchIndex !== null) return <span class="badge good">searchable</span>;
  return <span class="badge warn">{mirrorInfo.cloned ? "not indexed yet" : "waiting"}</span>;
}
