import { nothingFoundTitle, type Alert, type Skipped } from "../../model/stream-events.js";
import { addExpression } from "../query/query-edits.js";
import { addressOfQuery, queryOfText, type QueryState } from "../query/query-state.js";
import { address, navigate } from "../route/router.js";
import { ErrorText, Notice, State } from "../ui/states.js";
import type { SearchRun } from "./search-run.js";
import { placeOfBytes } from "../../query/syntax/characters.js";
import { scan } from "../../query/syntax/scan.js";

/** Everything the server says about the results besides themselves: alerts, what was skipped, errors, or nothing. */
export function RunNotices({ run }: { readonly run: SearchRun }) {
  const { alert, progress, error, state, query, store, version } = run;
  const isEmpty = version.value === 0 || store.resultCount === 0;
  const isFinished = state.value === "done" || state.value === "stopped";
  return (
    <>
      {error.value !== undefined && <RunError error={error.value} isEmpty={isEmpty} />}
      {alert.value !== undefined && alert.value.title !== nothingFoundTitle && (
        <AlertNotice alert={alert.value} query={query} />
      )}
      <SkippedList skipped={progress.value?.skipped ?? []} query={query} />
      {isFinished && isEmpty && isNothing(alert.value) && error.value === undefined && (
        <NothingFound query={query} alert={alert.value} />
      )}
    </>
  );
}

/** Whether the alert says no more than that nothing was found. */
function isNothing(alert: Alert | undefined): boolean {
  return alert === undefined || alert.title === nothingFoundTitle;
}

function RunError({ error, isEmpty }: { readonly error: Error; readonly isEmpty: boolean }) {
  return (
    <Notice kind="bad">
      <span>
        <strong>{isEmpty ? "The search could not run." : "These results are incomplete."}</strong>{" "}
        <ErrorText error={error} />
      </span>
      <button type="button" class="button" onClick={() => navigate(address.value.href)}>
        Search again
      </button>
    </Notice>
  );
}

function AlertNotice({ alert, query }: { readonly alert: Alert; readonly query: QueryState }) {
  return (
    <Notice kind="warn">
      <strong>{alert.title}</strong>
      {alert.description !== undefined && <p class="alert-text">{alert.description}</p>}
      {alert.place !== undefined && <QueryPlace text={query.text} place={alert.place} />}
      <ProposedQueries alert={alert} />
    </Notice>
  );
}

function ProposedQueries({ alert }: { readonly alert: Alert }) {
  const proposed = alert.proposedQueries ?? [];
  if (proposed.length === 0) return null;
  return (
    <ul class="proposed">
      {proposed.map(({ query: text, description }) => (
        <li key={text}>
          <a class="button" href={addressOfQuery(queryOfText(text))}>
            <code>{text}</code>
          </a>
          {description !== undefined && <span class="soft small">{description}</span>}
        </li>
      ))}
    </ul>
  );
}

function SkippedList({ skipped, query }: { readonly skipped: readonly Skipped[]; readonly query: QueryState }) {
  if (skipped.length === 0) return null;
  return (
    <ul class="skipped" aria-label="What the results leave out">
      {skipped.map(({ reason, title, message, severity, suggested }) => (
        <li key={reason} class={severity}>
          <details>
            <summary>{title}</summary>
            <p>{message}</p>
          </details>
          {suggested !== undefined && (
            <a class="button" href={addressOfQuery(addExpression(query, suggested.queryExpression))}>
              {suggested.title}
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

interface NothingFoundProps {
  readonly query: QueryState;
  /** What the server says about it: similar queries that have results. */
  readonly alert: Alert | undefined;
}

/** That nothing was found, and what would be: with numbers what the server has tried, then where else one can look. */
function NothingFound({ query, alert }: NothingFoundProps) {
  const proposed = alert?.proposedQueries ?? [];
  const elsewhere = otherPlaces(query);
  return (
    <State title="Nothing matches" level={2}>
      <p>
        No file, path or repository matches <code>{query.text}</code>
        {query.caseSensitive ? " with this case" : ""}.
        {patternCount(query) > 1 && ` ${patternTypeSentence[query.patternType]}`}
      </p>
      {alert?.description !== undefined && proposed.length === 0 && <p class="alert-text">{alert.description}</p>}
      {proposed.length > 0 && (
        <>
          <p class="alert-text">{alert?.description}</p>
          <ul class="offers panel" aria-label="Similar queries">
            {proposed.map(({ query: text, description }) => (
              <Offer key={text} query={queryOfText(text)} description={description ?? text} />
            ))}
          </ul>
        </>
      )}
      {elsewhere.length > 0 && (
        <ul class="offers panel" aria-label="Elsewhere">
          {elsewhere.map(([what, other]) => (
            <Offer key={what} query={other} description={what} />
          ))}
        </ul>
      )}
    </State>
  );
}

/** A link to another query; the description may end with the number of its results. */
function Offer({ query, description }: { readonly query: QueryState; readonly description: string }) {
  const [, what = description, amount = ""] = /^(.*): (\d[^:]*)$/.exec(description) ?? [];
  return (
    <li class="offer">
      <a href={addressOfQuery(query)}>{`${what.charAt(0).toUpperCase()}${what.slice(1)}`}</a>
      {amount !== "" && <strong>{amount}</strong>}
      <code class="offer-query soft small">{query.text}</code>
    </li>
  );
}

function patternCount({ text, patternType }: QueryState): number {
  return scan(text, patternType, false).filter(({ kind }) => kind === "pattern").length;
}

const patternTypeSentence = {
  keyword: "Each word has to be in the file.",
  standard: "The words were searched for as one text.",
  regexp: "It was searched for as a regular expression.",
  literal: "It was searched for as one text, as it is.",
} as const;

/** What was not searched: other branches, commits and their changes. */
function otherPlaces(query: QueryState): readonly (readonly [what: string, query: QueryState])[] {
  const tokens = scan(query.text, query.patternType, false);
  const has = (...names: readonly string[]): boolean =>
    tokens.some((token) => token.kind === "field" && names.includes(token.name));
  const add = (expression: string): QueryState => addExpression(query, expression);
  const isAtRevision = tokens.some(
    (token) => token.kind === "field" && token.name === "repo" && token.value.includes("@"),
  );
  return [
    ...(has("rev", "type") || isAtRevision ? [] : [["in all branches", add("rev:*refs/heads/*")] as const]),
    ...(has("type", "lang", "select") || !tokens.some(({ kind }) => kind === "pattern")
      ? []
      : ([
          ["in messages of commits", add("type:commit")],
          ["in changed lines", add("type:diff")],
        ] as const)),
  ];
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The query with the erroneous part underlined. The place counts bytes of UTF-8. */
function QueryPlace({ text, place }: { readonly text: string; readonly place: Place }) {
  const { from, to } = placeOfBytes(text, place.from, place.to);
  return (
    <code class="query-place">
      {text.slice(0, from)}
      <u>{to > from ? text.slice(from, to) : "\u00a0"}</u>
      {text.slice(to)}
    </code>
  );
}
