import "./search-page.css";
import "./results.css";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { queryOfAddress } from "../query/query-state.js";
import type { StreamMatch } from "../../model/stream-events.js";
import { address, arrival, navigate } from "../route/router.js";
import { addKeys } from "../ui/keys.js";
import { usePart } from "../route/load-part.js";
import { ErrorText, Notice, Waiting } from "../ui/states.js";
import { FilterPanel } from "./filter-panel.js";
import { addressWithPreview, coverageOfAddress, groupOfAddress, previewOfAddress } from "./panel-address.js";
import { RunNotices } from "./run-notices.js";
import { RunSummary } from "./run-summary.js";
import { lazyReader } from "./results/lazy-reader.js";
import { resultView } from "./results/result-views.js";
import type { ResultState } from "./results/result-context.js";
import { headerHeight, ResultList } from "./result-list.js";
import { currentRun, followAddress, type SearchRun } from "./search-run.js";

/** `/search`: the results of the query in the address, or the start page. */
export function SearchPage() {
  const query = queryOfAddress(address.value);
  const run = currentRun.value;
  // The first search begins, and its list is there, before the browser paints.
  useLayoutEffect(followAddress, []);
  useLayoutEffect(() => {
    if (run !== undefined) document.title = `${run.query.text} · Trawl`;
  }, [run]);
  useLayoutEffect(
    () =>
      addKeys([
        { key: "j", what: "Next result", act: () => stepToResult(1) },
        { key: "k", what: "Previous result", act: () => stepToResult(-1) },
        { key: "p", what: "Preview the file of the result beside the results", act: previewResult },
      ]),
    [],
  );
  if (query.text.trim() === "") return <Home />;
  if (run === undefined) return null;
  const preview = previewOfAddress(address.value);
  return (
    <div class={preview === undefined ? "search-page" : "search-page with-preview"}>
      <h1 class="unseen">Search results</h1>
      <FilterPanel run={run} />
      <div class="search-results">
        <RunSummary run={run} />
        <RunNotices run={run} />
        <Coverage run={run} />
        <CountedGroups run={run} />
        <Results key={run.id} run={run} />
      </div>
      {preview !== undefined && <Preview href={preview} />}
    </div>
  );
}

/** The start page, whose texts no search needs. */
function Home() {
  const loaded = usePart(true, () => import("./home/search-home.js"));
  return showPart(loaded, "the start page", ({ SearchHome }) => <SearchHome />);
}

/** The matches counted, if the address asks for it. */
function CountedGroups({ run }: { readonly run: SearchRun }) {
  const by = groupOfAddress(address.value);
  const loaded = usePart(by !== undefined, () => import("./counted/group-panel.js"));
  if (by === undefined) return null;
  return showPart(loaded, "the counts", ({ GroupPanel }) => <GroupPanel run={run} by={by} />);
}

/** What was searched, or what changes, if the address asks for it. */
function Coverage({ run }: { readonly run: SearchRun }) {
  const view = coverageOfAddress(address.value);
  const loaded = usePart(view !== undefined, () => import("./covered/coverage-panel.js"));
  if (view === undefined) return null;
  return showPart(loaded, "what was searched", ({ CoveragePanel }) => <CoveragePanel run={run} view={view} />);
}

/** A file beside the results. */
function Preview({ href }: { readonly href: string }) {
  const loaded = usePart(true, () => import("./preview/file-preview.js"));
  return showPart(loaded, "the preview", ({ FilePreview }) => <FilePreview href={href} />);
}

/** What a part shows when it is loaded; before, or if it cannot be, that it is not there. */
function showPart<T>(
  { part, error }: ReturnType<typeof usePart<T>>,
  what: string,
  show: (part: T) => JSX.Element,
): JSX.Element {
  if (error !== undefined) return <PartError error={error} />;
  return part === undefined ? <Waiting what={what} /> : show(part);
}

function PartError({ error }: { readonly error: unknown }) {
  return (
    <Notice kind="bad">
      <span>
        <ErrorText error={error} />
      </span>
    </Notice>
  );
}

/** The list itself is not a component: it changes many times a second while results arrive. */
function Results({ run }: { readonly run: SearchRun }) {
  const host = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const reader = lazyReader();
    const state = (key: string): ResultState => {
      const known = run.states.get(key) ?? {};
      run.states.set(key, known);
      return known;
    };
    const context = {
      state,
      highlight: reader.highlight,
      readLines: reader.readLines,
    };
    // The browser's own way back knows pixels only, and the results above are as high as they were when they are measured.
    history.scrollRestoration = "manual";
    if (arrival.peek() === "history" && run.place === undefined) window.scrollTo(0, 0);
    const view = (match: StreamMatch, key: string): HTMLElement => resultView(match, key, context);
    const made = new ResultList(host.current, run.store, view, run.place, (place) => {
      run.place = place;
    });
    // The first results are in the document at once, later ones with the next frame. An effect would begin to follow the
    // search only after a paint, and the first results are often there before.
    const forget = run.version.subscribe((version) => (version === 1 ? made.update() : made.refresh()));
    return () => {
      forget();
      made.close();
      reader.close();
      history.scrollRestoration = "auto";
    };
  }, [run]);
  return <section ref={host} class="results" aria-label="Results" />;
}

/** Moves the focus to the title of the next or the previous result. */
function stepToResult(direction: 1 | -1): void {
  const titles = [...document.querySelectorAll<HTMLElement>(".result h2 a:last-of-type")];
  const current = titles.findIndex((title) => title.closest(".result")?.contains(document.activeElement) === true);
  const seen = titles.findIndex((title) => title.getBoundingClientRect().top > headerHeight);
  const next = current >= 0 ? current + direction : seen;
  const target = titles[Math.max(0, Math.min(next, titles.length - 1))];
  target?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: "nearest" });
  // An open preview follows.
  if (previewOfAddress(address.peek()) !== undefined) showPreview(target?.closest(".result"));
}

/** Opens the preview of the result with the focus, or of the first in sight. */
function previewResult(): void {
  if (document.activeElement?.closest(".result") == null) stepToResult(1);
  showPreview(document.activeElement?.closest(".result"));
}

function showPreview(result: Element | null | undefined): void {
  const href = result?.querySelector<HTMLElement>("[data-preview]")?.dataset["preview"];
  if (href === undefined) return;
  const isShown = previewOfAddress(address.peek()) === href;
  if (!isShown) navigate(addressWithPreview(address.peek(), href), "replace");
}
