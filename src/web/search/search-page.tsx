import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Progress, StreamError, StreamMatch } from "../../model/stream-events.js";
import { readEvents } from "../api/event-stream.js";
import { queryOfAddress } from "../query/query-state.js";
import { address } from "../route/router.js";
import { Failure, State } from "../ui/states.js";

const shownMax = 200;

interface Results {
  readonly matches: readonly StreamMatch[];
  readonly progress: Progress | undefined;
  readonly error: unknown;
}

const none: Results = { matches: [], progress: undefined, error: undefined };

/** `/search`: the results of the query in the address. */
export function SearchPage() {
  const query = queryOfAddress(address.value);
  const results = useSignal(none);
  useEffect(() => {
    const stop = new AbortController();
    results.value = none;
    const take = (name: string, data: string): void => {
      const value: unknown = JSON.parse(data);
      const now = results.peek();
      if (name === "matches") results.value = { ...now, matches: [...now.matches, ...(value as StreamMatch[])] };
      if (name === "progress") results.value = { ...now, progress: value as Progress };
      if (name === "error") results.value = { ...now, error: (value as StreamError).message };
    };
    const parameters = new URLSearchParams({ q: query.text, t: query.patternType, display: String(shownMax) });
    if (query.text.trim() !== "")
      readEvents(`/search/stream?${parameters}`, stop.signal, take).catch((error: unknown) => {
        if (!stop.signal.aborted) results.value = { ...results.peek(), error };
      });
    return () => stop.abort();
  }, [query.text, query.patternType, results]);
  const { matches, progress, error } = results.value;
  if (error !== undefined) return <Failure what="The search failed" error={error} />;
  if (query.text.trim() === "") return <State title="Search code in every repository of this server" />;
  return (
    <section aria-label="Results">
      <h1 class="unseen">Results</h1>
      <p role="status">{progress?.matchCount ?? 0} matches</p>
      <ol>
        {matches.map(({ repository = "", path = "" }) => (
          <li key={`${repository}/${path}`}>
            <a href={`/${repository}/-/blob/${path}`}>
              {repository} {path}
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}
