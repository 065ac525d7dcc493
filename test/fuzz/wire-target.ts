import { Duplex } from "node:stream";
import { inspect, isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import {
  checkAnswer,
  type MirrorQuestion,
  readAnswer,
  readMirrorAsked,
  writeMirrorAsked,
} from "../../src/browse/mirror-messages.js";
import { anonymous } from "../../src/model/viewer.js";
import { emptyPart, noCounts, toCoordinatorMessage, toLeafMessage } from "../../src/search/fleet/fleet-messages.js";
import { sections } from "../../src/search/fleet/result-order.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import { Connection, segmentHeader, segmentKinds, windowBytesMin } from "../../src/wire/connection.js";
import { FrameChannel } from "../../src/wire/frame-channel.js";
import { type Frame, FrameParser, frameStart } from "../../src/wire/frames.js";
import { mutated, pick, type Vocabulary } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const part = emptyPart(planQuery("x", "keyword", new Map()));
const tally = {
  repositories: [[33_554_433, "a", "", 2, "0123456789abcdef0123456789abcdef01234567"]],
  languages: [["Go", 2]],
  fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
  contentMatches: 2,
  symbolMatches: 0,
  symbolKinds: [],
  pathMatches: 0,
  unownedResults: 0,
  groups: [],
};

const others = [sections.others];
const contents = { recordBytes: 24, copyCount: 1, copyMatches: 2, isIncomplete: false };

export const leafMessages: readonly object[] = [
  { kind: "prepared", part, chosen: { count: 2, first: ["a", "b"] } },
  { kind: "rankable", shardCount: 3 },
  { kind: "batch", at: others, counts: noCounts, tally, digest: [1, 2, 3, 4, 5], markBytes: 16, isPart: false },
  { kind: "batch", at: others, counts: noCounts, tally, markBytes: 0, contents, isPart: false },
  { kind: "batch", at: others, counts: noCounts, tally, markBytes: 0, isPart: true },
  {
    kind: "found",
    at: others,
    key: "1@",
    optionsIndex: 0,
    repositoryId: 1,
    repository: "a",
    revision: "",
    resultKind: "repository",
  },
  {
    kind: "commits",
    at: [sections.histories, 1, 2],
    repositoryId: 1,
    repository: "a",
    commits: [[true, "0123456789abcdef0123456789abcdef01234567", 7, 1, 1, "ann", "ann@b", [[0, 1]], 2]],
  },
  { kind: "turn", at: [sections.ranked, 2, 3, 4, "a", "b", 0], counts: noCounts },
  { kind: "restarted" },
  { kind: "state", counts: noCounts, isParked: true },
  { kind: "refused", sentence: "no" },
  { kind: "failed", reason: "no" },
  { kind: "holds", count: 1, names: [1, 2, 3, 4, 5], commits: [1, 2, 3, 4, 5], items: [["a", "1-2"]] },
  {
    kind: "changes",
    items: [[33_554_433, "a", "", "", "0123456789abcdef0123456789abcdef01234567", true]],
    isLast: true,
  },
  { kind: "covered", items: [{ repository: "a", generation: 1, revisions: [{ revision: "", commit: "" }] }] },
  { kind: "flipped", numbers: [1] },
  { kind: "end", counts: noCounts, part, hasToldCovered: true },
];

const coordinatorMessages: readonly object[] = [
  { kind: "compare" },
  {
    kind: "ask",
    timeoutMs: 1,
    creditBytes: 2,
    hasMarks: true,
    hasBase: true,
    pinnedCount: 1,
    knownCount: 2,
    sentCount: 3,
  },
  { kind: "base", isLast: false },
  { kind: "pins" },
  { kind: "known" },
  { kind: "sent" },
  { kind: "go", matchCountMax: 1, displayCountMax: 2, optionsMax: [undefined, 3] },
  { kind: "share", shardCount: 3 },
  { kind: "claimed" },
  { kind: "again", from: 1, matchCountMax: 1, displayCountMax: 2 },
  { kind: "credit", bytes: 5 },
  { kind: "late", options: [1] },
  { kind: "stop", reason: "limit", late: { all: false, options: [] } },
  { kind: "watch", number: 1 },
  { kind: "unwatch", number: 1 },
];

// What no node would say tests only that it is refused.
const messages = [
  ...leafMessages.filter((message) => toLeafMessage({ ...message })),
  ...coordinatorMessages.filter((message) => toCoordinatorMessage({ ...message })),
];

function encode(head: object, bodyBytes: number): Buffer {
  return Buffer.concat([frameStart(head, bodyBytes), Buffer.alloc(bodyBytes, "b")]);
}

const vocabulary: Vocabulary = {
  pieces: [
    "\0\0\0\0",
    "\u00ff\u00ff\u00ff\u00ff",
    "null",
    "-1",
    "1e999",
    "[]",
    "{}",
    '"kind"',
    "9007199254740993",
    ",",
    ":",
  ],
  samples: [],
  lengthMax: 8 << 10,
};

/** What the pieces of an input become: the frames, and how they end. */
function outcome(input: Buffer, step: number): string {
  const parser = new FrameParser();
  const seen: string[] = [];
  const take = ({ head, body }: Frame): void => {
    seen.push(`${JSON.stringify(head)} ${body.length}`);
    for (const read of [toLeafMessage, toCoordinatorMessage]) {
      try {
        seen.push(JSON.stringify(read(head)));
      } catch (error) {
        if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
        seen.push(error.message);
      }
    }
  };
  try {
    for (let at = 0; at < input.length; at += step)
      for (const frame of parser.push(input.subarray(at, at + step))) take(frame);
    seen.push(`within: ${parser.isWithin}`);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
    seen.push(error.message);
  }
  return seen.join("\n");
}

const greeting = Buffer.alloc(5, "1");
greeting.writeUInt32LE(windowBytesMin);
const hello = Buffer.concat([segmentHeader(0, segmentKinds.hello, greeting.length), greeting]);

/** The frame in segments of some channel, among others. */
function segments(random: (bound: number) => number, frame: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < frame.length; ) {
    const piece = frame.subarray(at, at + 1 + random(200));
    pieces.push(segmentHeader(1 + random(2), segmentKinds.data, piece.length), piece);
    at += piece.length;
    if (random(4) > 0) continue;
    const bytes = Buffer.alloc(4, random(3));
    pieces.push(segmentHeader(random(3), random(8), bytes.length), bytes);
  }
  return Buffer.concat(pieces);
}

/** What the node that accepts a connection hears. */
function heard(input: Buffer, step: number): string {
  const said: string[] = [];
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const connection = new Connection(socket, {
    version: "1",
    windowBytes: windowBytesMin,
    name: "the other node",
    askMs: 60_000,
    accept: (bytes) => {
      const frame = ({ head, body }: Frame): void => void said.push(`${JSON.stringify(head)} ${body.length}`);
      new FrameChannel(bytes, { frame, closed: (reason) => void said.push(`closed: ${reason}`) });
    },
    onHello: () => said.push("hello"),
    onMissed: () => undefined,
    onClosed: () => undefined,
  });
  for (let at = 0; at < input.length; at += step) connection.receive(input.subarray(at, at + step));
  said.push(`is over: ${connection.isClosed}`);
  connection.destroy();
  return said.join("\n");
}

/** Messages between nodes are read the same in whatever pieces they arrive, and refused in words. */
export const wireTarget: FuzzTarget = {
  name: "wire",
  cpuMsMax: 200,
  testCount: 300,
  make: (random) => {
    const whole = Buffer.concat(
      Array.from({ length: 1 + random(3) }, () => encode(pick(random, messages), random(20))),
    );
    const sent = random(2) === 0 ? whole : Buffer.concat([hello, segments(random, whole)]);
    return random(8) === 0 ? sent : mutated(random, sent, vocabulary);
  },
  run: (input) => {
    for (const read of [outcome, heard]) {
      const whole = read(input, Math.max(1, input.length));
      for (const step of [1, 7, 536]) {
        const seen = read(input, step);
        if (seen !== whole) throw new Error(`in pieces of ${step}: ${seen} instead of ${whole}`);
      }
    }
  },
};

const oid = "0123456789abcdef0123456789abcdef01234567";
const person = { name: "A", email: "a@example.org", date: "2026-01-01T00:00:00Z" };
const repositoryId = 1;

/** What nodes ask each other about repositories, and answers by the kind of the question. */
const questions: readonly MirrorQuestion[] = [
  { kind: "find", repository: "host/a" },
  { kind: "list", partitions: { numbers: [0, 2], count: 3 }, names: undefined },
  { kind: "read", repositoryId, request: { kind: "read-commits", repositoryId, oids: [oid] } },
  {
    kind: "read",
    repositoryId,
    request: { kind: "read-entries", repositoryId, lfsTree: undefined, commit: oid, paths: ["a", "b/c"] },
  },
  { kind: "output", repositoryId, wanted: { kind: "blob", oid, from: 0, to: 9 } },
  { kind: "output", repositoryId, wanted: { kind: "archive", commit: oid, format: "zip", path: "" } },
];

const answers = {
  "read-commits": { commits: [{ oid, parents: [oid], author: person, committer: person, message: "m" }] },
  "read-entries": { entries: [{ path: "a", kind: "file", mode: 0o100644, oid, byteCount: 3 }, null] },
  "read-files": { files: [{ kind: "too-large", byteCount: 5 }, { kind: "missing" }] },
  "read-submodules": { urls: new Map([["a", "https://example.org/a"]]) },
  "print-directory": { text: Buffer.from("a\n") },
} as const;
const answerKinds = Object.keys(answers) as (keyof typeof answers)[];

const binary: Vocabulary = {
  pieces: ["\0", "\u00ff", "A", "a", "o", '"', "I", "0", "-", "/"],
  samples: [],
  lengthMax: 8 << 10,
};

/** The value, or the words in which it is refused. What V8 cannot read is refused by V8. */
function describe(read: () => unknown): string {
  try {
    return inspect(read(), { depth: null, maxArrayLength: null });
  } catch (error) {
    if (error instanceof TrawlError && error.code !== "bad-request") throw error;
    return errorMessage(error);
  }
}

/** What is read of a question or an answer is what is sent of it again; no id of an object is anything but that. */
export const mirrorTarget: FuzzTarget = {
  name: "mirror",
  cpuMsMax: 200,
  testCount: 300,
  make: (random) => {
    const kind = pick(random, answerKinds);
    const whole =
      random(2) === 0
        ? writeMirrorAsked({ viewer: anonymous, client: "c", timeoutMs: 5, question: pick(random, questions) })
        : serialize(answers[kind]);
    const index = Buffer.from([answerKinds.indexOf(kind)]);
    return Buffer.concat([index, random(8) === 0 ? whole : mutated(random, Buffer.from(whole), binary)]);
  },
  run: (input) => {
    const body = input.subarray(1);
    describe(() => {
      const asked = readMirrorAsked(body);
      const again = readMirrorAsked(writeMirrorAsked(asked));
      if (!isDeepStrictEqual(asked, again))
        throw new TrawlError("internal", `${inspect(asked)} became ${inspect(again)}`);
      const { question } = asked;
      if (
        question.kind === "output" &&
        question.wanted.kind === "blob" &&
        !/^[0-9a-f]{40,64}$/.test(question.wanted.oid)
      )
        throw new TrawlError("internal", `${question.wanted.oid} is read as an object`);
      return asked;
    });
    const kind = answerKinds[(input[0] ?? 0) % answerKinds.length];
    if (kind === undefined) return;
    describe(() => {
      const answer = checkAnswer(kind, readAnswer(body));
      if (!isDeepStrictEqual(answer, checkAnswer(kind, answer)))
        throw new TrawlError("internal", `${inspect(answer)} is read as something else`);
      return answer;
    });
  },
};
