import { serialize } from "node:v8";
import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { unreachable } from "../../base/assert.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import { emptyDigest } from "../../native/kernel/result-digest.js";
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
 */
export class RemoteSource implements SearchSource, FrameReceiver {
  readonly changes = undefined;
  readonly #search: SourcedSearch;
  readonly #root: SourceRoot;
  readonly #node: RemoteNode;
  readonly #shared: SharedSearch;
  readonly #channel: FrameChannel;
  readonly #ended: Promise<void>;
  #resolve: () => void = () => undefined;
  /** `closed`: nothing is expected from the leaf any more. */
  #state: "asked" | "searching" | "stopping" | "closed" = "asked";
  #granted: { readonly matches: number; readonly displayed: number; readonly taken: readonly (number | undefined)[] } =
    {
      matches: 0,
      displayed: 0,
      taken: [],
    };
  #counts: LeafCounts = noCounts;
  #part: SearchPart;
  #chosen: Listed<string> | undefined;
  #receipt: WireReceipt | undefined;
  /** Why the leaf has not searched everything; undefined if it has, or may still. */
  #lost: string | undefined;
  #isFinal = false;
  #hasSentLimit = false;
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
    this.#channel = node.open(this);
    this.#ask();
    // Limits that all sources share are granted to one after the other.
    if (!isShared(search.limits)) this.#go();
  }

  #ask(): void {
    const { plan, request, limits } = this.#search;
    const asked = { ...request, origin: undefined, viewer: { ...request.viewer, credential: undefined } };
    const { lane, timeoutsMs, isSuggestible } = limits;
    const body: Asked = { plan, request: asked, lane, timeoutsMs, isSuggestible };
    const timeoutMs = Math.ceil(Math.max(...timeoutsMs));
    this.#send({ kind: "ask", timeoutMs, creditBytes: this.#shared.creditBytes }, serialize(body));
  }

  #go(): void {
    const { limits, control } = this.#search;
    const { matchCountMax, displayCountMax, resultLimits } = limits;
    const left = (max: number, used: number): number => (max === countUnlimited ? max : Math.max(0, max - used));
    const matches = left(matchCountMax, control.matchCount);
    const displayed = left(displayCountMax, control.displayedCount);
    const taken = (resultLimits?.countMax ?? []).map((max, i) =>
      max === undefined ? undefined : Math.max(0, max - Number(resultLimits?.taken[i])),
    );
    this.#granted = { matches, displayed, taken };
    this.#state = "searching";
    const optionsMax = resultLimits === undefined ? undefined : taken;
    this.#send({ kind: "go", matchCountMax: matches, displayCountMax: displayed, optionsMax });
  }

  #send(message: CoordinatorMessage, body?: Uint8Array): void {
    toCoordinatorMessage(message);
    this.#channel.send(message, body);
  }

  run(): Promise<void> {
    if (this.#state === "asked") {
      if (this.#search.control.isCancelled) this.drop();
      else if (this.#search.control.isStopped) {
        this.#state = "searching";
        this.#sendLimit();
      } else {
        this.#go();
        this.#root.listener.scheduled();
      }
    }
    return this.#ended;
  }

  get isActive(): boolean {
    if (this.#state === "asked" || this.#state === "closed") return false;
    return !(this.#isLeafParked && this.#owedBytes > 0);
  }

  goOn(): void {
    if (this.#owedBytes === 0 || this.#state !== "searching") return;
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
    const reason = `node ${this.#node.name} was not searched completely: ${this.#lost}`;
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

  frame({ head, body }: Frame): void {
    if (this.#state === "closed") return;
    try {
      this.#take(toLeafMessage(head), body);
      this.#sendLate();
      this.#sendLimit();
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
      this.#lose(`it sent what it may not: ${error.message}`);
    }
  }

  closed(reason: string | undefined): void {
    if (this.#state !== "closed") this.#lose(reason ?? "it ended before its search did");
  }

  #take(message: LeafMessage, body: Uint8Array): void {
    const { listener } = this.#root;
    if (message.kind === "failed") return this.#lose(message.reason);
    require((message.kind === "prepared") === (this.#chosen === undefined), `a message ${message.kind} out of turn`);
    switch (message.kind) {
      case "prepared":
        this.#takePart(message.part);
        this.#chosen = message.chosen;
        for (const name of message.chosen.first) this.#claim(name);
        return;
      case "batch":
        require(this.#state !== "asked", "results that it was not asked for");
        this.#takeBatch(message, body);
        return listener.advanced();
      case "found":
        require(this.#state !== "asked", "results that it was not asked for");
        this.#takeFound(message, Buffer.from(body).toString());
        return listener.advanced();
      case "state":
        this.#addCounts(message.counts);
        this.#isLeafParked = message.isParked;
        return message.isParked ? listener.parked() : listener.scheduled();
      case "refused":
        return listener.refused(message.sentence);
      case "end":
        this.#addCounts(message.counts);
        this.#takePart(message.part);
        this.#receipt = message.receipt;
        return this.#close();
      default:
        unreachable(message);
    }
  }

  #takePart(part: SearchPart): void {
    const { plan } = this.#search;
    require(part.choices.length === plan.basicQueries.length, "choices of another query");
    this.#part = part;
  }

  #takeBatch(message: Extract<LeafMessage, { kind: "batch" }>, bytes: Uint8Array): void {
    for (const [id, name] of message.tally.repositories) this.#learn(id, name);
    this.#addCounts(message.counts);
    const tally = readTally(message.tally);
    this.#owe(creditOfBatch({ bytes, tally }));
    const digest = message.digest && Uint32Array.from(message.digest);
    this.#root.listener.batch({ bytes, tally, digest, selected: [] }, () => undefined);
  }

  #takeFound(message: Extract<LeafMessage, { kind: "found" }>, json: string): void {
    const { key, optionsIndex, repositoryId, repository, revision, resultKind: kind } = message;
    require(optionsIndex < this.#search.plan.resultOptions.length, "result options that the query has not");
    this.#learn(repositoryId, repository);
    this.#owe(json.length);
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
    require(owner ===
      this.#node
        .name, `the repository ${repository}, which node ${owner} has too: remove it from one of the two configurations`);
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
    if (this.#hasSentLimit || this.#state !== "searching") return;
    const { control } = this.#search;
    if (!control.isStopped || control.isCancelled) return;
    this.#hasSentLimit = true;
    this.#sendStop("limit");
  }

  #lose(reason: string): void {
    if (this.#isFinal || this.#lost !== undefined) return;
    // Nothing was to be searched there.
    if (this.#chosen?.count !== 0) {
      this.#lost = reason;
      this.#shared.log.warn({ node: this.#node.name }, `a node was not searched completely: ${reason}`);
    }
    this.#close();
  }

  #close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#channel.close();
    this.#resolve();
    this.#root.listener.advanced();
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
