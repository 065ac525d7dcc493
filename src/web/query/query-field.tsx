import { useEffect, useRef } from "preact/hooks";
import { address, navigate, page } from "../route/router.js";
import { addKeys } from "../ui/keys.js";
import { splitQuery } from "./query-highlight.js";
import { addressOfQuery, emptyQuery, queryOfAddress, typedQuery, type QueryState } from "./query-state.js";
import { QueryToggles } from "./query-toggles.js";
import "./query-field.css";

/** Longer than the daemon accepts; a paste of a whole file stays harmless. */
const textLengthMax = 50_000;

/** The search field of every page. Enter runs the search; the address is what was run. */
export function QueryField() {
  const field = useRef<HTMLTextAreaElement>(null);
  useAddress();
  useEffect(() => addKeys([{ key: "/", what: "Go to the search field", act: () => field.current?.select() }]), []);
  const query = typedQuery.value;
  const run = () => {
    if (query.text.trim() !== "") navigate(addressOfQuery(query));
  };
  return (
    <search>
      <form
        class="query-field"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <div class="query-text">
          <Highlighted query={query} />
          <textarea
            ref={field}
            aria-label="Search query"
            placeholder="Search code"
            rows={1}
            maxLength={textLengthMax}
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            value={query.text}
            onInput={(event) => {
              typedQuery.value = { ...query, text: event.currentTarget.value };
            }}
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
              if (event.key !== "Enter" || event.isComposing) return;
              event.preventDefault();
              run();
            }}
          />
        </div>
        <QueryToggles />
        <button type="submit" class="button main" aria-label="Search" title="Search (Enter)">
          <span aria-hidden="true">→</span>
        </button>
      </form>
    </search>
  );
}

/** The field shows what the address of the search page names, and nothing at first on other pages. */
function useAddress(): void {
  const url = address.value;
  const isSearch = page.value?.name === "search";
  useEffect(() => {
    typedQuery.value = isSearch ? queryOfAddress(url) : emptyQuery;
  }, [url, isSearch]);
}

/** The same text behind the field, in colours. */
function Highlighted({ query }: { readonly query: QueryState }) {
  return (
    <div class="query-colours" aria-hidden="true">
      {splitQuery(query.text, query.patternType).map(({ kind, from, to }) => (
        <span key={from} class={`token-${kind}`}>
          {query.text.slice(from, to)}
        </span>
      ))}
      {"\u200b"}
    </div>
  );
}
