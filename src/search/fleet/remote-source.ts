import { isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { unreachable } from "../../base/assert.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import { emptyDigest } from "../../native/kernel/result-digest.js";
import { takenMatches } from "../../protocol/control-block.js";
import { creditOfBatch } from "../../protocol/result-batch.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import { countUnlimited, isShared } from "../limits/search-limits.js";
import { listOmissions, type OmissionGroup, type ReceiptPart } from "../source/receipt-part.js";
import { type ExcludedRepository, join, type Listed, type SearchPart, sentencesMax } from "../source/search-part.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { nodeIdSpan } from "../source/search-fleet.js";
import {
  type Asked,
  type CoordinatorMessage,
  emptyPart,
  type LeafCounts,
  type LeafMessage,
  noCounts,
  readTally,
  toCoordinatorMessage,
  toLeafMessage,
  type WireReceipt,
} from "./fleet-messages.js";

/** Credit is returned in amounts of this, and all of it when the client has read everything. */
const creditStepBytes = 16 * 1024;

/** A leaf that has sent this many times its credit, unread, is not listened to until the client has read. */
const overdraftMax = 2;

/** How long a search that has found enough waits for a leaf that need not say anything. */
const limitGraceMs = 250;

/** Heads that are held in any case. */
const heldHeadBytesMin = 4 * 1024 * 1024;

/** What a message takes of the memory for messages that wait, beside its body. */
const heldMessageBytes = 256;

/** Another node, as the searches of this one see it. */
export interface RemoteNode {
  readonly name: string;
  /** Its repositories have ids from here on. */
  readonly idBase: number;
  open(receiver: FrameReceiver): FrameChannel;
}

/** What the sources of one search on several nodes have in common. */
export interface SharedSearch {
  readonly creditBytes: number;
  /** Names the node that has a repository, as far as it has told; the first one that claims it keeps it. */
  readonly claim: (repository: string, node: string) => string;
  readonly log: Log;
}

/**
 * The source of a search that is another node: it tells the node, its *leaf*, what to search, and passes on what the leaf finds.
 *
 * The leaf counts matches within the part of the limits that it was granted, and says how many; they are added to the counts of
 * the search before the root gets them. What it says is checked, and whoever says what cannot be is left out from then on,
 * like a leaf whose connection breaks: the part of this source then names what was not searched.
 *
 * If all sources of the search share a limit, they are run in turn, and what this one may find is known only then. Its leaf begins
 * at once all the same, with the whole limit, and what it says is held, up to its credit. When it is the source's turn:
 *
 *     the sources before have taken nothing          what is held was right, and the leaf goes on
 *     the leaf has ended, within what they have left    the same
 *     it has found more, or waits for credit         it is asked again, with what is left
 *
 * So a search that finds less than its limit takes as long as the slowest node, and every search is exact.
 */
export class RemoteSource implements SearchSource, FrameReceiver {
  readonly changes = undefined;
  readonly #search: SourcedSearch;
  readonly #root: SourceRoot;
  readonly #node: RemoteNode;
  readonly #shared: SharedSearch;
  #channel: FrameChannel;
  readonly #ended: Promise<void>;
  #resolve: () => void = () => undefined;
  /** `closed`: nothing is expected from the leaf any more. */
  #state: "searching" | "stopping" | "closed" = "searching";
  #granted: Granted = { matches: 0, displayed: 0, taken: [] };
  /** What the leaf has said before the turn of this source; undefined afterwards, and if there are no turns. */
  #held: HeldMessages | undefined;
  #hasTurn = false;
  #isOutOfTime = false;
  #counts: LeafCounts = noCounts;
  #part: SearchPart;
  /** Names of the repositories that the leaf searches; undefined until it has told. */
  #chosen: Listed<string> | undefined;
  #isPrepared = false;
  #receipt: WireReceipt | undefined;
  /** What clients are told about a repository that two nodes have. */
  #doubled: string | undefined;
  /** Why the leaf has not searched everything, as clients are told; undefined if it has, or may still. */
  #lost: string | undefined;
  #isFinal = false;
  #hasSentLimit = false;
  #limitWait: PendingCall | undefined;
  /** Matches in the results that have come. */
  #receivedMatches = 0;
  #isLeafParked = false;
  /** Bytes of the leaf for which no credit was returned. */
  #owedBytes = 0;
  readonly #sentLate = new Set<number>();
  readonly #names = new Map<number, string>();

  constructor(search: SourcedSearch, root: SourceRoot, node: RemoteNode, shared: SharedSearch) {
    this.#search = search;
    this.#root = root;
    this.#node = node;
    this.#shared = shared;
    this.#part = emptyPart(search.plan);
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (isShared(search.limits)) this.#held = new HeldMessages();
    this.#channel = node.open(this);
    this.#ask();
    this.#go();
  }

  #ask(): void {
    const { plan, request, limits } = this.#search;
    const asked = { ...request, origin: undefined, viewer: { ...request.viewer, credential: undefined } };
    const { lane, timeoutsMs, isSuggestible } = limits;
    const body: Asked = { plan, request: asked, lane, timeoutsMs, isSuggestible };
    const timeoutMs = Math.ceil(Math.max(...timeoutsMs));
    this.#send({ kind: "ask", timeoutMs, creditBytes: this.#shared.creditBytes }, serialize(body));
  }

  /** What the limits of the search have left. */
  #findLeft(): Granted {
    const { limits, control } = this.#search;
    const { matchCountMax, displayCountMax, resultLimits } = limits;
    const left = (max: number, used: number): number => (max === countUnlimited ? max : Math.max(0, max - used));
    const matches = left(matchCountMax, control.matchCount);
    const displayed = left(displayCountMax, control.displayedCount);
    const taken = (resultLimits?.countMax ?? []).map((max, i) =>
      max === undefined
        ? undefined
        : resultLimits === undefined
          ? undefined
          : Math.max(0, max - takenMatches(resultLimits, i)),
    );
    return { matches, displayed, taken };
  }

  #go(): void {
    this.#granted = this.#findLeft();
    const { matches, displayed, taken } = this.#granted;
    this.#state = "searching";
    const optionsMax = this.#search.limits.resultLimits === undefined ? undefined : taken;
    this.#send({ kind: "go", matchCountMax: matches, displayCountMax: displayed, optionsMax });
  }

  #send(message: CoordinatorMessage, body?: Uint8Array): void {
    toCoordinatorMessage(message);
    this.#channel.send(message, body);
  }

  run(): Promise<void> {
    this.#hasTurn = true;
    if (this.#state !== "closed") this.#root.listener.scheduled();
    this.#checked(() => this.#decide());
    return this.#ended;
  }

  /** In its turn: whether what the leaf has said so far, or was granted, is right. */
  #decide(): void {
    const held = this.#held;
    if (held === undefined || !this.#hasTurn) return;
    if (this.#isOutOfTime && this.#state !== "closed") return this.#decideLate(held);
    if (this.#state !== "searching") return;
    // The sources before have found everything that was wanted.
    if (this.#search.control.isStopped) return this.drop();
    const left = this.#findLeft();
    if (isDeepStrictEqual(left, this.#granted) || held.fits(left)) return this.#takeHeld(held);
    if (held.end !== undefined || held.isParked || held.byteCount >= this.#shared.creditBytes || this.#isFull(held))
      this.#askAgain();
  }

  /** A leaf has no credit for heads, so they are counted apart. */
  #isFull({ byteCount, headByteCount }: HeldMessages): boolean {
    const { creditBytes } = this.#shared;
    return (
      byteCount > creditBytes * overdraftMax || headByteCount > Math.max(creditBytes, heldHeadBytesMin) * overdraftMax
    );
  }

  /** The search has run out of time: nobody is asked again. */
  #decideLate(held: HeldMessages): void {
    if (held.end === undefined) return;
    if (held.fits(this.#findLeft())) return this.#takeHeld(held);
    if (this.#isLimitReached) return this.#takeLastWords(held.end);
    this.#lose("the time was over before it could be asked for what was left of the limit");
  }

  get #isLimitReached(): boolean {
    const { control, limits } = this.#search;
    return (control.isStopped && !control.isCancelled) || control.matchCount >= limits.matchCountMax;
  }

  #takeHeld(held: HeldMessages): void {
    this.#held = undefined;
    this.#isLeafParked = held.isParked;
    this.#channel.resume();
    for (const { message, body } of held.messages) this.#take(message, body);
    if (held.end !== undefined) this.#take(held.end, new Uint8Array());
  }

  #askAgain(): void {
    this.#channel.close();
    this.#held = undefined;
    this.#isPrepared = false;
    this.#sentLate.clear();
    this.#channel = this.#node.open(this);
    this.#ask();
    this.#go();
  }

  get isActive(): boolean {
    if (this.#state === "closed" || (this.#held !== undefined && !this.#hasTurn)) return false;
    return !(this.#isLeafParked && this.#owedBytes > 0);
  }

  goOn(): void {
    if (this.#state !== "searching") return;
    this.#sendLimit();
    if (this.#owedBytes === 0) return;
    const { unreadBytes } = this.#root.pace;
    const free = this.#owedBytes - unreadBytes;
    if (free <= 0 || (free < creditStepBytes && unreadBytes > 0)) return;
    this.#owedBytes -= free;
    this.#send({ kind: "credit", bytes: free });
    if (this.#owedBytes <= this.#shared.creditBytes) this.#channel.resume();
  }

  drop(): void {
    if (this.#state === "closed" || this.#state === "stopping") return;
    this.#state = "stopping";
    // What it has found in time is passed on in its turn.
    this.#isOutOfTime = this.#held !== undefined && !this.#isLimitReached;
    if (this.#isOutOfTime && this.#held?.end !== undefined) return this.#checked(() => this.#decide());
    if (this.#held?.end !== undefined) return this.#takeLastWords(this.#held.end);
    // Its last words come after what nobody has read.
    this.#channel.resume();
    this.#sendStop("other");
  }

  #sendStop(reason: "limit" | "other"): void {
    const { all, options } = this.#root.late;
    this.#send({ kind: "stop", reason, late: { all, options: [...options] } });
  }

  giveUp(): void {
    this.#close();
  }

  finish(): void {
    if (this.#state !== "closed") this.#lose("it did not end in time");
    this.#isFinal = true;
  }

  release(): void {
    this.#close();
  }

  part(): SearchPart {
    if (this.#lost === undefined) return this.#part;
    const { failures, excluded } = this.#part;
    return {
      ...this.#part,
      excluded: join(excluded, this.#notSearched, sentencesMax),
      failures: join(failures, { count: 1, first: [this.#sentence] }, sentencesMax),
      isRepeatable: false,
    };
  }

  get #sentence(): string {
    return `node ${this.#node.name} was not searched completely: ${this.#lost}`;
  }

  /** The repositories of a lost leaf. */
  get #notSearched(): Listed<ExcludedRepository> {
    const reason = this.#sentence;
    const { count, first } = this.#chosen ?? { count: 1, first: [`all repositories of node ${this.#node.name}`] };
    return { count, first: first.map((repository) => ({ repository, reason, isLate: false, isOfLostNode: true })) };
  }

  receipt(): Promise<ReceiptPart> {
    if (this.#state !== "closed") this.#lose("it did not end in time");
    return Promise.resolve(new RemoteReceipt(this.#receipt, this.#lost === undefined ? [] : this.#lostGroups()));
  }

  #lostGroups(): OmissionGroup[] {
    const { count, first } = this.#notSearched;
    return [
      {
        reason: "repository-excluded",
        count,
        isGap: true,
        item: (i) => {
          const one = first.at(i);
          return one && { reason: "repository-excluded", repository: one.repository, detail: one.reason };
        },
      },
      listOmissions("failure", [this.#sentence], (detail) => ({ detail })),
    ];
  }

  nameOf(repositoryId: number): string | undefined {
    return this.#names.get(repositoryId);
  }

  frame({ head, headBytes, body }: Frame): void {
    this.#checked(() => {
      const message = toLeafMessage(head);
      if (this.#held === undefined || message.kind === "prepared" || message.kind === "failed")
        this.#take(message, body);
      else this.#hold(this.#held, message, body, headBytes);
      this.#sendLate();
      this.#sendLimit();
    });
  }

  #checked(work: () => void): void {
    if (this.#state === "closed") return;
    try {
      work();
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
      this.#lose(`it sent what it may not: ${error.message}`, this.#doubled ?? "its answer was not accepted");
    }
  }

  closed(reason: string | undefined): void {
    if (this.#state !== "closed") this.#lose(reason ?? "it ended before its search did", "it is not reachable");
  }

  #hold(held: HeldMessages, message: LeafMessage, body: Uint8Array, headBytes: number): void {
    require(this.#isPrepared, `a message ${message.kind} out of turn`);
    // What it has found is not wanted any more.
    if (this.#state !== "searching" && !this.#isOutOfTime)
      return message.kind === "end" ? this.#takeLastWords(message) : undefined;
    held.add(message, body, headBytes);
    if (this.#isFull(held)) this.#channel.pause();
    this.#decide();
  }

  #take(message: LeafMessage, body: Uint8Array): void {
    const { listener } = this.#root;
    if (message.kind === "failed") return this.#lose(message.reason, "it could not search");
    require((message.kind === "prepared") !== this.#isPrepared, `a message ${message.kind} out of turn`);
    switch (message.kind) {
      case "prepared":
        this.#isPrepared = true;
        this.#takePart(message.part);
        this.#chosen = message.chosen;
        for (const name of message.chosen.first) this.#claim(name);
        return;
      case "batch":
        this.#takeBatch(message, body);
        return listener.advanced();
      case "found":
        this.#takeFound(message, body);
        return listener.advanced();
      case "state":
        this.#addCounts(message.counts);
        this.#isLeafParked = message.isParked;
        return message.isParked ? listener.parked() : listener.scheduled();
      case "refused":
        return listener.refused(message.sentence);
      case "end":
        this.#addCounts(message.counts);
        return this.#takeLastWords(message);
      default:
        unreachable(message);
    }
  }

  #takeLastWords({ part, receipt }: Extract<LeafMessage, { kind: "end" }>): void {
    this.#takePart(part);
    this.#receipt = receipt;
    this.#close();
  }

  #takePart(part: SearchPart): void {
    const { plan } = this.#search;
    require(part.choices.length === plan.basicQueries.length, "choices of another query");
    this.#part = part;
  }

  #takeBatch(message: Extract<LeafMessage, { kind: "batch" }>, bytes: Uint8Array): void {
    for (const [id, name, , count] of message.tally.repositories) {
      this.#learn(id, name);
      this.#receivedMatches += count;
    }
    this.#addCounts(message.counts);
    const tally = readTally(message.tally);
    this.#owe(creditOfBatch({ bytes, tally }));
    const digest = message.digest && Uint32Array.from(message.digest);
    this.#root.listener.batch({ bytes, tally, digest, selected: [] }, () => undefined);
  }

  #takeFound(message: Extract<LeafMessage, { kind: "found" }>, body: Uint8Array): void {
    const json = Buffer.from(body).toString();
    const { key, optionsIndex, repositoryId, repository, revision, resultKind: kind } = message;
    require(optionsIndex < this.#search.plan.resultOptions.length, "result options that the query has not");
    this.#learn(repositoryId, repository);
    // As the leaf counts it.
    this.#owe(body.length);
    const isOfRepository = kind === "owner" || key.startsWith(`${repositoryId}@`);
    require(isOfRepository, "the key of a result of another repository");
    this.#root.listener.found({ key, optionsIndex, repositoryId, repository, revision, kind, json: () => json });
  }

  #learn(repositoryId: number, name: string): void {
    if (this.#names.has(repositoryId)) return;
    const { idBase } = this.#node;
    require(repositoryId >= idBase &&
      repositoryId < idBase + nodeIdSpan, `the repository ${repositoryId} of another node`);
    this.#claim(name);
    this.#names.set(repositoryId, name);
  }

  /** Throws if another node has told that it has a repository with this name. */
  #claim(repository: string): void {
    const owner = this.#shared.claim(repository, this.#node.name);
    if (owner === this.#node.name) return;
    this.#doubled = `node ${owner} has the repository ${repository} too: remove it from one of the two configurations`;
    throw new TrawlError("bad-request", this.#doubled);
  }

  #owe(byteCount: number): void {
    this.#owedBytes += byteCount;
    if (this.#state === "searching" && this.#owedBytes > this.#shared.creditBytes * overdraftMax) this.#channel.pause();
  }

  /** Adds what the leaf has counted since the last time to the counts of the search. */
  #addCounts(now: LeafCounts): void {
    const { control, limits } = this.#search;
    const before = this.#counts;
    const grown = (key: "matches" | "displayed" | "scannedKib" | "workerTenths"): number => {
      require(now[key] >= before[key], `a count of ${key} that shrinks`);
      return now[key] - before[key];
    };
    const { matches, displayed, taken } = this.#granted;
    require(now.matches <= matches && now.displayed <= displayed, "more matches than it was granted");
    const { resultLimits } = limits;
    if (resultLimits !== undefined && now.taken !== undefined) {
      require(now.taken.length === resultLimits.countMax.length, "limits of another query");
      for (const [i, count] of now.taken.entries()) {
        const added = count - (before.taken?.[i] ?? 0);
        require(added >= 0 && count <= (taken[i] ?? 0), "more matches of a basic query than it was granted");
        Atomics.add(resultLimits.taken, i, BigInt(added));
      }
    }
    control.addMatches(grown("matches"));
    control.addDisplayed(grown("displayed"));
    control.addCost(grown("scannedKib"), grown("workerTenths"));
    this.#counts = now;
    if (!now.isLimitHit) return;
    control.recordLimitHit();
    if (control.matchCount >= limits.matchCountMax) control.stopAtLimit();
  }

  /** Tells the leaf which basic queries have run out of time. */
  #sendLate(): void {
    const { resultLimits } = this.#search.limits;
    if (resultLimits === undefined || this.#state !== "searching") return;
    const fresh = [...this.#root.late.options].filter((option) => !this.#sentLate.has(option));
    if (fresh.length === 0) return;
    for (const option of fresh) this.#sentLate.add(option);
    this.#send({ kind: "late", options: fresh });
  }

  /** Nobody else tells the leaf that the limit of the search has been reached: then it sends what it has counted, and ends. */
  #sendLimit(): void {
    if (this.#hasSentLimit || this.#held !== undefined || this.#state !== "searching") return;
    const { control } = this.#search;
    if (!control.isStopped || control.isCancelled) return;
    this.#hasSentLimit = true;
    this.#sendStop("limit");
    // Whoever owes nothing is not waited for.
    this.#limitWait = callAfter(limitGraceMs, () => {
      if (this.#state === "closed" || this.#counts.matches > this.#receivedMatches) return;
      this.#part = { ...this.#part, isRepeatable: false };
      this.#close();
    });
  }

  /** `reason` is for the log: it may have addresses and more of what clients may not know. They are told `said`. */
  #lose(reason: string, said = reason): void {
    if (this.#isFinal || this.#lost !== undefined) return;
    // Nothing was to be searched there.
    if (this.#chosen?.count !== 0) {
      this.#lost = said;
      this.#returnCounts();
      this.#shared.log.warn({ node: this.#node.name }, `a node was not searched completely: ${reason}`);
    }
    this.#close();
  }

  /** What it has counted and not sent is left for others. */
  #returnCounts(): void {
    const { control } = this.#search;
    control.addMatches(Math.min(0, this.#receivedMatches - this.#counts.matches));
    control.addDisplayed(Math.min(0, this.#receivedMatches - this.#counts.displayed));
  }

  #close(): void {
    this.#limitWait?.cancel();
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#channel.close();
    this.#resolve();
    this.#root.listener.advanced();
  }
}

/** Matches that a leaf may count and show, and those of basic queries with limits of their own. */
interface Granted {
  readonly matches: number;
  readonly displayed: number;
  readonly taken: readonly (number | undefined)[];
}

/** What a leaf has said before it was known whether it may. */
class HeldMessages {
  readonly messages: { readonly message: LeafMessage; readonly body: Uint8Array }[] = [];
  end: Extract<LeafMessage, { kind: "end" }> | undefined;
  /** Whether the leaf waits for credit. */
  isParked = false;
  byteCount = 0;
  headByteCount = 0;
  #foundCount = 0;

  add(message: LeafMessage, body: Uint8Array, headBytes: number): void {
    require(this.end === undefined, `a message ${message.kind} after the end`);
    if (message.kind === "state") this.isParked = message.isParked;
    else if (message.kind === "end") this.end = message;
    else {
      this.byteCount += body.length + heldMessageBytes;
      this.headByteCount += headBytes;
      if (message.kind === "found") this.#foundCount++;
      this.messages.push({ message, body });
    }
  }

  /** Whether it is all that the leaf has, and no more than this. Each found result may count for the search, and be shown. */
  fits({ matches, displayed, taken }: Granted): boolean {
    if (this.end === undefined) return false;
    const { counts } = this.end;
    const isWithin = (count: number, max: number | undefined): boolean =>
      max === undefined || count + this.#foundCount <= max;
    return (
      isWithin(counts.matches, matches) &&
      isWithin(counts.displayed, displayed) &&
      taken.every((max, i) => isWithin(counts.taken?.[i] ?? 0, max))
    );
  }
}

function require(condition: boolean, message: string): asserts condition {
  if (!condition) throw new TrawlError("bad-request", message);
}

/**
 * The part of a receipt of another node: the items that an event shows. Further pages are not available, so nobody is
 * shown them.
 */
class RemoteReceipt implements ReceiptPart {
  readonly #receipt: WireReceipt | undefined;
  readonly groups: readonly OmissionGroup[];

  constructor(receipt: WireReceipt | undefined, lost: readonly OmissionGroup[]) {
    this.#receipt = receipt;
    const told = (receipt?.groups ?? []).map(({ reason, count, isGap, items }): OmissionGroup => {
      return { reason, count, isGap, item: (i): Omission | undefined => items.at(i) };
    });
    this.groups = [...told, ...lost];
  }

  get generation(): Uint32Array {
    return this.#receipt === undefined ? emptyDigest() : Uint32Array.from(this.#receipt.generation);
  }

  get documentCount(): number {
    return this.#receipt?.documentCount ?? 0;
  }

  repositories(from: number, count: number): ReceiptPage<ReceiptRepository> {
    const { count: all, items } = this.#receipt?.repositories ?? { count: 0, items: [] };
    return { count: all, items: items.slice(from, from + count) };
  }

  revisions(): never {
    throw new TrawlError("not-implemented", "the revisions of a search of several nodes are not kept");
  }

  isVisibleIn(): boolean {
    return false;
  }
}
