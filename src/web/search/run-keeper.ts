import { signal } from "@preact/signals";
import type { QueryState } from "../query/query-state.js";
import { SearchRun } from "./search-run.js";

/** Searches whose results the way back finds as they were. */
const keptMax = 4;

const kept = new Map<string, SearchRun>();

/** The search that the page shows; undefined for none. */
export const currentRun = signal<SearchRun | undefined>(undefined);

/** Shows the search of an address. The way back shows the results that were there; any other way searches again. */
export function showRun(href: string, query: QueryState, isWayBack: boolean): void {
  const known = kept.get(href);
  if (isWayBack && known !== undefined && known.state.peek() === "done") {
    currentRun.value = known;
    return;
  }
  const run = new SearchRun(query);
  kept.delete(href);
  kept.set(href, run);
  for (const [oldest, old] of kept) {
    if (kept.size <= keptMax) break;
    old.stop();
    kept.delete(oldest);
  }
  currentRun.value = run;
}
