import type { Alert, Skipped } from "../../model/stream-events.js";
import { addExpression } from "../query/add-expression.js";
import { addressOfQuery, type QueryState } from "../query/query-state.js";
import { address, navigate } from "../route/router.js";
import { ErrorText, Notice, State } from "../ui/states.js";
import type { SearchRun } from "./search-run.js";
import { placeOfBytes } from "../../query/syntax/characters.js";

/** Everything the server says about the results besides themselves: alerts, what was skipped, errors, or nothing. */
export function RunNotices({ run }: { readonly run: SearchRun }) {
  const { alert, progress, error, state, query, store, version } = run;
  const isEmpty = version.value === 0 || store.resultCount === 0;
  const isFinished = state.value === "done" || state.value === "stopped";
  return (
    <>
      {error.value !== undefined && <RunError error={error.value} isEmpty={isEmpty} />}
      {alert.value !== undefined && <AlertNotice alert={alert.value} query={query} />}
      <SkippedList skipped={progress.value?.skipped ?? []} query={query} />
      {isFinished && isEmpty && alert.value === undefined && error.value === undefined && (
        <NothingFound query={query} />
      )}
    </>
  );
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
      <ProposedQueries alert={alert} query={query} />
    </Notice>
  );
}

function ProposedQueries({ alert, query }: { readonly alert: Alert; readonly query: QueryState }) {
  const proposed = alert.proposedQueries ?? [];
  if (proposed.length === 0) return null;
  return (
    <ul class="proposed">
      {proposed.map(({ query: text, description }) => (
        <li key={text}>
          <a class="button" href={addressOfQuery({ ...query, text })}>
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

function NothingFound({ query }: { readonly query: QueryState }) {
  return (
    <State title="Nothing matches" level={2}>
      <p>
        No file, path or repository matches <code>{query.text}</code>
        {query.caseSensitive ? " with this case" : ""}.
      </p>
      <p>Fewer words or filters find more. Commits and changes are searched with type:commit and type:diff.</p>
    </State>
  );
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
