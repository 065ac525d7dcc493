import type { Log } from "../../base/log.js";
import { assert, unreachable } from "../../base/assert.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { type SteppedWork, workInSteps } from "../../base/yielding.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import { emptyDigest } from "../../native/kernel/result-digest.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import { contentRecordsMax, contentRecordWords } from "../../protocol/content-claims.js";
import { takenMatches } from "../../protocol/control-block.js";
import { holdsObjects } from "../../protocol/messages.js";
import { allMarksMax, creditOfBatch, markBytes, markWords, marksMax } from "../../protocol/result-batch.js";
import type { FrameReceiver } from "../../wire/frame-channel.js";
import type { Frame } from "../../wire/frames.js";
import { countUnlimited, isShared } from "../limits/search-limits.js";
import { type FoundChange, type FoundChanges, keptBytes } from "../source/found-changes.js";
import { countListed, listOmissions, type OmissionGroup, type ReceiptPart } from "../source/receipt-part.js";
import { type ExcludedRepository, join, type Listed, type SearchPart, sentencesMax } from "../source/search-part.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import type { PinnedRevision } from "../source/search-fleet.js";
import {
  changesCountMax,
  changesUnitsMax,
  type CoordinatorMessage,
  coveredCountMax,
  coveredUnitsMax,
  describeFound,
  emptyPart,
  type LeafCounts,
  type LeafMessage,
  knownCountMax,
  knownUnitsMax,
  noCounts,
  pinnedCountMax,
  pinnedUnitsMax,
  readCommits,
  readMarks,
  readTally,
  readWords,
  sentRecordsMax,
  type ToldBase,
  toCoordinatorMessage,
  toLeafMessage,
  unitsOfCovered,
  unitsOfPin,
  type WireReceipt,
  type WireTally,
  writeKnown,
  writePins,
} from "./fleet-messages.js";
import { LabelCheck } from "./label-check.js";
import type { AskedPartitions } from "./leaf-search.js";
import type { Channel } from "./local-channel.js";
import { compareKeys, type OrderedSource, type OrderKey, type ResultOrder, sections } from "./result-order.js";
import {
  type Copies,
  countRecorded,
  type NodeContents,
  readObjects,
  savedBy,
  type SharedContents,
  splitObjects,
} from "./shared-contents.js";

/** Credit is returned in amounts of this, and all of it when the client has read everything. */
const creditStepBytes = 16 * 1024;

/** A leaf that has sent this many times its credit, unread, is not listened to until the client has read. */
const overdraftMax = 2;

/** What a leaf is told goes on when no more of it waits to be sent than this, which is looked at so often. */
const toldBytesMax = 256 * 1024;
const toldWaitMs = 10;

/** How long a search that has found enough waits for a leaf that need not say anything, but for its receipt. */
const limitGraceMs = 250;
const receiptGraceMs = 2_000;

/** Heads that are held in any case. */
const heldHeadBytesMin = 4 * 1024 * 1024;

/** Heads that the sources of a search hold together, beside those of the one for which the others wait. */
const allHeldHeadBytesMax = 16 * 1024 * 1024;

/** How often a search goes on at another node: nodes that die one after the other must not hold it up for ever. */
const failoversMax = 4;

/** Nodes that may be lost while they search: what two of them die of, others would die of, too. */
const lostInSearchMax = 2;

/** A record of a result that an earlier batch has counted comes with so many bytes of it. */
const continuedBytesMin = 32;

/** Records of results that were written as far as they are shown when a batch ended: one of each thread, at most. */
const continuedSlack = 16;

/** Records of contents are looked up in one go if all heads that are held have no more bytes than these: it takes some milliseconds. */
const foreseenBytesMax = 1024 * 1024;

/** After all ranked documents. */
const noDocument = Number.MAX_SAFE_INTEGER;

/** What a message takes of the memory for messages that wait, beside its body. */
const heldMessageBytes = 256;

/** A node, as the searches of this one see it. */
export interface RemoteNode {
  readonly name: string;
  /** What is said of it, if it is not that it is the node of this name. */
  readonly said?: string;
  /** Whether a repository with this id may be one of those for which it is asked. */
  mayHave(repositoryId: number): boolean;
  open(receiver: FrameReceiver): Channel;
}

/** At which source of a search a repository is that an earlier one has covered: others are not told of it. */
export interface RepositoryPlaces {
  /** The number of the source; undefined if it may be any of them, and -1 if it is none. */
  find(repository: string): number | undefined;
  /** A source has told that it has covered it. */
  learn(repository: string, source: number): void;
  /** A repository was found that was known to be elsewhere. */
  forget(): void;
}

/** What the sources of one search on several nodes have in common. */
export interface SharedSearch {
  readonly creditBytes: number;
  /** Whether the search has no other source. */
  readonly isOnly: boolean;
  /** Says on which nodes a repository is, as far as they have told; the first ones that claim it keep it. */
  readonly claim: (repository: string, owner: string) => string;
  readonly order: ResultOrder;
  readonly heads: HeldHeads;
  /** Undefined unless results with the same content are grouped. */
  readonly contents: SharedContents | undefined;
  /** What all leaves have told that they have covered: revisions, a repository without any as one; and UTF-16 units. */
  readonly covered: { count: number; units: number };
  /** Undefined if nobody knows where repositories are before nodes have told. */
  readonly places: RepositoryPlaces | undefined;
  /** The search as all nodes are told, with the secret of its marks. */
  readonly asked: Uint8Array;
  readonly log: Log;
  /** Called when a search goes on at another node. */
  readonly onFailover: () => void;
}

/** The heads that the sources of one search hold together. */
export interface HeldHeads {
  byteCount: number;
  /** The source that may complete its tally, although they hold too much. */
  tallied: OrderedSource | undefined;
}

type Message<Kind extends LeafMessage["kind"]> = Extract<LeafMessage, { kind: Kind }>;
type Told<Kind extends CoordinatorMessage["kind"]> = Extract<CoordinatorMessage, { kind: Kind }>;

/** What has a place in the order of results. */
type PlacedMessage = Message<"batch" | "found" | "commits" | "turn" | "end">;

/** Where each of them may be. */
const heldIn: Readonly<Record<PlacedMessage["kind"], readonly unknown[]>> = {
  batch: [sections.ranked, sections.others],
  found: [sections.repositories, sections.others, sections.histories],
  commits: [sections.histories],
  turn: [sections.ranked, sections.others, sections.histories],
  end: [sections.end],
};

/**
 * The source of a search that is a node, or several that have the same repositories, of which one is asked: it tells the node,
 * its *leaf*, what to search, and passes on what the leaf finds.
 *
 * The leaf counts matches within the limits of the search, and says how many; they are added to the counts of the search
 * before the root gets them. What it says is checked, and whoever says what cannot be is left out from then on, like a leaf
 * whose connection breaks: the part of this source then names what was not searched.
 *
 * What it says is held, up to its credit, until it is its turn in the order of results. All leaves begin with the whole limit.
 * What this one has found in its turn is passed on if it fits into what the others have left:
 *
 *     repositories, commits     the root counts them
 *     a ranked document         if all of its matches fit
 *     the others                if the others have left as much as the leaf knows of, or it has ended within what they have left
 *
 * If not, it is asked again, from there on, with what is left. So a search that finds less than its limit takes as long as the slowest
 * node, and every search is exact.
 *
 * If results with the same content are grouped, the leaf counts a content in full that another node has, too. Then less is counted than it
 * knows of. If it has come to its limit with that, or if nobody can tell yet, it is asked again, and told what the client has.
 *
 * In a search for changes it tells which revisions have changed when it has found everything, and what it has covered. If it is lost
 * before that, nothing has changed as far as the search knows: its results are left out, and the next search compares with the same base.
 *
 * If a leaf is lost and another node has the same repositories, that one is asked to go on. Its shards are others, so what was
 * passed on is told by marks: it searches everything again, and neither counts nor writes what has a mark. Of the commits of which
 * there are results it searches no others. What was counted and not passed on is taken from the counts again. Repositories and
 * commits need no marks: the root knows those that it has. Each node is asked once, and after two were lost while they searched, no
 * other one is.
 */
export class RemoteSource implements SearchSource, FrameReceiver, OrderedSource {
  readonly #search: SourcedSearch;
  readonly #root: SourceRoot;
  /** The node that is asked, and those that may be asked instead. */
  #node: RemoteNode;
  readonly #others: RemoteNode[];
  /** All of them, as in sentences. */
  readonly #owner: string;
  /** Those for which they are asked; undefined for all that they have. */
  readonly #partitions: AskedPartitions | undefined;
  readonly #shared: SharedSearch;
  /** Its number in the order. */
  readonly #number: number;
  /** The number of its first change. */
  readonly #sideFrom: number;
  #channel: Channel;
  readonly #ended: Promise<void>;
  #resolve: () => void = () => undefined;
  /** `closed`: nothing is expected from the leaf any more. */
  #state: "searching" | "stopping" | "closed" = "searching";
  #isRunning = false;
  readonly #held = new HeldMessages();
  /** Where the leaf is: its next messages are not before it. */
  #reached: OrderKey;
  /** What the leaf may count and show, and what of it was passed on. */
  #granted: Left = { matches: 0, displayed: 0, taken: [] };
  #counts: LeafCounts = noCounts;
  /** What it has cost, in all its runs. */
  #cost: Pick<LeafCounts, "scannedKib" | "workerTenths"> = noCounts;
  #foundCount = 0;
  /** Whether what has no order may be passed on. */
  #isAdmitted = false;
  /** Whether bytes are not wanted any more, because as much as may be shown was shown. */
  #isCountedOnly = false;
  /** The ranked document whose results were passed on last, and whether they are shown. */
  #document: number | undefined;
  #isDocumentShown = false;
  #isRestarting = false;
  #mayRank = false;
  /** Why the leaf says nothing more, although it has not said everything, and what clients are told. */
  #broken: { readonly reason: string; readonly said: string } | undefined;
  /** Why the leaf is not there any more, although it has said everything. */
  #gone: string | undefined;
  #isOutOfTime = false;
  #part: SearchPart;
  /** Names of the repositories that the leaf searches; undefined until it has told. */
  #chosen: Listed<string> | undefined;
  #receipt: WireReceipt | undefined;
  /** What clients are told about a repository that two nodes have. */
  #doubled: string | undefined;
  /** Why the leaf has not searched everything, as clients are told; undefined if it has, or may still. */
  #lost: string | undefined;
  #isFinal = false;
  #hasSentLimit = false;
  #limitWait: PendingCall | undefined;
  /** Matches in the batches that were passed on; and match objects, if they are looked at. */
  #receivedMatches = 0;
  #objectCount = 0;
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
  /** Its part of the heads that all sources hold. */
  #headBytes = 0;
  /** Undefined unless results with the same content are grouped. */
  readonly #contents: NodeContents | undefined;
  /** What an earlier search has covered, as it is told; undefined unless changes since then are searched for. */
  readonly #base: ToldBase | undefined;
  readonly #changes: ToldChanges | undefined;
  readonly #covered: ToldCovered;
  /** Undefined unless matches have labels of the patterns of the request. */
  readonly #labels: LabelCheck | undefined;

  constructor(
    search: SourcedSearch,
    root: SourceRoot,
    nodes: readonly [RemoteNode, ...RemoteNode[]],
    shared: SharedSearch,
    partitions?: AskedPartitions,
    base?: ToldBase,
  ) {
    this.#search = search;
    this.#root = root;
    [this.#node, ...this.#others] = nodes;
    this.#owner = nodes[0].said ?? `node${nodes.length > 1 ? "s" : ""} ${nodes.map(({ name }) => name).join(" and ")}`;
    this.#partitions = partitions;
    this.#passed = new PassedResults(nodes.length > 1 && mayHaveMarks(search));
    this.#shared = shared;
    this.#contents = shared.contents?.join();
    const { since, isBase, patterns } = search.request;
    this.#labels = patterns && new LabelCheck(search.request, patterns.length);
    const countMax = since === undefined && isBase !== true ? coveredCountMax.receipt : coveredCountMax.base;
    this.#covered = new ToldCovered(shared.covered, countMax);
    this.#part = emptyPart(search.plan);
    this.#reached = [];
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#number = shared.order.join(this);
    this.#base = base;
    // No two sources of a search use the same numbers.
    this.#sideFrom = this.#number * changesCountMax;
    this.#changes =
      since && base && new ToldChanges(since, base.revisions, this.#sideFrom, () => shared.places?.forget());
    this.#channel = this.#node.open(this);
    this.#ask();
  }

  /** What was passed on of other nodes is told in steps, because it may be long. */
  #ask(): void {
    const { asked, creditBytes, isOnly } = this.#shared;
    const passed = this.#passed;
    const { hasMarks, pinned, known, recordCount: sentCount } = passed;
    const knownCount = known.size;
    const pinnedCount = pinned.length;
    const timeoutMs = Math.ceil(Math.max(...this.#search.limits.timeoutsMs));
    const rankedMatchesMax = this.#failovers === 0 ? undefined : this.#search.limits.displayCountMax;
    const base = this.#base;
    const sideFrom = base && this.#sideFrom;
    const told = { isOnly, hasMarks, sideFrom, pinnedCount, knownCount, sentCount, rankedMatchesMax };
    this.#send({ kind: "ask", timeoutMs, creditBytes, partitions: this.#partitions, ...told }, asked);
    this.#granted = this.#findLeft();
    const go = { kind: "go", ...this.#grant } as const;
    if (base === undefined && pinnedCount === 0 && knownCount === 0 && sentCount === 0) return this.#send(go);
    this.#sendInSteps(tellPassed(base, writePins(pinned), writeKnown(known), passed.records()), go);
  }

  #sendInSteps(pieces: Iterator<[CoordinatorMessage, Uint8Array] | undefined, void>, last: CoordinatorMessage): void {
    const channel = this.#channel;
    const isCurrent = (): boolean => this.#channel === channel && this.#state !== "closed";
    const work: SteppedWork = {
      step: () => {
        if (!isCurrent()) return true;
        if (channel.waitingBytes > toldBytesMax) {
          callAfter(toldWaitMs, () => workInSteps(work));
          return true;
        }
        try {
          const { done, value } = pieces.next();
          if (done === true) this.#send(last);
          else if (value !== undefined) this.#send(...value);
          return done === true;
        } catch (error) {
          this.#nameLost(errorMessage(error), "it could not be told what was found elsewhere");
          return true;
        }
      },
    };
    workInSteps(work);
  }

  /** What the limits of the search have left. */
  #findLeft(): Left {
    const { limits, control } = this.#search;
    const { matchCountMax, displayCountMax, resultLimits } = limits;
    const left = (max: number, used: number): number => (max === countUnlimited ? max : Math.max(0, max - used));
    const taken =
      resultLimits?.countMax.map((max, i) =>
        max === undefined ? undefined : Math.max(0, max - takenMatches(resultLimits, i)),
      ) ?? [];
    return {
      matches: left(matchCountMax, control.matchCount),
      displayed: left(displayCountMax, control.displayedCount),
      taken,
    };
  }

  get #grant(): Pick<Told<"go">, "matchCountMax" | "displayCountMax" | "optionsMax"> {
    const { matches, displayed, taken } = this.#granted;
    const optionsMax = this.#search.limits.resultLimits === undefined ? undefined : taken;
    return { matchCountMax: matches, displayCountMax: displayed, optionsMax };
  }

  /** Whether the leaf itself keeps to what is left: nobody else has counted anything that it does not know of. */
  #knowsLimits(left: Left): boolean {
    const { matches, displayed, taken } = this.#granted;
    const rest = (max: number, used: number): number =>
      max === countUnlimited ? max : Math.max(0, max - used - this.#foundCount);
    return (
      left.matches === rest(matches, this.#counts.matches) &&
      (left.displayed === 0 || left.displayed === rest(displayed, this.#counts.displayed)) &&
      taken.every((max, i) => left.taken[i] === max && (this.#counts.taken?.[i] ?? 0) === 0)
    );
  }

  #send(message: CoordinatorMessage, body?: Uint8Array): void {
    toCoordinatorMessage(message);
    this.#channel.send(message, body);
  }

  run(): Promise<void> {
    this.#isRunning = true;
    if (this.#state !== "closed") this.#root.listener.scheduled();
    this.#wake();
    return this.#ended;
  }

  #wake(): void {
    this.#shared.order.wake(this.#number);
  }

  passOn(): boolean {
    let isPassedOn = false;
    this.#guarded(() => {
      isPassedOn = this.#isRunning && this.#passOnFirst();
      if (!isPassedOn) this.#loseBroken();
    });
    this.#pace();
    return isPassedOn;
  }

  /** What a leaf said before it was lost counts, as far as it can be passed on. */
  #loseBroken(): void {
    const broken = this.#broken;
    this.#broken = undefined;
    if (broken !== undefined) this.#lose(broken.reason, broken.said);
  }

  share(shardCount: number): void {
    if (this.#mayRank && this.#state === "searching") this.#send({ kind: "share", shardCount });
    this.#mayRank = false;
  }

  giveUpRanking(): void {
    // It waits for its turn, or for the client.
    if (this.#held.first !== undefined || this.#isLeafParked || this.#owedBytes > 0) return;
    this.#guarded(() => this.#lose("it was not ready to rank when half of the time was over"));
    this.#pace();
  }

  /** Passes on the first message that is held. Returns false if there is none, or it has to wait. */
  #passOnFirst(): boolean {
    const { first } = this.#held;
    if (first === undefined || this.#isClosed) return false;
    if (this.#isLimitReached && !this.#isAdmitted && !this.#mayOwe) return this.#endAtLimit();
    if (this.#isOutOfTime) {
      const isWanted = this.#mayTakeLate(first);
      return !this.#isClosed && this.#takeFirst(isWanted);
    }
    if (this.#mustGoOn(first.message)) return false;
    if (first.message.kind === "end") return this.#takeFirst(true);
    if (!this.#shared.order.isTurn(this.#number) || !this.#isAllowed(first)) return false;
    return this.#takeFirst(true);
  }

  #takeFirst(isWanted: boolean): boolean {
    const { message, body, release } = this.#held.shift();
    if (isWanted) this.#take(message, body, release);
    const next = this.#held.first?.message;
    if (!this.#isClosed) this.#reach(next === undefined ? this.#reached : findPlace(next));
    return true;
  }

  get #isClosed(): boolean {
    return this.#state === "closed";
  }

  #reach(place: OrderKey): void {
    this.#shared.order.reach(this.#number, place);
  }

  /**
   * Whether the leaf has ended what it ranks at its limit, and the search has not come to its own, because some of the contents are
   * those of others. Asks the leaf again then.
   */
  #mustGoOn(message: PlacedMessage): boolean {
    if (this.#isAdmitted || (this.#contents?.saved ?? 0) === 0 || !("counts" in message)) return false;
    if (Number(findPlace(message)[0]) <= sections.ranked || !this.#isAtLimit(message.counts)) return false;
    const left = this.#findLeft();
    if (left.matches === 0) return false;
    this.#askAgain(left, this.#nextDocument);
    return true;
  }

  /** Of those that were ranked, the one after what was passed on. */
  get #nextDocument(): number {
    return this.#document === undefined ? 0 : this.#document + 1;
  }

  /** Whether the leaf has counted or shown all that it may. */
  #isAtLimit({ matches, displayed, isLimitHit }: LeafCounts): boolean {
    const granted = this.#granted;
    return isLimitHit || matches >= granted.matches || (granted.displayed > 0 && displayed >= granted.displayed);
  }

  /** Whether a message whose turn it is fits; asks the leaf again if it does not. */
  #isAllowed({ message, body }: HeldMessage): boolean {
    const [section] = findPlace(message);
    if (message.kind === "batch" && section === sections.ranked) return this.#isRankedAllowed(message, body);
    if (section !== sections.others || this.#isAdmitted) return true;
    // What says only that others follow.
    if (message.kind === "turn") return true;
    const left = this.#findLeft();
    const isExact = this.#contents?.isExact !== false || !isShared(this.#search.limits);
    if (!(isExact && this.#knowsLimits(left)) && !this.#fits(left)) return false;
    this.#isAdmitted = true;
    this.#isCountedOnly = this.#isNothingShown(left);
    return true;
  }

  #isNothingShown({ displayed }: Left): boolean {
    const { displayCountMax, matchCountMax } = this.#search.limits;
    return displayed === 0 && Math.min(displayCountMax, matchCountMax) !== countUnlimited;
  }

  /** Whether all that the leaf has found besides what is ordered is known, and fits. */
  #fits(left: Left): boolean {
    const end = this.#held.endOfOthers;
    if (end === undefined) {
      if (this.#isLeafParked || this.#isFull) this.#askAgain(left);
      return false;
    }
    const { counts } = end.message;
    const found = end.foundCount;
    const saved = this.#savedInHeld();
    if (saved === undefined) {
      this.#askAgain(left);
      return false;
    }
    // What a content saves cannot be told by basic queries.
    const isLimited = this.#isAtLimit(counts) || left.taken.some((max) => max !== undefined);
    const isCut = saved + (this.#contents?.saved ?? 0) > 0 && isLimited;
    const isWithin = (count: number, max: number | undefined): boolean => max === undefined || count + found <= max;
    const fits =
      !isCut &&
      isWithin(counts.matches - this.#counts.matches - saved, left.matches) &&
      (this.#isNothingShown(left) || isWithin(counts.displayed - this.#counts.displayed - saved, left.displayed)) &&
      left.taken.every((max, i) => isWithin((counts.taken?.[i] ?? 0) - (this.#counts.taken?.[i] ?? 0), max));
    if (!fits) this.#askAgain(left);
    return fits;
  }

  /** What the search counts less than the leaf, of all batches that are held, if they are passed on now; undefined if they are many. */
  #savedInHeld(): number | undefined {
    if (this.#contents === undefined) return 0;
    if (this.#held.headByteCount > foreseenBytesMax) return undefined;
    let saved = 0;
    for (const { message, body } of this.#held.all())
      if (message.kind === "batch") saved += this.#savedIn(message, body);
    return saved;
  }

  #savedIn(message: Message<"batch">, body: Uint8Array): number {
    return this.#contents === undefined ? 0 : savedBy(this.#contents.find(readRecords(message, body)));
  }

  /** A ranked document fits if all of its matches do, and if its leaf has cut them as this one would. */
  #isRankedAllowed(message: Message<"batch">, body: Uint8Array): boolean {
    const { document } = message;
    const counted = countMatches(message);
    const saved = this.#savedIn(message, body);
    const count = counted - saved;
    if (counted === 0) {
      // What another node has counted is owed to the client.
      if (document !== this.#document) this.#showDocument(document, true);
      return true;
    }
    const left = this.#findLeft();
    if (left.matches === 0) {
      this.#search.control.stopAtLimit();
      if (this.#mayOwe) this.#askAgain(left, document);
      else this.#endAtLimit();
      this.#root.listener.advanced();
      return false;
    }
    const isCountedOnly = this.#isNothingShown(left);
    if ((left.matches < count || (!isCountedOnly && left.displayed < count)) && !this.#knowsLimits(left)) {
      this.#askAgain(left, document);
      return false;
    }
    const { matches, displayed } = this.#counts;
    const then = { ...this.#counts, matches: matches + counted, displayed: displayed + counted, isLimitHit: false };
    if ((this.#contents?.saved ?? 0) + saved > 0 && this.#isAtLimit(then)) {
      this.#askAgain(left, document);
      return false;
    }
    this.#showDocument(document, !isCountedOnly);
    return true;
  }

  #showDocument(document: number | undefined, isShown: boolean): void {
    this.#document = document;
    this.#isDocumentShown = isShown;
  }

  /** When the time is over: what has been found in time is passed on as far as it fits, and nobody is asked again. */
  #mayTakeLate({ message, body }: HeldMessage): boolean {
    if (message.kind !== "batch" || this.#isAdmitted) return true;
    const left = this.#findLeft();
    const count = countMatches(message) - this.#savedIn(message, body);
    const isCountedOnly = this.#isNothingShown(left);
    // What the leaf has counted of basic queries may be ahead of this batch, and cannot be told apart.
    const taken = (message.counts.taken ?? []).map((now, i) => now - (this.#counts.taken?.[i] ?? 0));
    const fits =
      count <= left.matches &&
      (isCountedOnly || count <= left.displayed) &&
      left.taken.every((max, i) => max === undefined || (taken[i] >= 0 && taken[i] <= max));
    if (fits) this.#addTaken(left.taken.map((max, i) => (max === undefined ? 0 : taken[i])));
    if (fits && message.counts.taken !== undefined) this.#counts = { ...this.#counts, taken: message.counts.taken };
    if (!fits && !this.#isLimitReached)
      this.#lose("the time was over before it could be asked for what was left of the limit");
    if (count > 0 || message.document !== this.#document) this.#showDocument(message.document, fits && !isCountedOnly);
    if (count > 0 && fits) this.#isCountedOnly = isCountedOnly;
    return fits;
  }

  get #isLimitReached(): boolean {
    const { control, limits } = this.#search;
    return (
      (control.isStopped && !control.isCancelled) || (limits.matchCountMax <= control.matchCount && this.#isOutOfTime)
    );
  }

  /** Whether another node may have counted results of which this one has to send the rest. */
  get #mayOwe(): boolean {
    return this.#failovers > 0 && this.#passed.recordCount > 0;
  }

  /** The others have found everything that is wanted. */
  #endAtLimit(): boolean {
    const last = this.#held.takeEnd();
    if (last !== undefined) this.#takeLastWords(last);
    else if (this.#state === "searching") {
      this.#state = "stopping";
      this.#sendStop("other");
      this.#waitAtLimit();
    }
    return false;
  }

  /** The leaf keeps what it has pinned, so it goes on in the same state. */
  #askAgain({ matches, displayed, taken }: Left, from = noDocument): void {
    if (this.#gone !== undefined) return this.#lose(this.#gone, "it is not reachable");
    const { first } = this.#held;
    if (first !== undefined) this.#reached = findPlace(first.message);
    this.#held.clear();
    this.#tallies = { parts: [], headBytes: 0 };
    this.#granted = { matches, displayed, taken };
    this.#isRestarting = true;
    this.#sentLate.clear();
    const again = { kind: "again", from, ...this.#grant } as const;
    if (this.#contents === undefined) this.#send(again);
    else this.#sendInSteps(tellClaimed(this.#contents.tell()), again);
    this.#sendLate();
  }

  #restart(): void {
    this.#isRestarting = false;
    this.#changes?.clear();
    this.#covered.clear();
    this.#isLeafParked = false;
    this.#owedBytes = 0;
    this.#foundCount = 0;
    this.#counts = noCounts;
    this.#receivedMatches = 0;
    this.#objectCount = 0;
  }

  get isActive(): boolean {
    if (this.#state === "closed") return false;
    const isWaiting = this.#owedBytes > 0 || this.#held.first !== undefined;
    return !(isWaiting && (this.#isLeafParked || this.#held.hasEnd));
  }

  goOn(): void {
    // The limit may have been reached, which its place does not tell.
    if (this.#held.first !== undefined) this.#wake();
    if (this.#state === "closed") return;
    if (this.#state === "searching")
      this.#guarded(() => {
        this.#sendLimit();
        this.#returnCredit();
      });
    // A leaf that was told to stop may wait as others do, with what it has found in time.
    this.#pace();
  }

  #returnCredit(): void {
    if (this.#owedBytes === 0) return;
    const { unreadBytes } = this.#root.pace;
    const free = this.#owedBytes - unreadBytes;
    if (free <= 0 || (free < creditStepBytes && unreadBytes > 0)) return;
    this.#owedBytes -= free;
    this.#send({ kind: "credit", bytes: free });
  }

  /** A leaf has no credit for heads and marks, so they are counted apart. */
  get #isFull(): boolean {
    const { creditBytes } = this.#shared;
    const { byteCount, headByteCount } = this.#held;
    return (
      byteCount > creditBytes * overdraftMax || headByteCount > Math.max(creditBytes, heldHeadBytesMin) * overdraftMax
    );
  }

  /**
   * Whether it has to wait because all sources together hold too much. The one for which the others wait never has to: in its turn, what
   * it holds is passed on, or asked for again. Of those that may pass on results without an order, one at a time may complete a tally.
   */
  get #isHeldUp(): boolean {
    const { order, heads } = this.#shared;
    if (heads.byteCount <= allHeldHeadBytesMax || order.isFirst(this.#number) || heads.tallied === this) return false;
    if (!this.#isOutOfTime && !order.isTurn(this.#number)) return true;
    if (this.#held.first !== undefined || this.#tallies.parts.length === 0) return true;
    heads.tallied ??= this;
    return heads.tallied !== this;
  }

  /** Does not listen to a leaf that says more than it may. */
  #pace(): void {
    this.#countHeads();
    if (this.#isClosed) return;
    const isFull = this.#isFull || this.#isHeldUp;
    const isUnread = this.#owedBytes > this.#shared.creditBytes * overdraftMax;
    // The last words of one that is stopped come after what nobody has read.
    const isTooMuch =
      this.#state === "searching" ? (isFull || isUnread) && !this.#isRestarting : isFull && this.#isOutOfTime;
    if (isTooMuch) this.#channel.pause();
    else this.#channel.resume();
  }

  #countHeads(): void {
    const { heads } = this.#shared;
    const headBytes = this.#held.headByteCount + this.#tallies.headBytes;
    const wasTooMuch = heads.byteCount > allHeldHeadBytesMax;
    heads.byteCount += headBytes - this.#headBytes;
    this.#headBytes = headBytes;
    const isComplete = heads.tallied === this && this.#tallies.parts.length === 0;
    if (isComplete) heads.tallied = undefined;
    // Others have to wait, or need not any more.
    if (isComplete || wasTooMuch !== heads.byteCount > allHeldHeadBytesMax) this.#root.listener.advanced();
  }

  drop(): void {
    if (this.#state !== "searching") return;
    // What it has found in time is passed on.
    this.#isOutOfTime = !this.#isLimitReached;
    this.#state = "stopping";
    if (!this.#isOutOfTime) {
      const last = this.#held.takeEnd();
      if (last !== undefined) return this.#checked(() => this.#takeLastWords(last));
    }
    if (!this.#held.hasEnd) this.#sendStop("other");
    this.#wake();
  }

  #sendStop(reason: "limit" | "other"): void {
    const { all, options } = this.#root.late;
    this.#send({ kind: "stop", reason, late: { all, options: [...options] } });
    this.#pace();
  }

  giveUp(): void {
    this.#close();
  }

  /** What it has found in time is not given up because it waits for the main thread. */
  get isPassingOn(): boolean {
    return this.#isOutOfTime && this.#held.first !== undefined;
  }

  finish(): void {
    this.#nameUnfinished();
    this.#isFinal = true;
  }

  #nameUnfinished(): void {
    const { reason, said } = this.#broken ?? { reason: "it did not end in time", said: undefined };
    if (this.#state !== "closed") this.#nameLost(reason, said);
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
    const { said = `node ${this.#node.name}` } = this.#node;
    const subject = this.#failovers === 0 ? `${said} was` : `${this.#owner} were`;
    const missing = this.#contents?.missingCount ?? 0;
    const rest = missing === 0 ? "" : `; ${missing} of its results, to which others refer, may be missing`;
    return `${subject} not searched completely: ${this.#lost}${rest}`;
  }

  /** The repositories of a lost leaf. */
  get #notSearched(): Listed<ExcludedRepository> {
    const reason = this.#sentence;
    const all = { count: 1, first: [`all repositories of ${this.#owner}`] };
    const { count, first } = this.#chosen ?? this.#chosenBefore ?? all;
    return { count, first: first.map((repository) => ({ repository, reason, isLate: false, isOfLostNode: true })) };
  }

  receipt(): Promise<ReceiptPart> {
    this.#nameUnfinished();
    const lost =
      this.#lost === undefined
        ? listExcluded(this.#missingHere)
        : [...listExcluded(this.#notSearched), listOmissions("failure", [this.#sentence], (detail) => ({ detail }))];
    // Of one that was lost nothing counts as covered: whoever searches for changes gets its results as new ones.
    const covered = this.#receipt === undefined ? [] : this.#covered.items;
    const listedCount = this.#receipt === undefined ? 0 : this.#covered.listedCount;
    return Promise.resolve(new RemoteReceipt(this.#owner, this.#receipt, covered, listedCount, lost));
  }

  readonly isNode = true;

  get changes(): FoundChanges | undefined {
    return this.#lost === undefined ? this.#changes?.all : undefined;
  }

  nameOf(repositoryId: number): string | undefined {
    return this.#names.get(repositoryId);
  }

  frame({ head, headBytes, body, release }: Frame): void {
    this.#checked(() => {
      const message = toLeafMessage(head);
      if (this.#broken !== undefined) return;
      if (this.#isRestarting && message.kind !== "restarted" && message.kind !== "failed") return;
      this.#hear(message, { body, headBytes, release });
      this.#sendLate();
      this.#sendLimit();
    });
    if (this.#held.first !== undefined) this.#wake();
    this.#pace();
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

  /** For what the order and the root call, where others go on: never throws. */
  #guarded(work: () => void): void {
    try {
      this.#checked(work);
    } catch (error) {
      this.#nameLost(errorMessage(error), "its results could not be passed on");
    }
  }

  closed(reason = "it ended before its search did"): void {
    // A message before said more: it waits for its turn, and is counted as a loss or not.
    if (this.#state === "closed" || this.#broken !== undefined) return;
    // It has said everything.
    if (this.#held.hasEnd) this.#gone = reason;
    else {
      if (this.#chosen !== undefined) this.#lostInSearch++;
      this.#break(reason, "it is not reachable");
    }
  }

  #break(reason: string, said: string): void {
    this.#broken ??= { reason, said };
    this.#wake();
  }

  /** What has a place in the order waits for it. */
  #hear(message: LeafMessage, told: ToldBody): void {
    if (message.kind === "failed") return this.#break(message.reason, "it could not search");
    const isWhole = this.#tallies.parts.length === 0 || message.kind === "batch";
    require(isWhole, `a message ${message.kind} within a tally`);
    require((message.kind === "prepared") === (this.#chosen === undefined), `a message ${message.kind} out of turn`);
    switch (message.kind) {
      case "prepared":
        this.#takePart(message.part);
        this.#chosen = message.chosen;
        for (const name of message.chosen.first) this.#claim(name);
        return this.#compareChosen(message.chosen);
      case "rankable":
        this.#mayRank = true;
        this.#endRepositories();
        return this.#shared.order.rankable(this.#number, message.shardCount);
      case "state":
        return this.#takeState(message);
      case "restarted":
        require(this.#isRestarting, "a message restarted out of turn");
        return this.#restart();
      case "refused":
        return this.#root.listener.refused(message.sentence);
      case "changes":
        require(this.#changes !== undefined, "changes that nobody has asked for");
        return this.#changes.add(message, told.body, (id, name) => this.#learnNamed(id, name));
      case "covered":
        require(this.#search.request.receipt !== "none", "what it has covered, and nobody has asked for");
        for (const { repository } of message.items) {
          this.#claim(repository);
          if (this.#search.request.isBase === true) this.#shared.places?.learn(repository, this.#number);
        }
        return this.#covered.add(message.items);
      case "holds":
      case "flipped":
        throw new TrawlError("bad-request", `a message ${message.kind} out of turn`);
      case "batch":
        return this.#hearBatch(message, told);
      case "found":
      case "commits":
      case "turn":
      case "end":
        return this.#hold(message, told);
      default:
        unreachable(message);
    }
  }

  /** Others may have repositories, and say how many shards they would rank only after these have been passed on. */
  #endRepositories(): void {
    const place = [sections.ranked];
    if (compareKeys(this.#reached, place) >= 0) return;
    this.#reached = place;
    if (this.#held.first === undefined) this.#reach(place);
  }

  /** Whether what it has found is wanted, and not only its last words. */
  get #isWanted(): boolean {
    return this.#state !== "stopping" || this.#isOutOfTime;
  }

  /** A tally that comes in several messages is held as one. */
  #hearBatch(message: Message<"batch">, told: ToldBody): void {
    const { parts } = this.#tallies;
    const { body, headBytes } = told;
    if (message.isPart) {
      if (!this.#isWanted) return;
      this.#tallies.headBytes += headBytes;
      require(body.length === 0 && this.#tallies.headBytes <= tallyBytesMax, "a tally that is too long");
      parts.push(message.tally);
      return;
    }
    if (parts.length === 0) return this.#hold(message, told);
    const allHeadBytes = this.#tallies.headBytes + headBytes;
    this.#tallies = { parts: [], headBytes: 0 };
    this.#hold({ ...message, tally: joinTallies([...parts, message.tally]) }, { ...told, headBytes: allHeadBytes });
  }

  #takeState({ counts, isParked }: Message<"state">): void {
    const { listener } = this.#root;
    this.#addCost(counts);
    // Counts are ahead of what is held.
    if (this.#isAdmitted && this.#held.first === undefined) this.#addCounts(counts);
    this.#isLeafParked = isParked;
    return isParked ? listener.parked() : listener.scheduled();
  }

  #hold(message: PlacedMessage, told: ToldBody): void {
    const place = findPlace(message);
    require(compareKeys(this.#reached, place) <= 0, `a message ${message.kind} that is out of order`);
    require(!this.#held.hasEnd, `a message ${message.kind} after the end`);
    require(heldIn[message.kind].includes(place[0]), `a message ${message.kind} in a section that has none`);
    if (message.kind === "batch")
      require((place[0] === sections.ranked) === (message.document !== undefined), "a batch of no document");
    // One that ranks nothing more keeps no other from ranking.
    if (Number(place[0]) > sections.ranked) this.#shared.order.rankable(this.#number, 0);
    if ("counts" in message) this.#addCost(message.counts);
    this.#reached = place;
    if (!this.#isWanted) return message.kind === "end" ? this.#takeLastWords(message) : undefined;
    const isFirst = this.#held.first === undefined;
    this.#held.add(message, told);
    if (isFirst) this.#reach(place);
  }

  /** What is held, in its turn. */
  #take(message: PlacedMessage, body: Uint8Array, release: () => void): void {
    switch (message.kind) {
      case "batch":
        return this.#takeBatch(message, body, release);
      case "found":
        return this.#takeFound(message, body);
      case "commits":
        return this.#takeCommits(message, body);
      case "turn":
        return;
      case "end":
        this.#checkPart(message.part);
        if (this.#isAdmitted) this.#addCounts(message.counts);
        else if (message.counts.matches === this.#counts.matches) this.#takeLimit(message.counts);
        this.#changes?.requireSides();
        // When the time is over, batches are dropped in which it has counted what it sends later.
        if (!this.#isOutOfTime) this.#contents?.requireCounted();
        return this.#takeLastWords(message);
      default:
        unreachable(message);
    }
  }

  #takeLastWords({ part, receipt, hasToldCovered }: Message<"end">): void {
    this.#takePart(part);
    this.#receipt = receipt;
    if (hasToldCovered !== true || this.#covered.count !== receipt?.repositories.count) this.#covered.clear();
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

  #takeBatch(message: Message<"batch">, body: Uint8Array, release: () => void): void {
    const bytes = body.subarray(0, Math.max(0, body.length - countRecordBytes(message)));
    require(bytes.length + countRecordBytes(message) === body.length, "marks that are longer than their message");
    const marks = readMarks(body.subarray(bytes.length, bytes.length + message.markBytes));
    require(holdsObjects(bytes), "results that are no objects");
    const { repositories, unownedResults } = message.tally;
    const count = countMatches(message);
    require(count >= 0 && this.#receivedMatches + count <= message.counts.matches, "more results than it has counted");
    const recordsMax = count + Math.floor(bytes.length / continuedBytesMin) + continuedSlack;
    require(marks.length / markWords <= recordsMax, "marks of more results than it has counted");
    for (const [id, name] of repositories) this.#learn(id, name);
    const tally = readTally(this.#withFirstIdsOf(message.tally));
    const isShown = message.document === undefined || this.#isAdmitted ? !this.#isCountedOnly : this.#isDocumentShown;
    const digest = isShown && message.digest !== undefined ? Uint32Array.from(message.digest) : undefined;
    const records = this.#checkedContents(message, body, count);
    const saved = this.#savedIn(message, body);
    const own = isShown ? this.#withFirstIds(bytes) : bytes.subarray(0, 0);
    this.#labels?.check(own);
    const objects = this.#contents && readObjects(own);
    this.#countObjects((objects?.objects.length ?? 0) + (this.#changes?.hear(own) ?? 0), count);
    // If the results or counts are wrong, the leaf is lost, and has no claim any more.
    const copies = this.#contents?.pass(records);
    const shown = objects === undefined ? own : (this.#contents?.shorten(objects) ?? own);
    if (this.#isAdmitted) this.#addCounts(message.counts, saved);
    else this.#addDocument(count, saved);
    // Nothing of it is wrong, so all of it is passed on.
    this.#addCopies(message, copies);
    this.#receivedMatches += count;
    for (const [, repository, typed, matchCount, commit] of repositories)
      if (matchCount > 0) this.#passed.pin({ repository, typed, commit });
    this.#passed.add(marks, bytes.length);
    if (marks.length > 0) this.#hasMarksOfNode = true;
    // Results without an owner have no marks in any search.
    if (unownedResults > 0 || (marks.length === 0 && countsAnything(message.tally))) this.#passed.addUnmarked();
    this.#owe(creditOfBatch({ bytes, tally }));
    this.#root.listener.batch({ bytes: shown, tally, digest, selected: [] }, release);
  }

  /** Each object has a match, which its batch has counted or one before. Some of these are dropped when the time is over. */
  #countObjects(objectCount: number, matchCount: number): void {
    this.#objectCount += objectCount;
    const countMax = this.#receivedMatches + matchCount + continuedSlack;
    require(this.#isOutOfTime || this.#objectCount <= countMax, "more match objects than it has counted matches");
  }

  /** The records of a batch that counts so many matches. */
  #checkedContents(message: Message<"batch">, body: Uint8Array, count: number): Int32Array {
    const { contents } = message;
    const isWanted = this.#contents !== undefined;
    require(isWanted === (contents !== undefined), "contents that nobody has asked for, or none");
    const records = readRecords(message, body);
    const { copyCount, copyMatches } = contents ?? { copyCount: 0, copyMatches: 0 };
    require(copyMatches >= copyCount, "results without a match that refer to others");
    require(!isWanted || countRecorded(records) + copyCount <= count, "contents with more matches than it has counted");
    return records;
  }

  #addCopies({ contents: told }: Message<"batch">, copies: Copies | undefined): void {
    if (copies === undefined || told === undefined) return;
    if (told.isIncomplete) this.#contents?.giveUp();
    this.#search.control.addDuplicates(told.copyCount + copies.count, told.copyMatches + copies.matches);
  }

  /** Adds what a batch has counted, of a leaf that may be ahead of what is passed on. */
  #addDocument(count: number, saved: number): void {
    const { control } = this.#search;
    const { matches, displayed } = this.#granted;
    require(this.#counts.matches + count <= matches, "more matches than it was granted");
    const shownMax = Math.max(0, displayed - this.#foundCount);
    this.#counts = {
      ...this.#counts,
      matches: this.#counts.matches + count,
      displayed: Math.min(shownMax, this.#counts.displayed + count),
    };
    control.addMatches(count - saved);
    control.addDisplayed(count - saved);
  }

  #takeFound(message: Message<"found">, body: Uint8Array): void {
    require(this.#changes === undefined, "results of a search for changes that no revision has");
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
    if (kind !== "owner" && isShared(this.#search.limits)) this.#passed.addFound(describeFound({ key, repository }));
    const found = { key: ownKey, optionsIndex, repositoryId, repository, revision, kind, json: () => json };
    this.#foundCount++;
    this.#root.listener.found(found);
  }

  #takeCommits(message: Message<"commits">, body: Uint8Array): void {
    require(this.#changes === undefined, "commits of a search for changes");
    const { listener } = this.#root;
    const { repository } = message;
    const repositoryId = this.#learn(message.repositoryId, repository);
    const commits = readCommits(message, body, this.#search.plan.resultOptions.length);
    this.#owe(body.length);
    const nowMs = new Date().getTime();
    for (const found of commits.map((one) => this.#withFirstIdOf(one))) {
      if (this.#search.control.isStopped) break;
      listener.commit(found, repositoryId, nowMs);
    }
    listener.sendCommits();
  }

  /** The id by which the client knows the repository: the one that the first node which told of it has. */
  #learn(idHere: number, name: string): number {
    const known = this.#idsHere.get(idHere);
    if (known !== undefined) return known;
    require(this.#node.mayHave(idHere), `the repository ${idHere} of another node`);
    const first = this.#ids.get(name);
    if (first === undefined) {
      this.#claim(name);
      this.#ids.set(name, idHere);
      this.#names.set(idHere, name);
    }
    this.#idsHere.set(idHere, first ?? idHere);
    return first ?? idHere;
  }

  /** The same where not only the id counts, but also the name: it is that of the base. */
  #learnNamed(idHere: number, name: string): number {
    const id = this.#learn(idHere, name);
    require(this.#names.get(id) === name, `the repository ${idHere} under another name`);
    return id;
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

  #withFirstIdOf(found: FoundCommit): FoundCommit {
    if (this.#failovers === 0) return found;
    const json = this.#withFirstIds(found.json.subarray(found.from, found.to));
    return { ...found, json, from: 0, to: json.length };
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
  }

  /**
   * Adds what the leaf has counted since the last time to the counts of the search: all of it, or nothing; except what the search counts
   * less.
   */
  #addCounts(now: LeafCounts, saved = 0): void {
    const { control, limits } = this.#search;
    const before = this.#counts;
    const grown = (key: "matches" | "displayed"): number => {
      require(now[key] >= before[key], `a count of ${key} that shrinks`);
      return now[key] - before[key];
    };
    const { matches, displayed, taken } = this.#granted;
    require(now.matches <= matches && now.displayed <= displayed, "more matches than it was granted");
    const [newMatches, newDisplayed] = [grown("matches"), grown("displayed")];
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
    control.addMatches(newMatches - saved);
    control.addDisplayed(newDisplayed - (displayed > 0 && !this.#isCountedOnly ? saved : 0));
    this.#counts = now;
    this.#takeLimit(now);
  }

  #addTaken(added: readonly number[]): void {
    const { resultLimits } = this.#search.limits;
    if (resultLimits === undefined) return;
    for (const [i, count] of added.entries()) Atomics.add(resultLimits.taken, i, BigInt(count));
  }

  #takeLimit({ isLimitHit }: LeafCounts): void {
    const { control, limits } = this.#search;
    if (!isLimitHit) return;
    control.recordLimitHit();
    if (control.matchCount >= limits.matchCountMax) control.stopAtLimit();
  }

  #addCost({ scannedKib, workerTenths }: LeafCounts): void {
    const before = this.#cost;
    require(scannedKib >= before.scannedKib && workerTenths >= before.workerTenths, "a cost that shrinks");
    this.#search.control.addCost(scannedKib - before.scannedKib, workerTenths - before.workerTenths);
    this.#cost = { scannedKib, workerTenths };
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
    if (this.#hasSentLimit || this.#state !== "searching" || this.#isRestarting) return;
    const { control } = this.#search;
    if (!control.isStopped || control.isCancelled) return;
    this.#hasSentLimit = true;
    this.#sendStop("limit");
    this.#waitAtLimit();
  }

  /**
   * Whoever owes nothing is not waited for. A result with many lines comes in several batches, of which the first counts it, and may
   * wait for the client: so whoever has counted something is.
   */
  #waitAtLimit(): void {
    this.#limitWait?.cancel();
    const { isBase, since } = this.#search.request;
    // The next search needs what it says at its end: it is waited for, as long as the search may take, or named.
    if (isBase === true || since !== undefined) return;
    const graceMs = this.#search.request.receipt === "none" ? limitGraceMs : receiptGraceMs;
    this.#limitWait = callAfter(graceMs, () => {
      const mayOwe = this.#mayOwe || (this.#isAdmitted && this.#counts.matches > 0);
      if (this.#state === "closed" || mayOwe) return;
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
    this.#held.clear();
    this.#reached = [];
    this.#isAdmitted = false;
    this.#isCountedOnly = false;
    this.#document = undefined;
    this.#isRestarting = false;
    this.#mayRank = false;
    this.#broken = undefined;
    this.#gone = undefined;
    this.#foundCount = 0;
    this.#cost = noCounts;
    this.#reach(this.#shared.order.first);
    this.#tallies = { parts: [], headBytes: 0 };
    this.#contents?.forget();
    this.#changes?.clear();
    this.#covered.clear();
    this.#counts = noCounts;
    this.#receivedMatches = 0;
    this.#objectCount = 0;
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
    this.#contents?.lose();
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
    this.#held.clear();
    this.#tallies = { parts: [], headBytes: 0 };
    this.#countHeads();
    this.#channel.close();
    this.#resolve();
    this.#shared.order.end(this.#number);
    this.#root.listener.advanced();
  }
}

/** What is left of the limits: of the search, of what it shows, and of basic queries with limits of their own. */
interface Left {
  readonly matches: number;
  readonly displayed: number;
  readonly taken: readonly (number | undefined)[];
}

function findPlace(message: PlacedMessage): OrderKey {
  return message.kind === "end" ? [sections.end] : message.at;
}

/** Each match is of one repository. What refers to another result counts as one. */
function countMatches({ tally, contents }: Pick<Message<"batch">, "tally" | "contents">): number {
  const all = tally.repositories.reduce((sum, [, , , count]) => sum + count, 0);
  return contents === undefined ? all : all - contents.copyMatches + contents.copyCount;
}

/** Of marks, or of contents. */
function countRecordBytes({ markBytes, contents }: Message<"batch">): number {
  return markBytes + (contents?.recordBytes ?? 0);
}

/** What a batch tells of its contents. Throws `bad-request`. */
function readRecords({ contents }: Message<"batch">, body: Uint8Array): Int32Array {
  const byteCount = contents?.recordBytes ?? 0;
  require(byteCount <= Math.min(body.length, 4 * contentRecordsMax * contentRecordWords), "too many contents");
  return readWords(body.subarray(body.length - byteCount), contentRecordWords);
}

/** What came with a message. */
interface ToldBody {
  readonly body: Uint8Array;
  readonly headBytes: number;
  /** May be called once the body is not needed any more. */
  readonly release: () => void;
}

interface HeldMessage extends ToldBody {
  readonly message: PlacedMessage;
}

/** A leaf has no credit for marks and records of contents, like heads. */
function recordBytesIn({ message, body }: Pick<HeldMessage, "message" | "body">): number {
  return message.kind === "batch" ? Math.min(countRecordBytes(message), body.length) : 0;
}

/** What a leaf has said before its turn. */
class HeldMessages {
  #messages: HeldMessage[] = [];
  /** Of the messages, those before have been taken. */
  #from = 0;
  byteCount = 0;
  headByteCount = 0;
  /** Among what has no order. */
  #foundCount = 0;
  #endOfOthers: Message<"turn" | "end"> | undefined;

  get first(): HeldMessage | undefined {
    return this.#messages.at(this.#from);
  }

  get hasEnd(): boolean {
    return this.#messages.length > this.#from && this.#messages.at(-1)?.message.kind === "end";
  }

  /** What follows the results without an order, and the number of those among them that are found results. */
  get endOfOthers(): { readonly message: Message<"turn" | "end">; readonly foundCount: number } | undefined {
    return this.#endOfOthers && { message: this.#endOfOthers, foundCount: this.#foundCount };
  }

  all(): readonly HeldMessage[] {
    return this.#messages.slice(this.#from);
  }

  add(message: PlacedMessage, told: ToldBody): void {
    const [section] = findPlace(message);
    if (section === sections.others && message.kind === "found") this.#foundCount++;
    const isAfterOthers = section === sections.histories || section === sections.end;
    if (isAfterOthers && (message.kind === "turn" || message.kind === "end")) this.#endOfOthers ??= message;
    const held = { message, ...told };
    this.byteCount += held.body.length - recordBytesIn(held) + heldMessageBytes;
    this.headByteCount += held.headBytes + recordBytesIn(held);
    this.#messages.push(held);
  }

  shift(): HeldMessage {
    const one = this.#messages[this.#from++];
    assert(one !== undefined, "a message is held");
    this.byteCount -= one.body.length - recordBytesIn(one) + heldMessageBytes;
    this.headByteCount -= one.headBytes + recordBytesIn(one);
    if (this.#from * 2 > this.#messages.length) {
      this.#messages = this.#messages.slice(this.#from);
      this.#from = 0;
    }
    return one;
  }

  /** Forgets everything, and returns the end if it was there. */
  takeEnd(): Message<"end"> | undefined {
    const last = this.#messages.length > this.#from ? this.#messages.at(-1)?.message : undefined;
    this.clear();
    return last?.kind === "end" ? last : undefined;
  }

  clear(): void {
    this.#messages = [];
    this.#from = 0;
    this.byteCount = 0;
    this.headByteCount = 0;
    this.#foundCount = 0;
    this.#endOfOthers = undefined;
  }
}

/** Heads of all parts of one tally: more repositories than a batch has matches. */
const tallyBytesMax = 16 * 1024 * 1024;

/** The changed revisions of a node, as it tells them. */
class ToldChanges {
  readonly #base: BaseRevisions;
  /** The part of the base that the node was told. */
  readonly #toldBase: BaseRevisions;
  readonly #sideFrom: number;
  readonly #onMoved: () => void;
  #changes: FoundChange[] = [];
  #basesGone: FoundChange[] = [];
  #kept: Uint8Array | undefined;
  #units = 0;
  /** By the name of the repository and the revision. */
  readonly #told = new Set<string>();
  /** Its results are of changes before this one. */
  #sideTo = 0;

  /** `onMoved` is called if the node has a repository of the base of which another one was told. */
  constructor(base: BaseRevisions, toldBase: BaseRevisions, sideFrom: number, onMoved: () => void) {
    this.#base = base;
    this.#toldBase = toldBase;
    this.#sideFrom = sideFrom;
    this.#onMoved = onMoved;
  }

  /**
   * Match objects, each of which names a revision of the leaf. Returns how many they are. Throws `bad-request` for what cannot be
   * compared.
   */
  hear(bytes: Uint8Array): number {
    const objects = splitObjects(bytes);
    for (const object of objects) {
      const side = readSide(parseMatch(object)) - this.#sideFrom;
      require(side >= 0 && side < changesCountMax, "a result of a revision of another node");
      this.#sideTo = Math.max(this.#sideTo, side + 1);
    }
    return objects.length;
  }

  /** Throws `bad-request` if it has found results of a change that it has not told. */
  requireSides(): void {
    const isTold = this.#kept === undefined || this.#sideTo <= this.#changes.length;
    require(isTold, "results of a change that it has not told");
  }

  /** Undefined until it has told all. */
  get all(): FoundChanges | undefined {
    const part = this.#toldBase === this.#base ? {} : { told: this.#toldBase };
    return this.#kept && { changes: this.#changes, basesGone: this.#basesGone, kept: this.#kept, ...part };
  }

  clear(): void {
    this.#changes = [];
    this.#basesGone = [];
    this.#kept = undefined;
    this.#units = 0;
    this.#told.clear();
  }

  /** `learn` returns the id by which the client knows a repository. Throws `bad-request`. */
  add({ items, isLast }: Message<"changes">, body: Uint8Array, learn: (id: number, name: string) => number): void {
    require(this.#kept === undefined, "changes after the last ones");
    require(this.#changes.length + items.length <= changesCountMax, "too many changes");
    for (const [idHere, name, revision, base, commit, isGone] of items) {
      this.#units += name.length + revision.length + base.length + commit.length;
      const key = `${name}\0${revision}`;
      require(!this.#told.has(key), "a change of a revision that it has told already");
      if (!this.#toldBase.has(name) && this.#base.has(name)) {
        this.#onMoved();
        throw new TrawlError("bad-request", `a change of ${name}, which was known to be elsewhere`);
      }
      require((this.#toldBase.get(name)?.get(revision) ?? "") ===
        base, "a change since another commit than that of the base");
      this.#told.add(key);
      const change: FoundChange = {
        repository: { id: learn(idHere, name), name },
        revision,
        base: base === "" ? undefined : base,
        commit: commit === "" ? undefined : commit,
        side: this.#sideFrom + this.#changes.length,
      };
      this.#changes.push(change);
      if (isGone) this.#basesGone.push(change);
    }
    require(this.#units <= changesUnitsMax, "changes with names that are too long");
    if (!isLast) return;
    require(body.length === keptBytes(this.#toldBase), "bits of another base");
    this.#kept = Uint8Array.from(body);
  }
}

function parseMatch(object: Buffer): unknown {
  try {
    return JSON.parse(object.toString());
  } catch (error) {
    throw new TrawlError("bad-request", `match objects that are no JSON: ${errorMessage(error)}`);
  }
}

/**
 * The number of the revision that a match object names. All that is compared is as it must be: the read worker that compares it looks
 * at the results of all nodes together. Throws `bad-request`.
 */
function readSide(match: unknown): number {
  require(isObject(match), "a match object that is none");
  const { type, branches, commit = "", path = "", lineMatches = [], symbols = [] } = match;
  const side: unknown = Array.isArray(branches) ? branches[0] : undefined;
  require(typeof side === "string" && /^[0-9]{1,15}[+-]$/.test(side), "a match object without a side");
  const isText = [type, commit, path].every((text) => typeof text === "string");
  const isFit = Array.isArray(lineMatches) && lineMatches.every(isLineMatch);
  require(isText &&
    isFit &&
    Array.isArray(symbols) &&
    symbols.every(isSymbol), "a match object that is none of a file");
  return Number.parseInt(side, 10);
}

function isLineMatch(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { line, lineNumber, offsetAndLengths } = value;
  return (
    typeof line === "string" &&
    typeof lineNumber === "number" &&
    Array.isArray(offsetAndLengths) &&
    offsetAndLengths.every((pair) => Array.isArray(pair) && pair.every((one) => typeof one === "number"))
  );
}

function isSymbol(value: unknown): boolean {
  if (!isObject(value)) return false;
  const texts = [value["name"], value["containerName"] ?? "", value["kind"] ?? ""];
  return typeof value["line"] === "number" && texts.every((text) => typeof text === "string");
}

/** What a node has covered, as it tells it. It is as if nothing were told if all nodes together tell too much. */
class ToldCovered {
  readonly #all: SharedSearch["covered"];
  readonly #itemsMax: number;
  #items: ReceiptRepository[] | undefined = [];
  /** Repositories, and revisions beyond one of each. */
  #count = 0;
  #units = 0;
  /** Repositories that it has told, whether they are kept or not. */
  #told = 0;

  constructor(all: SharedSearch["covered"], itemsMax: number) {
    this.#all = all;
    this.#itemsMax = itemsMax;
  }

  get items(): readonly ReceiptRepository[] | undefined {
    return this.#items;
  }

  get count(): number {
    return this.#items?.length ?? 0;
  }

  /** As a receipt with them counts. */
  get listedCount(): number {
    return countListed(this.#count, this.#units);
  }

  /** Another run of the leaf, or another one, tells it anew. */
  clear(): void {
    this.#forget();
    this.#told = 0;
    this.#items = [];
  }

  #forget(): void {
    this.#all.count -= this.#count;
    this.#all.units -= this.#units;
    this.#count = 0;
    this.#units = 0;
    this.#items = undefined;
  }

  /** Throws `bad-request` if they are more than a leaf tells. */
  add(items: readonly ReceiptRepository[]): void {
    this.#told += items.length;
    require(this.#told <= this.#itemsMax, `more than ${this.#itemsMax} repositories that it has covered`);
    if (this.#items === undefined) return;
    const units = items.reduce((sum, item) => sum + unitsOfCovered(item), 0);
    const count = items.reduce((sum, { revisions }) => sum + Math.max(1, revisions.length), 0);
    this.#all.count += count;
    this.#all.units += units;
    this.#count += count;
    this.#units += units;
    this.#items.push(...items);
    if (this.#all.count > coveredCountMax.base || this.#all.units > coveredUnitsMax) this.#forget();
  }
}

/** What was passed on of the results of some nodes, so that another one can go on behind it. */
class PassedResults {
  /** Whether results have marks. */
  readonly hasMarks: boolean;
  /** Records of all searches. */
  static #allCount = 0;
  readonly #records: Uint32Array[] = [];
  readonly #pinned = new Map<string, PinnedRevision>();
  #pinnedUnits = 0;
  /** Repositories and directories that are results, as `describeFound` names them. */
  readonly known = new Set<string>();
  #knownUnits = 0;
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

  /** A repository or directory was passed on, which the next node must not count. */
  addFound(name: string): void {
    this.#isEmpty = false;
    if (!this.hasMarks || !this.#isComplete || this.known.has(name)) return;
    this.known.add(name);
    this.#knownUnits += name.length;
    if (this.#knownUnits > knownUnitsMax || this.known.size > knownCountMax) this.addUnmarked();
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
    this.known.clear();
    this.#knownUnits = 0;
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

const noBytes = new Uint8Array(0);

/** The messages about the base of a search for changes, and about what was passed on. */
function* tellPassed(
  base: ToldBase | undefined,
  pins: Iterable<Uint8Array>,
  known: Iterable<Uint8Array>,
  records: Iterable<Uint8Array>,
): Generator<[CoordinatorMessage, Uint8Array] | undefined, void> {
  if (base !== undefined) {
    for (const body of base.bodies()) yield body && [{ kind: "base", isLast: false }, body];
    yield [{ kind: "base", isLast: true }, noBytes];
  }
  for (const body of pins) yield [{ kind: "pins" }, body];
  for (const body of known) yield [{ kind: "known" }, body];
  for (const body of records) yield [{ kind: "sent" }, body];
}

/** The messages about what the client has. */
function* tellClaimed(keys: Iterable<Uint8Array>): Generator<[CoordinatorMessage, Uint8Array], void> {
  for (const body of keys) yield [{ kind: "claimed" }, body];
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

/** Results that are only counted, or that refer to others, have no marks; nor have those at commits that nobody has typed. */
function mayHaveMarks({ request, claims }: SourcedSearch): boolean {
  return request.groups === undefined && claims === undefined && request.since === undefined;
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

/** Lists of parts have different items, and only one has the other counts. */
function joinTallies(parts: readonly WireTally[]): WireTally {
  const sum = (count: "contentMatches" | "symbolMatches" | "pathMatches" | "unownedResults"): number =>
    parts.reduce((total, part) => total + part[count], 0);
  return {
    repositories: parts.flatMap(({ repositories }) => repositories),
    languages: parts.flatMap(({ languages }) => languages),
    symbolKinds: parts.flatMap(({ symbolKinds }) => symbolKinds),
    groups: parts.flatMap(({ groups }) => groups),
    fileKinds: parts[0].fileKinds.map((_, i) => parts.reduce((total, { fileKinds }) => total + (fileKinds[i] ?? 0), 0)),
    contentMatches: sum("contentMatches"),
    symbolMatches: sum("symbolMatches"),
    pathMatches: sum("pathMatches"),
    unownedResults: sum("unownedResults"),
  };
}

function require(condition: boolean, message: string): asserts condition {
  if (!condition) throw new TrawlError("bad-request", message);
}

/**
 * The part of a receipt of another node: what it has told of what it covers, if it may be the base of a search for changes, and otherwise
 * the items that an event shows. Further pages are not available, so nobody is shown them.
 */
class RemoteReceipt implements ReceiptPart {
  readonly #owner: string;
  readonly #receipt: WireReceipt | undefined;
  /** Undefined if it is not all that the node has covered. */
  readonly #covered: readonly ReceiptRepository[] | undefined;
  readonly groups: readonly OmissionGroup[];
  readonly listedCount: number;
  readonly isOfNode = true;

  constructor(
    owner: string,
    receipt: WireReceipt | undefined,
    covered: readonly ReceiptRepository[] | undefined,
    listedCount: number,
    lost: readonly OmissionGroup[],
  ) {
    this.#owner = owner;
    this.#receipt = receipt;
    this.#covered = covered?.length === this.#count ? covered : undefined;
    this.listedCount = this.#covered === undefined ? 0 : listedCount;
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

  get #count(): number {
    return this.#receipt?.repositories.count ?? 0;
  }

  repositories(from: number, count: number): ReceiptPage<ReceiptRepository> {
    const items = this.#covered ?? this.#receipt?.repositories.items ?? [];
    return { count: this.#count, items: items.slice(from, from + count) };
  }

  revisions(): BaseRevisions {
    if (this.#covered === undefined)
      throw new TrawlError(
        "bad-request",
        `since: the search of this receipt has covered ${this.#count} repositories of ${this.#owner}, of which the others keep ${coveredCountMax.receipt}, and ${coveredCountMax.base} if it began a stream with watch=1: search in fewer repositories, or with watch=1 from the beginning`,
      );
    return new Map(
      this.#covered.map(({ repository, revisions }) => [
        repository,
        new Map(revisions.map(({ revision, commit }) => [revision, commit])),
      ]),
    );
  }

  isVisibleIn(): boolean {
    return false;
  }
}
