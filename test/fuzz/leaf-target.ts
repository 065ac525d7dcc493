import { TrawlError } from "../../src/base/errors.js";
import { isObject } from "../../src/base/is-object.js";
import { silentLog } from "../../src/base/log.js";
import { ownRequest } from "../../src/model/search-request.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import { operatorViewer } from "../../src/model/viewer.js";
import { claimKeyWords, ContentClaims } from "../../src/protocol/content-claims.js";
import { ControlBlock } from "../../src/protocol/control-block.js";
import { holdsObjects } from "../../src/protocol/messages.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import { divideBase, emptyPart, noCounts } from "../../src/search/fleet/fleet-messages.js";
import type { Channel } from "../../src/search/fleet/local-channel.js";
import { RemoteSource } from "../../src/search/fleet/remote-source.js";
import { type ResultOrder, sections } from "../../src/search/fleet/result-order.js";
import { SharedContents } from "../../src/search/fleet/shared-contents.js";
import { searchLimits } from "../../src/search/limits/search-limits.js";
import { nodeIdSpan } from "../../src/search/source/search-fleet.js";
import type { SourceRoot } from "../../src/search/source/search-source.js";
import { type Frame, FrameParser, frameStart } from "../../src/wire/frames.js";
import { mutated, pick, type Random } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";
import { leafMessages } from "./wire-target.js";

/** Of searches with a limit. */
const limit = 10;

/** The first byte of an input says which of these is searched, and whether changes are, or patterns. */
const queries = ["x", "count:all x", "count:4 x or count:all y"];

function isForChanges(choice: number): boolean {
  return choice >= 128;
}

function isForPatterns(choice: number): boolean {
  return choice < 64;
}

function isGrouped(choice: number): boolean {
  return choice >= 32 && !isForChanges(choice);
}

/** Of a search for patterns. */
const patterns = ["a", "b"];

const plans = queries.map((query) => planQuery(query, "keyword", new Map()));

const oids = ["a", "b", "c"].map((digit) => digit.repeat(40));

/** What an earlier search has covered. */
const earlier = new Map(Array.from({ length: 9 }, (_, i) => [`r${i}`, new Map([["", "1".repeat(40)]])] as const));

/** One of the three contents, and so many matches. */
function record(content: number, matches: number): Buffer {
  return Buffer.from(Int32Array.from([...Array.from({ length: claimKeyWords }, () => content), matches]).buffer);
}

function object(random: Random): string {
  const copy = random(4) === 0 ? ',"duplicate":true' : "";
  const labels = random(2) === 0 ? "" : `,"patterns":[[${random(3)},${random(4)},4],[1,${random(8)},9]]`;
  const list =
    random(2) === 0
      ? `,"hunks":null,"lineMatches":[{"line":"a","lineNumber":1,"offsetAndLengths":[[0,1]]${labels}}]`
      : "";
  const side = random(4) === 0 ? "" : `,"branches":["${random(2)}${pick(random, ["+", "-"])}"]`;
  return `{"type":"content","path":"${pick(random, ["p", "q"])}"${side}${list},"contentKey":"${pick(random, oids)}.00000000"${copy}}`;
}

function frame(head: object, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([frameStart(head, body.length), body]);
}

/** What a leaf may say, with numbers that may be right. */
function script(random: Random, choice: number): Buffer[] {
  const hasContents = isGrouped(choice);
  const part = emptyPart(plans[choice % plans.length]);
  const frames = [frame({ kind: "prepared", part, chosen: { count: 1, first: ["r"] } })];
  let [matches, foundCount] = [0, 0];
  const counts = () => ({ ...noCounts, matches, displayed: matches, isLimitHit: random(8) === 0 });
  for (let left = random(8); left > 0; left--) {
    switch (random(8)) {
      case 6: {
        const oid = pick(random, ["", ...oids]);
        const item = [
          nodeIdSpan + 1 + random(2),
          pick(random, ["r", "s"]),
          "",
          oid,
          pick(random, oids),
          random(4) === 0,
        ];
        const isLast = random(3) === 0;
        frames.push(
          frame(
            { kind: "changes", items: random(4) === 0 ? [] : [item], isLast },
            Buffer.alloc(isLast ? 1 + random(2) : 0),
          ),
        );
        break;
      }
      case 7: {
        const revisions = [{ revision: "", commit: pick(random, oids) }];
        frames.push(frame({ kind: "covered", items: [{ repository: "r", generation: 1, revisions }] }));
        break;
      }
      case 0:
        frames.push(frame({ kind: "state", counts: counts(), isParked: random(2) === 0 }));
        break;
      case 1:
        frames.push(frame({ kind: "restarted" }));
        if (random(2) === 0) matches = 0;
        break;
      case 2:
        frames.push(frame(pick(random, leafMessages), Buffer.from("{}")));
        break;
      case 3: {
        const key = `${nodeIdSpan + 1}@${foundCount++}`;
        const of = { optionsIndex: 0, repositoryId: nodeIdSpan + 1, repository: "r", revision: "" };
        frames.push(
          frame({ kind: "found", at: [sections.others], key, ...of, resultKind: "repository" }, Buffer.from("{}")),
        );
        break;
      }
      default: {
        const added = Array.from({ length: random(3) }, () => record(random(4), 1 + random(3)));
        const copyCount = hasContents ? random(2) : 0;
        const copyMatches = copyCount * (1 + random(3));
        const recorded = added.reduce((sum, one) => sum + one.readInt32LE(4 * claimKeyWords), 0);
        matches += recorded + copyCount;
        const contents = {
          recordBytes: Buffer.concat(added).length,
          copyCount,
          copyMatches,
          isIncomplete: random(16) === 0,
        };
        const document = random(6) === 0 ? random(2) : undefined;
        const at = document === undefined ? [sections.others] : [sections.ranked, 1, 1, 1, "r", "p", document];
        const tally = {
          repositories: [[nodeIdSpan + 1, "r", "", recorded + copyMatches, ""]],
          languages: [],
          fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
          contentMatches: recorded,
          symbolMatches: 0,
          symbolKinds: [],
          pathMatches: 0,
          unownedResults: 0,
          groups: [],
        };
        const objects = Array.from({ length: random(3) }, () => object(random)).join(",");
        const head = { kind: "batch", at, document, counts: counts(), tally, markBytes: 0, contents, isPart: false };
        frames.push(
          hasContents
            ? frame(head, Buffer.concat([Buffer.from(objects), ...added]))
            : frame({ ...head, contents: undefined }, Buffer.from(objects)),
        );
      }
    }
  }
  const repositories = { count: random(3), items: [] };
  const receipt = { generation: [1, 2, 3, 4, 5], documentCount: 1, groups: [], repositories };
  if (random(4) > 0)
    frames.push(frame({ kind: "end", counts: counts(), part, receipt, hasToldCovered: random(2) === 0 }));
  return frames;
}

/** Those before what is none. */
function framesIn(input: Buffer): readonly Frame[] {
  const frames: Frame[] = [];
  try {
    for (const one of new FrameParser().push(input)) frames.push(one);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
  }
  return frames;
}

/** A frame whose head or body is another one; its lengths are right. */
function changed(random: Random, one: Buffer): Buffer {
  const bodyFrom = 8 + one.readUInt32LE(0);
  const parts = [one.subarray(8, bodyFrom), one.subarray(bodyFrom)];
  const i = parts[1].length > 0 && random(3) === 0 ? 1 : 0;
  parts[i] = mutated(random, parts[i], { pieces: ["-1", "0", "9007199254740991", "[]", "null", '"'] });
  const lengths = Buffer.alloc(8);
  for (const [at, { length }] of parts.entries()) lengths.writeUInt32LE(length, 4 * at);
  return Buffer.concat([lengths, ...parts]);
}

/** Whose turn it is always. */
function onlyOrder(): ResultOrder {
  const order: Pick<ResultOrder, "first" | "join" | "reach" | "end" | "isTurn" | "isFirst" | "rankable" | "wake"> = {
    first: [sections.repositories],
    join: () => 0,
    reach: () => undefined,
    end: () => undefined,
    isTurn: () => true,
    isFirst: () => true,
    rankable: () => undefined,
    wake: () => undefined,
  };
  return order as ResultOrder;
}

function require(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** Labels that a client gets are those of the search, in order. */
function checkLabels(bytes: Uint8Array): void {
  let objects: readonly StreamMatch[] = [];
  try {
    objects = JSON.parse(`[${Buffer.from(bytes).toString()}]`) as readonly StreamMatch[];
  } catch {
    // Whoever cannot read it has no labels.
  }
  for (const { lineMatches } of objects) {
    const elements: readonly unknown[] = Array.isArray(lineMatches) ? lineMatches : [];
    const labels = elements.flatMap((one) => (isObject(one) && Array.isArray(one["patterns"]) ? one["patterns"] : []));
    let last = -1;
    for (const [label, start, end] of labels as [number, number, number][]) {
      require(label < patterns.length && start >= last && end >= start, `the label ${label}, from ${start} to ${end}`);
      last = start;
    }
  }
}

/** Passes on what the leaf says of a search for changes or for patterns, or of one in which another node has two of the contents. */
function hear(input: Buffer): void {
  const [choice = 0] = input;
  const plan = plans[choice % plans.length];
  const since = isForChanges(choice) ? earlier : undefined;
  const own = ownRequest(queries[choice % plans.length], operatorViewer, "");
  const wanted = isForPatterns(choice) ? { patterns } : {};
  const request = { ...own, duplicates: isGrouped(choice), ...(since && { since }), ...wanted };
  const limits = searchLimits(plan, request, { defaultCount: limit, defaultTimeoutMs: 1000, maxTimeoutMs: 1000 });
  const control = ControlBlock.allocate(1, 1000, 1);
  const contents = new SharedContents(ContentClaims.allocate(64).memory);
  const before = Buffer.concat([record(1, 3), record(2, 2)]);
  contents.join().pass(new Int32Array(new Uint8Array(before).buffer));
  let isClosed = false;
  /** What is thrown into the source loses the node, and is not seen. */
  const passedOn: Uint8Array[] = [];
  const channel: Channel = {
    get isClosed() {
      return isClosed;
    },
    waitingBytes: 0,
    send: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
    finish: () => undefined,
    close: () => {
      isClosed = true;
    },
  };
  const root: SourceRoot = {
    listener: {
      batch: ({ bytes }, release) => {
        passedOn.push(Uint8Array.from(bytes));
        release();
      },
      found: ({ json }) => void json(),
      commit: () => undefined,
      sendCommits: () => undefined,
      refused: () => undefined,
      scheduled: () => undefined,
      advanced: () => undefined,
      parked: () => undefined,
    },
    pace: { unreadBytes: 0, pendingBytes: 0, creditBytes: 1000 },
    stopped: new Promise(() => undefined),
    late: { all: false, options: new Set() },
  };
  const mayHave = (id: number): boolean => id >= nodeIdSpan && id < 2 * nodeIdSpan;
  const node = { name: "b", mayHave, open: () => channel };
  const search = { request, plan, limits, control, claims: undefined, startedMs: 0 };
  const [base] = since === undefined ? [] : divideBase(since, 1, undefined);
  const shared = {
    creditBytes: 1000,
    isOnly: false,
    contents: isGrouped(choice) ? contents : undefined,
    places: undefined,
    covered: { count: 0, units: 0 },
    claim: (_repository: string, owner: string) => owner,
    order: onlyOrder(),
    heads: { byteCount: 0, tallied: undefined },
    asked: Buffer.alloc(0),
    log: silentLog(),
    onFailover: () => undefined,
  };
  const source = new RemoteSource(search, root, [node], shared, undefined, base);
  void source.run();
  const take = (one: Frame): void => {
    if (isClosed) return;
    source.frame(one);
    while (source.passOn()) checkCounts();
    checkCounts();
  };
  const checkCounts = (): void => {
    const { matchCount, displayedCount, duplicateCount, duplicateMatches } = control;
    require(matchCount >= 0 && matchCount <= limits.matchCountMax, `${matchCount} matches`);
    require(displayedCount >= 0, `${displayedCount} matches shown`);
    require(duplicateMatches >= duplicateCount &&
      duplicateCount >= 0, `${duplicateCount} copies of ${duplicateMatches}`);
  };
  for (const one of framesIn(input.subarray(1))) take(one);
  source.closed();
  while (source.passOn()) checkCounts();
  source.drop();
  checkCounts();
  source.part();
  const { changes } = source;
  require(changes === undefined || changes.kept.length === 2, "bits of another base");
  void source.receipt().then((part) => part.repositories(0, 10));
  source.finish();
  source.release();
  for (const bytes of passedOn) {
    require(holdsObjects(bytes), "a batch that is no match objects");
    if (isForPatterns(choice)) checkLabels(bytes);
  }
  require(isClosed, "a channel that is open after the search");
}

/** A node that says what cannot be is left out: nothing is thrown, and what is counted stays possible. */
export const leafTarget: FuzzTarget = {
  name: "leaf",
  cpuMsMax: 200,
  testCount: 300,
  make: (random) => {
    const choice = random(256);
    const frames = script(random, choice);
    const i = random(frames.length);
    if (random(3) > 0) frames[i] = changed(random, frames[i]);
    return Buffer.concat([Buffer.from([choice]), ...frames]);
  },
  run: hear,
};
