import { addExpression } from "../query/query-edits.js";
import { addressOfQuery, type QueryState, wholeText } from "../query/query-state.js";
import { viewer } from "../route/viewer.js";
import type { SearchRun } from "./search-run.js";
import { formatAmount, formatCount } from "../ui/numbers.js";
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { loadPart } from "../route/load-part.js";
import { address, navigate } from "../route/router.js";
import { addressWithGroup, groupOfAddress, tellingGroup } from "./panel-address.js";
import { CoverageMark } from "./covered/coverage-mark.js";
import type { SaveDialogProps, ShareMenuProps } from "./save-and-share.js";

/** How much was found, in which time, and what can be done with it. */
export function RunSummary({ run }: { readonly run: SearchRun }) {
  const { progress, state, query } = run;
  const isSearching = state.value === "searching";
  const isCut = progress.value?.skipped.some(({ reason }) => reason === "shard-match-limit") === true;
  return (
    <div class="summary">
      <p role="status">{describe(run)}</p>
      <CoverageMark run={run} />
      {isSearching && <span class="spinner" aria-hidden="true" />}
      <span class="summary-tools">
        {isSearching && (
          <button type="button" class="button" onClick={() => run.stop()}>
            Stop
          </button>
        )}
        {isCut && (
          <a class="button" href={addressOfQuery(addExpression(query, "count:all"))}>
            All results
          </a>
        )}
        <CountButton run={run} />
        {viewer.name !== "" && (
          <a
            class="button quiet"
            href={`/search-jobs?${new URLSearchParams({ q: wholeText(query) })}`}
            title="All results in a file, however long the search takes"
          >
            Run as search job
          </a>
        )}
        <SaveSearch query={query} />
        <ShareButton query={query} />
      </span>
    </div>
  );
}

function describe({ progress, state, store, version }: SearchRun): string {
  // Results are counted as they arrive; the server counts them every 200 ms.
  const arrived = version.value === 0 ? 0 : store.resultCount;
  const { matchCount = 0, durationMs = 0, repositoriesCount, skipped = [] } = progress.value ?? {};
  const plus = skipped.some(({ reason }) => reason.includes("-limit")) ? "+" : "";
  const count = Math.max(matchCount, arrived);
  const found = `${formatCount(count)}${plus} ${count === 1 ? "match" : "matches"}`;
  switch (state.value) {
    case "searching":
      return arrived === 0 ? "Searching…" : `${found} so far`;
    case "stopped":
      return `${found}, stopped before the end`;
    case "failed":
      return arrived === 0 ? "The search failed" : `${found} before the search failed`;
    case "done": {
      const places =
        repositoriesCount === undefined ? "" : ` in ${formatAmount(repositoriesCount, "repository", "repositories")}`;
      return progress.value === undefined ? "" : `${found}${places} · ${formatDuration(durationMs)}`;
    }
  }
}

function formatDuration(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Counts the matches by what they have in common, or hides the counts. */
function CountButton({ run }: { readonly run: SearchRun }) {
  const isOpen = groupOfAddress(address.value) !== undefined;
  return (
    <button
      type="button"
      class="button quiet"
      aria-expanded={isOpen}
      title="How many matches each repository, path, language or author has"
      onClick={() => navigate(addressWithGroup(address.peek(), isOpen ? undefined : tellingGroup(run.filters.peek())))}
    >
      Count by…
    </button>
  );
}

/** Saves the query under a name, for the start page. Only for those who have an account. */
function SaveSearch({ query }: { readonly query: QueryState }) {
  const dialog = useSignal<ComponentType<SaveDialogProps> | undefined>(undefined);
  const message = useSignal("");
  if (viewer.name === "") return null;
  const open = async (): Promise<void> => {
    try {
      const { SaveDialog } = await loadPart(() => import("./save-and-share.js"));
      dialog.value = SaveDialog;
    } catch (error) {
      message.value = error instanceof Error ? error.message : String(error);
    }
  };
  const Dialog = dialog.value;
  return (
    <>
      <button type="button" class="button quiet" onClick={() => void open()}>
        Save
      </button>
      <span class="soft small" role="status">
        {message.value}
      </span>
      {Dialog !== undefined && (
        <Dialog
          text={wholeText(query)}
          close={(isSaved) => {
            dialog.value = undefined;
            message.value = isSaved ? "Saved" : "";
          }}
        />
      )}
    </>
  );
}

/** Opens the forms in which the search can be copied, which are loaded then. */
function ShareButton({ query }: { readonly query: QueryState }) {
  const menu = useSignal<ComponentType<ShareMenuProps> | undefined>(undefined);
  const Menu = menu.value;
  if (Menu !== undefined) return <Menu query={query} />;
  const open = (): void => {
    loadPart(() => import("./save-and-share.js")).then(
      ({ ShareMenu }) => {
        menu.value = ShareMenu;
      },
      () => undefined,
    );
  };
  return (
    <button type="button" class="button quiet" aria-expanded={false} onClick={open}>
      Copy as…
    </button>
  );
}
