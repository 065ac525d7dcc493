import { signal } from "@preact/signals";
import type { MatchChange } from "../../../model/match-change.js";
import { type Alert, type Progress, type Receipt, type StreamError, alertText } from "../../../model/stream-events.js";
import { ApiError } from "../../api/api-error.js";
import { readEvents } from "../../api/event-stream.js";
import type { QueryState } from "../../query/query-state.js";
import { serverTimeMs } from "../../route/viewer.js";
import { queryParameters } from "../search-run.js";
import { type KeptReceipt, keptReceipt } from "./kept-receipts.js";

/** Longer lines are cut. */
const lineBytesMax = 500;

/** Changes that are shown; older ones are only counted. */
export const changesMax = 1_000;

const forgotten =
  "The server keeps only the latest states that were searched, and this browser has not kept this one either.";

export type ChangeState = "reading" | "watching" | "done" | "failed";

/** What changes in the results of a query: since a receipt, and then for as long as it is watched. */
export class ChangeRun {
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
