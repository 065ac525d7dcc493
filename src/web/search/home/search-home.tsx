import "./search-home.css";
import { useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useGraphql } from "../../api/use-graphql.js";
import { forgetSearches, keptSearches } from "../../query/kept-searches.js";
import { allFilterHelp } from "../../query/query-help.js";
import { addressOfQuery, emptyQuery, queryOfText, type QueryState } from "../../query/query-state.js";
import { loadPart } from "../../route/load-part.js";
import { viewer } from "../../route/viewer.js";
import { callAfter } from "../../ui/delay.js";
import { ErrorText, Notice } from "../../ui/states.js";
import { When } from "../../route/when.js";
import { generalExamples, languageExamples, readLanguages } from "./language-examples.js";
import { isChanging, RepositoryList } from "./repository-list.js";

const repositoriesMax = 12;
const recentMax = 6;

const homeQuery = `query SearchHome($isSignedIn: Boolean!) {
  searchContexts(first: 20) { nodes { spec description } }
  savedSearches(viewerIsAffiliated: true, first: 20) @include(if: $isSignedIn) { nodes { description query } }
  repositories(first: ${repositoriesMax}) {
    totalCount
    notListed
    nodes {
      name url isPrivate
      mirrorInfo { cloned cloneInProgress cloneProgress updatedAt lastError }
      textSearchIndex { status { updatedAt contentFilesCount } }
    }
  }
}`;

/** How soon repositories are read again of which one is being fetched. Each time is longer: one may never be indexed. */
const refreshMs = 2_000;
const refreshMsMax = 30_000;

/** `/search` without a query: what is here, what was searched, and what can be asked. */
export function SearchHome() {
  useLayoutEffect(() => {
    document.title = "Trawl";
  }, []);
  const { answer, retry } = useGraphql("SearchHome", homeQuery, { isSignedIn: viewer.name !== "" });
  const data = answer.kind === "ready" ? answer.value : undefined;
  const found = data?.repositories ?? undefined;
  const isBusy = found?.nodes.some(isChanging) === true;
  const waitMs = useRef(refreshMs);
  useLayoutEffect(() => {
    if (!isBusy) return undefined;
    const pending = callAfter(waitMs.current, retry);
    waitMs.current = Math.min(refreshMsMax, waitMs.current * 1.2);
    return () => pending.cancel();
  }, [answer, isBusy]);
  const contexts = (data?.searchContexts.nodes ?? []).filter(({ spec }) => spec !== "global");
  return (
    <div class="search-home">
      <h1>Search all code on this server</h1>
      <p class="soft">Every match is found. Type words; fields such as repo:, file: and lang: narrow the search.</p>
      {answer.kind === "failed" && (
        <Notice kind="bad">
          <span>
            <strong>What is on this server could not be read.</strong> <ErrorText error={answer.error} />
          </span>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </Notice>
      )}
      <Recent />
      <Saved saved={data?.savedSearches?.nodes ?? []} />
      {found?.notListed && <Notice kind="bad">Not all repositories are listed: {found.notListed.join("; ")}.</Notice>}
      {found !== undefined && <RepositoryList nodes={found.nodes} totalCount={found.totalCount} />}
      {found !== undefined && found.totalCount > 0 && <Examples repository={found.nodes[0]?.name} />}
      <QueryLinks
        title="Contexts"
        rows={contexts.map(({ spec, description }) => [{ ...emptyQuery, text: `context:${spec} ` }, description])}
      />
      <FilterTable />
    </div>
  );
}

/** What was searched in this browser. */
function Recent() {
  const searches = useSignal(keptSearches().slice(0, recentMax));
  return (
    <QueryLinks
      title="Recent searches"
      rows={searches.value.map((search) => [search, <When date={new Date(search.ranMs).toISOString()} />])}
    >
      <button
        type="button"
        class="button quiet"
        onClick={() => {
          forgetSearches();
          searches.value = [];
        }}
      >
        Clear<span class="unseen"> recent searches</span>
      </button>
    </QueryLinks>
  );
}

/** Those for languages follow once it is known which there are. */
function Examples({ repository }: { readonly repository: string | undefined }) {
  const languages = useSignal<readonly string[]>([]);
  useLayoutEffect(() => {
    void readLanguages().then((found) => {
      languages.value = found;
    });
  }, []);
  const rows = [...generalExamples(repository), ...languageExamples(languages.value)];
  return <QueryLinks title="For example" rows={rows.map(([text, what]) => [{ ...emptyQuery, text }, what])} />;
}

interface SavedProps {
  readonly saved: readonly { readonly description: string; readonly query: string }[];
}

function Saved({ saved }: SavedProps) {
  const editor = useSignal<ComponentType | undefined>(undefined);
  const edit = async (): Promise<void> => {
    const { SavedSearches } = await loadPart(() => import("../saved-searches.js")).catch(() => ({
      SavedSearches: undefined,
    }));
    editor.value = SavedSearches;
  };
  const Editor = editor.value;
  if (Editor !== undefined)
    return (
      <section>
        <h2>Saved searches</h2>
        <Editor />
      </section>
    );
  return (
    <QueryLinks title="Saved searches" rows={saved.map(({ query, description }) => [queryOfText(query), description])}>
      <button type="button" class="button quiet" onClick={() => void edit()}>
        Edit<span class="unseen"> saved searches</span>
      </button>
    </QueryLinks>
  );
}

interface LinksProps {
  readonly title: string;
  readonly rows: readonly (readonly [query: QueryState, what: ComponentChildren])[];
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

/** What each filter does, with an example that can be run. */
function FilterTable() {
  return (
    <details class="filter-help">
      <summary>
        <h2>All filters</h2>
      </summary>
      <dl class="panel">
        {allFilterHelp.map(({ names, takes, finds, examples, isNegatable }) => (
          <div key={names.join()}>
            <dt>
              {names.map((name) => (
                <code key={name}>{name} </code>
              ))}
            </dt>
            <dd>
              {finds}
              {takes !== "" && <span class="soft">. Takes: {takes}</span>}
              {isNegatable && <span class="soft">. Excluded with a minus</span>}
              {examples.length > 0 && (
                <span class="filter-examples">
                  {examples.map((example) => (
                    <a key={example} href={addressOfQuery(queryOfText(example))}>
                      <code>{example}</code>
                    </a>
                  ))}
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
