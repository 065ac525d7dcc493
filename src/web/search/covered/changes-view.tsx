import { useEffect, useMemo } from "preact/hooks";
import type { MatchChange } from "../../../model/match-change.js";
import { pageUrl } from "../../../model/page-path.js";
import type { QueryState } from "../../query/query-state.js";
import { formatCount, formatTime } from "../../ui/numbers.js";
import { ErrorText, Notice } from "../../ui/states.js";
import { ChangeRun, changesMax } from "./change-run.js";
import { changeParts, countsText } from "./change-texts.js";

interface ChangesProps {
  readonly query: QueryState;
  /** The id of a receipt. */
  readonly since: string;
  readonly isWatch: boolean;
}

/** The matches that came, went or moved, as they become known. */
export function ChangesView({ query, since, isWatch }: ChangesProps) {
  const run = useMemo(() => new ChangeRun(query, since, isWatch), [query, since, isWatch]);
  useEffect(() => () => run.close(), [run]);
  const { state, counts, changes, comparedMs, alert, error } = run;
  const count = counts.value.came + counts.value.went + counts.value.moved;
  useEffect(() => {
    if (!isWatch || count === 0) return undefined;
    const { title } = document;
    document.title = `(${count}) ${title}`;
    return () => {
      document.title = title;
    };
  }, [isWatch, count]);
  const time = comparedMs.value === undefined ? "" : formatTime(new Date(comparedMs.value).toISOString());
  return (
    <>
      <p role="status">
        {state.value === "reading" && "Comparing…"}
        {state.value === "done" && (count === 0 ? "Nothing changed in the results." : countsText(counts.value))}
        {state.value === "watching" &&
          `${count === 0 ? "No changes yet" : countsText(counts.value)}, compared at ${time}. New commits are compared as they are indexed.`}
      </p>
      {alert.value !== undefined && (
        <Notice kind="warn">
          <span>{alert.value}</span>
        </Notice>
      )}
      {error.value !== undefined && (
        <Notice kind="bad">
          <span>
            <strong>{isWatch ? "The search is not watched any more." : "The states could not be compared."}</strong>{" "}
            <ErrorText error={error.value} />
          </span>
          <button type="button" class="button" onClick={() => run.retry()}>
            {isWatch ? "Watch again" : "Try again"}
          </button>
        </Notice>
      )}
      {changes.value.length > 0 && (
        <ol class="changes" aria-label="Changed matches">
          {changes.value.map((change, at) => (
            <li key={isWatch ? count - at : at}>
              <ChangeRow change={change} />
            </li>
          ))}
        </ol>
      )}
      {count > changesMax && <p class="soft small">{formatCount(count - changesMax)} more are only counted.</p>}
    </>
  );
}

const signs = { came: "+", went: "−", moved: "→" } as const;

function ChangeRow({ change }: { readonly change: MatchChange }) {
  const { repository, commit, path, lineNumber, from } = change;
  const line = lineNumber === undefined ? "" : `?L${lineNumber + 1}`;
  return (
    <>
      <span class={`change-sign ${change.change}`} aria-hidden="true">
        {signs[change.change]}
      </span>
      <span class="unseen">{change.change}: </span>
      <span class="change-place">
        <a href={`${pageUrl({ name: repository, revision: commit }, "blob", path)}${line}`}>
          {repository} › {path}
          {lineNumber !== undefined && `:${lineNumber + 1}`}
        </a>
        {from !== undefined && (
          <span class="soft">
            {" "}
            from {from.path === path ? "line " : `${from.path}:`}
            {(from.lineNumber ?? 0) + 1}
          </span>
        )}
      </span>
      <code>{changeParts(change).map(({ text, isMatch }, at) => (isMatch ? <mark key={at}>{text}</mark> : text))}</code>
    </>
  );
}
