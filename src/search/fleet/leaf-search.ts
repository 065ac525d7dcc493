import { deserialize } from "node:v8";
import { assert, unreachable } from "../../base/assert.js";
import { callAfter, callEvery, type PendingCall } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import { ControlBlock, endTaking, makeResultLimits, takeMatches, takenMatches } from "../../protocol/control-block.js";
import { creditOfBatch, markWords, sentBytesMax, SentMarks } from "../../protocol/result-batch.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import { creditWaitMs, type SearchLimits } from "../limits/search-limits.js";
import type { LateQueries, SearchSource, SourceListener, SourcedBatch, FoundResult } from "../source/search-source.js";
import type { ReceiptPart } from "../source/receipt-part.js";
import type { ChosenHere, LeafServices, PinnedRevision } from "../source/search-fleet.js";
import {
  type Asked,
  type CoordinatorMessage,
  cutNames,
  cutPart,
  cutReceipt,
  type LeafCounts,
  type LeafMessage,
  pinnedUnitsMax,
  readPins,
  toCoordinatorMessage,
  toLeafMessage,
  unitsOfPin,
  type WireReceipt,
  wireReceiptItemsMax,
  readMarks,
  requireAsked,
  splitTally,
  writeTally,
} from "./fleet-messages.js";
import { holdingsInSteps } from "./replica-check.js";

/** How often a leaf says how far it is. */
const stateMs = 200;

/** A coordinator that has opened a channel asks within this time. */
const askWaitMs = 10_000;

/** UTF-16 units of a reason that crosses. */
const reasonLengthMax = 1_000;

/** The services of a leaf. */
export interface LeafEnvironment {
  /** The node that asks. */
  readonly coordinator: string;
  readonly searcher: LeafServices;
  readonly workerCount: number;
  readonly log: Log;
}

/** Of the marks of all searches for other nodes. */
let sentBytes = 0;

interface Running {
  readonly source: SearchSource;
  readonly control: ControlBlock;
  readonly limits: SearchLimits;
}

/**
 * The search of this node's repositories for another one. It has the code, the control block and the credit of a search of
 * its own, and no root: what the source finds goes to the coordinator, and the coordinator's credit stands for the client.
 */
export class LeafSearch implements FrameReceiver, SourceListener {
  readonly #channel: () => FrameChannel;
  readonly #environment: LeafEnvironment;
  readonly #askWait: PendingCall;
  #asked: Asked | undefined;
  /** Whether no search is wanted, but what this node has. */
  #isComparing = false;
  #creditBytes = 0;
  /** Revisions of which another leaf has sent results. */
  readonly #pinned: PinnedRevision[] = [];
  #pinnedUnits = 0;
  #timeoutMs = 0;
  /** Marks of results that another leaf has sent. */
  #sent: { readonly marks: SentMarks; left: number } | undefined;
  #chosen: ChosenHere | undefined;
  #go: Extract<CoordinatorMessage, { kind: "go" }> | undefined;
  #stop: Extract<CoordinatorMessage, { kind: "stop" }> | undefined;
  #running: Running | undefined;
  #isOver = false;
  /** Bytes of results for which the coordinator has not returned credit. */
  #owedBytes = 0;
  #states: PendingCall | undefined;
  #sentState = "";
  #hasFailed = false;
  readonly #late = { all: false, options: new Set<number>() };
  readonly #stopped: Promise<undefined>;
  #resolveStopped: () => void = () => undefined;
  /** Found results that were counted here, as the coordinator counts them again. */
  readonly #found = { seen: new Set<string>(), matches: 0, displayed: 0, taken: [] as number[] };
  /** Called when the search has ended, and holds nothing any more. */
  onEnd: () => void = () => undefined;

  constructor(channel: () => FrameChannel, environment: LeafEnvironment) {
    this.#channel = channel;
    this.#environment = environment;
    this.#stopped = new Promise((resolve) => {
      this.#resolveStopped = () => resolve(undefined);
    });
    this.#askWait = callAfter(askWaitMs, () => this.#fail("it was not told what to search"));
  }

  /** A coordinator that returns credit without reading gets no more than one that does neither. */
  get unreadBytes(): number {
    return Math.max(this.#owedBytes, this.#channel().waitingBytes);
  }

  get pendingBytes(): number {
    return this.unreadBytes;
  }

  frame({ head, body }: Frame): void {
    const message = toCoordinatorMessage(head);
    switch (message.kind) {
      case "compare":
        assertTurn(this.#asked === undefined && !this.#isComparing, "compare");
        this.#isComparing = true;
        this.#askWait.cancel();
        return void this.#compare();
      case "ask":
        assertTurn(this.#asked === undefined && !this.#isComparing, "ask");
        this.#askWait.cancel();
        this.#creditBytes = message.creditBytes;
        this.#asked = requireAsked(deserialize(body));
        if (!this.#reserveSent(this.#asked.sentCount))
          return this.#fail("too many searches go on there behind those of other nodes already");
        this.#timeoutMs = message.timeoutMs;
        return this.#prepareIfTold(this.#asked);
      case "pins":
        return this.#addPins(body);
      case "sent":
        assertTurn(this.#isTold && this.#go === undefined, "sent");
        return this.#addSent(body);
      case "go":
        assertTurn(this.#isTold && this.#go === undefined && (this.#sent?.left ?? 0) === 0, "go");
        this.#go = message;
        return this.#begin();
      case "credit":
        assertTurn(this.#go !== undefined, "credit");
        this.#owedBytes = Math.max(0, this.#owedBytes - message.bytes);
        this.#running?.source.goOn();
        return;
      case "late":
        return this.#endOptions(message.options);
      case "stop":
        assertTurn(this.#asked !== undefined, "stop");
        // After the limit has been reached, the client may leave.
        if (this.#stop?.reason === "other") return;
        this.#stop = message;
        this.#late.all = message.late.all;
        for (const option of message.late.options) this.#late.options.add(option);
        return this.#running === undefined ? this.#begin() : this.#stopRunning(this.#running);
      default:
        unreachable(message);
    }
  }

  /** Whether all revisions to pin have come. */
  get #isTold(): boolean {
    return this.#pinned.length === this.#asked?.pinnedCount;
  }

  #addPins(body: Uint8Array): void {
    const [asked, pins] = [this.#asked, readPins(body)];
    assertTurn(asked !== undefined && !this.#isTold && pins.length > 0, "pins");
    this.#pinnedUnits += pins.reduce((sum, pin) => sum + unitsOfPin(pin), 0);
    if (this.#pinned.length + pins.length > asked.pinnedCount || this.#pinnedUnits > pinnedUnitsMax)
      throw new TrawlError("bad-request", "more pinned revisions than were announced, or longer ones");
    this.#pinned.push(...pins);
    this.#prepareIfTold(asked);
  }

  #prepareIfTold(asked: Asked): void {
    if (this.#isTold) void this.#prepare(asked, this.#timeoutMs);
  }

  /** False if the marks of all searches would take too much memory. */
  #reserveSent(count: number): boolean {
    if (count === 0) return true;
    const byteLength = SentMarks.byteLength(count);
    if (sentBytes + byteLength > sentBytesMax) return false;
    sentBytes += byteLength;
    this.#sent = { marks: SentMarks.allocate(count), left: count };
    return true;
  }

  #addSent(body: Uint8Array): void {
    const records = readMarks(body);
    const count = records.length / markWords;
    if (this.#sent === undefined || count > this.#sent.left)
      throw new TrawlError("bad-request", `${count} marks more than were announced`);
    this.#sent.left -= count;
    this.#sent.marks.add(records);
  }

  closed(): void {
    this.#askWait.cancel();
    this.#resolveStopped();
    if (this.#isOver) return;
    if (this.#running === undefined) return this.#end();
    const { control, source } = this.#running;
    control.cancel();
    source.drop();
    source.giveUp();
  }

  /** Ends the search for a reason of this node: a sentence about it. */
  refuse(reason: string): void {
    this.#fail(reason);
  }

  async #compare(): Promise<void> {
    try {
      const holdings = await resultWhileYielding(holdingsInSteps(this.#environment.searcher.repositories()));
      this.#send({ kind: "holds", ...holdings });
      this.#channel().finish();
    } catch (error) {
      this.#fail(errorMessage(error));
    }
    this.#end();
  }

  async #prepare({ plan, request }: Asked, timeoutMs: number): Promise<void> {
    try {
      const isWanted = (): boolean => !this.#channel().isClosed;
      const chosen = await this.#environment.searcher.chooseHere(plan, request, timeoutMs, isWanted, this.#pinned);
      if (chosen === undefined || this.#isOver) {
        chosen?.release();
        return this.#end();
      }
      this.#chosen = chosen;
      const { part, names } = chosen.first();
      this.#send({
        kind: "prepared",
        part: cutPart(part),
        chosen: cutNames(names),
      });
      this.#begin();
    } catch (error) {
      this.#environment.log.warn(
        { coordinator: this.#environment.coordinator, error: errorMessage(error) },
        "a search for another node failed",
      );
      this.#fail(errorMessage(error));
    }
  }

  /** Searches once it is known what, and how much. A search that is stopped before says what it would have searched. */
  #begin(): void {
    const { workerCount } = this.#environment;
    const [asked, chosen, go, stop] = [this.#asked, this.#chosen, this.#go, this.#stop];
    if (asked === undefined || chosen === undefined || this.#running !== undefined || this.#isOver) return;
    // At the limit it goes on until it has found what others have counted: it has to be told all of that.
    const isTold = (this.#sent?.left ?? 0) === 0;
    if (go === undefined && (stop === undefined || (stop.reason === "limit" && !isTold))) return;
    const { plan, request, lane, timeoutsMs, isSuggestible, secret } = asked;
    const { matchCountMax = 0, displayCountMax = 0, optionsMax } = go ?? {};
    const control = ControlBlock.allocate(workerCount, this.#creditBytes, creditWaitMs);
    if (this.#sent !== undefined) control.awaitSent(this.#sent.marks.unwrittenCount);
    const countMax = optionsMax ?? plan.resultOptions.map(() => undefined);
    const resultLimits = plan.resultOptions.length === 1 ? undefined : makeResultLimits(countMax);
    const limits = {
      matchCountMax,
      displayCountMax,
      isSuggestible,
      resultLimits,
      timeoutsMs,
      lane,
      isSpread: true,
    } as const;
    const marks = secret && { secret: Uint8Array.from(secret), sent: this.#sent?.marks.memory };
    const search = { request, plan, limits, control, claims: undefined, startedMs: performance.now(), marks };
    const root = { listener: this, pace: this, stopped: this.#stopped, late: this.#late };
    const running = { source: chosen.open(search, root), control, limits };
    this.#running = running;
    this.#endOptions([...this.#late.options]);
    if (stop !== undefined) this.#stopRunning(running);
    this.#states = callEvery(stateMs, () => {
      this.#guarded(() => this.#sendState(false));
      // What waited to be sent is sent, which nobody tells.
      running.source.goOn();
    });
    void this.#run(running);
  }

  async #run({ source, control }: Running): Promise<void> {
    try {
      await source.run();
      const late: LateQueries = this.#late;
      const receipt = this.#asked?.request.receipt === "none" ? undefined : await source.receipt(late);
      source.finish();
      const part = cutPart(source.part(late, true));
      this.#send({ kind: "end", counts: this.#counts(), part, receipt: receipt && writeReceipt(receipt) });
      this.#channel().finish();
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search for another node failed");
      control.cancel();
      source.drop();
      source.finish();
      this.#fail(errorMessage(error));
    }
    source.release();
    this.#end();
  }

  #stopRunning({ control, source }: Running): void {
    if (this.#stop?.reason === "limit") {
      // What was counted is still written, also by slices that are parked, and what another leaf has counted.
      control.stopAtLimit();
      return source.goOn();
    }
    control.cancel();
    source.drop();
    this.#resolveStopped();
  }

  /** The timeout of some basic queries is over: the others continue. */
  #endOptions(options: readonly number[]): void {
    const resultLimits = this.#running?.limits.resultLimits;
    for (const option of options) {
      this.#late.options.add(option);
      if (resultLimits !== undefined && option < resultLimits.countMax.length) endTaking(resultLimits, option);
    }
  }

  /** Whatever is wrong with the search, other searches of this node go on: this never throws. */
  #fail(reason: string): void {
    if (this.#isOver || this.#hasFailed) return;
    this.#hasFailed = true;
    this.#channel().send({ kind: "failed", reason: reason.slice(0, reasonLengthMax) });
    this.#channel().finish();
    this.closed();
  }

  /** For what the pool and timers call, which must not throw into them. */
  #guarded(work: () => void): void {
    if (this.#hasFailed) return;
    try {
      work();
    } catch (error) {
      this.#environment.log.error(
        { coordinator: this.#environment.coordinator, error: errorMessage(error) },
        "a search for another node failed",
      );
      this.#fail(errorMessage(error));
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    sentBytes -= this.#sent?.marks.memory.byteLength ?? 0;
    this.#states?.cancel();
    if (this.#running === undefined) this.#chosen?.release();
    this.onEnd();
  }

  #send(message: LeafMessage, body?: Uint8Array, release?: () => void, more?: Uint8Array): void {
    toLeafMessage(message);
    this.#channel().send(message, body, release, more);
  }

  batch(batch: SourcedBatch, release: () => void): void {
    let isSent = false;
    this.#guarded(() => {
      const { bytes, tally, digest, selected, marks } = batch;
      this.#owedBytes += creditOfBatch({ bytes, tally });
      const nameOf = (id: number): string => this.#running?.source.nameOf(id) ?? "";
      const counts = this.#counts();
      const tallies = splitTally(writeTally(tally, nameOf, marks?.commits));
      const common = { kind: "batch", counts, markBytes: 0 } as const;
      // The results come last: whoever loses this node in between has none of them.
      for (const part of tallies.slice(1)) this.#send({ ...common, tally: part, digest: undefined, isPart: true });
      const markBytes = marks?.records.byteLength ?? 0;
      const head = { ...common, tally: tallies[0], digest: digest && toWords(digest), markBytes, isPart: false };
      this.#send(head, bytes, release, marks && new Uint8Array(marks.records.buffer, 0, markBytes));
      isSent = true;
      for (const found of selected) this.#sendFound(found);
    });
    if (!isSent) release();
  }

  found(result: FoundResult): void {
    this.#guarded(() => this.#sendFound(result));
  }

  #sendFound(result: FoundResult): void {
    const { key, optionsIndex, repositoryId, repository, revision, kind } = result;
    if (!this.#countFound(result)) return;
    const body = Buffer.from(result.json());
    this.#owedBytes += body.length;
    this.#send({ kind: "found", key, optionsIndex, repositoryId, repository, revision, resultKind: kind }, body);
  }

  /**
   * Counts a result as the coordinator will, because it takes what texts may then not take of what was granted. Owners may have been
   * found elsewhere, so only the coordinator can count them; their searches have no results in texts.
   */
  #countFound({ key, optionsIndex, kind }: FoundResult): boolean {
    const running = this.#running;
    assert(running !== undefined, "results come from a search");
    if (kind === "owner") return true;
    const { limits, control } = running;
    const found = this.#found;
    const { resultLimits } = limits;
    if (resultLimits !== undefined) {
      const ofOptions = `${optionsIndex} ${key}`;
      if (found.seen.has(ofOptions)) return false;
      found.seen.add(ofOptions);
      if (takeMatches(resultLimits, optionsIndex, 1, control) === 0) return false;
      found.taken[optionsIndex] = (found.taken[optionsIndex] ?? 0) + 1;
    }
    const ofSearch = ` ${key}`;
    // The coordinator counts it for these options, too.
    if (found.seen.has(ofSearch)) return resultLimits !== undefined;
    found.seen.add(ofSearch);
    if (control.isLimitReached) return false;
    if (control.addMatches(1) >= limits.matchCountMax) {
      control.stopAtLimit();
      return false;
    }
    found.matches++;
    if (control.addDisplayed(1) < limits.displayCountMax) found.displayed++;
    return true;
  }

  #counts(): LeafCounts {
    const running = this.#running;
    assert(running !== undefined, "only a search counts");
    const { control, limits } = running;
    const { matchCountMax, displayCountMax, resultLimits } = limits;
    const { scannedBytes, workerMs } = control.cost;
    const found = this.#found;
    const counts = {
      matches: Math.max(0, Math.min(control.matchCount, matchCountMax) - found.matches),
      displayed: Math.max(0, Math.min(control.displayedCount, displayCountMax) - found.displayed),
      taken: resultLimits?.countMax.map((max, i) =>
        max === undefined ? 0 : Math.max(0, Math.min(takenMatches(resultLimits, i), max) - (found.taken[i] ?? 0)),
      ),
      isLimitHit: control.isLimitHit,
      scannedKib: Math.max(this.#lastCost.scannedKib, Math.floor(scannedBytes / 1024)),
      workerTenths: Math.max(this.#lastCost.workerTenths, Math.round(workerMs * 10)),
    };
    this.#lastCost = counts;
    return counts;
  }

  /** A wait for credit is taken from the cost again. */
  #lastCost: Pick<LeafCounts, "scannedKib" | "workerTenths"> = { scannedKib: 0, workerTenths: 0 };

  #sendState(isParked: boolean): void {
    if (this.#isOver || this.#running === undefined || this.#channel().isClosed) return;
    const state = { kind: "state", counts: this.#counts(), isParked } as const;
    const text = JSON.stringify(state);
    if (text === this.#sentState) return;
    // What waits for the client says the same.
    if (!isParked && !this.#running.source.isActive && this.unreadBytes > 0) return;
    this.#sentState = text;
    this.#send(state);
  }

  commit(_found: FoundCommit, _repositoryId: number): void {
    assert(false, "histories are not searched over nodes");
  }

  sendCommits(): void {
    // There are none.
  }

  refused(sentence: string): void {
    this.#guarded(() => this.#send({ kind: "refused", sentence: sentence.slice(0, reasonLengthMax) }));
  }

  scheduled(): void {
    if (this.#sentState.endsWith('"isParked":true}')) this.#guarded(() => this.#sendState(false));
  }

  advanced(): void {
    this.#running?.source.goOn();
  }

  parked(): void {
    if (this.#running?.source.isActive === false) this.#guarded(() => this.#sendState(true));
  }
}

/** Throws `bad-request`, which closes the channel, at a message that may not come at this moment. */
function assertTurn(isExpected: boolean, kind: string): asserts isExpected {
  if (!isExpected) throw new TrawlError("bad-request", `a message ${kind} out of turn`);
}

function toWords(digest: Uint32Array): [number, number, number, number, number] {
  return [digest[0], digest[1], digest[2], digest[3], digest[4]];
}

/** The beginning of each list, which is what the event shows. */
function writeReceipt(part: ReceiptPart): WireReceipt {
  return cutReceipt({
    generation: toWords(part.generation),
    documentCount: part.documentCount,
    groups: part.groups.map((group) => ({
      reason: group.reason,
      count: group.count,
      isGap: group.isGap,
      items: Array.from({ length: Math.min(group.count, wireReceiptItemsMax) }, (_, i) => group.item(i)),
    })),
    repositories: part.repositories(0, wireReceiptItemsMax),
  });
}
