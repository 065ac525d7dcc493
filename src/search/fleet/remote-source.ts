import { isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import type { Log } from "../../base/log.js";
import { unreachable } from "../../base/assert.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { workInSteps } from "../../base/yielding.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import { emptyDigest } from "../../native/kernel/result-digest.js";
import { takenMatches } from "../../protocol/control-block.js";
import { holdsObjects } from "../../protocol/messages.js";
import { allMarksMax, creditOfBatch, markBytes, markWords, marksMax } from "../../protocol/result-batch.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import { countUnlimited, isShared } from "../limits/search-limits.js";
import { listOmissions, type OmissionGroup, type ReceiptPart } from "../source/receipt-part.js";
import { type ExcludedRepository, join, type Listed, type SearchPart, sentencesMax } from "../source/search-part.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { nodeIdSpan, type PinnedRevision } from "../source/search-fleet.js";
import {
  type Asked,
  type CoordinatorMessage,
  emptyPart,
  type LeafCounts,
  type LeafMessage,
  noCounts,
  pinnedCountMax,
  pinnedUnitsMax,
  readMarks,
  readTally,
  sentRecordsMax,
  toCoordinatorMessage,
  toLeafMessage,
  unitsOfPin,
  type WireReceipt,
  type WireTally,
  writePins,
} from "./fleet-messages.js";

/** Credit is returned in amounts of this, and all of it when the client has read everything. */
const creditStepBytes = 16 * 1024;

/** A leaf that has sent this many times its credit, unread, is not listened to until the client has read. */
const overdraftMax = 2;

/** How long a search that has found enough waits for a leaf that need not say anything. */
const limitGraceMs = 250;

/** Heads that are held in any case. */
const heldHeadBytesMin = 4 * 1024 * 1024;

/** How often a search goes on at another node: nodes that die one after the other must not hold it up for ever. */
const failoversMax = 4;

/** Nodes that may be lost while they search: what two of them die of, others would die of, too. */
const lostInSearchMax = 2;

/** A record of a result that an earlier batch has counted comes with so many bytes of it. */
const continuedBytesMin = 32;

/** Records of results that were written as far as they are shown when a batch ended: one of each thread, at most. */
const continuedSlack = 16;

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
  /** Says on which nodes a repository is, as far as they have told; the first ones that claim it keep it. */
  readonly claim: (repository: string, owner: string) => string;
  /** Of all marks of the search. */
  readonly secret: Uint8Array;
  readonly log: Log;
  /** Called when a search goes on at another node. */
  readonly onFailover: () => void;
}

/**
 * The source of a search that is another node, or several that have the same repositories, of which one is asked: it tells the node,
 * its *leaf*, what to search, and passes on what the leaf finds.
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
 *
 * If a leaf is lost and another node has the same repositories, that one is asked to go on. Its shards are others, so what was
 * passed on is told by marks: it searches everything again, and neither counts nor writes what has a mark. Of the commits of which
 * there are results it searches no others. What was counted and not passed on is taken from the counts again. Each node is asked
 * once, and after two were lost while they searched, no other one is.
 */
export class RemoteSource implements SearchSource, FrameReceiver {
  readonly changes = undefined;
  readonly #search: SourcedSearch;
  readonly #root: SourceRoot;
  /** The node that is asked, and those that may be asked instead. */
  #node: RemoteNode;
  readonly #others: RemoteNode[];
  /** All of them, as in sentences. */
  readonly #owner: string;
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
  /** By the first id that some node gave it. */
  readonly #names = new Map<number, string>();
  readonly #ids = new Map<string, number>();
  /** By the id of the node that is asked. */
  readonly #idsHere = new Map<number, number>();
  readonly #passed: PassedResults;
  #failovers = 0;
  /** Nodes that were lost after they had begun. */
  #lostInSearch = 0;
  /** Whether the node that is asked has sent marks. */
  #hasMarksOfNode = false;
  /** What the nodes that were asked before had chosen, and this one does not have. */
  #chosenBefore: Listed<string> | undefined;
  #missingHere: Listed<ExcludedRepository> = { count: 0, first: [] };
  /** The beginnings of a tally, until its end comes with the results. */
  #tallies: { readonly parts: WireTally[]; headBytes: number } = { parts: [], headBytes: 0 };

  constructor(
    search: SourcedSearch,
    root: SourceRoot,
    nodes: readonly [RemoteNode, ...RemoteNode[]],
    shared: SharedSearch,
  ) {
    this.#search = search;
    this.#root = root;
    [this.#node, ...this.#others] = nodes;
    this.#owner = `node${nodes.length > 1 ? "s" : ""} ${nodes.map(({ name }) => name).join(" and ")}`;
    this.#passed = new PassedResults(nodes.length > 1 && mayHaveMarks(search));
    this.#shared = shared;
    this.#part = emptyPart(search.plan);
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (isShared(search.limits)) this.#held = new HeldMessages();
    this.#channel = this.#node.open(this);
    this.#ask();
  }

  /** What was passed on of other nodes is told in steps, because it may be long. */
  #ask(): void {
    const { plan, request, limits } = this.#search;
    const asked = { ...request, origin: undefined, viewer: { ...request.viewer, credential: undefined } };
    const { lane, timeoutsMs, isSuggestible } = limits;
    const passed = this.#passed;
    const secret = passed.hasMarks ? this.#shared.secret : undefined;
    const { pinned, recordCount: sentCount } = passed;
    const pinnedCount = pinned.length;
    const body: Asked = { plan, request: asked, lane, timeoutsMs, isSuggestible, pinnedCount, secret, sentCount };
    const timeoutMs = Math.ceil(Math.max(...timeoutsMs));
    this.#send({ kind: "ask", timeoutMs, creditBytes: this.#shared.creditBytes }, serialize(body));
    this.#granted = this.#findLeft();
    this.#state = "searching";
    if (pinnedCount === 0 && sentCount === 0) return this.#go();
    const [channel, pieces] = [this.#channel, tellPassed(writePins(pinned), passed.records())];
    const isCurrent = (): boolean => this.#channel === channel && this.#state !== "closed";
    workInSteps({
      step: () => {
        if (!isCurrent()) return true;
        try {
          const { done, value } = pieces.next();
          if (done === true) this.#go();
          else this.#send(...value);
          return done === true;
        } catch (error) {
          this.#nameLost(errorMessage(error), "it could not be told what was found elsewhere");
          return true;
        }
      },
    });
  }

  /** What the limits of the search have left. */
  #findLeft(): Granted {
    const { limits, control } = this.#search;
    const { matchCountMax, displayCountMax, resultLimits } = limits;
    const left = (max: number, used: number): number => (max === countUnlimited ? max : Math.max(0, max - used));
    const matches = left(matchCountMax, control.matchCount);
    const displayed = left(displayCountMax, control.displayedCount);
    const taken =
      resultLimits?.countMax.map((max, i) =>
        max === undefined ? undefined : Math.max(0, max - takenMatches(resultLimits, i)),
      ) ?? [];
    return { matches, displayed, taken };
  }

  #go(): void {
    const { matches, displayed, taken } = this.#granted;
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

  /** A leaf has no credit for heads and marks, so they are counted apart. */
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
    for (const { message, body, headBytes } of held.messages) this.#take(message, body, headBytes);
    if (held.end !== undefined) this.#take(held.end, new Uint8Array(), 0);
  }

  #askAgain(): void {
    this.#channel.close();
    this.#held = undefined;
    this.#isPrepared = false;
    this.#sentLate.clear();
    this.#channel = this.#node.open(this);
    this.#ask();
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
    if (this.#state !== "closed") this.#nameLost("it did not end in time");
    this.#isFinal = true;
  }

  release(): void {
    this.#close();
  }

  part(): SearchPart {
    const { failures, excluded } = this.#part;
    if (this.#lost === undefined)
      return this.#missingHere.count === 0
        ? this.#part
        : { ...this.#part, excluded: join(excluded, this.#missingHere, sentencesMax), isRepeatable: false };
    return {
      ...this.#part,
      excluded: join(excluded, this.#notSearched, sentencesMax),
      failures: join(failures, { count: 1, first: [this.#sentence] }, sentencesMax),
      isRepeatable: false,
    };
  }

  get #sentence(): string {
    return `${this.#failovers === 0 ? `node ${this.#node.name} was` : `${this.#owner} were`} not searched completely: ${this.#lost}`;
  }

  /** The repositories of a lost leaf. */
  get #notSearched(): Listed<ExcludedRepository> {
    const reason = this.#sentence;
    const all = { count: 1, first: [`all repositories of ${this.#owner}`] };
    const { count, first } = this.#chosen ?? this.#chosenBefore ?? all;
    return { count, first: first.map((repository) => ({ repository, reason, isLate: false, isOfLostNode: true })) };
  }

  receipt(): Promise<ReceiptPart> {
    if (this.#state !== "closed") this.#nameLost("it did not end in time");
    const lost =
      this.#lost === undefined
        ? listExcluded(this.#missingHere)
        : [...listExcluded(this.#notSearched), listOmissions("failure", [this.#sentence], (detail) => ({ detail }))];
    return Promise.resolve(new RemoteReceipt(this.#receipt, lost));
  }

  nameOf(repositoryId: number): string | undefined {
    return this.#names.get(repositoryId);
  }

  frame({ head, headBytes, body, release }: Frame): void {
    this.#checked(() => {
      const message = toLeafMessage(head);
      if (this.#held === undefined || message.kind === "prepared" || message.kind === "failed")
        this.#take(message, body, headBytes, release);
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
      const said = this.#doubled ?? "its answer was not accepted";
      this.#lose(`it sent what it may not: ${error.message}`, said, true);
    }
  }

  closed(reason: string | undefined): void {
    if (this.#state === "closed") return;
    if (this.#isPrepared) this.#lostInSearch++;
    this.#lose(reason ?? "it ended before its search did", "it is not reachable");
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

  #take(message: LeafMessage, body: Uint8Array, headBytes: number, release = (): void => undefined): void {
    const { listener } = this.#root;
    if (message.kind === "failed") return this.#lose(message.reason, "it could not search");
    const isWhole = this.#tallies.parts.length === 0 || message.kind === "batch";
    require(isWhole, `a message ${message.kind} within a tally`);
    require((message.kind === "prepared") !== this.#isPrepared, `a message ${message.kind} out of turn`);
    switch (message.kind) {
      case "prepared":
        this.#isPrepared = true;
        this.#takePart(message.part);
        this.#chosen = message.chosen;
        for (const name of message.chosen.first) this.#claim(name);
        return this.#compareChosen(message.chosen);
      case "batch":
        this.#takeBatch(message, body, headBytes, release);
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
        this.#checkPart(message.part);
        this.#addCounts(message.counts);
        return this.#takeLastWords(message);
      case "holds":
        throw new TrawlError("bad-request", "a message holds out of turn");
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
    this.#checkPart(part);
    this.#part = part;
  }

  #checkPart(part: SearchPart): void {
    const { plan } = this.#search;
    require(part.choices.length === plan.basicQueries.length, "choices of another query");
  }

  /** Names repositories that a node before this one has, and this one has not. */
  #compareChosen(chosen: Listed<string>): void {
    const before = this.#chosenBefore;
    if (before === undefined) return;
    const here = new Set(chosen.first);
    const isListed = chosen.count === chosen.first.length;
    const names = isListed ? before.first.filter((name) => !here.has(name)) : [];
    const count = Math.max(names.length, before.count - chosen.count);
    const reason = `it is not on node ${this.#node.name}, although fleet.replicas says that this node has the same repositories as a node that was lost`;
    const first = names.length === 0 && count > 0 ? [`${count} repositories of ${this.#owner}`] : names;
    this.#missingHere = { count, first: first.map((repository) => ({ repository, reason, isLate: false })) };
  }

  #takeBatch(
    message: Extract<LeafMessage, { kind: "batch" }>,
    body: Uint8Array,
    headBytes: number,
    release: () => void,
  ): void {
    const { parts } = this.#tallies;
    if (message.isPart) {
      this.#tallies.headBytes += headBytes;
      require(body.length === 0 && this.#tallies.headBytes <= tallyBytesMax, "a tally that is too long");
      parts.push(message.tally);
      return;
    }
    this.#tallies = { parts: [], headBytes: 0 };
    const end = body.length - message.markBytes;
    require(end >= 0, "marks that are longer than their message");
    const [marks, bytes] = [readMarks(body.subarray(end)), body.subarray(0, end)];
    require(holdsObjects(bytes), "results that are no objects");
    const tallies = [...parts, message.tally];
    const repositories = tallies.flatMap((tally) => tally.repositories);
    const newMatches = repositories.reduce((sum, [, , , count]) => sum + count, 0);
    const matchCount = this.#receivedMatches + newMatches;
    require(matchCount <= message.counts.matches, "more results than it has counted");
    const recordsMax = newMatches + Math.floor(bytes.length / continuedBytesMin) + continuedSlack;
    require(marks.length / markWords <= recordsMax, "marks of more results than it has counted");
    for (const [id, name] of repositories) this.#learn(id, name);
    const empty = new Uint8Array(0);
    const batches = [
      ...parts.map((part) => ({ bytes: empty, tally: readTally(this.#withFirstIdsOf(part)), digest: undefined })),
      {
        bytes: this.#withFirstIds(bytes),
        tally: readTally(this.#withFirstIdsOf(message.tally)),
        digest: message.digest && Uint32Array.from(message.digest),
      },
    ];
    this.#addCounts(message.counts);
    // Nothing of it is wrong, so all of it is passed on.
    this.#receivedMatches = matchCount;
    for (const [, repository, typed, count, commit] of repositories)
      if (count > 0) this.#passed.pin({ repository, typed, commit });
    this.#passed.add(marks, bytes.length);
    if (marks.length > 0) this.#hasMarksOfNode = true;
    // Results without an owner have no marks in any search.
    if (tallies.some((tally) => tally.unownedResults > 0 || (marks.length === 0 && countsAnything(tally))))
      this.#passed.addUnmarked();
    const groupCredit = batches.reduce((sum, { tally }) => sum + creditOfBatch({ bytes: empty, tally }), 0);
    this.#owe(bytes.length + groupCredit);
    // The last one has the bytes of the message.
    for (const [i, batch] of batches.entries())
      this.#root.listener.batch({ ...batch, selected: [] }, i === parts.length ? release : () => undefined);
  }

  #takeFound(message: Extract<LeafMessage, { kind: "found" }>, body: Uint8Array): void {
    const { key, optionsIndex, repositoryId: idHere, repository, revision, resultKind: kind } = message;
    require(optionsIndex < this.#search.plan.resultOptions.length, "result options that the query has not");
    const repositoryId = this.#learn(idHere, repository);
    // As the leaf counts it.
    this.#owe(body.length);
    const isOfRepository = kind === "owner" || key.startsWith(`${idHere}@`);
    require(isOfRepository, "the key of a result of another repository");
    const ownKey = kind === "owner" ? key : `${repositoryId}${key.slice(key.indexOf("@"))}`;
    const json = Buffer.from(this.#withFirstIds(body)).toString();
    if (kind === "directory") this.#passed.pin({ repository, typed: revision, commit: commitIn(json) });
    // Another node would count it again, within what is left. Owners are counted by the coordinator only.
    if (kind !== "owner" && isShared(this.#search.limits)) this.#passed.addUnmarked();
    const found = { key: ownKey, optionsIndex, repositoryId, repository, revision, kind, json: () => json };
    this.#root.listener.found(found);
  }

  /** The id by which the client knows the repository: the one that the first node which told of it has. */
  #learn(idHere: number, name: string): number {
    const known = this.#idsHere.get(idHere);
    if (known !== undefined) return known;
    const { idBase } = this.#node;
    require(idHere >= idBase && idHere < idBase + nodeIdSpan, `the repository ${idHere} of another node`);
    const first = this.#ids.get(name);
    if (first === undefined) {
      this.#claim(name);
      this.#ids.set(name, idHere);
      this.#names.set(idHere, name);
    }
    this.#idsHere.set(idHere, first ?? idHere);
    return first ?? idHere;
  }

  #withFirstIdsOf(tally: WireTally): WireTally {
    if (this.#failovers === 0) return tally;
    const repositories = tally.repositories.map(
      ([id, name, typed, count, commit]) => [this.#learn(id, name), name, typed, count, commit] as const,
    );
    return { ...tally, repositories };
  }

  /** Each node has ids of its own: in match objects of another one than the first, they are replaced. */
  #withFirstIds(bytes: Uint8Array): Uint8Array {
    return this.#failovers === 0 ? bytes : replaceIds(bytes, (id, name) => this.#learn(id, name));
  }

  /** Throws if another node has told that it has a repository with this name. */
  #claim(repository: string): void {
    const owner = this.#shared.claim(repository, this.#owner);
    if (owner === this.#owner) return;
    this.#doubled = `${owner} has the repository ${repository} too: remove it from one of the two configurations`;
    throw new TrawlError("bad-request", this.#doubled);
  }

  #owe(byteCount: number): void {
    this.#owedBytes += byteCount;
    if (this.#state === "searching" && this.#owedBytes > this.#shared.creditBytes * overdraftMax) this.#channel.pause();
  }

  /** Adds what the leaf has counted since the last time to the counts of the search: all of it, or nothing. */
  #addCounts(now: LeafCounts): void {
    const { control, limits } = this.#search;
    const before = this.#counts;
    const grown = (key: "matches" | "displayed" | "scannedKib" | "workerTenths"): number => {
      require(now[key] >= before[key], `a count of ${key} that shrinks`);
      return now[key] - before[key];
    };
    const { matches, displayed, taken } = this.#granted;
    require(now.matches <= matches && now.displayed <= displayed, "more matches than it was granted");
    const [newMatches, newDisplayed] = [grown("matches"), grown("displayed")];
    const [newKib, newTenths] = [grown("scannedKib"), grown("workerTenths")];
    const { resultLimits } = limits;
    const takenNow = resultLimits === undefined ? [] : (now.taken ?? []);
    const isComplete = now.taken === undefined || resultLimits?.countMax.length === takenNow.length;
    require(resultLimits === undefined || isComplete, "limits of another query");
    require(now.taken !== undefined ||
      before.taken === undefined, "matches of basic queries that it does not tell any more");
    const newTaken = takenNow.map((count, i) => count - (before.taken?.[i] ?? 0));
    const isGranted = newTaken.every((added, i) => added >= 0 && takenNow[i] <= (taken[i] ?? 0));
    require(isGranted, "more matches of a basic query than it was granted");
    // Nothing of it is wrong, so all of it is added.
    this.#addTaken(newTaken);
    control.addMatches(newMatches);
    control.addDisplayed(newDisplayed);
    control.addCost(newKib, newTenths);
    this.#counts = now;
    if (!now.isLimitHit) return;
    control.recordLimitHit();
    if (control.matchCount >= limits.matchCountMax) control.stopAtLimit();
  }

  #addTaken(added: readonly number[]): void {
    const { resultLimits } = this.#search.limits;
    if (resultLimits === undefined) return;
    for (const [i, count] of added.entries()) Atomics.add(resultLimits.taken, i, BigInt(count));
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
    // Whoever owes nothing is not waited for. One that goes on behind others may owe what they have counted.
    this.#limitWait = callAfter(limitGraceMs, () => {
      if (this.#state === "closed" || this.#failovers > 0 || this.#counts.matches > this.#receivedMatches) return;
      this.#part = { ...this.#part, isRepeatable: false };
      this.#close();
    });
  }

  /**
   * `reason` is for the log: it may have addresses and more of what clients may not know. They are told `said`. `isWrong` says that
   * what it answers is wrong, and not only missing.
   */
  #lose(reason: string, said = reason, isWrong = false): void {
    if (this.#isFinal || this.#lost !== undefined) return;
    if (!this.#failOver(reason, isWrong)) this.#nameLost(reason, said);
  }

  /** Goes on at another node that has the same repositories. False if there is none, or it could not know where. */
  #failOver(reason: string, isWrong: boolean): boolean {
    const { control } = this.#search;
    if (this.#state !== "searching" || control.isStopped || this.#failovers >= failoversMax) return false;
    if (this.#lostInSearch >= lostInSearchMax || this.#doubled !== undefined) return false;
    // What has a mark is left out by all others, so marks of a liar hide what they like.
    if (isWrong && this.#hasMarksOfNode) return false;
    if (!this.#passed.mayGoOn(this.#search.limits)) return false;
    const next = this.#others.shift();
    if (next === undefined) return false;
    const { log, onFailover } = this.#shared;
    log.warn({ node: this.#node.name, next: next.name }, `a search goes on at another node: ${reason}`);
    onFailover();
    this.#channel.close();
    this.#returnCounts();
    this.#node = next;
    this.#hasMarksOfNode = false;
    this.#failovers++;
    this.#chosenBefore ??= this.#chosen;
    this.#chosen = undefined;
    if (this.#held !== undefined) this.#held = new HeldMessages();
    this.#tallies = { parts: [], headBytes: 0 };
    this.#isPrepared = false;
    this.#counts = noCounts;
    this.#receivedMatches = 0;
    this.#isLeafParked = false;
    this.#owedBytes = 0;
    this.#sentLate.clear();
    this.#idsHere.clear();
    this.#root.listener.scheduled();
    try {
      this.#channel = next.open(this);
      this.#ask();
    } catch (error) {
      // The connection that has ended calls this: nobody else would catch it.
      this.#nameLost(errorMessage(error), "it could not be asked");
    }
    return true;
  }

  #nameLost(reason: string, said = reason): void {
    if (this.#isFinal || this.#lost !== undefined) return;
    // Nothing was to be searched there.
    if ((this.#chosen ?? this.#chosenBefore)?.count !== 0) {
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
    // Otherwise it is not known which basic queries have counted what was sent.
    if (this.#receivedMatches === 0) this.#addTaken((this.#counts.taken ?? []).map((count) => -count));
    this.#counts = noCounts;
  }

  #close(): void {
    this.#limitWait?.cancel();
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#passed.release();
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
  readonly messages: { readonly message: LeafMessage; readonly body: Uint8Array; readonly headBytes: number }[] = [];
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
      // A leaf has no credit for marks, like heads.
      const markByteCount = message.kind === "batch" ? Math.min(message.markBytes, body.length) : 0;
      this.byteCount += body.length - markByteCount + heldMessageBytes;
      this.headByteCount += headBytes + markByteCount;
      if (message.kind === "found") this.#foundCount++;
      this.messages.push({ message, body, headBytes });
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

/** Heads of all parts of one tally: more repositories than a batch has matches. */
const tallyBytesMax = 16 * 1024 * 1024;

/** What was passed on of the results of some nodes, so that another one can go on behind it. */
class PassedResults {
  /** Whether results have marks. */
  readonly hasMarks: boolean;
  /** Records of all searches. */
  static #allCount = 0;
  readonly #records: Uint32Array[] = [];
  readonly #pinned = new Map<string, PinnedRevision>();
  #pinnedUnits = 0;
  recordCount = 0;
  #isComplete = true;
  #isEmpty = true;

  constructor(hasMarks: boolean) {
    this.hasMarks = hasMarks;
  }

  get pinned(): readonly PinnedRevision[] {
    return [...this.#pinned.values()];
  }

  pin(revision: PinnedRevision): void {
    const { repository, typed, commit } = revision;
    if (commit === "") return;
    const key = `${repository}@${typed}`;
    if (!this.hasMarks || !this.#isComplete || this.#pinned.has(key)) return;
    this.#pinned.set(key, revision);
    this.#pinnedUnits += unitsOfPin(revision);
    if (this.#pinnedUnits > pinnedUnitsMax || this.#pinned.size > pinnedCountMax) this.addUnmarked();
  }

  add(marks: Uint32Array, byteCount: number): void {
    if (byteCount > 0 || marks.length > 0) this.#isEmpty = false;
    if (byteCount > 0 && marks.length === 0) this.#forget();
    if (!this.hasMarks || !this.#isComplete) return;
    this.recordCount += marks.length / markWords;
    PassedResults.#allCount += marks.length / markWords;
    if (marks.length > 0) this.#records.push(marks);
    if (this.recordCount <= marksMax && PassedResults.#allCount <= allMarksMax) return;
    this.#forget();
  }

  /** Something was passed on behind which nobody can go on: it has no marks, or too much was to be told. */
  addUnmarked(): void {
    this.#isEmpty = false;
    this.#forget();
  }

  /** Nobody goes on behind them any more, nor behind what still comes. */
  release(): void {
    this.#forget();
  }

  /** Nobody can go on behind anything more. */
  #forget(): void {
    this.#isComplete = false;
    PassedResults.#allCount -= this.recordCount;
    this.#records.length = 0;
    this.#pinned.clear();
    this.#pinnedUnits = 0;
    this.recordCount = 0;
  }

  /** Of basic queries with limits of their own it is not known which of them has counted what was passed on. */
  mayGoOn({ resultLimits }: SourcedSearch["limits"]): boolean {
    const isCountable = resultLimits?.countMax.every((max) => max === undefined) ?? true;
    return this.#isEmpty || (this.hasMarks && this.#isComplete && isCountable);
  }

  /** All records so far, in messages. */
  *records(): Generator<Uint8Array, void> {
    for (const { buffer, byteLength } of [...this.#records])
      for (let from = 0; from < byteLength; from += sentRecordsMax * markBytes)
        yield new Uint8Array(buffer, from, Math.min(sentRecordsMax * markBytes, byteLength - from));
  }
}

/** The messages about what was passed on. */
function* tellPassed(
  pins: Iterable<Uint8Array>,
  records: Iterable<Uint8Array>,
): Generator<[CoordinatorMessage, Uint8Array], void> {
  for (const body of pins) yield [{ kind: "pins" }, body];
  for (const body of records) yield [{ kind: "sent" }, body];
}

function countsAnything(tally: WireTally): boolean {
  const { repositories, languages, fileKinds, symbolKinds, groups } = tally;
  const counts = [tally.contentMatches, tally.symbolMatches, tally.pathMatches, ...fileKinds];
  if (counts.some((count) => count > 0)) return true;
  return (
    repositories.some((one) => one[3] > 0) ||
    [languages, symbolKinds, groups].some((list) => list.some((one) => one[1] > 0))
  );
}

/** Results that are only counted, or that refer to others, have no marks. */
function mayHaveMarks({ request, claims }: SourcedSearch): boolean {
  return request.groups === undefined && claims === undefined;
}

function listExcluded({ count, first }: Listed<ExcludedRepository>): OmissionGroup[] {
  if (count === 0) return [];
  const item = (i: number): Omission | undefined => {
    const one = first.at(i);
    return one && { reason: "repository-excluded", repository: one.repository, detail: one.reason };
  };
  return [{ reason: "repository-excluded", count, isGap: true, item }];
}

const idMember = Buffer.from(',"repositoryID":');
const nameMember = Buffer.from(',"repository":"');
const [quote, backslash] = Buffer.from('"\\');

/**
 * Match objects with other ids of repositories. The member cannot be part of a text, in which quotation marks are escaped; the name
 * follows it.
 */
export function replaceIds(bytes: Uint8Array, idOf: (id: number, name: string) => number): Uint8Array {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: Uint8Array[] = [];
  let done = 0;
  for (let at = json.indexOf(idMember); at >= 0; at = json.indexOf(idMember, at + 1)) {
    const from = at + idMember.length;
    const to = json.indexOf(nameMember, from);
    require(to > from && to - from <= 10, "a match object without a repository");
    const nameFrom = to + nameMember.length;
    let nameTo = nameFrom;
    while (nameTo < json.length && json[nameTo] !== quote) nameTo += json[nameTo] === backslash ? 2 : 1;
    const id = Number(json.toString("latin1", from, to));
    const first = idOf(id, readName(json.toString("utf8", nameFrom - 1, nameTo + 1)));
    if (first === id) continue;
    pieces.push(json.subarray(done, from), Buffer.from(String(first)));
    done = to;
  }
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, json.subarray(done)]);
}

/** The commit of a match object; "" if it has none. */
function commitIn(json: string): string {
  const commit: unknown = /,"commit":"([0-9a-f]{40,64})"/.exec(json)?.[1];
  return typeof commit === "string" ? commit : "";
}

function readName(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    throw new TrawlError("bad-request", "a match object with a name that is no text");
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
