import { effect, signal } from "@preact/signals";
import { queryOfAddress, type QueryState } from "../query/query-state.js";
import { address, arrival, page } from "../route/router.js";
import { SearchRun } from "./search-run.js";

/** Searches whose results the way back finds as they were. */
const keptMax = 4;

const kept = new Map<string, SearchRun>();

/** The search that the page shows; undefined for none. */
export const currentRun = signal<SearchRun | undefined>(undefined);

/**
 * Runs the search of each address, until the returned function is called: at once when the address changes, before
 * anything is rendered for it.
 */
export function followAddress(): () => void {
  const forget = effect(() => {
    const { href } = address.value;
    currentRun.peek()?.stop();
    const query = queryOfAddress(address.value);
    if (page.value?.name !== "search" || query.text.trim() === "") currentRun.value = undefined;
    else showRun(href, query, arrival.peek() === "history");
  });
  return () => {
    forget();
    currentRun.peek()?.stop();
  };
}

/** Shows the search of an address. The way back shows the results that were there; any other way searches again. */
function showRun(href: string, query: QueryState, isWayBack: boolean): void {
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
