import { serialize } from "node:v8";
import t from "tap";
import { sleep } from "../../../src/base/deadline.js";
import { type Log, silentLog } from "../../../src/base/log.js";
import { resultAtOnce, resultWhileYielding } from "../../../src/base/yielding.js";
import { lineBytesUnlimited, ownRequest, type SearchRequest } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import type { Omission } from "../../../src/model/stream-events.js";
import { claimKeyWords, ContentClaims, readKey } from "../../../src/protocol/content-claims.js";
import {
  ControlBlock,
  endTaking,
  makeResultLimits,
  type ResultLimits,
  takeMatches,
  takenMatches,
} from "../../../src/protocol/control-block.js";
import { addTally, allWritten, emptyTally, increase } from "../../../src/protocol/result-batch.js";
import { patternSetLimits, toRequestedPatterns, withSets } from "../../../src/query/plan/pattern-set.js";
import type { SearchPlan } from "../../../src/query/plan/plan.js";
import { planQuery, planTreeInSteps } from "../../../src/query/plan/plan-query.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import {
  type Asked,
  BaseReader,
  cutPart,
  cutReceipt,
  divideBase,
  emptyPart,
  type LeafMessage,
  noCounts,
  readTally,
  SharedBodies,
  splitTally,
  readAsked,
  readKnown,
  readPins,
  toLeafMessage,
  writeAsked,
  writeBase,
  writePins,
  writeTally,
} from "../../../src/search/fleet/fleet-messages.js";
import { LabelCheck } from "../../../src/search/fleet/label-check.js";
import { LeafSearch } from "../../../src/search/fleet/leaf-search.js";
import {
  type RemoteNode,
  RemoteSource,
  replaceIds,
  type RepositoryPlaces,
} from "../../../src/search/fleet/remote-source.js";
import { ResultOrder, sections } from "../../../src/search/fleet/result-order.js";
import { readObjects, SharedContents } from "../../../src/search/fleet/shared-contents.js";
import { isShared, searchLimits } from "../../../src/search/limits/search-limits.js";
import { type LeafServices, nodeIdSpan, type PinnedRevision } from "../../../src/search/source/search-fleet.js";
import type { SearchSource, SourceRoot } from "../../../src/search/source/search-source.js";
import { FrameChannel, type FrameReceiver } from "../../../src/wire/frame-channel.js";
import { type Frame, frameStart } from "../../../src/wire/frames.js";
import { channelPair } from "../../support/channel-pair.js";
import { TestClock } from "../../support/test-clock.js";

// What a leaf says is believed only as far as it can be true; one that says something else is named, and left out.

const idBase = nodeIdSpan;
const plan = (query: string) => planQuery(query, "keyword", new Map());

/** The plan of a search for files that also contain one of these. */
function planOfPatterns(
  query: string,
  patterns: readonly string[],
  type: "literal" | "regexp" = "literal",
): SearchPlan {
  return resultAtOnce(planTreeInSteps(parseQuery(query, type), new Map(), toRequestedPatterns(patterns, type)));
}

interface Site {
  readonly source: SearchSource;
  readonly control: ControlBlock;
  readonly batches: number[];
  readonly found: string[];
  readonly texts: readonly string[];
  /** Matches by repository and revision, by batch. */
  readonly tallies: readonly (readonly (readonly [string, number])[])[];
  /** Marks that the leaf that was asked last was told. */
  readonly sent: readonly Buffer[];
  /** Nodes that were asked, and failovers. */
  readonly nodes: readonly string[];
  readonly heard: Frame["head"][];
  readonly asked: () => Asked;
  /** What it was told to pin. */
  readonly pinned: readonly PinnedRevision[];
  readonly known: readonly string[];
  readonly say: (message: object, body?: string | Buffer) => Promise<void>;
  readonly breakOff: () => Promise<void>;
  /** Gives the source its turn, if another one was before it. */
  readonly giveTurn: () => Promise<void>;
  /** The other one would rank so many shards; returns what it was told. */
  readonly rankOther: (shardCount: number) => readonly number[];
  /** What the log of the coordinator says. */
  readonly logged: readonly string[];
  readonly limits: ResultLimits | undefined;
  readonly pace: { unreadBytes: number; pendingBytes: number };
  readonly ended: Promise<void>;
}

/**
 * A source whose leaf is the test, or that many replicas of it, of which the last one that was asked hears and speaks. Its search has a
 * limit of 10 matches unless the query says something else. If it waits, another source, which says nothing, is before it.
 */
function site(
  query: string,
  claims: ReadonlyMap<string, string> = new Map(),
  isWaiting = false,
  replicas = 1,
  more: Partial<SearchRequest> = {},
  brokenNode = -1,
  contents?: SharedContents,
  waiting = { bytes: 0 },
  places?: RepositoryPlaces,
): Site {
  const request = { ...ownRequest(query, operatorViewer, ""), receipt: "report", ...more } as const;
  const searched = more.patterns === undefined ? plan(query) : planOfPatterns(query, more.patterns);
  const limits = searchLimits(searched, request, { defaultCount: 10, defaultTimeoutMs: 1000, maxTimeoutMs: 1000 });
  const control = ControlBlock.allocate(1, 1000, 1);
  let leaf: FrameChannel | undefined;
  const [batches, found, heard]: [number[], string[], Frame["head"][]] = [[], [], []];
  const [texts, sent, nodes]: [string[], Buffer[], string[]] = [[], [], []];
  const tallies: (readonly (readonly [string, number])[])[] = [];
  let asked: Asked | undefined;
  const pinned: PinnedRevision[] = [];
  const known: string[] = [];
  const open = (receiver: FrameReceiver): FrameChannel => {
    const [here, there] = channelPair();
    leaf = new FrameChannel(there, {
      frame: ({ head, body }) => {
        heard.push(head);
        if (head["kind"] === "ask") {
          asked = readAsked(body);
          pinned.length = 0;
        }
        if (head["kind"] === "pins") pinned.push(...readPins(body));
        if (head["kind"] === "known") known.push(...readKnown(body));
        if (head["kind"] === "sent") sent.push(Buffer.from(body));
      },
      closed: () => undefined,
    });
    Object.defineProperty(here, "waitingBytes", { get: () => waiting.bytes });
    return new FrameChannel(here, receiver);
  };
  const nodeOf = (i: number): RemoteNode => ({
    name: i === 0 ? "leaf" : `leaf${i}`,
    mayHave: (id) => id >= idBase * (i + 1) && id < idBase * (i + 2),
    open: (receiver) => {
      if (i === brokenNode) throw new Error("no channel");
      nodes.push(`leaf${i}`);
      return open(receiver);
    },
  });
  const pace = { unreadBytes: 0, pendingBytes: 0, creditBytes: 1000 };
  const logged: string[] = [];
  const log: Log = Object.assign(silentLog(), { warn: (_fields: object, said: string) => void logged.push(said) });
  const root: SourceRoot = {
    listener: {
      batch: ({ bytes, tally }) => {
        batches.push(bytes.length);
        texts.push(Buffer.from(bytes).toString());
        tallies.push([...tally.repositories]);
      },
      found: ({ key, json }) => void found.push(`${key} ${json()}`),
      commit: () => undefined,
      sendCommits: () => undefined,
      refused: () => undefined,
      scheduled: () => undefined,
      advanced: () => source.goOn(),
      parked: () => undefined,
    },
    pace,
    stopped: new Promise(() => undefined),
    late: { all: false, options: new Set() },
  };
  const order = new ResultOrder([sections.others], isShared(limits), () => source.goOn(), []);
  const shares: number[] = [];
  const share = (shardCount: number) => void shares.push(shardCount);
  const other = isWaiting ? order.join({ passOn: () => false, giveUpRanking: () => undefined, share }) : undefined;
  const source: SearchSource = new RemoteSource(
    { request, plan: searched, limits, control, claims: undefined, startedMs: 0 },
    root,
    [nodeOf(0), ...Array.from({ length: replicas - 1 }, (_, i) => nodeOf(i + 1))],
    {
      creditBytes: 1000,
      isOnly: false,
      contents,
      places,
      covered: { count: 0, units: 0 },
      claim: (repository, owner) => claims.get(repository) ?? owner,
      order,
      heads: { byteCount: 0, tallied: undefined },
      asked: writeAsked({
        plan: searched,
        request: { ...request, since: undefined },
        lane: limits.lane,
        timeoutsMs: limits.timeoutsMs,
        isSuggestible: limits.isSuggestible,
        secret: Buffer.alloc(16),
      }),
      log,
      onFailover: () => void nodes.push("failover"),
    },
    undefined,
    request.since && divideBase(request.since, 2, places?.find)[Number(isWaiting)],
  );
  const settle = async () => {
    for (let i = 0; i < 4; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
  };
  return {
    source,
    control,
    batches,
    found,
    texts,
    tallies,
    sent,
    nodes,
    heard,
    asked: () => {
      if (asked === undefined) throw new Error("the leaf was not asked");
      return asked;
    },
    pinned,
    known,
    say: (message, body = "") => {
      leaf?.send(message, typeof body === "string" ? Buffer.from(body) : body);
      return settle();
    },
    breakOff: () => {
      leaf?.close();
      return settle();
    },
    logged,
    limits: limits.resultLimits,
    pace,
    giveTurn: () => {
      if (other !== undefined) order.end(other);
      return settle();
    },
    rankOther: (shardCount) => {
      if (other !== undefined) order.rankable(other, shardCount);
      return shares;
    },
    ended: source.run(),
  };
}

const counts = (matches: number, more: object = {}): object => ({ ...noCounts, matches, ...more });
const tally = (repositories: readonly unknown[] = [[idBase + 1, "r", "", 1, ""]]): object => ({
  repositories,
  languages: [],
  fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
  contentMatches: 2,
  symbolMatches: 0,
  symbolKinds: [],
  pathMatches: 0,
  unownedResults: 0,
  groups: [],
});
const prepared = (query: string, names: readonly string[] = ["r"]): object => ({
  kind: "prepared",
  part: emptyPart(plan(query)),
  chosen: { count: names.length, first: names },
});
const end = (query: string, matches: number): object => ({
  kind: "end",
  counts: counts(matches),
  part: emptyPart(plan(query)),
});
const batch = (matches: number, more: object = {}): object => ({
  kind: "batch",
  at: [sections.others],
  counts: counts(matches),
  tally: tally(),
  markBytes: 0,
  isPart: false,
  ...more,
});

t.test("a leaf is asked, granted what is left, and passes on what it finds", async (t) => {
  const { source, control, batches, found, heard, asked, say, ended } = site("x");
  await say(prepared("x"));
  t.same(asked().plan, plan("x"));
  t.match(heard, [
    { kind: "ask", creditBytes: 1000 },
    { kind: "go", matchCountMax: 10, displayCountMax: 10 },
  ]);
  await say(batch(2), '{"a":1}');
  const one = {
    kind: "found",
    at: [sections.others],
    key: `${idBase + 1}@`,
    optionsIndex: 0,
    repositoryId: idBase + 1,
    repository: "r",
    revision: "",
  };
  await say({ ...one, resultKind: "repository" }, "{}");
  await say(end("x", 3));
  await ended;
  source.finish();
  t.same([batches, found, control.matchCount], [[7], [`${idBase + 1}@ {}`], 3]);
  t.equal(source.nameOf(idBase + 1), "r");
  t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 0);
});

/** Records of contents: a number that stands for the key, and matches. */
function recordsOf(...contents: readonly (readonly [key: number, matches: number])[]): Buffer {
  const words = contents.flatMap(([key, matches]) => [...Array.from({ length: claimKeyWords }, () => key), matches]);
  return Buffer.from(Int32Array.from(words).buffer);
}

/** A batch of so many matches in all places, with records, copies and the matches that these have. */
function grouped(matches: number, counted: number, recordBytes: number, copyCount = 0, copyMatches = 0): object {
  const contents = { recordBytes, copyCount, copyMatches, isIncomplete: false };
  const isLimitHit = counted >= 10;
  const told = counts(counted, { displayed: counted, isLimitHit });
  return batch(counted, { counts: told, tally: tally([[idBase + 1, "r", "", matches, ""]]), contents });
}

/** A site at which another node has the contents 1 and 2. */
function groupingSite(query: string): Site {
  const contents = new SharedContents(ContentClaims.allocate().memory);
  const words = new Int32Array(new Uint8Array(recordsOf([1, 8], [2, 3])).buffer);
  contents.join().pass(words);
  return site(query, new Map(), false, 1, { duplicates: true }, -1, contents);
}

t.test("what another node has, too, counts as one match", async (t) => {
  const { control, say, ended, source } = groupingSite("count:all x");
  await say(prepared("x"));
  const records = recordsOf([1, 8], [3, 2]);
  await say(grouped(15, 11, records.length, 1, 5), records);
  t.same([control.matchCount, control.displayedCount], [4, 4], "8 as one, 2, and one that refers to one of them");
  t.same([control.duplicateCount, control.duplicateMatches], [2, 13]);
  await say({ ...end("x", 11), counts: counts(11, { displayed: 11 }) });
  await ended;
  t.equal(control.matchCount, 4);
  t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 0);
});

t.test("a node that comes to its limit with what another one has is asked again, and told", async (t) => {
  const { control, heard, say, ended } = groupingSite("x");
  await say(prepared("x"));
  const records = recordsOf([1, 8], [3, 2]);
  await say(grouped(10, 10, records.length), records);
  t.equal(control.matchCount, 0, "until it has ended nobody knows");
  await say({ ...end("x", 10), counts: counts(10, { displayed: 10, isLimitHit: true }) });
  for (let i = 0; i < 10 && heard.at(-1)?.["kind"] !== "again"; i++)
    await new Promise((resolve) => void setImmediate(resolve));
  t.match(heard.slice(-2), [{ kind: "claimed" }, { kind: "again", matchCountMax: 10, displayCountMax: 10 }]);
  await say({ kind: "restarted" });
  const left = recordsOf([3, 2], [4, 7]);
  await say(grouped(17, 10, left.length, 1, 8), left);
  t.same([control.matchCount, control.duplicateCount, control.duplicateMatches], [10, 1, 8], "it knows the limits now");
  await say({ ...end("x", 10), counts: counts(10, { displayed: 10, isLimitHit: true }) });
  await ended;
  t.equal(control.matchCount, 10);
});

t.test("a node that does not heed what it was told is left out, and not asked for ever", async (t) => {
  const { heard, logged, say, ended } = groupingSite("x");
  await say(prepared("x"));
  const records = recordsOf([1, 8], [3, 2]);
  const last = { ...end("x", 10), counts: counts(10, { displayed: 10, isLimitHit: true }) };
  for (const isFirst of [true, false]) {
    await say(grouped(10, 10, records.length), records);
    if (!isFirst) break;
    await say(last);
    for (let i = 0; i < 10 && heard.at(-1)?.["kind"] !== "again"; i++)
      await new Promise((resolve) => void setImmediate(resolve));
    await say({ kind: "restarted" });
  }
  await say(last);
  await ended;
  t.match(logged, [/it was told/]);
});

t.test("what is refused has no content that others could refer to", async (t) => {
  const contents = new SharedContents(ContentClaims.allocate().memory);
  const { say, ended } = site("x", new Map(), false, 1, { duplicates: true }, -1, contents);
  const key = `${"a".repeat(40)}.00000000`;
  const object = `{"type":"content","path":"p","contentKey":"${key}"}`;
  await say(prepared("x"));
  const records = recordsOf([3, 20]);
  await say(grouped(20, 20, records.length), Buffer.concat([Buffer.from(object), records]));
  await say({ ...end("x", 20), counts: counts(20) });
  await ended;
  const other = contents.join();
  t.equal(other.find(new Int32Array(new Uint8Array(records).buffer)).count, 0);
  t.equal(Buffer.from(other.shorten(readObjects(Buffer.from(object)))).toString(), object);
});

/** A match object, and the record of its content. */
function contentOf(letter: string, matches = 0): { readonly object: Buffer; readonly record: Buffer } {
  const key = `${letter.repeat(40)}.${matches.toString(16).padStart(8, "0")}`;
  const words = new Int32Array(claimKeyWords + 1).fill(1);
  readKey(words.subarray(0, claimKeyWords), key);
  const object = Buffer.from(`{"type":"content","path":"p","contentKey":"${key}"}`);
  return { object, record: Buffer.from(words.buffer) };
}

t.test("what a lost node has counted and not sent is left to others, and named if they refer to it", async (t) => {
  const contents = new SharedContents(ContentClaims.allocate().memory);
  const other = contents.join();
  const { say, breakOff, ended, source } = site("count:all x", new Map(), false, 1, { duplicates: true }, -1, contents);
  await say(prepared("x"));
  const [a, b] = [contentOf("a"), contentOf("b")];
  await say(grouped(2, 2, 2 * a.record.length), Buffer.concat([a.record, b.record]));
  const shown = (object: Buffer): string => Buffer.from(other.shorten(readObjects(object))).toString();
  t.match(shown(a.object), /"duplicate":true/);
  await breakOff();
  await ended;
  source.finish();
  const { failures } = source.part({ all: false, options: new Set() }, true);
  t.match(failures.first, [
    /^node leaf was not searched completely: .*; 1 of its results, to which others refer, may be/,
  ]);
  t.equal(contents.isFull, true);
  t.notMatch(shown(b.object), /duplicate/);
});

t.test("a node that shows contents that it does not count is left out", async (t) => {
  const contents = new SharedContents(ContentClaims.allocate().memory);
  const { say, ended, logged } = site("count:all x", new Map(), false, 1, { duplicates: true }, -1, contents);
  await say(prepared("x"));
  const [a, b] = [contentOf("a"), contentOf("b")];
  await say(grouped(1, 1, a.record.length), Buffer.concat([a.object, Buffer.from(","), b.object, a.record]));
  await say({ ...end("x", 1), counts: counts(1, { displayed: 1 }) });
  await ended;
  t.match(logged, [/1 contents of results that it has not counted/]);
  t.equal(contents.join().find(new Int32Array(new Uint8Array(b.record).buffer)).count, 0, "it is nobody's");
});

t.test("what a node shows and does not count is not added to the counts", async (t) => {
  const contents = new SharedContents(ContentClaims.allocate().memory);
  contents.join().pass(new Int32Array(new Uint8Array(recordsOf([1, 8])).buffer));
  const { say, ended, logged, control } = site("count:all x", new Map(), false, 1, { duplicates: true }, -1, contents);
  await say(prepared("x"));
  const objects = Array.from({ length: 17 }, (_, i) => contentOf((i % 16).toString(16), i).object.toString());
  const records = recordsOf([1, 8]);
  await say(grouped(8, 8, records.length), Buffer.concat([Buffer.from(objects.join()), records]));
  await ended;
  t.match(logged, [/17 contents of results that it has not counted/]);
  t.same([control.matchCount, control.duplicateCount], [0, 0]);
});

t.test("below its limit a node is not asked again", async (t) => {
  const { control, heard, say, ended } = groupingSite("x");
  await say(prepared("x"));
  const records = recordsOf([1, 8], [3, 1]);
  await say(grouped(9, 9, records.length), records);
  await say({ ...end("x", 9), counts: counts(9, { displayed: 9 }) });
  await ended;
  t.same([control.matchCount, control.displayedCount], [2, 2]);
  t.notOk(heard.some(({ kind }) => kind === "again"));
});

t.test("contents that cannot be are refused", async (t) => {
  const records = recordsOf([3, 2]);
  const wrong: readonly (readonly [string, object, Buffer])[] = [
    ["more than it has counted", grouped(1, 1, records.length), records],
    ["a part of a record", grouped(2, 2, 4), Buffer.alloc(4)],
    ["longer than the message", grouped(2, 2, 100), records],
    ["none", batch(2), Buffer.alloc(0)],
    ["a content without a match", grouped(2, 2, records.length), recordsOf([3, 0])],
    ["fewer than nothing", grouped(2, 2, 0, 0, 5), Buffer.alloc(0)],
    ["copies of nothing", grouped(1, 2, 0, 2, 1), Buffer.alloc(0)],
  ];
  for (const [name, message, body] of wrong) {
    const { logged, say, ended, control } = groupingSite("count:all x");
    await say(prepared("x"));
    await say(message, body);
    await ended;
    t.match(logged, [/it sent what it may not/], name);
    t.equal(control.matchCount, 0, name);
  }
  const plain = site("count:all x");
  await plain.say(prepared("x"));
  await plain.say(grouped(2, 2, records.length), records);
  t.match(plain.logged, [/nobody has asked for/]);
});

/** What an earlier search has covered: more than fits into one message. */
const earlier = new Map(Array.from({ length: 1_500 }, (_, i) => [`r${i}`, new Map([["", "1".repeat(40)]])] as const));

const oid = (digit: string): string => digit.repeat(40);

/** A match object at a side of a change of the leaf. */
function sideMatch(side: number, more: object = {}): string {
  const lineMatches = [{ line: "x", lineNumber: 1, offsetAndLengths: [[0, 1]] }];
  return JSON.stringify({
    type: "content",
    branches: [`${side}+`],
    commit: oid("2"),
    path: "p",
    lineMatches,
    ...more,
  });
}

t.test("a leaf is told what an earlier search covered, and tells what has changed since", async (t) => {
  const { source, heard, asked, say, ended } = site("x", new Map(), false, 1, { since: earlier });
  await say(prepared("x", ["r1"]));
  t.match(
    heard.map(({ kind, isLast }) => [kind, isLast]),
    [["ask"], ["base", false], ["base", false], ["base", true], ["go"]],
  );
  t.equal(asked().request.since, undefined);
  await say(batch(1, { tally: tally([[idBase + 1, "r1", "0+", 1, ""]]) }), sideMatch(0));
  t.equal(source.changes, undefined, "it has not told them");
  await say({ kind: "changes", items: [[idBase + 1, "r1", "", oid("1"), oid("2"), false]], isLast: false });
  await say({ kind: "changes", items: [[idBase + 2, "r2", "v", "", oid("3"), true]], isLast: false });
  const kept = Buffer.alloc(188);
  kept[0] = 0b110;
  await say({ kind: "changes", items: [], isLast: true }, kept);
  const items = [{ repository: "r1", generation: 3, revisions: [{ revision: "", commit: oid("2") }] }];
  await say({ kind: "covered", items });
  const receipt = { generation: [1, 2, 3, 4, 5], documentCount: 1, groups: [], repositories: { count: 1, items: [] } };
  await say({ ...end("x", 1), receipt, hasToldCovered: true });
  await ended;
  t.same(source.changes, {
    changes: [
      { repository: { id: idBase + 1, name: "r1" }, revision: "", base: oid("1"), commit: oid("2"), side: 0 },
      {
        repository: { id: idBase + 2, name: "r2" },
        revision: "v",
        base: undefined,
        commit: oid("3"),
        side: 1,
      },
    ],
    basesGone: [
      {
        repository: { id: idBase + 2, name: "r2" },
        revision: "v",
        base: undefined,
        commit: oid("3"),
        side: 1,
      },
    ],
    kept: new Uint8Array(kept),
  });
  const part = await source.receipt({ all: false, options: new Set() });
  t.same([...part.revisions()], [["r1", new Map([["", oid("2")]])]]);
  t.same(part.repositories(0, 10), { count: 1, items });
  t.equal(part.listedCount, 1);
});

t.test("a receipt that a leaf has not told completely is no base", async (t) => {
  const receipt = { generation: [1, 2, 3, 4, 5], documentCount: 1, groups: [], repositories: { count: 2, items: [] } };
  const items = [{ repository: "r1", generation: 3, revisions: [] }];
  for (const hasToldCovered of [false, true]) {
    const { source, say, ended } = site("x");
    await say(prepared("x"));
    await say({ kind: "covered", items });
    await say({ ...end("x", 0), receipt, hasToldCovered });
    await ended;
    const part = await source.receipt({ all: false, options: new Set() });
    t.throws(() => part.revisions(), /has covered 2 repositories of node leaf/);
    t.same([part.repositories(0, 10), part.listedCount], [{ count: 2, items: [] }, 0]);
  }
  const { source, say, breakOff, ended } = site("x");
  await say(prepared("x"));
  await say({ kind: "covered", items });
  await breakOff();
  await ended;
  const part = await source.receipt({ all: false, options: new Set() });
  t.same([...part.revisions()], [], "what was lost counts as new the next time");
});

t.test("changes that cannot be are refused, and those of a leaf that is lost are unknown", async (t) => {
  const one = (item: readonly unknown[], more: object = {}): object => ({
    kind: "changes",
    items: [item],
    isLast: false,
    ...more,
  });
  const right = [idBase + 1, "r1", "", oid("1"), oid("2"), false];
  const bits = Buffer.alloc(188);
  const wrong: readonly (readonly [string, readonly (readonly [object, Buffer?])[]])[] = [
    ["of another node", [[one([1, "r1", "", oid("1"), oid("2"), false])]]],
    ["no commit", [[one([idBase + 1, "r1", "", "main", oid("2"), false])]]],
    ["a repository with two names", [[one(right)], [one([idBase + 1, "r2", "", oid("1"), oid("2"), false])]]],
    ["bits of another base", [[one(right, { isLast: true }), Buffer.alloc(187)]]],
    ["after the last ones", [[one(right, { isLast: true }), bits], [one(right)]]],
    ["since another commit", [[one([idBase + 1, "r1", "", oid("3"), oid("2"), false])]]],
    ["since no commit", [[one([idBase + 1, "r1", "", "", oid("2"), false])]]],
    ["twice", [[one(right)], [one(right)]]],
    ["a repository of another node", [[one([idBase + 1, "taken", "", oid("1"), oid("2"), false])]]],
  ];
  for (const [name, messages] of wrong) {
    const { source, logged, say, ended } = site("x", new Map([["taken", "node other"]]), false, 1, { since: earlier });
    await say(prepared("x", ["r1"]));
    for (const [message, body] of messages) await say(message, body);
    await ended;
    t.match(logged, [/it sent what it may not/], name);
    t.equal(source.changes, undefined, name);
  }
  const plain = site("x");
  await plain.say(prepared("x"));
  await plain.say(one(right));
  t.match(plain.logged, [/nobody has asked for/]);
  const cut = site("x", new Map(), false, 1, { since: earlier });
  await cut.say(prepared("x", ["r1"]));
  await cut.say(one(right, { isLast: true }), bits);
  await cut.breakOff();
  await cut.ended;
  t.equal(cut.source.changes, undefined, "it has not ended");
});

t.test("results that cannot be compared lose the node that tells them", async (t) => {
  const at = (body: string): readonly (readonly [object, string | Buffer])[] => [
    [batch(1, { tally: tally([[idBase + 1, "r1", "0+", 1, ""]]) }), body],
  ];
  const last = [
    [{ kind: "changes", items: [[idBase + 1, "r1", "", oid("1"), oid("2"), false]], isLast: true }, Buffer.alloc(188)],
    [end("x", 1), ""],
  ] as const;
  const wrong: readonly (readonly [string, readonly (readonly [object, string | Buffer])[]])[] = [
    ["no JSON", at("{]}")],
    ["no object", at("{},null,{}")],
    ["a side of another node", at(sideMatch(-1))],
    ["a side beyond all changes", at(sideMatch(100_000))],
    ["a side that is not told", [...at(sideMatch(1)), ...last]],
    ["no side", at(sideMatch(0, { branches: ["main"] }))],
    ["no list of sides", at(sideMatch(0, { branches: {} }))],
    ["no list of lines", at(sideMatch(0, { lineMatches: {} }))],
    ["no line", at(sideMatch(0, { lineMatches: [null] }))],
    ["deep offsets", at(sideMatch(0, { lineMatches: [{ line: "", lineNumber: 1, offsetAndLengths: [[[[]]]] }] }))],
    ["no path", at(sideMatch(0, { path: 1 }))],
    ["no symbols", at(sideMatch(0, { type: "symbol", symbols: [{ name: {}, line: 1 }] }))],
  ];
  for (const [name, messages] of wrong) {
    const { source, logged, say, ended } = site("x", new Map(), false, 1, { since: earlier });
    await say(prepared("x", ["r1"]));
    for (const [message, body] of messages) await say(message, body);
    await ended;
    t.match(logged, [/it sent what it may not/], name);
    t.equal(source.changes, undefined, name);
  }
  const { source, say, ended } = site("x", new Map(), false, 1, { since: earlier });
  await say(prepared("x", ["r1"]));
  for (const [message, body] of [...at(sideMatch(0)), ...last]) await say(message, body);
  await ended;
  t.equal(source.changes?.changes.length, 1);
});

t.test("a node tells no more of what it covers than it may", async (t) => {
  const revisions = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ revision: `v${i}`, commit: oid("2") }));
  const item = (i: number, count = 1) => ({ repository: `r${i}`, generation: 1, revisions: revisions(count) });
  const tell = async (more: Partial<SearchRequest>, pieces: readonly (readonly object[])[]) => {
    const one = site("x", new Map(), false, 1, more);
    await one.say(prepared("x", ["r1"]));
    for (const items of pieces) await one.say({ kind: "covered", items });
    const count = pieces.flat().length;
    const receipt = { generation: [1, 2, 3, 4, 5], documentCount: 1, groups: [], repositories: { count, items: [] } };
    await one.say({ ...end("x", 0), receipt, hasToldCovered: true });
    await one.ended;
    const { listedCount } = await one.source.receipt({ all: false, options: new Set() });
    return { logged: one.logged, listedCount };
  };
  const many = Array.from({ length: 1_000 }, (_, i) => item(i));
  const units = (count: number) => Math.floor((`${[...Array(count).keys()].join("")}`.length + count * 43) / 128);
  t.match(await tell({}, [many, []]), { logged: [], listedCount: 1_000 + units(1_000) });
  t.match((await tell({}, [many, [item(1_000)]])).logged, [/more than 1000 repositories that it has covered/]);
  t.match(await tell({ isBase: true }, [many, [item(1_000)]]), { logged: [], listedCount: 1_001 + units(1_001) });
  const long = Array.from({ length: 11 }, (_, i) => [item(i, 10_000)]);
  const large = await tell({ isBase: true }, long.slice(0, 10));
  t.same(large.logged, []);
  t.ok(large.listedCount > 100_000);
  t.match(await tell({ isBase: true }, long), { logged: [], listedCount: 0 }, "too many revisions are not kept");
  const strange = { ...item(1), revisions: [{ revision: "", commit: "x" }] };
  t.match((await tell({}, [[strange]])).logged, [/id of a commit/]);
});

t.test(
  "after its limit, a search whose receipt is a base waits for what a leaf has covered, or names it",
  async (t) => {
    const clock = new TestClock(t);
    for (const isBase of [false, true]) {
      const { control, source, heard, say, ended } = site("x", new Map(), false, 1, { isBase });
      await say(prepared("x"));
      control.stopAtLimit();
      source.goOn();
      await say({ kind: "state", counts: counts(0), isParked: false });
      t.match(heard.at(-1), { kind: "stop" });
      let hasEnded = false;
      void ended.then(() => {
        hasEnded = true;
      });
      await clock.advance(10_000);
      t.equal(hasEnded, !isBase);
      await source.receipt({ all: false, options: new Set() });
      source.finish();
      t.equal(source.part({ all: false, options: new Set() }, true).failures.count, Number(isBase));
    }
  },
);

t.test("a leaf that does not read is not told the rest", async (t) => {
  const clock = new TestClock(t);
  const waiting = { bytes: 1024 * 1024 };
  const { heard, source } = site("x", new Map(), false, 1, { since: earlier }, -1, undefined, waiting);
  const kinds = () => heard.map(({ kind }) => kind);
  await clock.advance(1_000);
  t.same(kinds(), ["ask"]);
  waiting.bytes = 0;
  await clock.advance(100);
  t.same(kinds(), ["ask", "base", "base", "base", "go"]);
  source.giveUp();
  const left = site("x", new Map(), false, 1, { since: earlier }, -1, undefined, { bytes: 1024 * 1024 });
  left.source.giveUp();
  await clock.advance(1_000);
  t.equal(clock.timerCount, 0, "nobody waits for it any more");
});

t.test("another node tells changes with the same numbers, and none goes on behind results", async (t) => {
  const change = (node: number): object => ({
    kind: "changes",
    items: [[node * idBase + 1, "r1", "", oid("1"), oid("2"), false]],
    isLast: true,
  });
  const bits = Buffer.alloc(188);
  const { source, heard, nodes, say, breakOff, ended } = site("x", new Map(), false, 2, { since: earlier });
  await say(prepared("x", ["r1"]));
  await say({ ...change(1), isLast: false });
  heard.length = 0;
  await breakOff();
  t.match(
    heard.map(({ kind }) => kind),
    ["ask", "base", "base", "base", "go"],
  );
  await say(prepared("x", ["r1"]));
  await say(change(2), bits);
  await say(end("x", 0));
  await ended;
  t.same(nodes, ["leaf0", "failover", "leaf1"]);
  t.match(source.changes?.changes, [{ repository: { id: idBase + 1 }, side: 0 }], "the first id is kept");
  t.equal(source.changes?.changes.length, 1);
  const late = site("x", new Map(), false, 2, { since: earlier });
  await late.say(prepared("x", ["r1"]));
  await late.say(batch(1, { tally: tally([[idBase + 1, "r1", "0+", 1, ""]]) }), sideMatch(0));
  await late.breakOff();
  await late.ended;
  t.same([late.nodes, late.source.changes], [["leaf0"], undefined]);
});

t.test("a leaf is not told what another one is known to have, and is lost if it has that", async (t) => {
  const forgotten: string[] = [];
  const places = (source: number | undefined): RepositoryPlaces => ({
    find: (name) => (name === "r1" ? source : undefined),
    learn: (repository, number) => forgotten.push(`learn ${repository} ${number}`),
    forget: () => forgotten.push("forget"),
  });
  const change = { kind: "changes", items: [[idBase + 1, "r1", "", "", oid("2"), false]], isLast: false };
  const bits = Buffer.alloc(188);
  for (const [source, isKnown] of [
    [1, false],
    [-1, false],
    [0, true],
    [undefined, true],
  ] as const) {
    forgotten.length = 0;
    const since = { since: earlier, isBase: true };
    const one = site("x", new Map(), false, 1, since, -1, undefined, undefined, places(source));
    await one.say(prepared("x", ["r1"]));
    const items = [{ repository: "r2", generation: 3, revisions: [] }];
    await one.say({ kind: "covered", items });
    const right = { ...change, items: [[idBase + 1, "r1", "", oid("1"), oid("2"), false]] };
    await one.say(isKnown ? right : change);
    await one.say({ kind: "changes", items: [], isLast: true }, bits);
    const repositories = { count: 1, items: [] };
    const receipt = { generation: [1, 2, 3, 4, 5], documentCount: 1, groups: [], repositories };
    await one.say({ ...end("x", 0), receipt, hasToldCovered: true });
    await one.ended;
    t.same(forgotten, ["learn r2 0", ...(isKnown ? [] : ["forget"])], `${source}`);
    t.equal(one.source.changes?.changes.length, isKnown ? 1 : undefined);
    if (!isKnown) t.match(one.logged, [/a change of r1, which was known to be elsewhere/]);
  }
});

t.test("a leaf that sends more match objects than it has counted matches is lost", async (t) => {
  for (const [count, isRight] of [
    [17, true],
    [18, false],
  ] as const) {
    const { source, logged, say } = site("count:all x", new Map(), false, 1, { since: earlier });
    await say(prepared("count:all x", ["r1"]));
    const body = Array.from({ length: count }, () => sideMatch(0)).join();
    await say(batch(1, { tally: tally([[idBase + 1, "r1", "0+", 1, ""]]) }), body);
    t.equal(logged.length, isRight ? 0 : 1);
    if (!isRight) t.match(logged, [/more match objects than it has counted matches/]);
    source.giveUp();
  }
});

t.test("what an earlier search covered arrives as it was", async (t) => {
  const random = new Map([
    ...earlier,
    ["many", new Map(Array.from({ length: 3_000 }, (_, i) => [`revision ${i}`, oid("a")] as const))],
    ["none", new Map<string, string>()],
    ["last", new Map([["", ""]])],
  ]);
  const pieces = [...writeBase(random)];
  t.ok(pieces.length >= 4);
  t.ok(pieces.every(({ length }) => length < 256 * 1024));
  const shared = new SharedBodies(pieces.values());
  const first = shared.all();
  first.next();
  t.same([...shared.all()], pieces, "another leaf may be ahead");
  t.same([...first], pieces.slice(1));
  const reader = new BaseReader();
  for (const piece of pieces) reader.add(false, piece);
  t.equal(reader.isComplete, false);
  reader.add(true, new Uint8Array(0));
  t.equal(reader.isComplete, true);
  t.same([...reader.base], [...random]);
  t.throws(() => {
    for (let i = 0; i < 200; i++)
      reader.add(false, serialize(Array.from({ length: 1_000 }, (_, k) => [`${i} ${k}`, []])));
  }, /more revisions of an earlier search/);
  t.throws(() => reader.add(false, serialize([["a", [["", "x".repeat(65)]]]])), { code: "bad-request" });
});

t.test("credit is returned when the client has read", async (t) => {
  const { source, heard, say, pace } = site("count:all x");
  await say(prepared("x"));
  pace.unreadBytes = 40;
  await say(batch(1), `{${"x".repeat(58)}}`);
  t.same(
    heard.filter(({ kind }) => kind === "credit"),
    [],
    "less than is worth a message",
  );
  pace.unreadBytes = 0;
  source.goOn();
  await say({ kind: "state", counts: counts(1), isParked: false });
  t.same(
    heard.filter(({ kind }) => kind === "credit"),
    [{ kind: "credit", bytes: 60 }],
  );
  source.giveUp();
});

t.test("credit of results that are not ASCII is returned in bytes", async (t) => {
  const { source, heard, say } = site("count:all x");
  await say(prepared("x"));
  const found = {
    kind: "found",
    at: [sections.others],
    key: `${idBase + 1}@`,
    optionsIndex: 0,
    repositoryId: idBase + 1,
    repository: "r",
  };
  const body = '{"description":"Größe"}';
  await say({ ...found, revision: "", resultKind: "repository" }, body);
  source.goOn();
  await say({ kind: "state", counts: counts(1), isParked: false });
  t.same(
    heard.filter(({ kind }) => kind === "credit"),
    [{ kind: "credit", bytes: Buffer.byteLength(body) }],
  );
  source.giveUp();
});

t.test("a long tally crosses in several messages, which are the whole together", (t) => {
  const groups = new Map(Array.from({ length: 50_000 }, (_, i) => [`\u0001 some key in a table ${i}`, i]));
  const whole = { ...emptyTally(), contentMatches: 7, groups, repositories: new Map([[`${idBase}@`, 3]]) };
  const parts = splitTally(writeTally(whole, () => "r", undefined));
  t.ok(parts.length > 1);
  const sum = emptyTally();
  for (const part of parts) {
    frameStart({ kind: "batch", tally: part }, 0);
    const read = readTally(part);
    addTally(sum, read);
    for (const [group, count] of read.groups) increase(sum.groups, group, count);
  }
  t.same(sum, whole);
  t.end();
});

t.test("what a leaf finds before its turn is held until it is known whether it may", async (t) => {
  const untouched = site("x", new Map(), true);
  await untouched.say(prepared("x"));
  await untouched.say(batch(2), "{}");
  t.same([untouched.batches, untouched.control.matchCount], [[], 0], "held");
  await untouched.giveTurn();
  t.same([untouched.batches, untouched.control.matchCount], [[2], 2], "nothing was taken before it");
  await untouched.say(batch(3), "{}");
  t.same(untouched.batches, [2, 2], "and it goes on");
  untouched.source.giveUp();

  const fitting = site("x", new Map(), true);
  await fitting.say(prepared("x"));
  await fitting.say(batch(4), "{}");
  fitting.control.addMatches(6);
  await fitting.giveTurn();
  t.same(fitting.batches, [], "it may find more");
  await fitting.say(end("x", 4));
  await fitting.ended;
  t.same(
    [fitting.batches, fitting.control.matchCount, fitting.heard.filter(({ kind }) => kind === "again").length],
    [[2], 10, 0],
    "exactly what was left",
  );

  const tooMany = site("x", new Map(), true);
  await tooMany.say(prepared("x"));
  await tooMany.say(batch(5), "{}");
  await tooMany.say(end("x", 5));
  tooMany.control.addMatches(6);
  await tooMany.giveTurn();
  await tooMany.say(batch(5), "{}");
  t.match(tooMany.heard.slice(2), [{ kind: "again", matchCountMax: 4 }], "asked again");
  t.same(tooMany.batches, [], "what it had found is dropped");
  await tooMany.say({ kind: "restarted" });
  await tooMany.say(batch(4), "{}");
  t.same([tooMany.batches, tooMany.control.matchCount], [[2], 10]);
  tooMany.source.giveUp();

  const waiting = site("x", new Map(), true);
  await waiting.say(prepared("x"));
  await waiting.say(batch(1), "{}");
  await waiting.say({ kind: "state", counts: counts(1), isParked: true });
  waiting.control.addMatches(6);
  await waiting.giveTurn();
  await waiting.say({ kind: "state", counts: counts(1), isParked: true });
  t.match(waiting.heard.at(-1), { kind: "again", matchCountMax: 4 }, "it waits for credit, which it does not get");
  waiting.source.giveUp();

  const late = site("x", new Map(), true);
  await late.say(prepared("x"));
  await late.say(batch(2), "{}");
  await late.say(end("x", 2));
  late.control.addMatches(11);
  late.control.stopAtLimit();
  await late.giveTurn();
  await late.ended;
  t.same([late.batches, late.control.matchCount], [[], 11], "after the limit nothing is wanted");
  t.equal(late.source.part({ all: false, options: new Set() }, true).failures.count, 0);
});

const ranked = (score: number, path: string, count: number, document: number, all = count): object => ({
  ...batch(all),
  at: [sections.ranked, -score, 0, 0, "r", path, document],
  document,
  tally: tally([[idBase + 1, "r", "", count, ""]]),
});

t.test("a ranked document is passed on if all of its matches fit, and asked for again otherwise", async (t) => {
  const { batches, control, heard, say, source, ended } = site("x");
  await say(prepared("x"));
  await say(ranked(9, "a", 4, 0), "{}");
  await say(ranked(8, "b", 4, 1, 8), "{}");
  t.same([batches, control.matchCount], [[2, 2], 8]);
  // Another node has found two matches meanwhile, of which this one does not know.
  control.addMatches(1);
  control.addDisplayed(1);
  await say(ranked(7, "c", 2, 2, 10), "{}");
  t.same(batches, [2, 2]);
  t.match(heard.at(-1), { kind: "again", from: 2, matchCountMax: 1, displayCountMax: 1 });
  await say({ kind: "restarted" });
  await say(ranked(7, "c", 1, 2), "{}");
  t.same([batches, control.matchCount, control.displayedCount], [[2, 2, 2], 10, 10]);
  await say({ ...end("x", 1), counts: counts(1, { displayed: 1, isLimitHit: true }) });
  await ended;
  t.ok(control.isLimitHit);
  t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 0);
});

t.test("what is not shown any more is counted", async (t) => {
  const { batches, control, say, source } = site("x count:100");
  await say(prepared("x"));
  control.addDisplayed(100);
  await say({ kind: "state", counts: counts(0), isParked: false });
  await say(ranked(9, "a", 4, 0), "{}");
  t.same([batches, control.matchCount], [[0], 4]);
  source.giveUp();
});

const twice = (matches: number): object => batch(matches, { tally: tally([[idBase + 1, "r", "", 2, ""]]) });

t.test("what a leaf has found in time is passed on when the time is over", async (t) => {
  const late = { all: false, options: new Set<number>() };
  const ended = site("x", new Map(), true);
  await ended.say(prepared("x"));
  await ended.say(twice(2), "{}");
  await ended.say(end("x", 2));
  ended.control.cancel();
  ended.source.drop();
  await ended.ended;
  t.same([ended.batches, ended.control.matchCount], [[2], 2]);
  t.equal(ended.source.part(late, true).failures.count, 0);

  const searching = site("x", new Map(), true);
  await searching.say(prepared("x"));
  await searching.say(twice(2), "{}");
  searching.control.cancel();
  searching.source.drop();
  await searching.say(end("x", 2));
  await searching.ended;
  t.same([searching.batches, searching.control.matchCount], [[2], 2]);

  const tooMany = site("x", new Map(), true);
  await tooMany.say(prepared("x"));
  await tooMany.say(twice(5), "{}");
  await tooMany.say(end("x", 5));
  tooMany.control.addMatches(9);
  tooMany.control.cancel();
  tooMany.source.drop();
  await tooMany.ended;
  t.same(tooMany.batches, []);
  t.equal(tooMany.source.part(late, true).excluded.count, 1, "what does not fit is named");
});

t.test("the limits of basic queries hold when the time is over, too", async (t) => {
  const query = "(count:2 aaa) or (count:5 bbb)";
  const late = { all: false, options: new Set<number>() };
  for (const [before, passed] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const { say, control, source, ended, batches, limits } = site(query, new Map(), true);
    await say(prepared(query));
    const counted = counts(2, { displayed: 2, taken: [2, 0] });
    await say({ ...batch(2, { tally: tally([[idBase + 1, "r", "", 2, ""]]) }), counts: counted }, "{}");
    if (limits === undefined) throw new Error("the query has limits of its own");
    takeMatches(limits, 0, before, control);
    control.cancel();
    source.drop();
    await say(end(query, 2));
    await ended;
    t.same([batches.length, takenMatches(limits, 0)], [passed, before + 2 * passed], `${before} taken elsewhere`);
    t.equal(source.part(late, true).excluded.count, 1 - passed, "what does not fit is named");
  }
});

t.test("a basic query that has run out of time keeps what was taken", (t) => {
  const limits = makeResultLimits([10, undefined]);
  Atomics.add(limits.taken, 0, 3n);
  endTaking(limits, 0);
  endTaking(limits, 0);
  t.equal(takenMatches(limits, 0), 3);
  t.equal(takeMatches(limits, 0, 1, ControlBlock.allocate(1, 1000, 1)), 0);
  t.end();
});

t.test("a search that has found enough does not wait for a silent leaf", async (t) => {
  const { control, say, source, heard, ended } = site("x");
  await say(prepared("x"));
  control.addMatches(10);
  control.stopAtLimit();
  const over = new AbortController();
  // Timers of the product keep no process alive.
  void sleep(60_000, over.signal);
  source.goOn();
  await ended;
  over.abort();
  t.match(heard.at(-1), { kind: "stop", reason: "limit" });
  t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 0);
});

t.test("at the limit a leaf is waited for until what it has counted is written", async (t) => {
  const real = globalThis.setTimeout;
  const waits: (() => void)[] = [];
  t.teardown(() => {
    globalThis.setTimeout = real;
  });
  const { say, heard, texts, ended, source } = site("x");
  await say(prepared("x"));
  const counted = { counts: counts(10, { isLimitHit: true }) };
  globalThis.setTimeout = ((wait: () => void) => {
    waits.push(wait);
    return { unref: () => undefined };
  }) as unknown as typeof setTimeout;
  await say(batch(10, { ...counted, tally: tally([[idBase + 1, "r", "", 10, ""]]) }), '{"lines":1}');
  t.ok(heard.some(({ kind }) => kind === "stop"));
  t.equal(waits.length, 1);
  for (const wait of waits) wait();
  await say(batch(10, { ...counted, tally: { ...tally([]), contentMatches: 0 } }), '{"lines":2}');
  await say({ ...end("x", 10), ...counted });
  await ended;
  t.same(texts, ['{"lines":1}', '{"lines":2}']);
  source.release();
});

t.test("matches that a lost leaf counted and did not send are not counted", async (t) => {
  const { control, say, source, ended, breakOff } = site("x");
  await say(prepared("x"));
  await say(batch(2, { tally: tally([[idBase + 1, "r", "", 2, ""]]) }), "{}");
  await say({ kind: "state", counts: counts(7, { displayed: 7 }), isParked: false });
  t.same([control.matchCount, control.displayedCount], [7, 7]);
  await breakOff();
  await ended;
  t.same([control.matchCount, control.displayedCount], [2, 2]);
  source.release();
});

t.test("lists with long texts fit into a message", (t) => {
  const long = "\u0001".repeat(5_000);
  const all = { count: 1_000, first: Array.from({ length: 1_000 }, () => long) };
  const revisions = { count: 1_000, first: all.first.map((revision) => ({ repository: "r", revision })) };
  const lists = { missing: all, failures: all, costlyFiles: all, missingRevisions: revisions, timedOut: all };
  const part = cutPart({ ...emptyPart(plan("x")), ...lists, filesWithoutSymbols: all });
  const items = all.first.slice(0, 100).map((path) => ({ reason: "binary", repository: "r", path }) as Omission);
  const groups = [{ reason: "binary", count: 100, isGap: false, items }];
  const many = Array.from({ length: 45_000 }, (_, i) => ({ revision: `refs/tags/${i}`, commit: "0".repeat(40) }));
  const repositories = { count: 1, items: [{ repository: "r", generation: 1, revisions: many }] };
  const receipt = cutReceipt({ generation: [0, 0, 0, 0, 0], documentCount: 1, groups, repositories });
  const head = { kind: "end", counts: noCounts, part, receipt };
  toLeafMessage(head);
  frameStart(head, 0);
  t.ok(part.missing.first.length > 0 && receipt.groups[0].items.length > 0);
  t.equal(part.missing.count, 1_000);
  t.end();
});

t.test("a limit that is reached elsewhere stops the leaf", async (t) => {
  const { control, heard, say, source } = site("x");
  await say(prepared("x"));
  control.stopAtLimit();
  await say({ kind: "state", counts: counts(1), isParked: false });
  t.match(heard.at(-1), { kind: "stop", reason: "limit" });
  control.cancel();
  source.drop();
  await say({ kind: "state", counts: counts(2), isParked: false });
  t.match(heard.at(-1), { kind: "stop", reason: "other" });
  source.giveUp();
});

const lies: readonly (readonly [name: string, messages: readonly object[], reason: RegExp])[] = [
  ["results before it has said what it has chosen", [batch(1)], /out of turn/],
  ["two choices", [prepared("x"), prepared("x")], /out of turn/],
  ["an unknown message", [prepared("x"), { kind: "hello" }], /kind must be/],
  ["a count that is none", [prepared("x"), batch(-1)], /counts\.matches must be a count/],
  ["more matches than granted", [prepared("x"), batch(11)], /more matches than it was granted/],
  ["more shown than granted", [prepared("x"), batch(1, { counts: counts(1, { displayed: 11 }) })], /more matches/],
  ["more results than it counts", [prepared("x"), batch(1), batch(1)], /more results than it has counted/],
  [
    "marks that are longer than their message",
    [prepared("x"), batch(1, { markBytes: 16 })],
    /marks that are longer than their message/,
  ],
  ["marks that are cut", [prepared("x"), batch(1, { markBytes: 1 })], /marks of 1 bytes/],
  [
    "what it has, which nobody asked",
    [prepared("x"), { kind: "holds", count: 0, names: [0, 0, 0, 0, 0], commits: [0, 0, 0, 0, 0], items: [] }],
    /out of turn/,
  ],
  [
    "a message within a tally",
    [prepared("x"), batch(1, { isPart: true, tally: tally([]) }), prepared("x")],
    /a tally that is too long|within a tally/,
  ],
  ["a count that shrinks", [prepared("x"), batch(3), batch(2)], /shrinks/],
  [
    "a repository of another node",
    [prepared("x"), batch(1, { tally: tally([[1, "r", "", 1, ""]]) })],
    /of another node/,
  ],
  [
    "choices of another query",
    [{ ...prepared("x or y"), part: emptyPart(plan("(repo:a x) or (repo:b y)")) }],
    /another query/,
  ],
  ["a digest of another length", [prepared("x"), batch(1, { digest: [1] })], /digest must be a list of 5/],
  [
    "the key of another repository",
    [
      prepared("x"),
      {
        kind: "found",
        at: [sections.others],
        key: "1@",
        optionsIndex: 0,
        repositoryId: idBase + 1,
        repository: "r",
        revision: "",
        resultKind: "repository",
      },
    ],
    /another repository/,
  ],
  [
    "options of another query",
    [
      prepared("x"),
      {
        kind: "found",
        at: [sections.others],
        key: `${idBase + 1}@`,
        optionsIndex: 3,
        repositoryId: idBase + 1,
        repository: "r",
        revision: "",
        resultKind: "repository",
      },
    ],
    /result options/,
  ],
  [
    "results among histories, which are not counted within the limit",
    [prepared("x"), batch(1, { at: [sections.histories, 0, -1] })],
    /a message batch in a section that has none/,
  ],
  [
    "results before all others",
    [prepared("x"), batch(1, { at: [sections.repositories] })],
    /in a section that has none/,
  ],
  ["a place in no section", [prepared("x"), batch(1, { at: [7] })], /a place in the order/],
  ["a place without a section", [prepared("x"), batch(1, { at: ["3"] })], /a place in the order/],
  [
    "a place with a text for a number",
    [prepared("x"), { ...ranked(5, "a", 1, 0), at: [sections.ranked, "-5", 0, 0, "r", "a", 0] }],
    /a place in the order/,
  ],
  [
    "more shards than there are",
    [prepared("x"), { kind: "rankable", shardCount: Number.MAX_SAFE_INTEGER }],
    /shardCount must be at most/,
  ],
  ["results that are out of order", [prepared("x"), ranked(5, "a", 1, 0), ranked(6, "b", 1, 1)], /out of order/],
  [
    "commits that the body has not",
    [
      prepared("x"),
      {
        kind: "commits",
        at: [sections.histories],
        repositoryId: idBase + 1,
        repository: "r",
        commits: [[false, "0".repeat(40), 1, 1, 1, "a", "b", [[0, 1]], 100]],
      },
    ],
    /commits must be what the body has/,
  ],
  ["a failure of its own", [{ kind: "failed", reason: "it is stopping" }], /it is stopping/],
];

t.test("a leaf that says what cannot be is named, with its repositories", async (t) => {
  for (const [name, messages, reason] of lies) {
    const { source, say, ended, logged } = site("x");
    for (const message of messages) await say(message, "{}");
    await ended;
    const part = source.part({ all: false, options: new Set() }, true);
    t.match(logged.join(), reason, name);
    t.notMatch(part.failures.first.join(), reason, "clients do not learn the reason");
    t.match(part.failures.first.join(), /node leaf was not searched completely: it/, name);
    t.equal(part.excluded.count, 1, name);
    const receipt = await source.receipt({ all: false, options: new Set() });
    t.same(
      receipt.groups.map((group) => [group.reason, group.isGap]),
      [
        ["repository-excluded", true],
        ["failure", true],
      ],
      name,
    );
    t.match(receipt.groups[0]?.item(0)?.detail, /node leaf was not searched completely/, name);
  }
});

t.test("a repository that two nodes have is an error in plain words", async (t) => {
  const { source, say, ended } = site("x", new Map([["r", "node other"]]));
  await say(prepared("x"));
  await ended;
  const { failures } = source.part({ all: false, options: new Set() }, true);
  t.match(failures.first, [/node other has the repository r too: remove it from one/]);
});

t.test("a connection that breaks, and a leaf that does not end", async (t) => {
  const broken = site("x");
  await broken.say(prepared("x", ["r", "s"]));
  await broken.breakOff();
  await broken.ended;
  const { excluded } = broken.source.part({ all: false, options: new Set() }, true);
  t.same(
    excluded.first.map(({ repository }) => repository),
    ["r", "s"],
  );
  t.match(excluded.first[0]?.reason, /node leaf was not searched completely/);

  const silent = site("x");
  silent.control.cancel();
  silent.source.drop();
  silent.source.finish();
  await silent.ended;
  t.match(silent.source.part({ all: false, options: new Set() }, true).failures.first, [/did not end in time/]);

  const unconcerned = site("x");
  await unconcerned.say(prepared("x", []));
  await unconcerned.breakOff();
  await unconcerned.ended;
  t.equal(
    unconcerned.source.part({ all: false, options: new Set() }, true).failures.count,
    0,
    "it has none of the repositories",
  );
});

t.test("lists of a part that count fewer than they have do not count backwards", (t) => {
  const given = prepared("x") as { part: object };
  const part = { ...given.part, missing: { count: 0, first: ["a"] } };
  const read = toLeafMessage({ ...given, part }) as Extract<LeafMessage, { kind: "prepared" }>;
  t.same(read.part.missing, { count: 1, first: ["a"] });
  t.end();
});

/** A batch with the mark of one result, of a node. */
function marked(base: number, matches: number, hash: number, more: object = {}): readonly [object, Buffer] {
  const body = `{"type":"content","repositoryID":${base + 1},"repository":"r"}`;
  const marks = Buffer.from(Uint32Array.of(hash, 0, 2, allWritten).buffer);
  const commit = "c".repeat(40);
  const head = batch(matches, { tally: tally([[base + 1, "r", "", 2, commit]]), markBytes: 16, ...more });
  return [head, Buffer.concat([Buffer.from(body), marks])];
}

t.test("a search whose leaf is lost goes on at a replica, behind what was passed on", async (t) => {
  const { source, say, breakOff, control, pinned, sent, nodes, texts, tallies, ended, heard } = site(
    "count:all x",
    new Map(),
    false,
    3,
  );
  await say(prepared("count:all x"));
  await say(...marked(idBase, 5, 7));
  t.equal(control.matchCount, 5);
  await breakOff();
  t.same(nodes, ["leaf0", "failover", "leaf1"]);
  t.equal(control.matchCount, 2, "what was not passed on is not counted");
  const ask = (): Frame["head"] | undefined => heard.findLast(({ kind }) => kind === "ask");
  t.same([ask()?.["pinnedCount"], pinned], [1, [{ repository: "r", typed: "", commit: "c".repeat(40) }]]);
  t.equal(ask()?.["sentCount"], 1);
  t.same([...new Uint32Array(new Uint8Array(Buffer.concat(sent)).buffer)], [7, 0, 2, allWritten]);
  t.match(heard.slice(-4), [{ kind: "ask" }, { kind: "pins" }, { kind: "sent" }, { kind: "go" }]);

  await say(prepared("count:all x"));
  await say(...marked(2 * idBase, 2, 8));
  t.match(texts.at(-1), `"repositoryID":${idBase + 1},"repository":"r"`, "the client knows the repository by one id");
  t.same(tallies, [[[`${idBase + 1}@`, 2]], [[`${idBase + 1}@`, 2]]]);
  await say({ kind: "failed", reason: "it is stopping" });
  t.equal(ask()?.["sentCount"], 2, "the third one is told of both");
  await say(prepared("count:all x"));
  await say(end("count:all x", 0));
  await ended;
  source.finish();
  const part = source.part({ all: false, options: new Set() }, true);
  t.same([part.failures.count, part.excluded.count, control.matchCount], [0, 0, 4]);
});

t.test("what a replica lacks is named, and so are all if none is left", async (t) => {
  const smaller = site("count:all x", new Map(), false, 2);
  await smaller.say(prepared("count:all x", ["r", "s"]));
  await smaller.breakOff();
  await smaller.say(prepared("count:all x", ["r"]));
  await smaller.say(end("count:all x", 0));
  await smaller.ended;
  const late = { all: false, options: new Set<number>() };
  const { excluded } = smaller.source.part(late, true);
  t.match(excluded.first, [{ repository: "s", reason: /is not on node leaf1/ }]);
  const receipt = await smaller.source.receipt(late);
  t.match(receipt.groups[0], { reason: "repository-excluded", count: 1, isGap: true });

  const gone = site("count:all x", new Map(), false, 2);
  await gone.say(prepared("count:all x", ["r", "s"]));
  for (let i = 0; i < 5; i++) await gone.breakOff();
  await gone.ended;
  t.same(
    gone.nodes.filter((node) => node !== "failover"),
    ["leaf0", "leaf1"],
    "each is asked once",
  );
  const part = gone.source.part(late, true);
  t.equal(part.excluded.count, 2);
  t.match(part.failures.first, [/^nodes leaf and leaf1 were not searched completely/]);
});

t.test("a leaf that lies is not asked again", async (t) => {
  const { say, nodes, ended, source, breakOff } = site("count:all x", new Map(), false, 2);
  await say(prepared("count:all x"));
  await say(prepared("count:all x"));
  await breakOff();
  await ended;
  t.same(nodes, ["leaf0", "failover", "leaf1"]);
  t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 1);
});

t.test("nobody goes on behind results without marks, or after the search was stopped", async (t) => {
  const unmarked = site("count:all x", new Map(), false, 2);
  await unmarked.say(prepared("count:all x"));
  await unmarked.say(batch(2), "{}");
  await unmarked.breakOff();
  await unmarked.ended;
  t.same(unmarked.nodes, ["leaf0"]);

  const stopped = site("count:all x", new Map(), false, 2);
  await stopped.say(prepared("count:all x"));
  stopped.control.cancel();
  await stopped.breakOff();
  await stopped.ended;
  t.same(stopped.nodes, ["leaf0"]);
});

t.test("nobody goes on behind counts without marks", async (t) => {
  const query = "count:all x";
  const counted = tally([[idBase + 1, "r", "", 5, ""]]);
  const unowned = { ...tally([]), unownedResults: 1, contentMatches: 0 };
  const cases: readonly (readonly [string, Partial<SearchRequest>, object, readonly [object, Buffer] | undefined])[] = [
    ["groups", { groups: { by: "repository", countMax: 10 } }, batch(5, { tally: counted }), undefined],
    ["no marks", {}, batch(5, { tally: counted }), undefined],
    ["without an owner", {}, batch(0, { tally: unowned }), undefined],
    ["without an owner, and others", {}, {}, marked(idBase, 2, 7, { tally: { ...counted, ...unowned } })],
  ];
  for (const [name, more, message, pair] of cases) {
    const { say, breakOff, nodes, source, tallies } = site(query, new Map(), false, 2, more);
    await say(prepared(query));
    await say(pair?.[0] ?? message, pair?.[1]);
    await breakOff();
    t.same([nodes, tallies.length], [["leaf0"], 1], name);
    t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 1, name);
  }
  const nothing = site(query, new Map(), false, 2);
  await nothing.say(prepared(query));
  await nothing.say(batch(0, { tally: { ...tally([]), contentMatches: 0 } }));
  await nothing.breakOff();
  t.same(nothing.nodes, ["leaf0", "failover", "leaf1"], "behind nothing, another goes on");
  nothing.source.giveUp();
});

t.test("a replica sends the rest of what was counted, although others have reached the limit", async (t) => {
  for (const hasFoundMore of [false, true]) {
    const { say, breakOff, control, ended, batches, heard, source, nodes } = site("x", new Map(), false, 2);
    await say(prepared("x"));
    const [head, body] = marked(idBase, 4, 7);
    body.writeUInt32LE(4, body.length - 8);
    body.writeUInt32LE(1, body.length - 4);
    await say({ ...head, at: [sections.ranked, -1, 0, 0, "r", "a", 0], document: 0 }, body);
    await breakOff();
    t.same(nodes, ["leaf0", "failover", "leaf1"]);
    t.match(
      heard.findLast(({ kind }) => kind === "ask"),
      { rankedMatchesMax: 10 },
      "it keeps the documents that the first one would",
    );
    await say(prepared("x"));
    control.addMatches(8);
    control.stopAtLimit();
    source.goOn();
    if (hasFoundMore) {
      // The result is not one of its best, and it has counted another one before it heard of the limit.
      await say({ ...batch(1), tally: tally([[2 * idBase + 1, "r", "", 1, ""]]) }, "{}");
      await say({ kind: "state", counts: counts(1), isParked: true });
      t.match(heard.at(-1), { kind: "again", matchCountMax: 0 });
      await say({ kind: "restarted" });
    }
    const rest = tally([[2 * idBase + 1, "r", "", 0, ""]]);
    await say({ ...batch(0), tally: { ...rest, contentMatches: 0 } }, '{"repositoryID":1,"rest":1}');
    await say(end("x", 0));
    await ended;
    t.equal(batches.length, 2, "the rest");
    t.equal(control.matchCount, 10);
    t.same(source.part({ all: false, options: new Set() }, true).failures.count, 0);
  }
});

t.test("a replica is told which repositories and directories are counted within a limit", async (t) => {
  const found = (resultKind: string, i: number, node: number) => ({
    kind: "found",
    at: [sections.others],
    key: resultKind === "owner" ? `@${i}` : `${node * idBase + i}@${resultKind === "directory" ? ":src/" : ""}`,
    optionsIndex: 0,
    repositoryId: node * idBase + i,
    repository: `r${i}`,
    revision: "",
    resultKind,
  });
  for (const [query, kind, names] of [
    ["count:5 select:repo x", "repository", ["r1@", "r2@"]],
    ["count:5 select:file.directory x", "directory", ["r1@:src/", "r2@:src/"]],
    ["count:5 select:file.owners x", "owner", []],
    ["count:all select:repo x", "repository", []],
  ] as const) {
    const one = site(query, new Map(), false, 2);
    await one.say(prepared(query));
    for (const i of [1, 2]) await one.say(found(kind, i, 1), "{}");
    await one.breakOff();
    for (let i = 0; i < 1_000 && one.heard.at(-1)?.["kind"] !== "go"; i++)
      await new Promise<void>((resolve) => void setImmediate(resolve));
    t.same(one.nodes, ["leaf0", "failover", "leaf1"], query);
    t.same(one.known, names);
    t.equal(one.heard.findLast(({ kind: said }) => said === "ask")?.["knownCount"], names.length);
    await one.say(prepared(query));
    await one.say(found(kind, 3, 2), "{}");
    t.equal(one.found.length, 3);
    one.source.giveUp();
  }
  const many = site("count:5 select:repo x", new Map(), false, 2);
  await many.say(prepared("x"));
  for (let i = 0; i < 70; i++)
    await many.say({ ...found("directory", 1, 1), key: `${idBase + 1}@:${i}${"d".repeat(60_000)}/` }, "{}");
  for (let i = 0; i < 70; i++)
    await many.say({ ...found("directory", 1, 1), key: `${idBase + 1}@:${i}${"e".repeat(60_000)}/` }, "{}");
  await many.breakOff();
  t.same(many.nodes, ["leaf0"], "of more than a bound nobody goes on");
});

t.test("a leaf counts nothing that another one has found", async (t) => {
  const query = "count:2 select:repo x";
  const [here, there] = channelPair();
  const searcher = {
    repositories: () => [],
    chooseHere: () =>
      Promise.resolve({
        first: () => ({ part: emptyPart(plan(query)), names: ["a", "b", "c", "d"] }),
        open: (_: unknown, { listener }: SourceRoot) => ({
          run: async () => {
            for (const [i, repository] of ["a", "b", "c", "d"].entries())
              listener.found({
                kind: "repository",
                key: `${i}@`,
                optionsIndex: 0,
                repositoryId: i,
                revision: "",
                repository,
                json: () => "{}",
              });
            return Promise.resolve();
          },
          part: () => emptyPart(plan(query)),
          finish: () => undefined,
          release: () => undefined,
          drop: () => undefined,
          goOn: () => undefined,
          giveUp: () => undefined,
          nameOf: () => undefined,
          isActive: false,
          isPassingOn: false,
        }),
        release: () => undefined,
      }),
  };
  const leaf = new LeafSearch(() => channel, {
    coordinator: "c",
    searcher: searcher as unknown as LeafServices,
    workerCount: 1,
    idBase: 0,
    log: silentLog(),
  });
  const channel = new FrameChannel(there, { frame: (frame) => leaf.frame(frame), closed: () => leaf.closed() });
  const said: Frame["head"][] = [];
  const coordinator = new FrameChannel(here, { frame: ({ head }) => void said.push(head), closed: () => undefined });
  const request = { ...ownRequest(query, operatorViewer, ""), origin: undefined, receipt: "none" } as const;
  const asked = writeAsked({
    plan: plan(query),
    request,
    lane: "interactive",
    timeoutsMs: [1000],
    isSuggestible: false,
    secret: Buffer.alloc(16),
  });
  coordinator.send(
    {
      kind: "ask",
      timeoutMs: 1000,
      creditBytes: 1000,
      hasMarks: true,
      pinnedCount: 0,
      knownCount: 2,
      sentCount: 0,
    },
    asked,
  );
  coordinator.send({ kind: "known" }, serialize(["a@", "c@"]));
  coordinator.send({ kind: "go", matchCountMax: 2, displayCountMax: 2 });
  for (let i = 0; i < 1_000 && said.at(-1)?.["kind"] !== "end"; i++)
    await new Promise<void>((resolve) => void setImmediate(resolve));
  t.same(
    said.filter(({ kind }) => kind === "found").map(({ repository }) => repository),
    ["b", "d"],
  );
  coordinator.close();
});

t.test("many revisions are pinned in several messages, and of more than a bound nobody goes on", async (t) => {
  const query = "count:all x";
  for (const [count, length, goesOn] of [
    [3_000, 100, true],
    [30_000, 200, false],
  ] as const) {
    const { say, breakOff, nodes, pinned, heard, source } = site(query, new Map(), false, 2);
    await say(prepared(query));
    const commit = "c".repeat(40);
    const name = (i: number): string => `${i}${"r".repeat(length)}`;
    for (let from = 0; from < count; from += 3_000) {
      const rows = Array.from({ length: 3_000 }, (_, i) => [idBase + from + i, name(from + i), "", 1, commit]);
      const [head, body] = marked(idBase, from + 3_000, from, { tally: tally(rows) });
      await say(head, body);
    }
    const unmarkedRow = tally([[idBase + count, name(count), "", 0, commit]]);
    await say(batch(count, { tally: { ...unmarkedRow, contentMatches: 0 } }));
    await breakOff();
    for (let i = 0; i < 1_000 && goesOn && heard.at(-1)?.["kind"] !== "go"; i++)
      await new Promise<void>((resolve) => void setImmediate(resolve));
    t.same([nodes.length, pinned.length], goesOn ? [3, count] : [1, 0], "what was only named is not pinned");
    t.equal(heard.filter(({ kind }) => kind === "pins").length > 1, goesOn);
    source.giveUp();
  }
  for (const body of writePins([{ repository: "r".repeat(4_096), typed: "t", commit: "" }]))
    t.equal(readPins(body).length, 1);
});

t.test("a whole search is checked before it is told, and where it is read", (t) => {
  const queries = [
    "x",
    "(repo:a@v1:*refs/heads/* x count:5) or (file:b -lang:go y timeout:3s) or (type:commit author:ann z)",
    "type:diff -message:/a+/ after:2020-01-01 select:commit.diff.added (a or b) not c",
    "repo:has.topic(a) repo:has.meta(b:/c/) -repo:has.file(path:d content:e) repo:contains.commit.after(2020-01-01) type:symbol select:symbol.function f",
    "file:has.owner(ann) -file:has.contributor(bob) a and (not b or c) fork:only archived:yes visibility:public",
    "repo:^a$ rev:at.time(2020-01-01) patternType:regexp (get|put)",
    `${"(".repeat(400)}a${" or b)".repeat(400)}`,
  ];
  const searchOf = (query: string): Asked => ({
    plan: plan(query),
    request: { ...ownRequest(query, operatorViewer, "c"), groups: { by: "path", countMax: 3 }, debug: true },
    lane: "interactive",
    timeoutsMs: plan(query).resultOptions.map(() => 1000),
    isSuggestible: true,
    secret: Buffer.alloc(16, 1),
  });
  for (const query of queries) t.same(readAsked(writeAsked(searchOf(query))), searchOf(query), query.slice(0, 100));

  const search = searchOf("(repo:a x count:5) or (file:b y)");
  const { plan: all, request } = search;
  const [first, second] = all.basicQueries;
  const text = first.text ?? t.fail("it has a text");
  const withPlan = (change: object): object => ({ ...search, plan: { ...all, ...change } });
  const withText = (change: object): object =>
    withPlan({ basicQueries: [{ ...first, text: { ...(text as object), ...change } }, second] });
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ ...search, lane: "fast" }, /ask\.lane must be/],
    [{ ...search, timeoutsMs: [1] }, /ask\.timeoutsMs must be those/],
    [{ ...search, secret: Buffer.alloc(3) }, /ask\.secret must have 16 bytes/],
    [withPlan({ patternType: "any" }), /ask\.plan\.patternType/],
    [withPlan({ resultOptions: [] }), /ask\.plan\.basicQueries must be of options of the plan/],
    [withPlan({ basicQueries: [{ ...first, history: [first, first, first] }] }), /history must be a list of up to 2/],
    [withText({ pattern: { kind: "leaf", leaf: 1 } }), /text\.pattern must be one of the leaves/],
    [withText({ pattern: { kind: "xor", children: [] } }), /text\.pattern must be and or or/],
    [withText({ leaves: [{ source: 1 }] }), /leaves\[0\]\.source must be a text/],
    [withText({ fileFilters: [{ kind: "any" }] }), /fileFilters\[0\]\.kind must be/],
    [
      { ...search, request: { ...request, viewer: { ...operatorViewer, credential: { kind: "token" } } } },
      /credential must be absent/,
    ],
    [{ ...search, request: { ...request, patterns: ["x"] } }, /basicQueries must be of the patterns of the request/],
    [withText({ leaves: [{ ...first.text?.leaves[0], wantsSet: true }] }), /must be of the patterns of the request/],
    [withText({ leaves: [{ ...first.text?.leaves[0], set: {} }] }), /leaves\[0\]\.set must be absent/],
  ];
  for (const [value, message] of wrong) {
    t.throws(() => readAsked(serialize(value)), { code: "bad-request", message });
    t.throws(() => writeAsked(value as Asked), { code: "bad-request", message });
  }
  const nested = Array.from({ length: 5_000 }).reduce<object>((child) => ({ kind: "not", child }), {
    kind: "leaf",
    leaf: 0,
  });
  t.throws(() => writeAsked(withText({ pattern: nested }) as Asked), /a tree of up to 2000 levels/);

  const readerNames = Array.from({ length: 20_000 }, (_, i) => `${i}${"o".repeat(1_000)}`);
  const member = { ...request, viewer: { ...operatorViewer, readerNames } };
  t.throws(() => writeAsked({ ...search, request: member }), {
    code: "content-too-large",
    message: /fewer organizations/,
  });
  t.end();
});

function searchForPatterns(query: string, patterns: readonly string[], type: "literal" | "regexp" = "literal"): Asked {
  return {
    plan: planOfPatterns(query, patterns, type),
    request: { ...ownRequest(query, operatorViewer, ""), patterns },
    lane: "exhaustive",
    timeoutsMs: [1000],
    isSuggestible: false,
    secret: Buffer.alloc(16, 1),
  };
}

t.test("a leaf makes the sets of the patterns that it is told", async (t) => {
  const cases: readonly (readonly [string, readonly string[], "literal" | "regexp"])[] = [
    ["", ["needle", "é\u{1f600}", "b"], "literal"],
    ["case:yes file:a x (b or c)", ["ab+", "needle", "[0-9]+"], "regexp"],
    ["(repo:a case:yes x) or (repo:b y)", ["Needle", "needle"], "literal"],
  ];
  for (const [query, patterns, type] of cases) {
    const search = searchForPatterns(query, patterns, type);
    const body = writeAsked(search);
    const told = readAsked(body);
    t.same(told.request.patterns, patterns);
    t.ok(told.plan.basicQueries.every(({ text }) => text?.leaves.every(({ set }) => set === undefined)));
    t.same(await resultWhileYielding(withSets(told.plan, patterns)), search.plan, query);
  }
  const many = Array.from({ length: patternSetLimits.countMax }, (_, i) => `pattern ${i}`);
  const body = writeAsked(searchForPatterns("", many));
  t.ok(body.length < 2 * many.join("").length, `${body.length} bytes, and no tables`);
});

t.test("a leaf refuses patterns that no client may send", async (t) => {
  const { plan: whole, ...search } = searchForPatterns("", ["needle"]);
  const told = readAsked(writeAsked({ ...search, plan: whole })).plan;
  const [basic] = told.basicQueries;
  const { text } = basic;
  const ofPatterns = (patterns: unknown): object => ({
    ...search,
    plan: told,
    request: { ...search.request, patterns },
  });
  const ofText = (change: object): object => ({
    ...search,
    plan: { ...told, basicQueries: [{ ...basic, text: { ...text, ...change } }] },
  });
  const leaf = text?.leaves[0];
  const notOfRequest = /must be of the patterns of the request/;
  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ["no list", ofPatterns("needle"), /patterns must be a list/],
    ["none", ofPatterns([]), /name at least one/],
    ["100,000", ofPatterns(Array.from({ length: 100_000 }, () => "x")), /100000 patterns; at most 50000/],
    ["a gap", ofPatterns(Array.from({ length: 3 })), /patterns\[0\] must be a text/],
    ["more than a body has", ofPatterns(["x".repeat(patternSetLimits.allBytesMax + 1)]), /up to 1048576 bytes/],
    ["a leaf that is no set", ofText({ leaves: [{ ...leaf, wantsSet: undefined }] }), notOfRequest],
    ["two leaves", ofText({ leaves: [leaf, { ...leaf }] }), notOfRequest],
    ["a mark that is none", ofText({ leaves: [{ ...leaf, wantsSet: 1 }] }), /wantsSet must be true or false/],
    ["a leaf with a text", ofText({ leaves: [{ ...leaf, source: "x" }] }), notOfRequest],
    ["in paths", ofText({ leaves: [{ ...leaf, inPath: true }] }), notOfRequest],
    ["symbols", ofText({ symbols: { kind: undefined } }), notOfRequest],
    [
      "in a condition",
      {
        ...search,
        plan: {
          ...told,
          basicQueries: [
            { ...basic, repositories: { ...basic.repositories, conditions: [{ negated: false, file: text }] } },
          ],
        },
      },
      /leaves\[0\]\.wantsSet must be absent/,
    ],
  ];
  for (const [name, value, message] of wrong)
    t.throws(() => readAsked(serialize(value)), { code: "bad-request", message }, name);
  const late: readonly (readonly [string, readonly string[], string, RegExp])[] = [
    ["an empty one", ["a", ""], "literal", /patterns\[1\] is empty/],
    ["a long one", ["x".repeat(5_000)], "literal", /5000 bytes; at most 4096/],
    ["half of a pair", ["a\ud800"], "literal", /patterns\[0\] has half of a surrogate pair/],
    ["together too long", Array.from({ length: 260 }, () => "é".repeat(2_048)), "literal", /have 1064960 bytes/],
    ["no regexp", ["a", "b("], "regexp", /patterns\[1\]/],
    ["regexps without a literal", Array.from({ length: 101 }, (_, i) => `[0-9]{${i + 1}}`), "regexp", /more than 100/],
    ["keywords", ["a"], "keyword", /cannot be used with patterns/],
  ];
  for (const [name, patterns, patternType, message] of late) {
    const asked = readAsked(serialize({ ...ofPatterns(patterns), plan: { ...told, patternType } }));
    await t.rejects(resultWhileYielding(withSets(asked.plan, patterns)), { message }, name);
  }
});

t.test("a leaf chooses when it has all revisions to pin, and no more", async (t) => {
  const query = "count:all x";
  const pin = (repository: string): PinnedRevision => ({ repository, typed: "", commit: "c".repeat(40) });
  const told = async (...pieces: readonly (readonly PinnedRevision[])[]): Promise<unknown> => {
    let chosenFor: readonly PinnedRevision[] | undefined;
    let closedFor: string | undefined;
    const [here, there] = channelPair();
    const searcher = {
      repositories: () => [],
      watchFlips: () => () => undefined,
      chooseHere: (...args: readonly unknown[]) => {
        chosenFor = args[4] as readonly PinnedRevision[];
        return new Promise<undefined>(() => undefined);
      },
    };
    const leaf = new LeafSearch(() => channel, {
      coordinator: "c",
      searcher,
      workerCount: 1,
      idBase: 0,
      log: silentLog(),
    });
    const channel = new FrameChannel(there, {
      frame: (frame) => {
        try {
          leaf.frame(frame);
        } catch (error) {
          closedFor = String(error);
        }
      },
      closed: () => leaf.closed(),
    });
    const coordinator = new FrameChannel(here, { frame: () => undefined, closed: () => undefined });
    const request = { ...ownRequest(query, operatorViewer, ""), origin: undefined };
    const common = {
      plan: plan(query),
      request,
      lane: "exhaustive",
      timeoutsMs: [1000],
      isSuggestible: false,
    } as const;
    const asked = writeAsked({ ...common, secret: Buffer.alloc(16) });
    const head = {
      kind: "ask",
      timeoutMs: 1000,
      creditBytes: 1000,
      hasMarks: false,
      pinnedCount: 3,
      knownCount: 0,
      sentCount: 0,
    };
    coordinator.send(head, asked);
    for (const piece of pieces) coordinator.send({ kind: "pins" }, serialize(piece));
    await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
    coordinator.close();
    return closedFor ?? chosenFor?.map(({ repository }) => repository);
  };
  t.same(await told([pin("a"), pin("b")], [pin("c")]), ["a", "b", "c"]);
  t.equal(await told([pin("a"), pin("b")]), undefined, "one is missing");
  t.match(await told([pin("a"), pin("b")], [pin("c"), pin("d")]), /more pinned revisions than were announced/);
  t.match(await told([pin("a"), pin("b"), pin("c")], [pin("d")]), /pins out of turn/);
  t.match(await told([]), /pins out of turn/);
});

t.test("a leaf makes sets in steps, chooses with them, and says why it cannot", async (t) => {
  const told = async (search: object, more: object = {}, isLeft = false) => {
    const said: Frame["head"][] = [];
    let [chosenFor, closedFor]: [SearchPlan | undefined, string | undefined] = [undefined, undefined];
    const [here, there] = channelPair();
    const searcher: LeafServices = {
      repositories: () => [],
      watchFlips: () => () => undefined,
      chooseHere: (chosen) => {
        chosenFor = chosen;
        return Promise.resolve(undefined);
      },
    };
    let isOver = false;
    const environment = { coordinator: "c", searcher, workerCount: 1, idBase: 0, log: silentLog() };
    const leaf = new LeafSearch(() => channel, environment);
    leaf.onEnd = () => {
      isOver = true;
    };
    const channel = new FrameChannel(there, {
      frame: (frame) => {
        try {
          leaf.frame(frame);
        } catch (error) {
          closedFor = String(error);
        }
        t.equal(chosenFor, undefined, "nothing is searched within the call that reads");
      },
      closed: () => leaf.closed(),
    });
    const coordinator = new FrameChannel(here, { frame: ({ head }) => void said.push(head), closed: () => undefined });
    const none = { pinnedCount: 0, knownCount: 0, sentCount: 0 };
    coordinator.send(
      { kind: "ask", timeoutMs: 1000, creditBytes: 1000, hasMarks: false, ...none, ...more },
      serialize(search),
    );
    coordinator.send({ kind: "go", matchCountMax: 10, displayCountMax: 10 }, Buffer.alloc(0));
    if (isLeft) coordinator.close();
    for (let i = 0; i < 10_000 && !isOver && closedFor === undefined; i++)
      await new Promise<void>((resolve) => void setImmediate(resolve));
    coordinator.close();
    return { said, plan: chosenFor as SearchPlan | undefined, closedFor, isOver };
  };
  const patterns = Array.from({ length: 5_000 }, (_, i) => `pattern ${i}`);
  const search = searchForPatterns("", patterns);
  const asked = readAsked(writeAsked(search));
  const right = await told(asked);
  t.same(right.plan, search.plan);
  t.match(right.said, [{ kind: "failed", reason: "it is stopping" }]);
  const bad = await told({
    ...asked,
    plan: { ...asked.plan, patternType: "regexp" },
    request: { ...asked.request, patterns: ["a("] },
  });
  t.match(bad, { plan: undefined, said: [{ kind: "failed", reason: /patterns\[0\] "a\("/ }] });
  t.match((await told(asked, { sideFrom: 0 })).closedFor, /changes of the results of a search for patterns/);
  t.match(await told(asked, {}, true), { plan: undefined, isOver: true }, "nobody wants it any more");
});

/** A match object with these members. */
function matchOf(members: string): string {
  return `{"type":"content","path":"p",${members},"contentKey":"k"}`;
}

/** A line of the text "0123456789", with these labels. */
function labelledLine(lineNumber: number, labels: string, more = ""): string {
  return `{"line":"0123456789","lineNumber":${lineNumber},"offsetAndLengths":[[1,2]],"patterns":${labels}${more}}`;
}

/** Two lines that begin at byte 100, with 22 bytes at most: an escape may stand for three. */
function labelledChunk(labels: string, more = ""): string {
  const place = '{"offset":100,"line":3,"column":0}';
  return `{"content":"01234\\"789\\n012345678\\u00e9","contentStart":${place},"ranges":[{"start":{"offset":9999,"line":3,"column":1},"end":${place}}],"patterns":${labels}${more}}`;
}

t.test("labels that no result can have lose the node, and others do not", async (t) => {
  const check = new LabelCheck({ lineBytesMax: 1_000 }, 3);
  const lines = (...elements: readonly string[]): string => matchOf(`"lineMatches":[${elements.join()}]`);
  const chunks = (...elements: readonly string[]): string => matchOf(`"chunkMatches":[${elements.join()}]`);
  const right: readonly string[] = [
    "",
    lines(labelledLine(7, "[]")),
    lines(labelledLine(7, "[[0,50,52],[0,51,60],[2,51,60],[1,51,52],[1,60,4000000000]]")),
    lines(labelledLine(7, "[[0,50,52]]"), labelledLine(9, "[[0,70,72],[1,80,81]]")),
    // Behind two empty lines, which have no element.
    lines(labelledLine(7, "[[0,50,52]]"), labelledLine(10, "[[0,70,72],[1,83,85]]")),
    lines(labelledLine(0, "[[0,0,1]]", ',"lineStart":{"byte":8,"column":8},"lineTruncated":true')),
    lines(labelledLine(0, "[[0,0,1],[0,90,91]]", ',"lineTruncated":true')),
    chunks(labelledChunk("[[0,100,101],[1,120,300]]")),
    chunks(labelledChunk("[[0,99,101],[0,150,151]]", ',"contentTruncated":true')),
    chunks(labelledChunk("[[0,100,101]]"), labelledChunk("[[0,101,102]]", ',"contentTruncated":true')),
    [lines(labelledLine(7, "[[0,50,52]]")), lines(labelledLine(1, "[[0,3,5]]")), matchOf('"symbols":[]')].join(),
    // A text that looks like labels is none.
    matchOf('"lineMatches":[{"line":"\\"patterns\\":[[9,1,0]]","lineNumber":1,"offsetAndLengths":[]}]'),
    matchOf('"other":{"patterns":[[9,1,0]]}'),
  ];
  for (const text of right) t.doesNotThrow(() => check.check(Buffer.from(text)), text);
  const wrong: readonly (readonly [string, RegExp])[] = [
    [lines(labelledLine(7, "[[3,50,52]]")), /a label of 3, and 3 patterns/],
    [lines(labelledLine(7, "[[0,52,50]]")), /ends before it begins/],
    [lines(labelledLine(7, "[[0,51,52],[1,50,52]]")), /out of order/],
    [lines(labelledLine(7, "[[0,51,52],[1,51,53]]")), /out of order/],
    [lines(labelledLine(7, "[[1,51,52],[0,51,52]]")), /out of order/],
    [lines(labelledLine(7, "[[1,51,52],[1,51,52]]")), /out of order/],
    [lines(labelledLine(7, "[[0,50,52]]"), labelledLine(8, "[[0,49,52]]")), /out of order/],
    [lines(labelledLine(7, "[[0,50,52],[0,69,70]]")), /behind the lines/],
    [lines(labelledLine(7, "[[0,50,52]]"), labelledLine(8, "[[0,70,72],[1,82,83]]")), /behind the lines/],
    [chunks(labelledChunk("[[0,99,101]]")), /before the lines/],
    [chunks(labelledChunk("[[0,123,124]]")), /behind the lines/],
    [lines(labelledLine(7, "[[0,50]]")), /no lists of three numbers/],
    [lines(labelledLine(7, "[[0,50,52,1]]")), /no lists of three numbers/],
    [lines(labelledLine(7, "[0,50,52]")), /no lists of three numbers/],
    [lines(labelledLine(7, "{}")), /no lists of three numbers/],
    [lines(labelledLine(7, "[[0,50,52]")), /no lists of three numbers/],
    [lines(labelledLine(7, "[[-1,50,52]]")), /no number/],
    [lines(labelledLine(7, '[["0",50,52]]')), /no number/],
    [lines(labelledLine(7, "[[0,5e1,52]]")), /no lists of three numbers/],
    [lines(labelledLine(7, "[[0,50,99999999999999999999]]")), /too large/],
    [lines(labelledLine(7, "[ [9,50,52]]")), /no lists of three numbers/],
    [matchOf('"lineMatches":[{"patterns" :[[9,50,52]]}]'), /white space/],
    [matchOf('"lineMatches":[{"p\\u0061tterns":[[9,50,52]]}]'), /an escape/],
    [matchOf('"line\\u004datches":[{"patterns":[[9,50,52]]}]'), /an escape/],
    [matchOf('"lineMatches":[{"line":1}]'), /without a text/],
    ['{"a":"b', /without an end/],
    ['{"a":"b\\', /without an end/],
    ['{"a":[}', /without an end/],
    ["{}}", /ends twice/],
    ["{}1", /no match object/],
  ];
  for (const [text, message] of wrong)
    t.throws(() => check.check(Buffer.from(text)), { code: "bad-request", message }, text);
  // The text of a line as long as the limit may have been cut.
  const cut = new LabelCheck({ lineBytesMax: 12 }, 3);
  t.doesNotThrow(() => cut.check(Buffer.from(lines(labelledLine(7, "[[0,50,52],[0,90,91]]")))));

  const more = { patterns: ["a", "b", "c"], lineBytesMax: lineBytesUnlimited };
  for (const [label, isRight] of [
    [2, true],
    [3, false],
  ] as const) {
    const { logged, say, control, texts } = site("count:all", new Map(), false, 1, more);
    await say(prepared("count:all"));
    await say(batch(1), lines(labelledLine(7, `[[${label},50,52]]`)));
    t.same([control.matchCount, texts.length], isRight ? [1, 1] : [0, 0]);
    if (isRight) t.same(logged, []);
    else t.match(logged, [/a label of 3, and 3 patterns/]);
  }
});

t.test("a search for patterns goes on at a replica", async (t) => {
  const more = { patterns: ["a", "b"] };
  const { say, breakOff, control, sent, nodes, texts, ended, asked } = site("count:all", new Map(), false, 2, more);
  await say(prepared("count:all"));
  const [message, body] = marked(idBase, 5, 7);
  await say(message, body);
  await breakOff();
  t.same(nodes, ["leaf0", "failover", "leaf1"]);
  t.same(asked().request.patterns, ["a", "b"], "it is told the same patterns");
  t.same([...new Uint32Array(new Uint8Array(Buffer.concat(sent)).buffer)], [7, 0, 2, allWritten]);
  await say(prepared("count:all"));
  await say(...marked(2 * idBase, 2, 8));
  t.match(texts.at(-1), `"repositoryID":${idBase + 1},"repository":"r"`);
  await say(end("count:all", 2));
  await ended;
  t.equal(control.matchCount, 4);
});

t.test("a replica that cannot be asked is named, and nothing is thrown", async (t) => {
  const query = "count:all x";
  const { say, breakOff, source, ended, nodes, logged } = site(query, new Map(), false, 2, {}, 1);
  await say(prepared(query));
  await breakOff();
  await ended;
  t.same(nodes, ["leaf0", "failover"]);
  t.match(logged.join(), /no channel/);
  t.equal(source.part({ all: false, options: new Set() }, true).failures.count, 1);
});

t.test("what basic queries with limits have counted is given back", async (t) => {
  const query = "(repo:a x count:5) or (file:b y count:6) or (file:c z count:7)";
  const taken = async (replicas: number): Promise<readonly (Frame["head"] | undefined)[]> => {
    const { say, breakOff, heard, source, control, limits } = site(query, new Map(), false, replicas);
    await say(prepared(query));
    await say(batch(0, { tally: { ...tally([]), contentMatches: 0 } }));
    await say({ kind: "state", counts: counts(4, { displayed: 4, taken: [4, 3, 0] }), isParked: false });
    t.same(
      [0, 1].map((i) => takenMatches(limits as ResultLimits, i)),
      [4, 3],
    );
    await breakOff();
    t.same(
      [0, 1].map((i) => takenMatches(limits as ResultLimits, i)),
      [0, 0],
    );
    t.equal(control.matchCount, 0);
    source.giveUp();
    return heard.filter(({ kind }) => kind === "go");
  };
  t.match(await taken(2), [{ optionsMax: [5, 6] }, { optionsMax: [5, 6] }]);
  t.equal((await taken(1)).length, 1, "for other sources");
});

t.test("of counts that cannot be, none is added", async (t) => {
  const query = "(repo:a x count:5) or (file:b y count:6) or (file:c z count:7)";
  for (const more of [
    { displayed: 0 },
    { displayed: 2, scannedKib: 1 },
    { displayed: 2, taken: [3, 7, 0], scannedKib: 2 },
  ]) {
    const { say, source, control, limits, nodes } = site(query, new Map(), false, 2);
    await say(prepared(query));
    await say(batch(0, { tally: { ...tally([]), contentMatches: 0 } }));
    const first = { displayed: 2, taken: [1, 0, 0], scannedKib: 2 };
    await say({ kind: "state", counts: counts(2, first), isParked: false });
    await say({ kind: "state", counts: counts(4, { taken: [3, 3, 0], ...more }), isParked: false });
    t.same([nodes.at(-1), control.matchCount, control.displayedCount], ["leaf1", 0, 0]);
    t.same(
      [0, 1].map((i) => takenMatches(limits as ResultLimits, i)),
      [0, 0],
    );
    source.giveUp();
  }
});

t.test("marks are not believed beyond the results that are counted", async (t) => {
  const query = "count:all x";
  const { say, ended, logged, nodes } = site(query, new Map(), false, 2);
  await say(prepared(query));
  const many = Buffer.alloc(1_000 * 16, 1);
  await say(batch(1, { markBytes: many.length }), many);
  t.match(logged.join(), /marks of more results than it has counted/);
  t.equal(nodes.at(-1), "leaf1", "nothing of it was taken");
  await say(prepared(query));
  await say(...marked(2 * idBase, 2, 7));
  await say(prepared(query));
  await ended;

  const liar = site(query, new Map(), false, 2);
  await liar.say(prepared(query));
  await liar.say(...marked(idBase, 2, 7));
  await liar.say(prepared(query));
  await liar.ended;
  t.same(liar.nodes, ["leaf0"], "nobody leaves out what a liar has marked");
  t.equal(liar.source.part({ all: false, options: new Set() }, true).failures.count, 1);
});

t.test("marks take nothing of the credit", async (t) => {
  const query = "count:1000 x";
  const { say, giveTurn, ended, heard, control } = site(query, new Map(), true, 2);
  await say(prepared(query));
  const marks = Buffer.alloc(100 * 16, 1);
  const head = batch(100, { tally: tally([[idBase + 1, "r", "", 100, ""]]), markBytes: marks.length });
  await say(head, marks);
  control.addMatches(10);
  await giveTurn();
  await say(end(query, 100));
  await ended;
  t.equal(heard.filter(({ kind }) => kind === "again").length, 0);
});

t.test("what one node dies of is not spread", async (t) => {
  const query = "count:all x";
  const crashing = site(query, new Map(), false, 4);
  for (let i = 0; i < 2; i++) {
    await crashing.say(prepared(query));
    await crashing.breakOff();
  }
  await crashing.ended;
  t.same(crashing.nodes, ["leaf0", "failover", "leaf1"], "after two nodes it ends");

  const down = site(query, new Map(), false, 4);
  for (let i = 0; i < 2; i++) await down.breakOff();
  t.same(down.nodes.at(-1), "leaf2", "nodes that never began say nothing about the query");
  down.source.giveUp();

  const failing = site(query, new Map(), false, 2);
  for (let i = 0; i < 3; i++) await failing.say({ kind: "failed", reason: "no memory" });
  await failing.ended;
  t.same(failing.nodes, ["leaf0", "failover", "leaf1"]);

  const doubled = site(query, new Map([["r", "node other"]]), false, 2);
  await doubled.say(prepared(query));
  await doubled.ended;
  t.same(doubled.nodes, ["leaf0"], "another node would have it twice, too");
});

t.test("a leaf that is lost before its turn is replaced, and what it had found is forgotten", async (t) => {
  const { say, breakOff, giveTurn, ended, batches, control, nodes } = site("x", new Map(), true, 2);
  await say(prepared("x"));
  await say(...marked(idBase, 2, 1));
  await breakOff();
  await say(prepared("x"));
  await say(...marked(2 * idBase, 2, 2));
  await say(end("x", 2));
  await giveTurn();
  await ended;
  t.same([nodes, batches.length, control.matchCount], [["leaf0", "failover", "leaf1"], 1, 2]);
});

t.test("a replica that goes on is told its share of ranking when it has said what it would rank", async (t) => {
  const { say, breakOff, giveTurn, heard, source } = site("x", new Map(), true, 2);
  await say(prepared("x"));
  await say({ kind: "rankable", shardCount: 3 });
  await breakOff();
  await say(prepared("x"));
  heard.length = 0;
  await giveTurn();
  await say({ kind: "state", counts: counts(0), isParked: false });
  t.same(heard, [], "it does not expect it yet");
  await say({ kind: "rankable", shardCount: 3 });
  t.same(heard, [{ kind: "share", shardCount: 3 }]);
  source.giveUp();
});

t.test("a leaf that ranks nothing keeps no other from ranking", async (t) => {
  const { say, source, heard, rankOther } = site("x", new Map(), true);
  await say(prepared("x"));
  await say({ kind: "turn", at: [sections.others], counts: counts(0) });
  t.same(rankOther(4), [4], "the other one need not wait");
  t.notOk(heard.some(({ kind }) => kind === "share"));
  source.giveUp();
});

t.test("a leaf that is asked again within a tally begins it again", async (t) => {
  const query = "x";
  const { say, control, giveTurn, heard, batches, source } = site(query, new Map(), true);
  await say(prepared(query));
  await say(batch(4), "{}");
  await say({ kind: "state", counts: counts(4), isParked: true });
  await say(batch(5, { isPart: true, tally: tally([]) }));
  control.addMatches(8);
  await giveTurn();
  await say(batch(5, { isPart: true, tally: tally([]) }));
  t.match(heard.at(-1), { kind: "again", matchCountMax: 2 });
  await say({ kind: "restarted" });
  await say(batch(1), "{}");
  t.same(batches, [2], "it is not taken for the rest of the tally before");
  source.giveUp();
});

t.test("the parts of a tally are passed on with its results, or not at all", async (t) => {
  const { say, breakOff, tallies, control, pinned } = site("count:all x", new Map(), false, 2);
  await say(prepared("count:all x"));
  const [head] = marked(idBase, 4, 1, { isPart: true, markBytes: 0 });
  await say(head);
  t.same([tallies, control.matchCount], [[], 0]);
  await breakOff();
  t.equal(pinned.length, 0);
  await say(prepared("count:all x"));
  await say(marked(2 * idBase, 4, 1, { isPart: true, markBytes: 0 })[0]);
  await say(...marked(2 * idBase, 4, 1));
  t.same([tallies.length, control.matchCount], [1, 4]);
});

t.test("ids of repositories are replaced in match objects, and nowhere else", (t) => {
  const text = String.raw`\",\"repositoryID\":1,\"repository\":\"x\"`;
  const match = (id: number, name: string): string =>
    `{"type":"content","path":"${text}","repositoryID":${id},"repository":${JSON.stringify(name)},"lines":"${text}"}`;
  const bytes = Buffer.from([match(1, "a"), match(22, 'b"\\'), match(3, "c")].join());
  const seen: string[] = [];
  const replaced = replaceIds(bytes, (id, name) => {
    seen.push(name);
    return id === 22 ? 100_000 : id;
  });
  t.equal(Buffer.from(replaced).toString(), [match(1, "a"), match(100_000, 'b"\\'), match(3, "c")].join());
  t.same(seen, ["a", 'b"\\', "c"]);
  t.throws(() => replaceIds(Buffer.from(',"repositoryID":1,"x":2'), (id) => id), { code: "bad-request" });
  t.end();
});
