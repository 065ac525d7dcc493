/** The channel of a node to itself keeps the contract of one between nodes, and its leaf does not fill it. */
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { ownRequest } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { emptyPart, writeAsked } from "../../../src/search/fleet/fleet-messages.js";
import { LeafSearch } from "../../../src/search/fleet/leaf-search.js";
import { LocalChannel } from "../../../src/search/fleet/local-channel.js";
import type { SearchSource, SourceRoot } from "../../../src/search/source/search-source.js";
import { settled } from "../../support/test-clock.js";

function open(onFrame: (head: object) => void = () => undefined) {
  const [near, far] = LocalChannel.pair();
  const heard: unknown[] = [];
  let closed: string | undefined | false = false;
  near.receive({ frame: () => undefined, closed: () => undefined });
  far.receive({
    frame: ({ head }) => {
      heard.push(head["i"]);
      onFrame(head);
    },
    closed: (reason) => {
      closed = reason;
    },
  });
  return { near, far, heard, closed: () => closed };
}

t.test("whoever sends sees how much waits while the other end is paused", async (t) => {
  const { near, far, heard } = open();
  far.pause();
  const names = Array.from({ length: 100 }, (_, i) => [i, `host.example/${i}`, "", 1, "0".repeat(40)]);
  const lists = { languages: [], symbolKinds: [], groups: [["key", 1]] };
  near.send({ i: 0 }, new Uint8Array(1000), undefined, new Uint8Array(24));
  const before = near.waitingBytes;
  near.send({ i: 1, tally: { repositories: names, ...lists } });
  await settled();
  t.ok(before >= 1024, "the body, and its head");
  t.ok(near.waitingBytes - before >= JSON.stringify(names).length / 2, "a long tally is no small head");
  t.same(heard, []);
  far.resume();
  await settled();
  t.same(heard, [0, 1]);
  t.equal(near.waitingBytes, 0);
  far.pause();
  near.send({ i: 2 });
  near.close();
  t.equal(near.waitingBytes, 0, "what was given up does not wait");
});

t.test("what has waited is delivered in steps, in its order, before the end", async (t) => {
  const { near, far, heard, closed } = open(() => {
    for (const from = performance.now(); performance.now() - from < 1; );
  });
  far.pause();
  const all = Array.from({ length: 20 }, (_, i) => i);
  for (const i of all) near.send({ i });
  near.finish();
  far.resume();
  await Promise.resolve();
  t.ok(heard.length < 20, `${heard.length} of 20 in one turn`);
  far.pause();
  const { length } = heard;
  await settled();
  await settled();
  t.equal(heard.length, length, "a step that waits delivers nothing that is not wanted");
  far.resume();
  while (closed() === false) await settled();
  t.same(heard, all);
  t.equal(closed(), undefined);
});

t.test("whatever a receiver throws closes both ends", async (t) => {
  const { near, heard, closed } = open((head) => {
    if ("bad" in head) throw new Error("not that");
  });
  near.send({ i: 0 });
  near.send({ i: 1, bad: true });
  near.send({ i: 2 });
  await settled();
  t.same(heard, [0, 1]);
  t.equal(closed(), "not that");
  t.ok(near.isClosed);
  t.equal(near.waitingBytes, 0);
});

t.test(
  "a leaf says where it is in histories once per turn of the event loop, and its credit to its source",
  async (t) => {
    const plan = planQuery("type:commit x", "keyword", new Map());
    const [near, far] = LocalChannel.pair();
    const turns: unknown[] = [];
    let root: SourceRoot | undefined;
    const source = {
      run: () => new Promise<void>(() => undefined),
      goOn: () => undefined,
      nameOf: () => "r",
      drop: () => undefined,
      giveUp: () => undefined,
      isActive: true,
      isPassingOn: false,
    } as unknown as SearchSource;
    const chosen = {
      first: () => ({ part: emptyPart(plan), names: ["r"] }),
      open: (_search: object, ownRoot: SourceRoot) => {
        root = ownRoot;
        return source;
      },
      release: () => undefined,
    };
    const searcher = { repositories: () => [], chooseHere: () => Promise.resolve(chosen) };
    const leaf = new LeafSearch(() => far, {
      coordinator: "c",
      searcher: searcher as unknown as ConstructorParameters<typeof LeafSearch>[1]["searcher"],
      workerCount: 1,
      idBase: 0,
      log: silentLog(),
    });
    far.receive(leaf);
    near.receive({
      // The leaf also sends its state from time to time.
      frame: ({ head }) => {
        if (head["kind"] !== "state") turns.push(head["kind"] === "turn" ? head["at"] : head["kind"]);
      },
      closed: (reason) => void turns.push(reason),
    });
    const request = { ...ownRequest("type:commit x", operatorViewer, ""), origin: undefined };
    const nothingKnown = { hasMarks: false, pinnedCount: 0, knownCount: 0, sentCount: 0 };
    const ask = { kind: "ask", timeoutMs: 1000, creditBytes: 1234, ...nothingKnown };
    const asked = {
      plan,
      request,
      lane: "interactive",
      timeoutsMs: [1000],
      isSuggestible: false,
      secret: Buffer.alloc(16),
    } as const;
    near.send(ask, writeAsked(asked));
    near.send({ kind: "go", matchCountMax: 10, displayCountMax: 10 });
    for (let i = 0; i < 1_000 && root === undefined; i++) await settled();
    t.equal(root?.pace.creditBytes, 1234);
    root?.order?.others();
    const history = (id: number): void =>
      root?.order?.history({ id, stars: 0 } as Parameters<NonNullable<SourceRoot["order"]>["history"]>[0]);
    for (let id = 1000; id > 0; id--) history(id);
    t.ok(far.waitingBytes < 1000, "what waits is bounded");
    await settled();
    await settled();
    t.same(turns, ["prepared", [4, -0, -1000], [4, -0, -1]]);
    near.close();
  },
);
