import { useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { addressOfQuery, emptyQuery, queryOfText, type QueryState } from "../query/query-state.js";
import { loadPart } from "../route/load-part.js";
import { viewer } from "../route/viewer.js";

const examples: readonly (readonly [query: string, what: string])[] = [
  ["parse error lang:go", "Words in files of one language, each somewhere in the file"],
  ['"not found"', "A text as it is"],
  ["/func \\w+Handler/ -file:test", "A regular expression, without tests"],
  ["file:README install", "In files with this path"],
  ["type:symbol parse", "Names of functions, types and so on"],
  ['type:diff after:"1 month ago" retry', "Lines that changed lately"],
  ["repo:has.path(Cargo.toml) unsafe", "In repositories that have a file"],
];

interface HomeData {
  readonly searchContexts: { readonly nodes: readonly { readonly spec: string; readonly description: string }[] };
  readonly savedSearches?: { readonly nodes: readonly { readonly description: string; readonly query: string }[] };
}

const homeQuery = `query SearchHome($isSignedIn: Boolean!) {
  searchContexts(first: 20) { nodes { spec description } }
  savedSearches(viewerIsAffiliated: true, first: 20) @include(if: $isSignedIn) { nodes { description query } }
}`;

/** `/search` without a query: what can be asked, saved searches and contexts. */
export function SearchHome() {
  const data = useSignal<HomeData | undefined>(undefined);
  useEffect(() => {
    document.title = "Trawl";
    const stop = new AbortController();
    graphql("SearchHome", homeQuery, { isSignedIn: viewer.name !== "" }, stop.signal).then(
      (found) => {
        data.value = found;
      },
      // The page is complete without them.
      () => undefined,
    );
    return () => stop.abort();
  }, [data]);
  const editor = useSignal<ComponentType | undefined>(undefined);
  const edit = async (): Promise<void> => {
    const { SavedSearches } = await loadPart(() => import("./saved-searches.js")).catch(() => ({
      SavedSearches: undefined,
    }));
    editor.value = SavedSearches;
  };
  const Editor = editor.value;
  const saved = data.value?.savedSearches?.nodes ?? [];
  const contexts = (data.value?.searchContexts.nodes ?? []).filter(({ spec }) => spec !== "global");
  return (
    <div class="search-home">
      <h1>Search all code on this server</h1>
      <p class="soft">Every match is found. Type words; fields such as repo:, file: and lang: narrow the search.</p>
      <QueryLinks title="For example" rows={examples.map(([text, what]) => [{ ...emptyQuery, text }, what])} />
      {Editor === undefined ? (
        <QueryLinks
          title="Saved searches"
          rows={saved.map(({ query, description }) => [queryOfText(query), description])}
        >
          <button type="button" class="button quiet" onClick={() => void edit()}>
            Edit<span class="unseen"> saved searches</span>
          </button>
        </QueryLinks>
      ) : (
        <section>
          <h2>Saved searches</h2>
          <Editor />
        </section>
      )}
      <QueryLinks
        title="Contexts"
        rows={contexts.map(({ spec, description }) => [{ ...emptyQuery, text: `context:${spec} ` }, description])}
      />
    </div>
  );
}

interface LinksProps {
  readonly title: string;
  readonly rows: readonly (readonly [query: QueryState, what: string])[];
  /** What can be done with them. */
  readonly children?: ComponentChildren;
}

function QueryLinks({ title, rows, children }: LinksProps) {
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>
        {title}
        {children}
      </h2>
      <ul class="panel">
        {rows.map(([query, what]) => (
          <li key={addressOfQuery(query)}>
            <a href={addressOfQuery(query)}>
              <code>{query.text}</code>
            </a>
            <span class="soft small">{what}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
