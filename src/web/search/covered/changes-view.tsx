import { useLayoutEffect, useMemo } from "preact/hooks";
import type { MatchChange } from "../../../model/match-change.js";
import { pageUrl } from "../../../model/page-path.js";
import type { QueryState } from "../../query/query-state.js";
import { formatCount, formatTime } from "../../ui/numbers.js";
import { ErrorText, Notice } from "../../ui/states.js";
import { changeParts, countsText } from "./receipt-texts.js";
import { signal } from "@preact/signals";
import { type Alert, alertText, type Progress, type Receipt, type StreamError } from "../../../model/stream-events.js";
import { ApiError } from "../../api/api-error.js";
import { readEvents } from "../../api/event-stream.js";
import { serverTimeMs } from "../../route/viewer.js";
import { queryParameters } from "../search-run.js";
import { type KeptReceipt, keptReceipt } from "./receipts.js";

interface ChangesProps {
  readonly query: QueryState;
  /** The id of a receipt. */
  readonly since: string;
  readonly isWatch: boolean;
}

/** The matches that came, went or moved, as they become known. */
export function ChangesView({ query, since, isWatch }: ChangesProps) {
  const run = useMemo(() => new ChangeRun(query, since, isWatch), [query, since, isWatch]);
  useLayoutEffect(() => () => run.close(), [run]);
  const { state, counts, changes, comparedMs, alert, error } = run;
  const count = counts.value.came + counts.value.went + counts.value.moved;
  useLayoutEffect(() => {
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

/** Longer lines are cut. */
const lineBytesMax = 500;

/** Changes that are shown; older ones are only counted. */
const changesMax = 1_000;

const forgotten =
  "The server keeps only the latest states that were searched, and this browser has not kept this one either.";

type ChangeState = "reading" | "watching" | "done" | "failed";

/** What changes in the results of a query: since a receipt, and then for as long as it is watched. */
class ChangeRun {
  readonly state = signal<ChangeState>("reading");
  /** The newest first if they are watched, as there is no end to scroll to. */
  readonly changes = signal<readonly MatchChange[]>([]);
  readonly counts = signal({ came: 0, went: 0, moved: 0 });
  /** By the clock of the server; undefined before anything was compared. */
  readonly comparedMs = signal<number | undefined>(undefined);
  /** What could not be compared. */
  readonly alert = signal<string | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly #query: QueryState;
  readonly #isWatch: boolean;
  readonly #stop = new AbortController();
  #base: KeptReceipt | Receipt | string;

  /** `since` is the id of a receipt. It runs until `close`. */
  constructor(query: QueryState, since: string, isWatch: boolean) {
    this.#query = query;
    this.#isWatch = isWatch;
    this.#base = keptReceipt(since) ?? since;
    void this.#run();
  }

  /** Idempotent. */
  close(): void {
    this.#stop.abort();
  }

  /** Goes on after a failure with what changed meanwhile. */
  retry(): void {
    this.error.value = undefined;
    this.state.value = "reading";
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      // A stream of changes ends after a quarter of an hour, and the next one goes on with its last receipt.
      do await this.#readOnce();
      while (this.#isWatch);
      this.state.value = "done";
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.error.value = error;
      this.state.value = "failed";
    }
  }

  async #readOnce(): Promise<void> {
    const parameters = queryParameters(this.#query);
    parameters.set("max-line-len", String(lineBytesMax));
    if (this.#isWatch) parameters.set("watch", "1");
    const base = this.#base;
    if (typeof base === "string") parameters.set("since", base);
    const path = `${typeof base === "string" ? "/search/stream" : "/.api/search/changes"}?${parameters}`;
    const body = typeof base === "string" ? undefined : JSON.stringify({ repositories: base.repositories });
    let isComplete = false;
    let isCompared = false;
    let refusal: string | undefined;
    const take = (name: string, data: string): undefined => {
      if (name === "changes") this.#add(JSON.parse(data) as MatchChange[]);
      else if (name === "progress") isCompared = this.#progress(JSON.parse(data) as Progress);
      else if (name === "error") refusal = (JSON.parse(data) as StreamError).message;
      else if (name === "alert") this.alert.value = alertText(JSON.parse(data) as Alert);
      else if (name === "done") isComplete = true;
    };
    await readEvents(path, this.#stop.signal, take, body);
    if (refusal !== undefined)
      throw new ApiError(200, /^since: there is no receipt/.test(refusal) ? forgotten : refusal);
    if (!isComplete || !isCompared) throw new ApiError(0, "The connection to the server broke off.");
  }

  #add(added: readonly MatchChange[]): void {
    const counts = { ...this.counts.peek() };
    for (const { change } of added) counts[change]++;
    this.counts.value = counts;
    const known = this.changes.peek();
    this.changes.value = (this.#isWatch ? [...added, ...known] : [...known, ...added]).slice(0, changesMax);
  }

  /** Whether the progress is of a comparison. */
  #progress({ receipt, changes }: Progress): boolean {
    if (receipt !== undefined) this.#base = receipt;
    if (changes === undefined) return false;
    this.comparedMs.value = serverTimeMs();
    if (this.#isWatch) this.state.value = "watching";
    return true;
  }
}
