import { assert, unreachable } from "../../base/assert.js";
import { callAfter, callEvery, type PendingCall } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { resultWhileYielding } from "../../base/yielding.js";
import { claimKeyWords, ContentClaims } from "../../protocol/content-claims.js";
import { ControlBlock, endTaking, makeResultLimits, takeMatches, takenMatches } from "../../protocol/control-block.js";
import { creditOfBatch, markWords, sentBytesMax, SentMarks } from "../../protocol/result-batch.js";
import type { Repository } from "../../model/repository.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { RankedDocument } from "../../protocol/rank-messages.js";
import { withSets } from "../../query/plan/pattern-set.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import { creditWaitMs, type SearchLimits } from "../limits/search-limits.js";
import type {
  FoundResult,
  LateQueries,
  SearchSource,
  SourceListener,
  SourceOrder,
  SourcedBatch,
} from "../source/search-source.js";
import type { ReceiptPart } from "../source/receipt-part.js";
import type { ChosenHere, LeafServices, PinnedRevision } from "../source/search-fleet.js";
import {
  type Asked,
  BaseReader,
  claimedKeysMax,
  coveredCountMax,
  cutChanges,
  cutCovered,
  type CoordinatorMessage,
  CommitsWriter,
  cutNames,
  cutPart,
  cutReceipt,
  describeFound,
  knownUnitsMax,
  type LeafCounts,
  type LeafMessage,
  pinnedUnitsMax,
  readPins,
  toCoordinatorMessage,
  toLeafMessage,
  unitsOfPin,
  type WireReceipt,
  wireReceiptItemsMax,
  readAsked,
  readKnown,
  readMarks,
  readWords,
  splitTally,
  writeTally,
} from "./fleet-messages.js";
import type { Channel } from "./local-channel.js";
import { LeafFlips } from "./node-flips.js";
import { holdingsInSteps } from "./replica-check.js";
import { historyKey, type OrderKey, rankedKey, repositoryKey, sections } from "./result-order.js";

const noRecords = new Uint32Array(0);

/** Smaller batches cost more than they hold. */
const batchBytesMin = 16 * 1024;

/** How often a leaf says how far it is. */
const stateMs = 200;

/** A coordinator that has opened a channel asks within this time. */
export const askWaitMs = 10_000;

/** UTF-16 units of a reason that crosses. */
const reasonLengthMax = 1_000;

/** The services of a leaf. */
export interface LeafEnvironment {
  /** The node that asks. */
  readonly coordinator: string;
  readonly searcher: LeafServices;
  readonly workerCount: number;
  /** Is added to ids of repositories. */
  readonly idBase: number;
  readonly log: Log;
  /** Absent where nodes have repositories of their own. */
  readonly requirePartitions?: RequirePartitions | undefined;
}

/** Of the marks of all searches for other nodes. */
let sentBytes = 0;

/** Whoever has what the client has of other nodes: no result, whose repository has an id. */
const elsewhere = [0, 0] as const;
/** Those that are to be searched, and how many there are. */
export type AskedPartitions = NonNullable<Extract<CoordinatorMessage, { kind: "ask" }>["partitions"]>;

/**
 * Throws `not-found` if this node does not have all of these partitions, with the changes that the request needs, or own them if changes
 * are searched for.
 */
export type RequirePartitions = (
  partitions: AskedPartitions,
  coordinator: string,
  request: Pick<SearchRequest, "since" | "atLeast">,
) => void;

/** What the coordinator lets a leaf count and show. */
type Grant = Pick<Extract<CoordinatorMessage, { kind: "go" }>, "matchCountMax" | "displayCountMax" | "optionsMax">;

/** One run of a search; there are several if the coordinator asks again. */
interface Running {
  readonly source: SearchSource;
  readonly control: ControlBlock;
  readonly limits: SearchLimits;
  /** Undefined unless results with the same content are grouped. */
  readonly claims: ContentClaims | undefined;
  readonly stop: () => void;
}

/**
 * The search of this node's repositories for another one. It has the code, the control block and the credit of a search of
 * its own, and no root: what the source finds goes to the coordinator, and the coordinator's credit stands for the client.
 */
export class LeafSearch implements FrameReceiver {
  readonly #channel: () => Channel;
  readonly #environment: LeafEnvironment;
  readonly #askWait: PendingCall;
  #asked: Asked | undefined;
  /** Whether no search is wanted, but what this node has. */
  #isComparing = false;
  #ask: Extract<CoordinatorMessage, { kind: "ask" }> | undefined;
  /** Streams of the coordinator that wait for changes; undefined for a search. */
  #flips: LeafFlips | undefined;
  /** What an earlier search has covered; undefined unless changes since then are searched for. */
  #base: BaseReader | undefined;
  /** Revisions of which another leaf has sent results. */
  readonly #pinned: PinnedRevision[] = [];
  #pinnedUnits = 0;
  /** Repositories and directories that another leaf has found. */
  readonly #known = new Set<string>();
  #knownCount = 0;
  #knownUnits = 0;
  /** Marks of results that another leaf has sent. */
  #sent: { readonly marks: SentMarks; left: number } | undefined;
  /** Contents that the client has, which the next run does not write again. */
  #claimed: ContentClaims | undefined;
  #chosen: ChosenHere | undefined;
  #go: Grant | undefined;
  #stop: Extract<CoordinatorMessage, { kind: "stop" }> | undefined;
  #running: Running | undefined;
  /** Runs that have not ended, the present one among them. */
  #runCount = 0;
  #runNumber = 0;
  #isPreparing = false;
  #hasEnded = false;
  /** Whether nobody listens any more. */
  #isClosed = false;
  #isOver = false;
  /** Bytes of results for which the coordinator has not returned credit. */
  #owedBytes = 0;
  #states: PendingCall | undefined;
  #sentState = "";
  #hasFailed = false;
  readonly #late = { all: false, options: new Set<number>() };
  #resolveShare: ((shardCount: number) => void) | undefined;
  /** Where in the order of all results the next ones are. */
  #at: OrderKey = [sections.repositories];
  /** The run whose place is said in the next iteration of the event loop, unless results say it before. */
  #unsaidTurn: Running | undefined;
  #ranked: { readonly documents: readonly RankedDocument[]; readonly from: number } = { documents: [], from: 0 };
  readonly #commits = new CommitsWriter((head, body) => this.#sendResults({ ...head, at: this.#at }, body));
  /** Found results that were counted here, as the coordinator counts them again. */
  #found = noneFound();
  /** A wait for credit is taken from the cost again, and a run that was stopped keeps what it has cost. */
  #lastCost: Pick<LeafCounts, "scannedKib" | "workerTenths"> = { scannedKib: 0, workerTenths: 0 };
  #costBefore: Pick<LeafCounts, "scannedKib" | "workerTenths"> = this.#lastCost;
  /** Called when the search has ended, and holds nothing any more. */
  onEnd: () => void = () => undefined;
  /** Called when it turns out to be no search: streams of the coordinator wait for changes. */
  onWait: () => void = () => undefined;

  constructor(channel: () => Channel, environment: LeafEnvironment) {
    this.#channel = channel;
    this.#environment = environment;
    this.#askWait = callAfter(askWaitMs, () => this.#fail("it was not told what to search"));
  }

  /** A coordinator that returns credit without reading gets no more than one that does neither. */
  get unreadBytes(): number {
    return Math.max(this.#owedBytes, this.#channel().waitingBytes);
  }

  get pendingBytes(): number {
    return this.unreadBytes;
  }

  get creditBytes(): number {
    return this.#ask?.creditBytes ?? 0;
  }

  frame({ head, body }: Frame): void {
    const message = toCoordinatorMessage(head);
    switch (message.kind) {
      case "watch":
      case "unwatch":
        assertTurn(this.#flips !== undefined || this.#isUnused, message.kind);
        this.#askWait.cancel();
        if (this.#flips === undefined) this.onWait();
        this.#flips ??= new LeafFlips(this.#environment.searcher, (numbers) =>
          this.#send({ kind: "flipped", numbers }),
        );
        return this.#flips.take(message, body);
      case "compare":
        assertTurn(this.#isUnused, "compare");
        this.#isComparing = true;
        this.#askWait.cancel();
        return void this.#compare();
      case "ask":
        assertTurn(this.#isUnused, "ask");
        this.#askWait.cancel();
        this.#ask = message;
        this.#asked = readAsked(body);
        if (message.sideFrom !== undefined && this.#asked.request.patterns !== undefined)
          throw new TrawlError("bad-request", "changes of the results of a search for patterns");
        if (message.sideFrom !== undefined) this.#base = new BaseReader();
        if (!this.#reserveSent(message.sentCount))
          return this.#fail("too many searches go on there behind those of other nodes already");
        return this.#prepareIfTold(this.#asked);
      case "base":
        return this.#addBase(message.isLast, body);
      case "pins":
        return this.#addPins(body);
      case "known":
        assertTurn(this.#isTold && this.#go === undefined, "known");
        return this.#addKnown(readKnown(body));
      case "sent":
        assertTurn(this.#isTold && this.#go === undefined, "sent");
        return this.#addSent(body);
      case "go":
        assertTurn(this.#isTold && this.#go === undefined && this.#knowsSent, "go");
        this.#go = message;
        return this.#begin();
      case "share":
        assertTurn(this.#resolveShare !== undefined, "share");
        return this.#resolveShare?.(message.shardCount);
      case "claimed":
        assertTurn(this.#running?.claims !== undefined, "claimed");
        return this.#addClaimed(readWords(body, claimKeyWords));
      case "again":
        assertTurn(this.#running !== undefined, "again");
        this.#go = message;
        return this.#beginAgain(message.from);
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

  /** Whether the coordinator has not said yet what the channel is for. */
  get #isUnused(): boolean {
    return this.#asked === undefined && !this.#isComparing && this.#flips === undefined;
  }

  /** Whether all that the choice of repositories depends on has come. */
  get #isTold(): boolean {
    return this.#pinned.length === this.#ask?.pinnedCount && this.#base?.isComplete !== false;
  }

  #addBase(isLast: boolean, body: Uint8Array): void {
    const [asked, base] = [this.#asked, this.#base];
    assertTurn(asked !== undefined && base?.isComplete === false, "base");
    base.add(isLast, body);
    if (!isLast) return;
    this.#asked = { ...asked, request: { ...asked.request, since: base.base } };
    this.#prepareIfTold(this.#asked);
  }

  #addPins(body: Uint8Array): void {
    const [asked, pins] = [this.#asked, readPins(body)];
    const isExpected = asked !== undefined && this.#base?.isComplete !== false && !this.#isTold && pins.length > 0;
    assertTurn(isExpected, "pins");
    this.#pinnedUnits += pins.reduce((sum, pin) => sum + unitsOfPin(pin), 0);
    if (this.#pinned.length + pins.length > (this.#ask?.pinnedCount ?? 0) || this.#pinnedUnits > pinnedUnitsMax)
      throw new TrawlError("bad-request", "more pinned revisions than were announced, or longer ones");
    this.#pinned.push(...pins);
    this.#prepareIfTold(asked);
  }

  /** Whether all has come that says what another leaf has found. */
  get #knowsSent(): boolean {
    return (this.#sent?.left ?? 0) === 0 && this.#knownCount === this.#ask?.knownCount;
  }

  #addKnown(names: readonly string[]): void {
    this.#knownCount += names.length;
    this.#knownUnits += names.reduce((sum, name) => sum + name.length, 0);
    if (this.#knownCount > (this.#ask?.knownCount ?? 0) || this.#knownUnits > knownUnitsMax)
      throw new TrawlError("bad-request", "more known results than were announced, or longer ones");
    for (const name of names) this.#known.add(name);
  }

  #prepareIfTold(asked: Asked): void {
    if (this.#isTold) void this.#prepare(asked, this.#ask?.timeoutMs ?? 0);
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

  #addClaimed(keys: Int32Array): void {
    if (keys.length > claimedKeysMax * claimKeyWords)
      throw new TrawlError("bad-request", `${keys.length / claimKeyWords} keys of contents in one message`);
    const claims = (this.#claimed ??= ContentClaims.allocate());
    for (let at = 0; at < keys.length; at += claimKeyWords)
      claims.claim(keys.subarray(at, at + claimKeyWords), elsewhere);
  }

  closed(): void {
    this.#askWait.cancel();
    this.#flips?.end();
    this.#isClosed = true;
    if (this.#running !== undefined) this.#abandon(this.#running);
    this.#settle();
  }

  /** Ends the search for a reason of this node: a sentence about it. */
  refuse(reason: string): void {
    this.#fail(reason);
  }

  async #compare(): Promise<void> {
    this.#isPreparing = true;
    try {
      const holdings = await resultWhileYielding(holdingsInSteps(this.#environment.searcher.repositories()));
      this.#send({ kind: "holds", ...holdings });
      this.#channel().finish();
    } catch (error) {
      this.#fail(errorMessage(error));
    }
    this.#isPreparing = false;
    this.#isClosed = true;
    this.#settle();
  }

  async #prepare(asked: Asked, timeoutMs: number): Promise<void> {
    const { request } = asked;
    this.#isPreparing = true;
    try {
      const isWanted = (): boolean => !this.#channel().isClosed;
      const { searcher, requirePartitions } = this.#environment;
      const partitions = this.#ask?.partitions;
      if ((partitions === undefined) !== (requirePartitions === undefined))
        throw new TrawlError("bad-request", "nodes have repositories of their own, or partitions");
      if (partitions !== undefined) requirePartitions?.(partitions, this.#environment.coordinator, request);
      const numbers = partitions?.numbers;
      const plan = await planInFull(asked, isWanted);
      if (plan !== undefined) this.#asked = { ...asked, plan };
      const chosen = plan && (await searcher.chooseHere(plan, request, timeoutMs, isWanted, this.#pinned, numbers));
      this.#isPreparing = false;
      this.#chosen = chosen;
      if (this.#isClosed) return this.#settle();
      if (chosen === undefined) return this.#fail("it is stopping");
      const { part, names } = chosen.first();
      this.#send({
        kind: "prepared",
        part: cutPart(part),
        chosen: cutNames(names),
      });
      this.#begin();
    } catch (error) {
      this.#isPreparing = false;
      this.#environment.log.warn(
        { coordinator: this.#environment.coordinator, error: errorMessage(error) },
        "a search for another node failed",
      );
      this.#fail(errorMessage(error));
    }
  }

  /** Searches once it is known what, and how much. A search that is stopped before says what it would have searched. */
  #begin(): void {
    const [go, stop] = [this.#go, this.#stop];
    // At the limit it goes on until it has found what others have counted: it has to be told all of that.
    const mayStop = stop !== undefined && (stop.reason === "other" || this.#knowsSent);
    if (this.#running !== undefined || (go === undefined && !mayStop)) return;
    this.#start(undefined);
    if (this.#running === undefined) return;
    this.#states ??= callEvery(stateMs, () => {
      this.#guarded(() => this.#sendState(false));
      // What waited to be sent is sent, which nobody tells.
      this.#running?.source.goOn();
    });
  }

  /** Searches again what the coordinator has not passed on, within what is left to it now. */
  #beginAgain(from: number): void {
    const before = this.#running;
    assert(before !== undefined, "only what has run is run again");
    this.#running = undefined;
    this.#hasEnded = false;
    this.#costBefore = this.#lastCost;
    this.#found = noneFound();
    this.#owedBytes = 0;
    this.#sentState = "";
    this.#abandon(before);
    before.source.finish();
    this.#send({ kind: "restarted" });
    this.#start(from);
  }

  #abandon({ control, source, stop }: Running): void {
    control.cancel();
    source.drop();
    source.giveUp();
    stop();
  }

  #start(from: number | undefined): void {
    const [ask, asked, chosen] = [this.#ask, this.#asked, this.#chosen];
    if (ask === undefined || asked === undefined || chosen === undefined || this.#isClosed) return;
    const { plan, request, lane, timeoutsMs, isSuggestible, secret } = asked;
    const { matchCountMax = 0, displayCountMax = 0, optionsMax } = this.#go ?? {};
    const control = ControlBlock.allocate(this.#environment.workerCount, ask.creditBytes, creditWaitMs);
    const sent = this.#sent?.marks;
    control.awaitSent(sent?.unwrittenCount ?? 0);
    const countMax = optionsMax ?? plan.resultOptions.map(() => undefined);
    const resultLimits = plan.resultOptions.length === 1 ? undefined : makeResultLimits(countMax);
    const limits = { matchCountMax, displayCountMax, isSuggestible, resultLimits, timeoutsMs, lane } as const;
    let resolve: () => void = () => undefined;
    const stopped = new Promise<undefined>((onStopped) => {
      resolve = () => onStopped(undefined);
    });
    const marks = ask.hasMarks
      ? { secret: Uint8Array.from(secret), sent: sent?.memory, run: ++this.#runNumber }
      : undefined;
    // What is claimed belongs to one run: threads may not have left the one before.
    const claims = request.duplicates === true ? (this.#claimed ?? ContentClaims.allocate()) : undefined;
    this.#claimed = undefined;
    const startedMs = performance.now();
    // A batch that is larger than the credit would be sent all the same, and the coordinator holds it.
    const batchBytesMax = Math.max(batchBytesMin, Math.floor(ask.creditBytes / 2));
    const { rankedMatchesMax, sideFrom } = ask;
    const search = {
      request,
      plan,
      limits,
      control,
      claims: claims?.memory,
      startedMs,
      marks,
      batchBytesMax,
      rankedMatchesMax,
      sideFrom,
    };
    const isCurrent = (): boolean => this.#running === running;
    const root = {
      listener: this.#listener(isCurrent),
      pace: this,
      stopped,
      late: this.#late,
      order: this.#order(isCurrent),
    };
    const source = chosen.open(search, root, from);
    const stop = (): void => {
      this.#resolveShare?.(1);
      resolve();
    };
    const running: Running = { source, control, limits, claims, stop };
    this.#running = running;
    this.#runCount++;
    this.#endOptions([...this.#late.options]);
    if (this.#stop !== undefined) this.#stopRunning(running);
    void this.#run(running);
  }

  async #run(running: Running): Promise<void> {
    const { source, control } = running;
    try {
      await source.run();
      if (this.#running === running) {
        const late: LateQueries = this.#late;
        const receipt = this.#asked?.request.receipt === "none" ? undefined : await source.receipt(late);
        const hasToldCovered = receipt && (await this.#tellCovered(running, receipt));
        await this.#tellChanges(running);
        if (this.#running === running) {
          source.finish();
          const part = cutPart(source.part(late, true));
          const written = receipt && writeReceipt(receipt);
          this.#send({ kind: "end", counts: this.#counts(), part, receipt: written, hasToldCovered });
          this.#hasEnded = true;
        }
      }
    } catch (error) {
      this.#environment.log.error({ error: errorMessage(error) }, "a search for another node failed");
      control.cancel();
      source.drop();
      source.finish();
      if (this.#running === running) this.#fail(errorMessage(error));
    }
    source.release();
    this.#runCount--;
    this.#settle();
  }

  /** In steps, because there may be many. Resolves with whether it has told all. */
  #tellCovered(running: Running, receipt: ReceiptPart): Promise<boolean> {
    const { since, isBase } = this.#asked?.request ?? {};
    const countMax = since === undefined && isBase !== true ? coveredCountMax.receipt : coveredCountMax.base;
    return resultWhileYielding(
      sendInSteps(cutCovered(receipt, countMax), (items) => this.#tell(running, { kind: "covered", items })),
    );
  }

  async #tellChanges(running: Running): Promise<void> {
    const { changes } = running.source;
    if (changes === undefined || this.#running !== running) return;
    const pieces = cutChanges(changes, this.#environment.idBase);
    await resultWhileYielding(
      sendInSteps(pieces, (items) => this.#tell(running, { kind: "changes", items, isLast: false })),
    );
    this.#tell(running, { kind: "changes", items: [], isLast: true }, changes.kept);
  }

  #tell(running: Running, message: LeafMessage, body?: Uint8Array): void {
    if (this.#running === running) this.#send(message, body);
  }

  #stopRunning({ control, source, stop }: Running): void {
    if (this.#stop?.reason === "limit") {
      // What was counted is still written, also by slices that are parked, and what another leaf has counted.
      control.stopAtLimit();
      this.#resolveShare?.(1);
      return source.goOn();
    }
    control.cancel();
    source.drop();
    stop();
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

  /** Lets go of everything once nobody listens, and nothing runs. */
  #settle(): void {
    if (this.#isOver || !this.#isClosed || this.#runCount > 0) return;
    sentBytes -= this.#sent?.marks.memory.byteLength ?? 0;
    this.#sent = undefined;
    if (this.#isPreparing) return;
    this.#isOver = true;
    this.#states?.cancel();
    this.#chosen?.release();
    this.onEnd();
  }

  #send(message: LeafMessage, body?: Uint8Array, release?: () => void, more?: Uint8Array): void {
    toLeafMessage(message);
    if ("at" in message) this.#unsaidTurn = undefined;
    this.#channel().send(message, body, release, more);
  }

  /** Results beside batches, which take credit here. */
  #sendResults(message: LeafMessage, body: Uint8Array): void {
    this.#owedBytes += body.length;
    this.#send(message, body);
  }

  /** What the source of a run finds; that of an earlier run is not wanted any more. */
  #listener(isCurrent: () => boolean): SourceListener {
    const guarded = (work: () => void): void => {
      if (isCurrent()) this.#guarded(work);
    };
    return {
      batch: (batch, release) => (isCurrent() ? this.#takeBatch(batch, release) : release()),
      found: (result) => guarded(() => this.#sendFound(result)),
      commit: (found, repositoryId) =>
        guarded(() => this.#commits.add(found, repositoryId, this.#running?.source.nameOf(repositoryId) ?? "")),
      sendCommits: () => guarded(() => this.#commits.send()),
      refused: (sentence) =>
        guarded(() => this.#send({ kind: "refused", sentence: sentence.slice(0, reasonLengthMax) })),
      scheduled: () => {
        if (this.#sentState.endsWith('"isParked":true}')) guarded(() => this.#sendState(false));
      },
      advanced: () => {
        if (isCurrent()) this.#running?.source.goOn();
      },
      parked: () => {
        if (this.#running?.source.isActive === false) guarded(() => this.#sendState(true));
      },
    };
  }

  #order(isCurrent: () => boolean): SourceOrder {
    const { idBase } = this.#environment;
    const reach = (at: OrderKey): void => {
      if (isCurrent()) this.#at = at;
    };
    const turn = (at: OrderKey): void => {
      if (!isCurrent() || (this.#at[0] === at[0] && at[0] === sections.others)) return;
      const isSaidLater = at[0] !== sections.histories || this.#at[0] === at[0];
      this.#at = at;
      if (isSaidLater) return this.#sayTurnLater();
      this.#guarded(() => this.#send({ kind: "turn", at, counts: this.#counts() }));
    };
    return {
      repository: (basicQuery, repository) => reach(repositoryKey(basicQuery, repository, idBase + repository.id)),
      shareBudget: (shardCount) =>
        new Promise((resolve) => {
          this.#resolveShare = resolve;
          const isKnown = this.#ask?.isOnly === true;
          if (isKnown || !isCurrent() || this.#isClosed || this.#stop !== undefined) return resolve(shardCount);
          this.#guarded(() => this.#send({ kind: "rankable", shardCount }));
        }),
      ranked: (documents, from) => {
        if (!isCurrent()) return;
        this.#ranked = { documents, from };
        if (from < documents.length) turn(rankedKey(documents[from], from));
      },
      others: () => turn([sections.others]),
      history: (repository: Repository) => turn(historyKey(repository, idBase + repository.id)),
    };
  }

  /**
   * Usually results follow at once, and say it. And a hundred thousand repositories may have nothing in their histories: their places are
   * not said one by one.
   */
  #sayTurnLater(): void {
    const running = this.#running;
    if (this.#unsaidTurn === running) return;
    this.#unsaidTurn = running;
    setImmediate(() => {
      if (this.#unsaidTurn !== running) return;
      this.#unsaidTurn = undefined;
      if (this.#running !== running || this.#hasEnded || this.#channel().isClosed) return;
      this.#guarded(() => this.#send({ kind: "turn", at: this.#at, counts: this.#counts() }));
    });
  }

  #takeBatch({ bytes, tally, digest, selected, marks, contents, ranked }: SourcedBatch, release: () => void): void {
    let isSent = false;
    this.#guarded(() => {
      this.#owedBytes += creditOfBatch({ bytes, tally });
      const nameOf = (id: number): string => this.#running?.source.nameOf(id) ?? "";
      const document = ranked === undefined ? undefined : this.#ranked.from + ranked;
      if (document !== undefined) this.#at = rankedKey(this.#ranked.documents[document], document);
      const tallies = splitTally(writeTally(tally, nameOf, marks?.commits));
      const none = { document, counts: this.#counts(), markBytes: 0, contents: undefined };
      const common = { kind: "batch", at: this.#at, ...none } as const;
      // The results come last: whoever loses this node in between has none of them.
      for (const part of tallies.slice(1)) this.#send({ ...common, tally: part, digest: undefined, isPart: true });
      const markBytes = marks?.records.byteLength ?? 0;
      const told = contents && {
        recordBytes: contents.records.byteLength,
        copyCount: contents.copyCount,
        copyMatches: contents.copyMatches,
        isIncomplete: this.#running?.claims?.isFull === true,
      };
      const digested = digest && toWords(digest);
      const head = { ...common, tally: tallies[0], digest: digested, markBytes, contents: told, isPart: false };
      // A search has marks, or groups contents.
      const { buffer, byteLength } = marks?.records ?? contents?.records ?? noRecords;
      this.#send(head, bytes, release, new Uint8Array(buffer, 0, byteLength));
      isSent = true;
      for (const found of selected) this.#sendFound(found);
    });
    if (!isSent) release();
  }

  #sendFound(result: FoundResult): void {
    const { key, optionsIndex, repositoryId, repository, revision, kind } = result;
    if (!this.#countFound(result)) return;
    const at = this.#at;
    this.#sendResults(
      { kind: "found", at, key, optionsIndex, repositoryId, repository, revision, resultKind: kind },
      Buffer.from(result.json()),
    );
  }

  /**
   * Counts a result as the coordinator will, because it takes what texts may then not take of what was granted. Owners may have been
   * found elsewhere, so only the coordinator can count them; their searches have no results in texts.
   */
  #countFound(result: FoundResult): boolean {
    const { key, optionsIndex, kind } = result;
    const running = this.#running;
    assert(running !== undefined, "results come from a search");
    if (kind === "owner") return true;
    // The coordinator has counted it.
    if (this.#known.has(describeFound(result))) return false;
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
    const before = this.#costBefore;
    const counts = {
      matches: Math.max(0, Math.min(control.matchCount, matchCountMax) - found.matches),
      displayed: Math.max(0, Math.min(control.displayedCount, displayCountMax) - found.displayed),
      taken: resultLimits?.countMax.map((max, i) =>
        max === undefined ? 0 : Math.max(0, Math.min(takenMatches(resultLimits, i), max) - (found.taken[i] ?? 0)),
      ),
      isLimitHit: control.isLimitHit,
      scannedKib: Math.max(this.#lastCost.scannedKib, before.scannedKib + Math.floor(scannedBytes / 1024)),
      workerTenths: Math.max(this.#lastCost.workerTenths, before.workerTenths + Math.round(workerMs * 10)),
    };
    this.#lastCost = counts;
    return counts;
  }

  #sendState(isParked: boolean): void {
    if (this.#isOver || this.#hasEnded || this.#running === undefined || this.#channel().isClosed) return;
    const state = { kind: "state", counts: this.#counts(), isParked } as const;
    const text = JSON.stringify(state);
    if (text === this.#sentState) return;
    // What waits for the client says the same.
    if (!isParked && !this.#running.source.isActive && this.unreadBytes > 0) return;
    this.#sentState = text;
    this.#send(state);
  }
}

/** The plan with the sets of its patterns, of which making 50,000 takes some 100 ms; undefined if nobody wants it any more. */
function planInFull({ plan, request }: Asked, isWanted: () => boolean): Promise<SearchPlan | undefined> | SearchPlan {
  const { patterns } = request;
  return patterns === undefined ? plan : resultWhileYielding(whileWanted(withSets(plan, patterns), isWanted));
}

function* whileWanted<Result>(
  work: Generator<undefined, Result>,
  isWanted: () => boolean,
): Generator<undefined, Result | undefined> {
  while (isWanted()) {
    const next = work.next();
    if (next.done === true) return next.value;
    yield;
  }
  return undefined;
}

/** Sends each piece in a step of its own. */
function* sendInSteps<Piece, Result>(
  pieces: Generator<Piece, Result>,
  send: (piece: Piece) => void,
): Generator<void, Result> {
  for (;;) {
    const next = pieces.next();
    if (next.done === true) return next.value;
    send(next.value);
    yield;
  }
}

function noneFound() {
  return { seen: new Set<string>(), matches: 0, displayed: 0, taken: [] as number[] };
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
