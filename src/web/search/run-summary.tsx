import { addExpression } from "../query/add-expression.js";
import { addressOfQuery, wholeText } from "../query/query-state.js";
import { viewer } from "../route/viewer.js";
import { ShareButton } from "./share-button.js";
import { SaveSearch } from "./save-search.js";
import type { SearchRun } from "./search-run.js";
import { formatAmount, formatCount } from "../ui/numbers.js";

/** How much was found, in which time, and what can be done with it. */
export function RunSummary({ run }: { readonly run: SearchRun }) {
  const { progress, state, query } = run;
  const isSearching = state.value === "searching";
  const isCut = progress.value?.skipped.some(({ reason }) => reason === "shard-match-limit") === true;
  return (
    <div class="summary">
      <p role="status">{describe(run)}</p>
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
