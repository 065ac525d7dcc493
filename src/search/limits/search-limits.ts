import { lineBytesUnlimited, type SearchRequest } from "../../model/search-request.js";
import type { GroupKind } from "../../model/result-groups.js";
import type { Quota } from "../../model/client.js";
import type { ResultOptions, SearchPlan } from "../../query/plan/plan.js";
import { countAll } from "../../query/syntax/parse.js";
import {
  type ControlBlock,
  makeResultLimits,
  type ResultLimits,
  type SearchCost,
} from "../../protocol/control-block.js";
import type { RepositorySelection, SearchOptions } from "../../protocol/search-options.js";
import type { Lane } from "../../protocol/messages.js";
import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { BoundedMap } from "../../base/bounded-map.js";

/** Longer lines are sent in parts of this size around their matches, so that no event exceeds 10 MiB, however its bytes are escaped. */
const lineTextBytesMax = 1_500_000;

/** A search with a higher limit counts as exhaustive, and yields to interactive searches. */
const interactiveCountMax = 100_000;

/** More than is ever found, and a number up to which all are exact. */
export const countUnlimited = Number.MAX_SAFE_INTEGER;

/**
 * Bytes of results that a search may have produced without its client having read them. With at most one more batch per
 * worker, and buffers at most twice as large as their contents, a stream that nobody reads stays below 2 MiB on two
 * cores.
 */
export const creditBytes = 512 * 1024;

/** A worker without credit waits this long for it, and longer if no other slice waits. */
export const creditWaitMs = 5;

/** The limits of the daemon. */
export interface LimitDefaults {
  readonly defaultCount: number;
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
}

/** How many results a search may have, and how long it may take. */
export interface SearchLimits {
  readonly matchCountMax: number;
  readonly displayCountMax: number;
  /** True if a larger count would apply to all basic queries. */
  readonly isSuggestible: boolean;
  /** Undefined if the same options apply to all results. */
  readonly resultLimits: ResultLimits | undefined;
  /** By result options of the plan; the search ends after the longest. */
  readonly timeoutsMs: readonly number[];
  readonly lane: Lane;
}

/** Whether what one source finds leaves less to the others. */
export function isShared({ matchCountMax, displayCountMax, resultLimits }: SearchLimits): boolean {
  const isLimited = (max: number): boolean => max > 0 && max !== countUnlimited;
  return (
    isLimited(matchCountMax) ||
    isLimited(displayCountMax) ||
    resultLimits?.countMax.some((max) => max !== undefined) === true
  );
}

export function searchLimits(
  plan: SearchPlan,
  request: Pick<SearchRequest, "defaultCount" | "display" | "groups" | "scope" | "since">,
  environment: LimitDefaults,
): SearchLimits {
  const { scope, since, groups } = request;
  if (scope !== undefined) return unlimited(plan, scope.timeoutMs);
  // Matches that a limit cuts would seem to have come or gone.
  if (since !== undefined) return unlimited(plan, environment.maxTimeoutMs);
  // What is only counted is counted as if the query said so.
  const countIn = ({ count }: ResultOptions) => count ?? (groups && countAll);
  const counts = plan.resultOptions.map((options) => {
    const wanted = countIn(options) ?? request.defaultCount ?? environment.defaultCount;
    return wanted === countAll ? countUnlimited : wanted;
  });
  const matchCountMax = Math.max(...counts);
  return {
    matchCountMax,
    displayCountMax: groups === undefined ? Math.min(request.display ?? matchCountMax, matchCountMax) : 0,
    isSuggestible: counts.every((count) => count === matchCountMax),
    // Result options shared by several basic queries have the same limit as the whole search, which enforces it.
    resultLimits:
      counts.length === 1
        ? undefined
        : makeResultLimits(counts.map((count) => (count < matchCountMax ? count : undefined))),
    timeoutsMs: plan.resultOptions.map((options) =>
      Math.min(
        options.timeoutMs ?? (countIn(options) === undefined ? environment.defaultTimeoutMs : environment.maxTimeoutMs),
        environment.maxTimeoutMs,
      ),
    ),
    lane: matchCountMax > interactiveCountMax ? "exhaustive" : "interactive",
  };
}

function unlimited({ resultOptions }: SearchPlan, timeoutMs: number): SearchLimits {
  return {
    matchCountMax: countUnlimited,
    displayCountMax: countUnlimited,
    isSuggestible: false,
    resultLimits: resultOptions.length === 1 ? undefined : makeResultLimits(resultOptions.map(() => undefined)),
    timeoutsMs: resultOptions.map(() => timeoutMs),
    lane: "exhaustive",
  };
}

/** How many more results may count. */
export function matchesLeft({ matchCountMax }: SearchLimits, control: ControlBlock): number {
  return matchCountMax - Math.max(0, Math.min(control.matchCount, matchCountMax) - control.duplicateCount);
}

/** Options that differ between the sources of a search. */
type SourceOptions = Pick<SearchOptions, "claims" | "idBase" | "marks" | "batchBytesMax" | "tellsContents">;

/** The options for workers, when people and commits of the search are not known yet. */
export function searchOptions(
  plan: SearchPlan,
  request: SearchRequest,
  limits: SearchLimits,
  selections: readonly RepositorySelection[],
  { claims, idBase, marks, batchBytesMax, tellsContents }: SourceOptions,
): SearchOptions {
  const clientBytesMax = request.chunkMatches ? request.lineBytesMax : lineBytesUnlimited;
  return {
    plan,
    chunkMatches: request.chunkMatches,
    contextLines: request.contextLines,
    lineBytesMax: Math.min(clientBytesMax, lineTextBytesMax),
    cutsAround: request.cutsAround === true || clientBytesMax >= lineTextBytesMax,
    matchCountMax: limits.matchCountMax,
    displayCountMax: limits.displayCountMax,
    resultLimits: limits.resultLimits,
    people: undefined,
    selections,
    useIndex: plan.basicQueries.every(({ repositories }) => repositories.index !== "no"),
    receipt: request.receipt !== "none",
    claims,
    group: workerGroup(request.groups?.by),
    commitSets: undefined,
    idBase,
    marks,
    batchBytesMax,
    tellsContents,
  };
}

/** The others are counted anyway, for the filters. */
function workerGroup(by: GroupKind | undefined): SearchOptions["group"] {
  return by === "path" || by === "capture" ? by : undefined;
}

/** Values of `select:` that leave documents as results. */
const rankedSelects: ReadonlySet<string | undefined> = new Set([undefined, "content", "file", "file.path"]);

/**
 * Whether the first results of a search are ranked: somebody waits for the best of them. An exhaustive search is not,
 * because its client wants all, as fast as possible; nor is one for symbols together with texts, for the patterns of a set,
 * or for what documents belong to.
 */
export function isRanked(plan: SearchPlan, { lane, resultLimits, displayCountMax }: SearchLimits): boolean {
  if (lane !== "interactive" || resultLimits !== undefined || displayCountMax === 0) return false;
  const texts = plan.basicQueries.flatMap(({ text }) => text ?? []);
  const selects = plan.resultOptions.map(({ select }) => select);
  if (texts.some(({ symbols }) => symbols !== undefined))
    return texts.every(({ symbols }) => symbols !== undefined) && selects.every(leavesSymbols);
  return (
    selects.every((select) => rankedSelects.has(select)) &&
    texts.every(({ leaves }) => leaves.every(({ set }) => set === undefined))
  );
}

function leavesSymbols(select: string | undefined): boolean {
  return select === undefined || select.startsWith("symbol");
}

/** Called when the time of the search, or of some basic queries in it, is over. */
export interface ClockOwner {
  readonly onExpired: () => void;
  /** Called for an element of the plan's `resultOptions` whose timeout is shorter than the longest. */
  readonly onOptionsExpired: (optionsIndex: number) => void;
}

/** The timeouts of one search, by result options. They exclude the time in which the search waits for the client. */
export class SearchClocks {
  readonly #clocks: readonly SearchClock[];

  constructor(timeoutsMs: readonly number[], { onExpired, onOptionsExpired }: ClockOwner) {
    const longestMs = Math.max(...timeoutsMs);
    this.#clocks = [
      new SearchClock(longestMs, onExpired),
      ...timeoutsMs.flatMap((timeoutMs, optionsIndex) =>
        timeoutMs < longestMs ? [new SearchClock(timeoutMs, () => onOptionsExpired(optionsIndex))] : [],
      ),
    ];
  }

  pause(): void {
    for (const clock of this.#clocks) clock.pause();
  }

  resume(): void {
    for (const clock of this.#clocks) clock.resume();
  }

  /** Nothing expires any more. */
  stop(): void {
    for (const clock of this.#clocks) clock.stop();
  }
}

/** Calls back after the given time of searching, which excludes the time in which the search waits for the client. */
class SearchClock {
  #leftMs: number;
  #sinceMs = performance.now();
  #pending: PendingCall | undefined;
  readonly #onExpired: () => void;

  constructor(timeoutMs: number, onExpired: () => void) {
    this.#leftMs = timeoutMs;
    this.#onExpired = onExpired;
    this.#pending = callAfter(timeoutMs, onExpired);
  }

  pause(): void {
    if (this.#pending === undefined) return;
    this.#pending.cancel();
    this.#pending = undefined;
    this.#leftMs -= performance.now() - this.#sinceMs;
  }

  resume(): void {
    if (this.#pending !== undefined) return;
    this.#sinceMs = performance.now();
    this.#pending = callAfter(Math.max(0, this.#leftMs), this.#onExpired);
  }

  stop(): void {
    this.#pending?.cancel();
    this.#leftMs = Number.POSITIVE_INFINITY;
  }
}

/** What the searches of one client may cost within any window; 0 for no limit. */
export interface CostLimits {
  readonly scannedBytes: number;
  readonly workerMs: number;
  readonly windowMs: number;
}

/** Why a search is not admitted, or is ended. */
export interface BudgetRefusal {
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** Parts of a window: costs are forgotten one part after another. */
const partCount = 60;

/** Clients whose costs are remembered, those with the latest searches. */
const clientsMax = 100_000;

interface Part extends SearchCost {
  /** Number of the part, counted from the start of the clock. */
  readonly number: number;
}

/** Sums of what the searches of each client have cost within a sliding window. */
export class CostBudgets {
  readonly #limits: CostLimits;
  readonly #nowMs: () => number;
  /** The parts of each client that are not over yet, oldest first. */
  readonly #parts = new BoundedMap<string, Part[]>(clientsMax, () => 1);

  constructor(limits: CostLimits, nowMs: () => number = monotonicMs) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** The clients whose costs are known. */
  get size(): number {
    return this.#parts.size;
  }

  /** Whether anything is limited. */
  get isOn(): boolean {
    return this.#limits.scannedBytes + this.#limits.workerMs > 0;
  }

  charge(client: string, { scannedBytes, workerMs }: SearchCost): void {
    if (!this.isOn || scannedBytes + workerMs === 0) return;
    const parts = this.#current(client);
    const number = this.#number;
    const last = parts.at(-1);
    if (last?.number !== number) parts.push({ number, scannedBytes, workerMs });
    else
      parts[parts.length - 1] = {
        number,
        scannedBytes: last.scannedBytes + scannedBytes,
        workerMs: last.workerMs + workerMs,
      };
    this.#parts.set(client, parts);
  }

  /** Undefined if the client has some of its budget left. */
  refusal(client: string): BudgetRefusal | undefined {
    if (!this.isOn) return undefined;
    const parts = this.#current(client);
    let over = this.#exceeded(parts);
    if (over === undefined) return undefined;
    const message = over;
    let freed = 0;
    while (over !== undefined && freed < parts.length) over = this.#exceeded(parts.slice(++freed));
    const freeAtMs = (parts[freed - 1].number + 1) * this.#partMs + this.#limits.windowMs;
    return { message, retryAfterSeconds: Math.max(1, Math.ceil((freeAtMs - this.#nowMs()) / 1000)) };
  }

  /** What the client has left. */
  quotas(client: string): readonly Quota[] {
    if (!this.isOn) return [];
    const parts = this.#current(client);
    const { scannedBytes, workerMs, windowMs } = this.#limits;
    const windowSeconds = Math.max(1, Math.round(windowMs / 1000));
    // The oldest costs are forgotten first; without costs, those of the next search are after a window.
    const freeAtMs = parts.length === 0 ? undefined : (parts[0].number + 1) * this.#partMs + windowMs;
    const resetSeconds =
      this.refusal(client)?.retryAfterSeconds ??
      (freeAtMs === undefined ? windowSeconds : Math.max(1, Math.ceil((freeAtMs - this.#nowMs()) / 1000)));
    const quota = (name: string, unit: Quota["unit"], countMax: number, spent: number): readonly Quota[] =>
      countMax > 0
        ? [{ name, unit, countMax, left: Math.max(0, countMax - Math.ceil(spent)), windowSeconds, resetSeconds }]
        : [];
    return [
      ...quota("scanned", "content-bytes", scannedBytes, sum(parts, "scannedBytes")),
      ...quota("worker-time", "trawl-worker-milliseconds", workerMs, sum(parts, "workerMs")),
    ];
  }

  #exceeded(parts: readonly Part[]): string | undefined {
    const { scannedBytes, workerMs, windowMs } = this.#limits;
    const within = `of the last ${Math.round(windowMs / 1000)} seconds`;
    const bytes = sum(parts, "scannedBytes");
    if (scannedBytes > 0 && bytes >= scannedBytes)
      return `Your searches ${within} have scanned the ${scannedBytes} bytes that they may (search.budgetScannedBytes).`;
    const spentMs = sum(parts, "workerMs");
    if (workerMs > 0 && spentMs >= workerMs)
      return `Your searches ${within} have taken the ${workerMs / 1000} seconds of worker time that they may (search.budgetWorkerSeconds).`;
    return undefined;
  }

  /** Without the parts that are over. */
  #current(client: string): Part[] {
    const oldest = this.#number - partCount;
    return (this.#parts.get(client) ?? []).filter(({ number }) => number >= oldest);
  }

  get #number(): number {
    return Math.floor(this.#nowMs() / this.#partMs);
  }

  get #partMs(): number {
    return this.#limits.windowMs / partCount;
  }
}

function sum(parts: readonly Part[], cost: keyof SearchCost): number {
  return parts.reduce((total, part) => total + part[cost], 0);
}

/** Interval at which a running search is charged. */
const chargeMs = 100;

/** Charges one search to the budget of its client while it runs. */
export class CostWatch {
  readonly #control: ControlBlock;
  readonly #budgets: CostBudgets;
  readonly #client: string;
  readonly #timer: PendingCall;
  #charged = { scannedBytes: 0, workerMs: 0 };

  /** `onExceeded` is called with a message for the user when the budget is used up. */
  constructor(control: ControlBlock, budgets: CostBudgets, client: string, onExceeded: (message: string) => void) {
    this.#control = control;
    this.#budgets = budgets;
    this.#client = client;
    this.#timer = callEvery(chargeMs, () => {
      this.#charge();
      const refusal = budgets.refusal(client);
      if (refusal !== undefined) onExceeded(refusal.message);
    });
  }

  /** Charges the rest. */
  end(): void {
    this.#timer.cancel();
    this.#charge();
  }

  #charge(): void {
    const { cost } = this.#control;
    this.#budgets.charge(this.#client, {
      scannedBytes: cost.scannedBytes - this.#charged.scannedBytes,
      workerMs: cost.workerMs - this.#charged.workerMs,
    });
    this.#charged = { ...cost };
  }
}
