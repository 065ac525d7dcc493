import { textStart } from "../base/text.js";
import type { MatchChange } from "../model/match-change.js";
import { BaseListener, type JsonElements, parseElements, releaseAll } from "../model/search-listener.js";
import { type Alert, type Progress, type Receipt, type StreamMatch, alertText } from "../model/stream-events.js";
import type { SearchEnd } from "../search/report/search-report.js";
import {
  type ChangeCounts,
  contentLengthMax,
  messageLengthMax,
  type NewCommit,
  noChanges,
  payloadBytesMax,
  payloadMatchesMax,
  type StoredPayload,
} from "./payload.js";
import type { SearchPosition } from "./position-store.js";

/** Reported as pending after each event until the next turn of the event loop, so that parsing does not block it. */
const pausedBytes = 1 << 30;

/** Commits of which it is remembered that they were told. */
const toldMax = 256;

/** What a search for news found: the number of each repository, and the first ones, as many as fit into a payload. */
export abstract class Summary extends BaseListener {
  readonly counts = new Map<number, ChangeCounts>();
  /** Of the newer state; undefined if the search had no results to compare. */
  receipt: Receipt | undefined;
  /** Why the search failed, or what it could not find out; "" if there is nothing of that kind. */
  failure = "";
  #keptBytes = 0;
  #isPaused = false;

  /** The first ones. */
  abstract get found(): Pick<StoredPayload, "event" | "matches" | "commits">;

  /** What belongs to the position of the search from now on. */
  abstract get kept(): Pick<SearchPosition, "told">;

  override get pendingBytes(): number {
    return this.#isPaused ? pausedBytes : 0;
  }

  override progress({ receipt }: Progress): void {
    if (!this.closed) this.receipt = receipt ?? this.receipt;
  }

  /** An alert of a search that has no receipt is why it could not run. */
  override alert(alert: Alert): void {
    if (this.closed || this.failure !== "" || this.receipt !== undefined) return;
    this.failure = alertText(alert);
  }

  override error(message: string): void {
    if (!this.closed) this.failure = message;
  }

  protected count(repositoryId: number, kind: keyof ChangeCounts): void {
    const before = this.counts.get(repositoryId) ?? noChanges;
    this.counts.set(repositoryId, { ...before, [kind]: before[kind] + 1 });
  }

  /** Whether one more fits. A long one is left out: the link leads to it. */
  protected fits(one: unknown, count: number): boolean {
    if (count >= payloadMatchesMax) return false;
    const bytes = Buffer.byteLength(JSON.stringify(one));
    if (this.#keptBytes + bytes > payloadBytesMax) return false;
    this.#keptBytes += bytes;
    return true;
  }

  protected pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    setImmediate(() => {
      this.#isPaused = false;
      this.drained();
    });
  }
}

/** Of a search for changes in files. */
export class ChangeSummary extends Summary {
  readonly #came: MatchChange[] = [];
  readonly found = { event: "search.changes", matches: this.#came } as const;
  readonly kept = {};

  override changes(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    for (const change of parseElements<MatchChange>(parts)) {
      this.count(change.repositoryID, change.change);
      if (change.change === "came" && this.fits(change, this.#came.length)) this.#came.push(change);
    }
    this.pause();
  }
}

/** Of a search for commits that are new in the history of their branches. */
export class CommitSummary extends Summary {
  readonly #commits: NewCommit[] = [];
  readonly found = { event: "search.commits", matches: [], commits: this.#commits } as const;
  readonly #toldEarlier: readonly string[];
  readonly #toldBefore: ReadonlySet<string>;
  readonly #told: string[] = [];
  /** Whether it is not known which commits are new, so that the search has to be repeated. */
  isUnknown = false;
  /** Of the last result. */
  #last = "";

  /** `told` are the last ones that were told earlier. */
  constructor(told: readonly string[]) {
    super();
    this.#toldEarlier = told;
    this.#toldBefore = new Set(told);
  }

  get kept(): Pick<SearchPosition, "told"> {
    const told = [...this.#told, ...this.#toldEarlier].slice(0, toldMax);
    return told.length === 0 ? {} : { told };
  }

  override matches(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    for (const match of parseElements<StreamMatch>(parts)) this.#add(match);
    this.pause();
  }

  /** A commit is one result, though several types and branches may find it: then one directly after the other. */
  #add(match: StreamMatch): void {
    const { repositoryID = 0, oid = "" } = match;
    const key = toldKey(repositoryID, oid);
    if (this.#toldBefore.has(key)) return;
    if (key === this.#last) return this.#addDiff(toNewCommit(match));
    this.#last = key;
    if (this.#told.length < toldMax) this.#told.push(key);
    this.count(repositoryID, "came");
    const commit = toNewCommit(match);
    if (this.fits(commit, this.#commits.length)) this.#commits.push(commit);
  }

  /** The diff of a commit that was found by its message before. */
  #addDiff({ commit, diff }: NewCommit): void {
    const last = this.#commits.at(-1);
    if (last?.commit !== commit || last.diff !== undefined || diff === undefined) return;
    if (this.fits(diff, this.#commits.length - 1)) this.#commits.splice(-1, 1, { ...last, diff });
  }

  /**
   * Looks at how the search has ended. One that left out commits because something failed, or there was too little time, has to be
   * repeated. If the earlier commit of a branch does not exist any more, it is not known what is new there: nothing of it is told
   * but that.
   */
  judge({ outcome, receipt }: SearchEnd, base: ReadonlyMap<number, ReadonlyMap<string, string>>): void {
    const reasons = receipt?.reasons ?? [];
    if (outcome !== "complete" || reasons.some((reason) => failureReasons.has(reason))) {
      this.isUnknown = true;
      this.failure ||= receipt?.gaps ?? `the search ended early: ${outcome}`;
      return;
    }
    if (!reasons.includes("revision-missing")) return;
    const gone = new Set(receipt?.excluded(0, listedMax).items.map(({ detail = "" }) => detail));
    const lost = [...base].filter(([, commits]) => [...commits.values()].some((commit) => gone.has(`^${commit}`)));
    if (lost.length === 0) return;
    for (const [id] of lost) this.#drop(id);
    const what = lost.length === 1 ? "one repository" : `${lost.length} repositories`;
    this.failure = `the earlier commits of ${what} do not exist any more, so it is not known which are new: search again`;
  }

  #drop(repositoryId: number): void {
    this.counts.delete(repositoryId);
    const left = this.#commits.filter(({ repositoryID }) => repositoryID !== repositoryId);
    this.#commits.splice(0, this.#commits.length, ...left);
  }
}

/** Of what was left out, for which a search is repeated. */
const failureReasons: ReadonlySet<string> = new Set(["repository-excluded", "failure", "timeout", "budget"]);

/** Items of the list of what was left out. */
const listedMax = 10_000;

/** Enough of the id of a commit to tell it from others of the same repository. */
function toldKey(repositoryId: number, oid: string): string {
  return `${repositoryId}:${oid.slice(0, 16)}`;
}

function toNewCommit(match: StreamMatch): NewCommit {
  const { repository = "", repositoryID = 0, oid = "", authorName = "", authorDate = "" } = match;
  const { message = "", content = "", url = "" } = match;
  const isDiff = content.startsWith("```diff\n");
  return {
    repository,
    repositoryID,
    commit: oid,
    authorName,
    authorDate,
    message: textStart(message, messageLengthMax),
    ...(isDiff ? { diff: textStart(withoutFence(content), contentLengthMax) } : {}),
    url,
  };
}

/** Results are written as Markdown, in a fence that the first line opens. */
function withoutFence(content: string): string {
  const from = content.indexOf("\n") + 1;
  const to = content.lastIndexOf("\n");
  return content.slice(from, Math.max(from, to));
}
