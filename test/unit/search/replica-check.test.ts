import { serialize } from "node:v8";
import t from "tap";
import { sleep } from "../../../src/base/deadline.js";
import { silentLog } from "../../../src/base/log.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { ownRequest } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { marksMax, secretBytes, sentBytesMax, SentMarks } from "../../../src/protocol/result-batch.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import {
  askHoldings,
  compareHoldings,
  compareWithPeers,
  describeDifferences,
  type Difference,
  holdingsInSteps,
  ReplicaDifferences,
} from "../../../src/search/fleet/replica-check.js";
import type { Holdings } from "../../../src/search/fleet/fleet-messages.js";
import { LeafSearch } from "../../../src/search/fleet/leaf-search.js";
import { FrameChannel } from "../../../src/wire/frame-channel.js";
import { channelPair } from "../../support/channel-pair.js";
import { testRepository } from "../../support/engine.js";

const repository = (name: string, commit = "c") =>
  testRepository(name.length, name, { indexedBranches: [{ name: "main", bit: 0, commit }] });
const holdings = (...repositories: readonly ReturnType<typeof repository>[]) =>
  resultAtOnce(holdingsInSteps(repositories));
/** With what is said about the differences. */
function compare(own: Holdings, other: Holdings): { readonly count: number; readonly sentence: string } | undefined {
  const found = compareHoldings(own, other, "z");
  return found && { count: found.count, sentence: describeDifferences(found.parts) };
}
const many = (count: number, from: number) => Array.from({ length: count }, (_, i) => repository(`r${i + from}`));

t.test("nodes that should have the same repositories say what differs", (t) => {
  const own = holdings(repository("a"), repository("b"), repository("c", "1"));
  for (const [name, other, want] of [
    ["the same, in another order", holdings(repository("c", "1"), repository("b"), repository("a")), undefined],
    ["fewer", holdings(repository("a"), repository("c", "1")), { count: 1, sentence: "only here: b" }],
    [
      "others",
      holdings(repository("a"), repository("x"), repository("c", "1")),
      { count: 2, sentence: "only here: b; only on z: x" },
    ],
    [
      "another commit",
      holdings(repository("a"), repository("b"), repository("c", "2")),
      { count: 1, sentence: "at other commits: c" },
    ],
  ] as const)
    t.same(compare(own, other), want, name);
  const large = holdings(...many(1_001, 0));
  t.same(large.items, [], "a long list does not cross");
  t.equal(compare(large, holdings(...many(1_001, 0))), undefined);
  t.match(compare(large, holdings(...many(1_005, 0))), {
    count: 4,
    sentence: /1001 repositories here, and 1005/,
  });
  t.match(compare(large, holdings(...many(1_001, 1)))?.sentence, /or others/);
  t.match(compare(holdings(...many(20, 0)), holdings())?.sentence, /r0, r1, r2, r3, r4 and 15 more$/);
  t.end();
});

t.test("a difference that lasts is one line, and its end another", (t) => {
  const lines: string[] = [];
  const write = (_fields: object, line: string): void => void lines.push(line);
  const differences = new ReplicaDifferences(Object.assign(silentLog(), { warn: write, info: write }));
  const onlyHere = (...names: readonly string[]): Difference[] => [{ kind: "here", text: "only here", names }];
  for (const parts of [onlyHere("a"), undefined, onlyHere("b"), onlyHere("b"), onlyHere("b"), undefined, undefined])
    differences.note("z", parts);
  t.same(lines, [
    "fleet.replicas: this node and z differ: only here: b",
    "this node and another have the same repositories again",
  ]);
  t.end();
});

t.test("a difference that lasts is logged, whatever else comes and goes", (t) => {
  const lines: string[] = [];
  const write = (_fields: object, line: string): void => void lines.push(line);
  const differences = new ReplicaDifferences(Object.assign(silentLog(), { warn: write, info: write }));
  for (let i = 0; i < 10; i++) {
    const commits = ["stuck", `busy${i % 2}`];
    differences.note("z", [
      ...(i > 2 ? [{ kind: "there", text: "only on z", names: ["new"] } as const] : []),
      { kind: "here", text: "only here", names: ["only"] },
      { kind: "commits", text: "at other commits", names: commits },
    ]);
  }
  t.same(lines, [
    "fleet.replicas: this node and z differ: only here: only",
    "fleet.replicas: this node and z differ: only on z: new; only here: only; at other commits: stuck",
  ]);
  lines.length = 0;
  for (let i = 0; i < 9; i++)
    differences.note("y", [
      { kind: "here", text: `there are ${i} repositories here, and 2 or others on y`, names: [] },
    ]);
  t.same(lines, ["fleet.replicas: this node and y differ: there are 1 repositories here, and 2 or others on y"]);
  t.end();
});

t.test("a node that is down or silent does not end the comparison with others", async (t) => {
  const told: (readonly [string, number | undefined])[] = [];
  const own = holdings(repository("a"));
  const silent = (receiver: ConstructorParameters<typeof FrameChannel>[1]) =>
    new FrameChannel(channelPair()[0], receiver);
  const answering = (receiver: ConstructorParameters<typeof FrameChannel>[1]) => {
    const [here, there] = channelPair();
    const frame = (): void => channel.send({ kind: "holds", ...holdings(repository("b")) });
    const channel = new FrameChannel(there, { frame, closed: () => undefined });
    return new FrameChannel(here, receiver);
  };
  const down = (receiver: ConstructorParameters<typeof FrameChannel>[1]) => {
    const channel = silent(receiver);
    queueMicrotask(() => receiver.closed("it is down"));
    return channel;
  };
  const broken = (): never => {
    throw new Error("no session");
  };
  const peers = Object.entries({ broken, down, silent, answering }).map(([name, open]) => ({ name, open }));
  const over = new AbortController();
  // Timers of the product keep no process alive.
  void sleep(60_000, over.signal);
  const note = (name: string, count: number | undefined): void => void told.push([name, count]);
  await compareWithPeers(own, peers, new ReplicaDifferences(silentLog()), note, silentLog(), 1);
  over.abort();
  t.same(Object.fromEntries(told), { broken: undefined, down: undefined, silent: undefined, answering: 2 });
});

t.test("a node says what it has, and nothing else", async (t) => {
  const open = (isBroken: boolean) => (receiver: ConstructorParameters<typeof FrameChannel>[1]) => {
    const [here, there] = channelPair();
    let channel: FrameChannel | undefined;
    const searcher = {
      repositories: () => {
        if (isBroken) throw new Error("no table");
        return [repository("a")];
      },
      watchFlips: () => () => undefined,
      chooseHere: () => Promise.resolve(undefined),
    };
    const leaf = new LeafSearch(() => channel as FrameChannel, {
      coordinator: "x",
      searcher,
      idBase: 0,
      workerCount: 1,
      log: silentLog(),
    });
    channel = new FrameChannel(there, leaf);
    return new FrameChannel(here, receiver);
  };
  t.same(await askHoldings(open(false)), { kind: "holds", ...holdings(repository("a")) });
  await t.rejects(askHoldings(open(true)), { message: /out of turn/ });
});

t.test("what searches that go on are told has a limit on its memory, for all of them together", (t) => {
  const begin = (): { readonly leaf: LeafSearch; readonly said: object[] } => {
    const said: object[] = [];
    const channel = { send: (message: object) => void said.push(message), finish: () => undefined, isClosed: false };
    const searcher = {
      repositories: () => [],
      watchFlips: () => () => undefined,
      chooseHere: () => new Promise<undefined>(() => undefined),
    };
    const leaf = new LeafSearch(() => channel as unknown as FrameChannel, {
      coordinator: "x",
      searcher,
      workerCount: 1,
      idBase: 0,
      log: silentLog(),
    });
    const asked = {
      plan: planQuery("x", "standard"),
      request: ownRequest("x", operatorViewer, ""),
      lane: "interactive",
      timeoutsMs: [1_000],
      isSuggestible: false,
      secret: Buffer.alloc(secretBytes),
    };
    leaf.frame({
      head: {
        kind: "ask",
        timeoutMs: 1_000,
        creditBytes: 1,
        hasMarks: true,
        pinnedCount: 0,
        knownCount: 0,
        sentCount: marksMax,
      },
      headBytes: 1,
      body: serialize(asked),
      release: () => undefined,
    });
    return { leaf, said };
  };
  const count = Math.floor(sentBytesMax / SentMarks.byteLength(marksMax));
  const searches = Array.from({ length: count }, begin);
  t.same(
    searches.map(({ said }) => said),
    searches.map(() => []),
  );
  t.match(begin().said, [{ kind: "failed", reason: /too many searches go on there/ }]);
  searches.pop()?.leaf.closed();
  const next = begin();
  t.same(next.said, [], "another one may, when one has ended");
  for (const { leaf } of [...searches, next]) leaf.closed();
  t.end();
});
