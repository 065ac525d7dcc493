import { errorMessage, TrawlError } from "../../base/errors.js";
import { type BaseRevisions, type ChangeSummary, summaryNamesMax } from "../../model/match-change.js";
import {
  BaseListener,
  type ChangeListener,
  type JsonElements,
  type Outlet,
  releaseAll,
  type SearchListener,
  takeArray,
} from "../../model/search-listener.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Alert, Progress, Receipt } from "../../model/stream-events.js";
import type { ReadPool } from "../../pool/read-pool.js";
import type { ComparedMatches } from "../../protocol/read-messages.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchReceipt } from "../report/search-receipt.js";
import type { SearchEnd } from "../report/search-report.js";
import type { SearchChanges } from "../source/found-changes.js";

/** More bytes are not sent while the client has not read these. */
const pendingBytesMax = 256 * 1024;

/** A search for changes. */
export type ChangeRequest = SearchRequest & { readonly since: BaseRevisions };

export interface ChangeServices {
  readonly run: (request: SearchRequest, listener: SearchListener, onEnd: (end: SearchEnd) => void) => void;
  readonly reads: Pick<ReadPool, "run">;
  readonly timeoutMs: number;
  /** Nobody will ask for this receipt. */
  readonly forget: (receipt: SearchReceipt) => void;
}

/** Values of `select:` whose results are lines, symbols or paths. */
const comparableSelects: ReadonlySet<string | undefined> = new Set([
  undefined,
  "content",
  "file",
  "file.path",
  "symbol",
]);

/** Throws `bad-request` if the results of the plan cannot be compared by the documents that differ. */
export function requireComparable(plan: SearchPlan): void {
  const refuse = (what: string, instead: string): never => {
    throw new TrawlError("bad-request", `since: changes of ${what} cannot be searched for; ${instead}`);
  };
  for (const { text, history, repositories } of plan.basicQueries) {
    if (history.length > 0)
      refuse("commits and diffs", "search for those that are new with rev:, as in repo:NAME@BRANCH:^COMMIT");
    if (text !== undefined && text.people.length > 0)
      refuse("files by owner or contributor", "remove file:has.owner and file:has.contributor from the query");
    if (repositories.conditions.length + repositories.committedAfter.length > 0)
      refuse("repositories by content or date", "remove repo:has.file, repo:has.content and repo:has.commit.after");
  }
  if (plan.resultOptions.some(({ select }) => !comparableSelects.has(select) && !select?.startsWith("symbol.")))
    refuse("what results belong to", "use select:content, select:file or select:symbol, or no select:");
}

/** What changes of results are about: places in files, or commits. */
export type WatchedKind = "files" | "commits";

/**
 * Of what the results of the plan are, for a search that is repeated to tell what is new. Throws `bad-request` if the new ones cannot
 * be told from the others.
 */
export function watchedKind(plan: SearchPlan): WatchedKind {
  const areHistories = plan.basicQueries.map(({ history }) => history.length > 0);
  if (!areHistories.includes(true)) {
    requireComparable(plan);
    return "files";
  }
  const hasOthers = plan.basicQueries.some(({ text, repositoryNames }) => (text ?? repositoryNames) !== undefined);
  if (hasOthers || areHistories.includes(false))
    throw new TrawlError("bad-request", "commits and files cannot be watched together: save two searches");
  if (plan.resultOptions.some(({ select = "commit" }) => !/^commit(?:\.|$)/.test(select)))
    throw new TrawlError("bad-request", "new commits are told as commits: remove select: from the query");
  return "commits";
}

/** The outcome for the caller; the client has had all events but `done`. */
export interface ChangeOutcome {
  /** What was compared; undefined if the search failed, or the client has left. */
  readonly changes: SearchChanges | undefined;
  /** The progress that was sent last; undefined if none was. */
  readonly sent?: Progress;
  /** The receipt of that progress. */
  readonly receipt?: SearchReceipt | undefined;
}

/**
 * Which progress event follows the changes: the last of the stream, the first of a stream that waits for more, or one
 * of its others, which is sent only if something changed. That includes that some source could not tell, for a client that has heard of
 * all of them, and that all have told, for one that has not (`changes-of-all`).
 */
export type ChangeProgress = "last" | "first" | "changes" | "changes-of-all";

/**
 * Passes on the matches that came, went or moved, then the progress with their numbers and the receipt of the newer
 * state, then an alert or error.
 *
 * The matches are compared by a read worker: the main thread does not look into them.
 */
export async function sendChanges(
  request: ChangeRequest,
  sink: ChangeListener,
  services: ChangeServices,
  progressKind: ChangeProgress,
): Promise<ChangeOutcome> {
  const collector = new ChangeCollector(sink);
  let end: SearchEnd | undefined;
  services.run(plainRequest(request), collector, (given) => {
    end = given;
  });
  await collector.ended;
  if (sink.closed) return { changes: undefined };
  if (collector.isFull)
    return fail(sink, "the changes are too many to be compared: choose fewer repositories or paths");
  const changes = end?.changes;
  if (end === undefined || changes === undefined) {
    collector.sendLast();
    return { changes: undefined };
  }
  if (!hasNews(changes, progressKind) && !collector.hasFailed) {
    if (end.receipt !== undefined) services.forget(end.receipt);
    return { changes };
  }
  const compared = await compare(collector, changes, request, services, sink).catch((error: unknown) => error);
  if (sink.closed) return { changes: undefined };
  if (compared instanceof Error) return fail(sink, errorMessage(compared));
  const { pieces, ...counts } = compared as ComparedMatches;
  for (const piece of pieces) {
    await untilRead(sink);
    sink.changes([piece]);
  }
  const matchCount = counts.came + counts.went + counts.moved;
  const ended = changes.progress();
  const progress: Progress = {
    ...ended,
    done: progressKind === "last",
    matchCount,
    receipt: newReceipt(end, ended.receipt),
    changes: { ...counts, ...summary(changes) },
  };
  sink.progress(progress);
  collector.sendLast();
  return { changes: collector.hasFailed ? undefined : changes, sent: progress, receipt: end.receipt };
}

function hasNews({ changes, repositoriesGone, isPartial }: SearchChanges, progressKind: ChangeProgress): boolean {
  if (progressKind === "last" || progressKind === "first") return true;
  return changes.length + repositoriesGone.length > 0 || isPartial === (progressKind === "changes");
}

/** Lines are what is compared. */
function plainRequest(request: ChangeRequest): ChangeRequest {
  const receipt = request.receipt === "strict" ? "strict" : "report";
  return { ...request, chunkMatches: false, contextLines: 0, display: undefined, debug: false, receipt };
}

function fail(sink: ChangeListener, message: string): ChangeOutcome {
  sink.error(message);
  return { changes: undefined };
}

async function compare(
  { found: matches }: ChangeCollector,
  { changes, isPartial }: SearchChanges,
  { client }: ChangeRequest,
  { reads, timeoutMs }: ChangeServices,
  sink: Outlet,
): Promise<ComparedMatches> {
  if (matches.length === 0) return { pieces: [], came: 0, went: 0, moved: 0 };
  const stop = new Int32Array(new SharedArrayBuffer(4));
  sink.onClosed(() => Atomics.store(stop, 0, 1));
  const revisions = changes.map(({ repository: { name, id }, revision, side }) => ({
    side,
    repository: name,
    repositoryId: id,
    revision,
  }));
  return await reads.run<"compare-matches">(
    { kind: "compare-matches", matches, revisions, isPartial },
    { timeoutMs, stop, client },
  );
}

/** The receipt with more repositories than usual, so that it suffices as a base without its list being read. */
function newReceipt({ receipt }: SearchEnd, summary: Receipt | undefined): Receipt | undefined {
  return summary && receipt && { ...summary, repositories: receipt.repositories(0, summaryNamesMax) };
}

function summary({
  changes,
  repositoriesGone,
  basesGone,
}: SearchChanges): Omit<ChangeSummary, "came" | "went" | "moved"> {
  return {
    revisionsChanged: changes.length,
    repositoriesGone: repositoriesGone.slice(0, summaryNamesMax),
    basesGone: basesGone
      .slice(0, summaryNamesMax)
      .map(({ repository: { name }, revision, base = "" }) => ({ repository: name, revision, commit: base })),
  };
}

async function untilRead(sink: Outlet): Promise<void> {
  while (sink.pendingBytes > pendingBytesMax && !sink.closed)
    await new Promise<void>((resolve) => {
      sink.onDrain(resolve);
      sink.onClosed(resolve);
    });
}

/** Limit on the JSON of the matches that are compared, which are in memory. */
const matchBytesMax = 64 << 20;

/**
 * Collects the matches of a search for changes; its other events, except the last ones and filters, go to the client.
 */
class ChangeCollector extends BaseListener {
  readonly #client: ChangeListener;
  #matches: Uint8Array[] = [];
  #matchBytes = 0;
  #resolve: () => void = () => undefined;
  #alert: Alert | undefined;
  #error: string | undefined;
  /** Resolves when the search has ended, or its results are not wanted any more. */
  readonly ended = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  constructor(client: ChangeListener) {
    super();
    this.#client = client;
    client.onClosed(() => this.end());
  }

  /** Arrays of match objects. */
  get found(): readonly Uint8Array[] {
    return this.#matches;
  }

  /** True if there were more matches than can be compared. */
  get isFull(): boolean {
    return this.#matchBytes > matchBytesMax;
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  /** Gives the client what follows the last progress. */
  sendLast(): void {
    if (this.#alert !== undefined) this.#client.alert(this.#alert);
    if (this.#error !== undefined) this.#client.error(this.#error);
  }

  override matches(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    const joined = takeArray(parts);
    this.#matchBytes += joined.length;
    if (!this.isFull) this.#matches.push(joined);
    else {
      this.#matches = [];
      this.end();
    }
  }

  /** The last one is made from the end of the search. */
  override progress(progress: Progress): void {
    if (!this.closed && !progress.done && this.#client.pendingBytes === 0) this.#client.progress(progress);
  }

  override alert(alert: Alert): void {
    this.#alert = alert;
  }

  override error(message: string): void {
    this.#error = message;
  }

  override end(): void {
    this.close();
    this.#resolve();
  }
}
