import { deserialize, serialize } from "node:v8";
import { uninitializedBytes } from "../../base/bytes.js";
import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { partitionsMax } from "../../catalog/partitions.js";
import { fileKinds } from "../../model/file-kind.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Omission, ReceiptRepository } from "../../model/stream-events.js";
import type { Viewer } from "../../model/viewer.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import type { Lane } from "../../protocol/messages.js";
import { markBytes, marksMax, secretBytes, type Tally } from "../../protocol/result-batch.js";
import { noStats } from "../../protocol/search-options.js";
import { withoutSets } from "../../query/plan/pattern-set.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import {
  flag,
  list,
  natural,
  object,
  atMost,
  choice,
  optional,
  positive,
  type Shape,
  type Shaped,
  text,
  tuple,
  whole,
  word,
  unfit,
} from "../../wire/shapes.js";
import type { FoundChanges } from "../source/found-changes.js";
import type { ReceiptPart } from "../source/receipt-part.js";
import type { PinnedRevision } from "../source/search-fleet.js";
import { frameLimits } from "../../wire/frames.js";
import type { Listed, SearchPart } from "../source/search-part.js";
import { requireSets, searchPlan, searchRequest, searchViewer } from "./plan-shape.js";
import { type OrderKey, sections } from "./result-order.js";

/**
 * What is said over a channel of one search.
 *
 *     coordinator → leaf    ask (body: Asked), base*, pins*, known*, sent*, go, share, (claimed*, again)*, credit*, late*, stop
 *     leaf → coordinator    prepared, rankable, (batch | found | commits | turn | state)*, changes*, covered*, end;
 *                           or failed, or refused before end
 *
 * Or, between nodes that should have the same repositories: `compare`, and `holds`. Or of streams that wait for changes:
 * (`watch` | `unwatch`)*, and `flipped`*.
 *
 * The leaf chooses its repositories for `ask`, when it has all of `base` and `pins` that was announced, says what it has chosen, and searches
 * after `go`, which may follow at once.
 * If its results are ranked, it says how many shards it would rank, and does it when it knows how many all nodes rank. Results
 * say where in the order of all nodes they are. After `again` the leaf says `restarted`, and searches again what the coordinator
 * has not passed on. After `stop` it ends as soon as it can; it keeps what it has pinned until the channel is closed.
 */

/**
 * The body of `ask`, as `v8.serialize` writes it: it is read only from a node of the fleet, which may act for any viewer. Its plan is without
 * sets: who reads it makes them of the patterns of the request, in steps.
 */
export interface Asked {
  readonly plan: SearchPlan;
  readonly request: SearchRequest;
  readonly lane: Lane;
  readonly timeoutsMs: readonly number[];
  readonly isSuggestible: boolean;
  /** The secret of marks. */
  readonly secret: Uint8Array;
}

/** Names in a list that crosses: the others are counted. */
export const wireNamesMax = 1_000;

/** Items of each list of a receipt that cross: as many as the event shows. */
export const wireReceiptItemsMax = 100;

/** Repositories that a node lists, if it has no more, for one that should have the same. */
export const holdingsItemsMax = 1_000;

/** Revisions that a search may pin, and UTF-16 units of all of them. Whoever has results of more cannot go on elsewhere. */
export const pinnedCountMax = 100_000;
export const pinnedUnitsMax = 4 * 1024 * 1024;

/** Repositories and directories that another node has found, and UTF-16 units of all of them. */
export const knownCountMax = 100_000;
export const knownUnitsMax = 8 * 1024 * 1024;

/** Repositories and revisions of an earlier search, and UTF-16 units of all of them. */
export const baseCountMax = 100_000;
export const baseUnitsMax = 16 * 1024 * 1024;

/** Changed revisions that a leaf tells, and UTF-16 units of all of them. */
export const changesCountMax = 100_000;
export const changesUnitsMax = 16 * 1024 * 1024;

/**
 * Repositories of which a leaf tells what it has covered, so that changes since then can be searched for: by the id of a receipt, or by
 * whoever has said so. Of all leaves of a search, `base` is also the most revisions that are kept, and UTF-16 units those of all.
 */
export const coveredCountMax = { receipt: 1_000, base: baseCountMax } as const;
export const coveredUnitsMax = baseUnitsMax;

/** In one message. */
const pinsCountMax = 1_000;
const pinsUnitsMax = 64 * 1024;

/** More than any coordinator grants or returns at once. */
export const creditBytesMax = 1024 * 1024 * 1024;

const name = text(4_096);
const sentence = text(64 * 1024);
const entriesMax = 1_000_000;
const optionsMax = 10_000;

const asked = object({
  plan: searchPlan,
  request: searchRequest,
  lane: choice(["interactive", "exhaustive"]),
  timeoutsMs: list(positive, optionsMax),
  isSuggestible: flag,
  secret: (value, place): Uint8Array => {
    if (value instanceof Uint8Array && value.length === secretBytes) return value;
    throw new TrawlError("bad-request", `${place} must have ${secretBytes} bytes`);
  },
});

/** Throws `bad-request` for what no node of this version sends. */
function requireAsked(value: unknown): Asked {
  const search = asked(value, "ask");
  if (search.timeoutsMs.length !== search.plan.resultOptions.length)
    throw new TrawlError("bad-request", "ask.timeoutsMs must be those of the options of the plan");
  requireSets(search.plan, search.request);
  return search;
}

export function readAsked(body: Uint8Array): Asked {
  return requireAsked(deserialize(body));
}

/** Throws `bad-request` or `content-too-large` for a search that cannot be told to other nodes. */
export function writeAsked(search: Asked): Uint8Array {
  const plan = search.request.patterns === undefined ? search.plan : withoutSets(search.plan);
  const body = serialize(requireAsked({ ...search, plan }));
  const { bodyBytesMax } = frameLimits;
  if (body.length > bodyBytesMax)
    throw new TrawlError(
      "content-too-large",
      `other nodes of the fleet cannot be told this search: with the names of the organizations and repositories of its user or context it takes ${body.length} bytes, and may take ${bodyBytesMax}: use a shorter query, a smaller context or a user of fewer organizations`,
    );
  return body;
}

export const askHead = object({
  kind: choice(["ask"]),
  /** For the choice of repositories. */
  timeoutMs: natural,
  /** Only the repositories in these partitions are searched, of so many; absent for all that the leaf has. */
  partitions: optional(object({ numbers: list(atMost(partitionsMax), partitionsMax), count: atMost(partitionsMax) })),
  /** Bytes of results that the leaf may send before the coordinator returns credit. */
  creditBytes: atMost(creditBytesMax),
  /** Whether no other leaf is asked: then all shards that are ranked are of this one. */
  isOnly: optional(flag),
  /** Whether results need marks, because another node could go on behind them. */
  hasMarks: flag,
  /** The number of the first change, if changes since an earlier search are searched for: what that has covered follows. */
  sideFrom: optional(natural),
  /** Revisions of which results are known already, from another leaf: they follow. */
  pinnedCount: atMost(pinnedCountMax),
  /** Repositories and directories that are results already: they follow. */
  knownCount: atMost(knownCountMax),
  /** Records of marks that follow. */
  sentCount: atMost(marksMax),
  /** What the whole search shows, of which another leaf has sent a part: both keep the same ranked documents. */
  rankedMatchesMax: optional(natural),
});

/** The body has repositories of the earlier search with their revisions, as `v8.serialize` writes them; the last one has none. */
export const baseHead = object({ kind: choice(["base"]), isLast: flag });

const basePiece = list(tuple(name, list(tuple(name, text(64)), baseCountMax)), pinsCountMax);

/** The bodies of messages. What has many revisions is in several of them. */
export function* writeBase(base: BaseRevisions): Generator<Uint8Array, void> {
  let [piece, units]: [[string, [string, string][]][], number] = [[], 0];
  for (const [repository, revisions] of base) {
    let list: [string, string][] = [];
    piece.push([repository, list]);
    units += repository.length;
    for (const [revision, commit] of revisions) {
      if (units > pinsUnitsMax) {
        yield serialize(piece);
        list = [];
        [piece, units] = [[[repository, list]], repository.length];
      }
      list.push([revision, commit]);
      units += revision.length + commit.length;
    }
    if (piece.length < pinsCountMax && units <= pinsUnitsMax) continue;
    yield serialize(piece);
    [piece, units] = [[], 0];
  }
  if (piece.length > 0) yield serialize(piece);
}

/** UTF-16 units of all of it, and revisions. */
export function sizeOfBase(base: BaseRevisions): { readonly units: number; readonly revisionCount: number } {
  let [units, revisionCount] = [0, 0];
  for (const [repository, revisions] of base) {
    units += repository.length;
    revisionCount += revisions.size;
    for (const [revision, commit] of revisions) units += revision.length + commit.length;
  }
  return { units, revisionCount };
}

/** What an earlier search has covered, as it arrives. */
export class BaseReader {
  readonly #base = new Map<string, Map<string, string>>();
  #revisionCount = 0;
  #units = 0;
  isComplete = false;

  get base(): BaseRevisions {
    return this.#base;
  }

  /** Throws `bad-request`. */
  add(isLast: boolean, body: Uint8Array): void {
    this.isComplete = isLast;
    if (isLast) return;
    for (const [repository, revisions] of basePiece(deserialize(body), "base")) {
      const known = this.#base.get(repository) ?? new Map<string, string>();
      this.#base.set(repository, known);
      this.#units += repository.length;
      this.#revisionCount += revisions.length;
      for (const [revision, commit] of revisions) {
        known.set(revision, commit);
        this.#units += revision.length + commit.length;
      }
    }
    if (this.#base.size > baseCountMax || this.#revisionCount > baseCountMax || this.#units > 2 * baseUnitsMax)
      throw new TrawlError("bad-request", "more revisions of an earlier search than one may have, or longer ones");
  }
}

/** Bodies of messages that several leaves are told: each is made once, when the first leaf is told it. */
export class SharedBodies {
  readonly #made: Uint8Array[] = [];
  readonly #rest: Iterator<Uint8Array, void>;

  constructor(bodies: Iterator<Uint8Array, void>) {
    this.#rest = bodies;
  }

  *all(): Generator<Uint8Array, void> {
    for (let i = 0; ; i++) {
      if (i === this.#made.length) {
        const { done, value } = this.#rest.next();
        if (done === true) return;
        this.#made.push(value);
      }
      yield this.#made[i];
    }
  }
}

/** What an earlier search has covered, as one source is told it. */
export interface ToldBase {
  /** Complete when all bodies were made. */
  readonly revisions: BaseRevisions;
  /** Of the messages that tell it; undefined after a step that has made none. */
  bodies(): Iterable<Uint8Array | undefined>;
}

/** Repositories that are divided in one step. */
const dividedCount = 4_000;

/**
 * As so many sources are told it: each repository only the one that has it, whose number `findSource` returns; undefined for one that any of
 * them may have, and -1 for one that none of them has. Without `findSource`, all are told everything.
 */
export function divideBase(
  base: BaseRevisions,
  sourceCount: number,
  findSource: ((repository: string) => number | undefined) | undefined,
): readonly ToldBase[] {
  if (findSource === undefined || sourceCount === 1) {
    const shared = new SharedBodies(writeBase(base));
    return Array.from({ length: sourceCount }, () => ({ revisions: base, bodies: () => shared.all() }));
  }
  const parts = Array.from({ length: sourceCount }, () => new Map<string, ReadonlyMap<string, string>>());
  // Whoever is told first divides it, and the others what is left.
  const rest = base.entries();
  const divideSome = (): boolean => {
    for (let i = 0; i < dividedCount; i++) {
      const { done, value } = rest.next();
      if (done === true) return false;
      const source = findSource(value[0]);
      for (const part of source === undefined ? parts : parts.slice(source, source + 1)) part.set(...value);
    }
    return true;
  };
  return parts.map((part) => ({
    revisions: part,
    *bodies() {
      while (divideSome()) yield undefined;
      yield* writeBase(part);
    },
  }));
}

/** The body has revisions to pin, as `v8.serialize` writes them. */
export const pinsHead = object({ kind: choice(["pins"]) });

const pins: Shape<readonly PinnedRevision[]> = list(
  object({ repository: name, typed: name, commit: text(64) }),
  pinsCountMax,
);

/** Throws `bad-request`. */
export function readPins(body: Uint8Array): readonly PinnedRevision[] {
  return pins(deserialize(body), "pins");
}

/** The body has names of results as `describeFound` makes them, as `v8.serialize` writes them. */
export const knownHead = object({ kind: choice(["known"]) });

const known = list(text(128 * 1024), pinsCountMax);

/** Throws `bad-request`. */
export function readKnown(body: Uint8Array): readonly string[] {
  return known(deserialize(body), "known");
}

/** The bodies of messages. */
export function* writeKnown(names: Iterable<string>): Generator<Uint8Array, void> {
  let [piece, units]: [string[], number] = [[], 0];
  for (const name of names) {
    if (piece.length > 0 && (piece.length === pinsCountMax || units + name.length > pinsUnitsMax)) {
      yield serialize(piece);
      [piece, units] = [[], 0];
    }
    piece.push(name);
    units += name.length;
  }
  if (piece.length > 0) yield serialize(piece);
}

/** A repository or directory that is a result, by its name: each node has an id of its own for it. */
export function describeFound({ key, repository }: { readonly key: string; readonly repository: string }): string {
  return `${repository}${key.slice(key.indexOf("@"))}`;
}

export function unitsOfPin({ repository, typed, commit }: PinnedRevision): number {
  return repository.length + typed.length + commit.length;
}

/** The bodies of messages. */
export function* writePins(pinned: readonly PinnedRevision[]): Generator<Uint8Array, void> {
  let [piece, units]: [PinnedRevision[], number] = [[], 0];
  for (const pin of pinned) {
    const pinUnits = unitsOfPin(pin);
    if (piece.length > 0 && (piece.length === pinsCountMax || units + pinUnits > pinsUnitsMax)) {
      yield serialize(piece);
      [piece, units] = [[], 0];
    }
    piece.push(pin);
    units += pinUnits;
  }
  if (piece.length > 0) yield serialize(piece);
}

/** The body has marks of results that another leaf has counted and sent. */
export const sentHead = object({ kind: choice(["sent"]) });

/** Records of marks in one message. */
export const sentRecordsMax = 16 * 1024;

/** Matches that the leaf may count and send: the rest of what the search may. By result options, absent for no limit. */
export const goHead = object({
  kind: choice(["go"]),
  matchCountMax: natural,
  displayCountMax: natural,
  optionsMax: optional(list(optional(natural), optionsMax)),
});

/** How many shards of all nodes share the budget of ranking. */
export const shareHead = object({ kind: choice(["share"]), shardCount: natural });

/** Before `again`: the body has keys of contents of which the client has the first result, which other results then refer to. */
export const claimedHead = object({ kind: choice(["claimed"]) });

/** Keys of contents in one message. */
export const claimedKeysMax = 4 * 1024;

/** What was found exceeds a limit: the rest of it may be counted and sent, from this ranked document on. */
export const againHead = object({
  kind: choice(["again"]),
  from: natural,
  matchCountMax: natural,
  displayCountMax: natural,
  optionsMax: optional(list(optional(natural), optionsMax)),
});

export const creditHead = object({ kind: choice(["credit"]), bytes: atMost(creditBytesMax) });

/** Basic queries with these result options have run out of time. */
export const lateHead = object({ kind: choice(["late"]), options: list(natural, optionsMax) });

export const stopHead = object({
  kind: choice(["stop"]),
  /** After the limit, what was counted is still sent. */
  reason: choice(["limit", "other"]),
  late: object({ all: flag, options: list(natural, optionsMax) }),
});

/** What has been counted so far, without found results, which the coordinator counts. */
const counts = object({
  matches: natural,
  displayed: natural,
  /** By result options; absent unless they have limits. */
  taken: optional(list(natural, optionsMax)),
  isLimitHit: flag,
  scannedKib: natural,
  workerTenths: natural,
});
export type LeafCounts = Shaped<typeof counts>;

export const noCounts: LeafCounts = {
  matches: 0,
  displayed: 0,
  taken: undefined,
  isLimitHit: false,
  scannedKib: 0,
  workerTenths: 0,
};

function cutList<T>(item: Shape<T>): Shape<Listed<T>> {
  const shape = object({ count: natural, first: list(item, wireNamesMax) });
  return (value, place) => {
    const found = shape(value, place);
    // A list that says that it has fewer items than it has would make the others negative.
    return found.count < found.first.length ? { ...found, count: found.first.length } : found;
  };
}

const names = cutList(name);
const sentences = cutList(sentence);

const statNames = Object.keys(noStats()) as (keyof SearchPart["stats"])[];
const stats = object(Object.fromEntries(statNames.map((stat) => [stat, natural]))) as unknown as Shape<
  SearchPart["stats"]
>;

const part: Shape<SearchPart> = object({
  visibleCount: natural,
  seesAll: flag,
  choices: list(object({ chosen: natural, cloning: natural, missing: natural, namesMissing: flag }), optionsMax),
  missing: names,
  cloning: names,
  timedOut: names,
  quarantined: names,
  incomplete: names,
  partlyIndexedCount: natural,
  excludedForkCount: natural,
  excludedArchivedCount: natural,
  excluded: cutList(object({ repository: name, reason: sentence, isLate: flag })),
  missingRevisions: cutList(
    object({ repository: name, revision: name, isAmbiguous: optional(flag) as Shape<boolean> }),
  ),
  missingRevisionRepositoryCount: natural,
  failures: sentences,
  historyGaps: object({
    repositories: names,
    cutRepositories: names,
    brokenCommits: natural,
    largeFiles: natural,
    cutMessages: natural,
  }),
  costlyFiles: sentences,
  filesWithoutSymbols: sentences,
  symbolFaults: list(sentence, wireNamesMax),
  shardsWithoutSymbols: natural,
  unfinishedShards: cutList(natural),
  stats,
  estimate: object({ shards: natural, shardsRuledOut: natural, documents: natural, textBytes: natural }),
  isRepeatable: flag,
});

const tally = object({
  /** Id, name, revision and matches; and the commit, or "" if there are no marks. */
  repositories: list(tuple(natural, name, name, natural, text(64)), entriesMax),
  languages: list(tuple(name, natural), entriesMax),
  fileKinds: list(natural, fileKinds.length),
  contentMatches: natural,
  symbolMatches: natural,
  symbolKinds: list(tuple(name, natural), entriesMax),
  pathMatches: natural,
  unownedResults: natural,
  groups: list(tuple(text(1_000_000), natural), entriesMax),
});
export type WireTally = Shaped<typeof tally>;

const omission = object({
  reason: text(100),
  repository: optional(name),
  path: optional(text(64 * 1024)),
  detail: optional(sentence),
}) as unknown as Shape<Omission>;

/** "" for no commit. */
const commit: Shape<string> = (value, place) => {
  const oid = text(64)(value, place);
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64}|)$/.test(oid)) throw unfit(place, "the id of a commit");
  return oid;
};

const receiptRepository: Shape<ReceiptRepository> = object({
  repository: name,
  generation: natural,
  revisions: list(object({ revision: name, commit }), optionsMax),
});

const digest = tuple(word, word, word, word, word);

const receipt = object({
  generation: digest,
  documentCount: natural,
  groups: list(
    object({ reason: text(100), count: natural, isGap: flag, items: list(optional(omission), wireReceiptItemsMax) }),
    1_000,
  ),
  repositories: object({ count: natural, items: list(receiptRepository, wireReceiptItemsMax) }),
});
export type WireReceipt = Shaped<typeof receipt>;

const preparedHead = object({
  kind: choice(["prepared"]),
  part,
  /** Names of the repositories that are searched. */
  chosen: names,
});

const keyPart: Shape<number | string> = (value, place) =>
  typeof value === "number" && Number.isFinite(value) ? value : keyText(value, place);
const keyText = text(64 * 1024);
const orderKeyParts = list(keyPart, 8);
/** Which section a place is in comes first; of each section, all places have the same types. */
const orderKey: Shape<OrderKey> = (value, place) => {
  const key = orderKeyParts(value, place);
  const types = placeTypes[key[0] as keyof typeof placeTypes];
  const isOne = types !== undefined && (key.length === 1 || key.length === types.length);
  if (!isOne || !key.every((part, i) => typeof part === types[i]))
    throw unfit(place, "a place in the order of results");
  return key;
};
const placeTypes: Readonly<Record<number, readonly string[] | undefined>> = {
  [sections.repositories]: ["number", "number", "number", "number"],
  [sections.ranked]: ["number", "number", "number", "number", "string", "string", "number"],
  [sections.others]: ["number"],
  [sections.histories]: ["number", "number", "number"],
  [sections.end]: ["number"],
};

const batchHead = object({
  kind: choice(["batch"]),
  at: orderKey,
  /** The index of the ranked document of which it has results. */
  document: optional(natural),
  counts,
  tally,
  digest: optional(digest),
  /** Of the body, at its end: records of marks. */
  markBytes: natural,
  /** Absent unless results with the same content are grouped. */
  contents: optional(
    object({
      /** Of the body, at its end: records of contents. */
      recordBytes: natural,
      copyCount: natural,
      copyMatches: natural,
      /** Whether the leaf had no room for some contents, and may write them more than once. */
      isIncomplete: flag,
    }),
  ),
  /** Whether it is only the beginning of a tally: the rest, and the results, follow at once. */
  isPart: flag,
});

/** How many of its shards would be ranked. Sums over all nodes stay exact. */
const rankableHead = object({ kind: choice(["rankable"]), shardCount: atMost(2 ** 24) });

/** No result before this place follows. */
const turnHead = object({ kind: choice(["turn"]), at: orderKey, counts });

const restartedHead = object({ kind: choice(["restarted"]) });

/** Commits in one message, which are also limited by the lengths of their texts. */
export const wireCommitsMax = 512;

const commitsHead = object({
  kind: choice(["commits"]),
  at: orderKey,
  repositoryId: natural,
  repository: name,
  /** Whether it is a diff, oid, date, matches, ranges, author, matches by result options, and bytes of its JSON. */
  commits: list(
    tuple(
      flag,
      text(64),
      whole,
      natural,
      natural,
      name,
      name,
      list(tuple(natural, natural), optionsMax),
      atMost(frameLimits.bodyBytesMax),
    ),
    wireCommitsMax,
  ),
});
export type WireCommits = Shaped<typeof commitsHead>;

const foundHead = object({
  kind: choice(["found"]),
  at: orderKey,
  key: text(64 * 1024),
  optionsIndex: natural,
  repositoryId: natural,
  repository: name,
  revision: name,
  resultKind: choice(["repository", "directory", "owner"]),
});

const stateHead = object({ kind: choice(["state"]), counts, isParked: flag });

/** The query cannot be executed. */
const refusedHead = object({ kind: choice(["refused"]), sentence });

/** The leaf cannot search: a sentence without its subject. */
const failedHead = object({ kind: choice(["failed"]), reason: sentence });

/** What a node has: digests of the names of its repositories, and of names with commits; and these, if they are few. */
const holdsHead = object({
  kind: choice(["holds"]),
  count: natural,
  names: digest,
  commits: digest,
  items: list(tuple(name, text(64)), holdingsItemsMax),
});
export type Holdings = Omit<Shaped<typeof holdsHead>, "kind">;

export const compareHead = object({ kind: choice(["compare"]) });

/** Revisions that are at other commits than in the base, in the order of their numbers. */
const changesHead = object({
  kind: choice(["changes"]),
  /** Repository, its name, revision, earlier commit, commit, and whether the earlier one does not exist any more. */
  items: list(tuple(natural, name, name, commit, commit, flag), wireNamesMax),
  /** Then the body has a bit for each repository of the base: whether this leaf has chosen it. */
  isLast: flag,
});
export type WireChange = Shaped<typeof changesHead>["items"][number];

/** What the leaf has covered: a part of the list of its receipt, which is complete if `end` says so. */
const coveredHead = object({ kind: choice(["covered"]), items: list(receiptRepository, wireNamesMax) });

/** Streams of one node that wait for changes at another one: more than its clients may have. */
export const watchersMax = 1_024;

/** The streams of the coordinator that wait, and that these repositories may concern. */
const flippedHead = object({ kind: choice(["flipped"]), numbers: list(natural, watchersMax) });

/** A stream of the coordinator waits for changes: the body has its viewer, as `v8.serialize` writes it. */
export const watchHead = object({ kind: choice(["watch"]), number: natural });
export const unwatchHead = object({ kind: choice(["unwatch"]), number: natural });

/** Throws `bad-request` or `content-too-large` for a viewer that cannot be told to other nodes. */
export function writeViewer(viewer: Viewer): Uint8Array {
  const body = serialize(searchViewer({ ...viewer, credential: undefined }, "viewer"));
  const { bodyBytesMax } = frameLimits;
  if (body.length > bodyBytesMax)
    throw new TrawlError(
      "content-too-large",
      `other nodes of the fleet cannot be told who waits for changes: with the names of the organizations and repositories of the user it takes ${body.length} bytes, and may take ${bodyBytesMax}: use a user of fewer organizations`,
    );
  return body;
}

/** Throws `bad-request`. */
export function readViewer(body: Uint8Array): Viewer {
  return searchViewer(deserialize(body), "viewer");
}

const endHead = object({
  kind: choice(["end"]),
  counts,
  part,
  receipt: optional(receipt),
  /** Whether it has told all that the receipt covers. */
  hasToldCovered: optional(flag),
});

const fromLeaf = {
  prepared: preparedHead,
  rankable: rankableHead,
  batch: batchHead,
  found: foundHead,
  commits: commitsHead,
  turn: turnHead,
  restarted: restartedHead,
  state: stateHead,
  refused: refusedHead,
  failed: failedHead,
  holds: holdsHead,
  changes: changesHead,
  covered: coveredHead,
  flipped: flippedHead,
  end: endHead,
} as const;

const fromCoordinator = {
  compare: compareHead,
  ask: askHead,
  base: baseHead,
  pins: pinsHead,
  known: knownHead,
  sent: sentHead,
  go: goHead,
  share: shareHead,
  claimed: claimedHead,
  again: againHead,
  credit: creditHead,
  late: lateHead,
  stop: stopHead,
  watch: watchHead,
  unwatch: unwatchHead,
} as const;

type MessageOf<Table extends Readonly<Record<string, Shape<unknown>>>> = {
  [Kind in keyof Table]: Shaped<Table[Kind]>;
}[keyof Table];

export type LeafMessage = MessageOf<typeof fromLeaf>;
export type CoordinatorMessage = MessageOf<typeof fromCoordinator>;

/** Throws `bad-request`. Both ends call it: before they send, too. */
export const toLeafMessage = reader(fromLeaf) as (head: Readonly<Record<string, unknown>>) => LeafMessage;
export const toCoordinatorMessage = reader(fromCoordinator) as (
  head: Readonly<Record<string, unknown>>,
) => CoordinatorMessage;

function reader(table: Readonly<Record<string, Shape<unknown>>>) {
  const kindOf = choice(Object.keys(table));
  return (head: Readonly<Record<string, unknown>>): unknown => {
    const kind = kindOf(head["kind"], "kind");
    return table[kind](head, kind);
  };
}

/** UTF-16 units of a text in a list, and of a list. A message has three times as many: a head of JSON holds them, however they are escaped. */
const listedLengthMax = 4_096;
const listUnitsMax = 64 * 1024;
const messageUnitsMax = 3 * listUnitsMax;

/** The beginning of lists of which whoever writes a commit decides how long their texts are. One for each message. */
class ListCutter {
  #left = messageUnitsMax;

  cut<T>(items: readonly T[], countMax: number): readonly T[] {
    const first: T[] = [];
    let units = Math.min(this.#left, listUnitsMax);
    for (const item of items.slice(0, countMax)) {
      const short = shorten(item);
      units -= unitsIn(short);
      if (units < 0) break;
      this.#left -= unitsIn(short);
      first.push(short);
    }
    return first;
  }
}

function shorten<T>(value: T): T {
  if (typeof value === "string") return value.slice(0, listedLengthMax) as T;
  if (Array.isArray(value) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shorten(member)])) as T;
}

/** About as many as its JSON has, if nothing is escaped. */
function unitsIn(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [key, member]) => sum + key.length + unitsIn(member), 2);
}

export function cutNames(names: readonly string[]): Listed<string> {
  return { count: names.length, first: new ListCutter().cut(names, wireNamesMax) };
}

/** As much of the lists of a receipt as crosses. */
export function cutReceipt(whole: WireReceipt): WireReceipt {
  const cutter = new ListCutter();
  const { count, items } = whole.repositories;
  const repositories = items.map((one) => ({ ...one, revisions: cutter.cut(one.revisions, optionsMax) }));
  return {
    ...whole,
    repositories: { count, items: repositories },
    groups: whole.groups.map((group) => ({ ...group, items: cutter.cut(group.items, wireReceiptItemsMax) })),
  };
}

/** Changes in messages: those of one have so many units. Throws `overloaded` if they are more than a leaf may tell. */
export function* cutChanges(
  { changes, basesGone }: FoundChanges,
  idBase: number,
): Generator<readonly WireChange[], void> {
  if (changes.length > changesCountMax)
    throw new TrawlError(
      "overloaded",
      `it has ${changes.length} changed revisions, and may tell of ${changesCountMax}`,
    );
  const gone = new Set(basesGone);
  let [items, units, allUnits]: [WireChange[], number, number] = [[], 0, 0];
  for (const change of changes) {
    const { repository, revision, base = "", commit: now = "" } = change;
    items.push([idBase + repository.id, repository.name, revision, base, now, gone.has(change)]);
    units += repository.name.length + revision.length + base.length + now.length;
    if (items.length < wireNamesMax && units < listUnitsMax) continue;
    allUnits += units;
    yield items;
    [items, units] = [[], 0];
  }
  if (allUnits + units > changesUnitsMax)
    throw new TrawlError("overloaded", "the names of its changed revisions are longer than it may tell");
  yield items;
}

/**
 * What a receipt covers, in messages: those of one have so many units. Returns false if not all of it may be told; then what was told
 * before is worth nothing.
 */
export function* cutCovered(receipt: ReceiptPart, countMax: number): Generator<readonly ReceiptRepository[], boolean> {
  const { count } = receipt.repositories(0, 0);
  if (count > countMax) return false;
  let [items, units]: [ReceiptRepository[], number] = [[], 0];
  for (let from = 0; from < count; from += coveredStep) {
    for (const item of receipt.repositories(from, coveredStep).items) {
      const itemUnits = unitsIn(item);
      if (itemUnits > messageUnitsMax || item.revisions.length > optionsMax) return false;
      if (items.length > 0 && units + itemUnits > messageUnitsMax) {
        yield items;
        [items, units] = [[], 0];
      }
      items.push(item);
      units += itemUnits;
    }
    if (items.length + coveredStep <= wireNamesMax) continue;
    yield items;
    [items, units] = [[], 0];
  }
  if (items.length > 0) yield items;
  return true;
}

/** Repositories of which a receipt is asked at once. */
const coveredStep = 100;

/** UTF-16 units that a repository takes of those that all leaves may tell. */
export function unitsOfCovered({ repository, revisions }: ReceiptRepository): number {
  return revisions.reduce((sum, { revision, commit: oid }) => sum + revision.length + oid.length, repository.length);
}

/** As much of the lists of a part as crosses. */
export function cutPart(whole: SearchPart): SearchPart {
  const cutter = new ListCutter();
  const cut = <T>({ count, first }: Listed<T>): Listed<T> => ({ count, first: cutter.cut(first, wireNamesMax) });
  const { historyGaps } = whole;
  return {
    ...whole,
    missing: cut(whole.missing),
    cloning: cut(whole.cloning),
    timedOut: cut(whole.timedOut),
    quarantined: cut(whole.quarantined),
    incomplete: cut(whole.incomplete),
    excluded: cut(whole.excluded),
    missingRevisions: cut(whole.missingRevisions),
    failures: cut(whole.failures),
    historyGaps: {
      ...historyGaps,
      repositories: cut(historyGaps.repositories),
      cutRepositories: cut(historyGaps.cutRepositories),
    },
    costlyFiles: cut(whole.costlyFiles),
    filesWithoutSymbols: cut(whole.filesWithoutSymbols),
    unfinishedShards: cut(whole.unfinishedShards),
    symbolFaults: cutter.cut(whole.symbolFaults, wireNamesMax),
  };
}

export function writeTally(
  counted: Tally,
  nameOf: (repositoryId: number) => string,
  commits: ReadonlyMap<string, string> | undefined,
): WireTally {
  return {
    repositories: [...counted.repositories].map(([key, count]) => {
      const at = key.indexOf("@");
      const id = Number(key.slice(0, at));
      return [id, nameOf(id), key.slice(at + 1), count, commits?.get(key) ?? ""] as const;
    }),
    languages: [...counted.languages],
    fileKinds: counted.fileKinds,
    contentMatches: counted.contentMatches,
    symbolMatches: counted.symbolMatches,
    symbolKinds: [...counted.symbolKinds],
    pathMatches: counted.pathMatches,
    unownedResults: counted.unownedResults,
    groups: [...counted.groups],
  };
}

/** Of the lists of a tally in one message: as JSON, with every unit escaped, it is a fraction of what a head may have. */
const tallyUnitsMax = 256 * 1024;

/** Its lists in several messages, if they are long. Whoever adds them has the whole. */
export function splitTally(whole: WireTally): readonly [WireTally, ...WireTally[]] {
  const empty: WireTally = {
    repositories: [],
    languages: [],
    fileKinds: whole.fileKinds.map(() => 0),
    contentMatches: 0,
    symbolMatches: 0,
    symbolKinds: [],
    pathMatches: 0,
    unownedResults: 0,
    groups: [],
  };
  const others: WireTally[] = [];
  const split = <List extends "repositories" | "languages" | "symbolKinds" | "groups">(list: List): WireTally[List] => {
    const [first = [], ...more] = splitList(whole[list] as readonly WireTally[List][number][]);
    for (const items of more) others.push({ ...empty, [list]: items });
    return first as WireTally[List];
  };
  const first = {
    ...whole,
    repositories: split("repositories"),
    languages: split("languages"),
    symbolKinds: split("symbolKinds"),
    groups: split("groups"),
  };
  return [first, ...others];
}

/** Each piece has at least one item. */
function splitList<Item extends readonly (string | number)[]>(items: readonly Item[]): Item[][] {
  const pieces: Item[][] = [];
  let units = tallyUnitsMax;
  for (const item of items) {
    const size = item.reduce<number>((sum, part) => sum + (typeof part === "string" ? part.length : 4) + 4, 0);
    if (units + size > tallyUnitsMax) {
      pieces.push([]);
      units = 0;
    }
    units += size;
    pieces[pieces.length - 1].push(item);
  }
  return pieces;
}

/** Throws `bad-request`. The bytes are copied: they are kept for longer than their message. */
export function readMarks(bytes: Uint8Array): Uint32Array {
  if (bytes.length % markBytes !== 0) throw new TrawlError("bad-request", `marks of ${bytes.length} bytes`);
  return new Uint32Array(new Uint8Array(bytes).buffer);
}

/** The numbers of an array of 32 bits, as a message has them. Throws `bad-request`. The bytes are copied. */
export function readWords(bytes: Uint8Array, wordsOfOne: number): Int32Array {
  if (bytes.length % (4 * wordsOfOne) !== 0)
    throw new TrawlError(
      "bad-request",
      `records of contents, each of ${4 * wordsOfOne} bytes, in ${bytes.length} bytes`,
    );
  return new Int32Array(new Uint8Array(bytes).buffer);
}

export function readTally(counted: WireTally): Tally {
  return {
    repositories: new Map(counted.repositories.map(([id, , revision, count]) => [`${id}@${revision}`, count])),
    languages: new Map(counted.languages),
    fileKinds: [...counted.fileKinds],
    contentMatches: counted.contentMatches,
    symbolMatches: counted.symbolMatches,
    symbolKinds: new Map(counted.symbolKinds),
    pathMatches: counted.pathMatches,
    unownedResults: counted.unownedResults,
    groups: new Map(counted.groups),
  };
}

/** What a source says before it has chosen anything, or if it never does. */
export function emptyPart(plan: SearchPlan): SearchPart {
  const none = { count: 0, first: [] };
  return {
    visibleCount: 0,
    seesAll: true,
    choices: plan.basicQueries.map(() => ({ chosen: 0, cloning: 0, missing: 0, namesMissing: false })),
    missing: none,
    cloning: none,
    timedOut: none,
    quarantined: none,
    incomplete: none,
    partlyIndexedCount: 0,
    excludedForkCount: 0,
    excludedArchivedCount: 0,
    excluded: none,
    missingRevisions: none,
    missingRevisionRepositoryCount: 0,
    failures: none,
    historyGaps: { repositories: none, cutRepositories: none, brokenCommits: 0, largeFiles: 0, cutMessages: 0 },
    costlyFiles: none,
    filesWithoutSymbols: none,
    symbolFaults: [],
    shardsWithoutSymbols: 0,
    unfinishedShards: none,
    stats: noStats(),
    estimate: { shards: 0, shardsRuledOut: 0, documents: 0, textBytes: 0 },
    isRepeatable: false,
  };
}

/** Bytes of JSON and UTF-16 units of texts after which commits are sent. */
const commitsBytesMax = 256 * 1024;
const commitsUnitsMax = 256 * 1024;

/** Longer names of authors are cut in what is counted. */
const authorLengthMax = 1_000;

/** Gathers commits of one repository into messages. */
export class CommitsWriter {
  readonly #send: (head: Omit<WireCommits, "at">, body: Uint8Array) => void;
  #of = { repositoryId: 0, repository: "" };
  #commits: WireCommits["commits"][number][] = [];
  #json: Uint8Array[] = [];
  #byteCount = 0;
  #units = 0;

  constructor(send: (head: Omit<WireCommits, "at">, body: Uint8Array) => void) {
    this.#send = send;
  }

  add(found: FoundCommit, repositoryId: number, repository: string): void {
    const { kind, oid, committed, matchCount, rangeCount, matches, json, from, to } = found;
    if (repositoryId !== this.#of.repositoryId) this.send();
    this.#of = { repositoryId, repository };
    const [author, email] = [found.authorName, found.authorEmail].map((text) => text.slice(0, authorLengthMax));
    const ofOptions = matches.map(({ optionsIndex, count }) => [optionsIndex, count] as const);
    this.#commits.push([kind === "diff", oid, committed, matchCount, rangeCount, author, email, ofOptions, to - from]);
    this.#json.push(json.subarray(from, to));
    this.#byteCount += to - from + 1;
    this.#units += author.length + email.length + 16 * matches.length;
    const isFull = this.#byteCount > commitsBytesMax || this.#units > commitsUnitsMax;
    if (isFull || this.#commits.length >= wireCommitsMax) this.send();
  }

  send(): void {
    if (this.#commits.length === 0) return;
    const body = uninitializedBytes(this.#byteCount - 1).fill(",");
    let at = 0;
    for (const one of this.#json) {
      body.set(one, at);
      at += one.length + 1;
    }
    const head = { kind: "commits", ...this.#of, commits: this.#commits } as const;
    this.#commits = [];
    this.#json = [];
    this.#byteCount = 0;
    this.#units = 0;
    this.#send(head, body);
  }
}

/** Throws `bad-request` if the message is not of commits that its body has, or of a query with so many result options. */
export function readCommits({ commits }: WireCommits, json: Uint8Array, optionsCount: number): FoundCommit[] {
  let at = 0;
  const found = commits.map(
    ([isDiff, oid, committed, matchCount, rangeCount, authorName, authorEmail, ofOptions, byteCount], i) => {
      const from = at;
      const to = from + byteCount;
      at = to + 1;
      const matches = ofOptions.map(([optionsIndex, count]) => ({ optionsIndex, count }));
      if (matches.some(({ optionsIndex }) => optionsIndex >= optionsCount) || matches.length === 0 || matchCount === 0)
        throw new TrawlError("bad-request", `commits[${i}] must have matches by options of the query`);
      const kind: FoundCommit["kind"] = isDiff ? "diff" : "commit";
      return { kind, oid, committed, matchCount, rangeCount, authorName, authorEmail, matches, json, from, to };
    },
  );
  if (at !== json.length + 1) throw new TrawlError("bad-request", "commits must be what the body has");
  return found;
}
