import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { resultAtOnce } from "../../../src/base/yielding.js";
import {
  askHoldings,
  compareHoldings,
  holdingsInSteps,
  ReplicaDifferences,
} from "../../../src/search/fleet/replica-check.js";
import { LeafSearch } from "../../../src/search/fleet/leaf-search.js";
import { FrameChannel } from "../../../src/wire/frame-channel.js";
import { streamPair } from "../../support/channel-pair.js";
import { testRepository } from "../../support/engine.js";

const repository = (name: string, commit = "c") =>
  testRepository(name.length, name, { indexedBranches: [{ name: "main", bit: 0, commit }] });
const holdings = (...repositories: readonly ReturnType<typeof repository>[]) =>
  resultAtOnce(holdingsInSteps(repositories));
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
    t.same(compareHoldings(own, other, "z"), want, name);
  const large = holdings(...many(1_001, 0));
  t.same(large.items, [], "a long list does not cross");
  t.equal(compareHoldings(large, holdings(...many(1_001, 0)), "z"), undefined);
  t.match(compareHoldings(large, holdings(...many(1_005, 0)), "z"), {
    count: 4,
    sentence: /1001 repositories here, and 1005/,
  });
  t.match(compareHoldings(large, holdings(...many(1_001, 1)), "z")?.sentence, /or others/);
  t.match(compareHoldings(holdings(...many(20, 0)), holdings(), "z")?.sentence, /r0, r1, r2, r3, r4 and 15 more$/);
  t.end();
});

t.test("a difference that lasts is one line, and its end another", (t) => {
  const lines: string[] = [];
  const write = (_fields: object, line: string): void => void lines.push(line);
  const differences = new ReplicaDifferences(Object.assign(silentLog(), { warn: write, info: write }));
  for (const sentence of [
    "only here: a",
    undefined,
    "only here: b",
    "only here: b",
    "only here: b",
    undefined,
    undefined,
  ])
    differences.note("z", sentence);
  t.same(lines, [
    "fleet.replicas: this node and z differ: only here: b",
    "this node and another have the same repositories again",
  ]);
  t.end();
});

t.test("a node says what it has, and nothing else", async (t) => {
  const open = (isBroken: boolean) => (receiver: ConstructorParameters<typeof FrameChannel>[1]) => {
    const [here, there] = streamPair();
    let channel: FrameChannel | undefined;
    const searcher = {
      repositories: () => {
        if (isBroken) throw new Error("no table");
        return [repository("a")];
      },
      chooseHere: () => Promise.resolve(undefined),
    };
    const leaf = new LeafSearch(() => channel as FrameChannel, {
      coordinator: "x",
      searcher,
      workerCount: 1,
      log: silentLog(),
    });
    channel = new FrameChannel(there, leaf);
    return new FrameChannel(here, receiver);
  };
  t.same(await askHoldings(open(false)), { kind: "holds", ...holdings(repository("a")) });
  await t.rejects(askHoldings(open(true)), { message: /out of turn/ });
});
