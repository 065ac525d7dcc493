/** Streams of one node that wait for flips of another one. */
import { serialize } from "node:v8";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import type { Repository } from "../../../src/model/repository.js";
import { anonymous, operatorViewer } from "../../../src/model/viewer.js";
import { watchFlips } from "../../../src/search/changes/change-watch.js";
import { readViewer, watchersMax, writeViewer } from "../../../src/search/fleet/fleet-messages.js";
import { LeafSearch } from "../../../src/search/fleet/leaf-search.js";
import { FleetFlips, NodeFlips } from "../../../src/search/fleet/node-flips.js";
import { FrameChannel, type FrameReceiver } from "../../../src/wire/frame-channel.js";
import { channelPair } from "../../support/channel-pair.js";
import { TestClock } from "../../support/test-clock.js";

const secret = { id: 1, name: "secret", private: true, readers: ["ann"], generation: 1 } as never as Repository;
const open = { ...secret, id: 2, name: "open", private: false, readers: [] } as never as Repository;

/** Longer than flips are gathered, and a node is waited for. */
const pauseMs = 1_500;

/** A node whose flips are made by the test. */
function leafNode() {
  const watchers = new Set<(repository: Repository) => void>();
  const channels: FrameChannel[] = [];
  const ended: string[] = [];
  const connect = (receiver: FrameReceiver): FrameChannel => {
    const [here, there] = channelPair();
    const leaf = new LeafSearch(() => channel, {
      coordinator: "c",
      searcher: {
        repositories: () => [],
        watchFlips: (viewer, onFlip) => watchFlips(watchers, viewer, onFlip),
        chooseHere: () => Promise.resolve(undefined),
      },
      workerCount: 1,
      idBase: 0,
      log: silentLog(),
    });
    leaf.onEnd = () => void ended.push("end");
    leaf.onWait = () => void ended.push("wait");
    const channel: FrameChannel = new FrameChannel(there, leaf);
    channels.push(channel);
    return new FrameChannel(here, receiver);
  };
  let generation = 1;
  const flip = (repository: Repository): void => {
    generation++;
    for (const watcher of [...watchers]) watcher({ ...repository, generation });
  };
  return { watchers, channels, ended, connect, flip };
}

t.test("flips wake the streams whose viewers may see the repository", async (t) => {
  const clock = new TestClock(t);
  const { watchers, channels, ended, connect, flip } = leafNode();
  const flips = new NodeFlips(connect);
  const woken = [0, 0];
  const ends = [anonymous, operatorViewer].map((viewer, i) => {
    const wake = () => woken[i]++;
    return flips.watch(writeViewer(viewer), wake, wake);
  });
  await clock.advance(pauseMs);
  t.same(woken, [1, 1], "when it begins to listen, it may have flipped before");
  t.equal(channels.length, 1, "one channel for all");
  flip(secret);
  await clock.advance(pauseMs);
  t.same(woken, [1, 2]);
  for (let i = 0; i < 5; i++) flip(open);
  await clock.advance(pauseMs);
  t.same(woken, [2, 3], "those of a moment are told together");
  ends[1]?.();
  flip(open);
  await clock.advance(pauseMs);
  t.same([woken, watchers.size], [[3, 3], 1]);
  ends[0]?.();
  ends[0]?.();
  await clock.advance(pauseMs);
  t.same([watchers.size, ended], [0, ["wait", "end"]], "nobody waits any more");
  flips.watch(
    writeViewer(anonymous),
    () => t.fail("nothing has flipped"),
    () => woken[0]++,
  );
  await clock.advance(pauseMs);
  t.same([woken[0], channels.length], [4, 2]);
  flips.close();
});

t.test("a node that was away is asked again, and wakes all", async (t) => {
  const clock = new TestClock(t);
  const { channels, connect, flip } = leafNode();
  let isAway = false;
  const flips = new NodeFlips((receiver) => {
    const channel = connect(receiver);
    if (isAway) channels.at(-1)?.close();
    return channel;
  });
  let woken = 0;
  const wake = () => woken++;
  flips.watch(writeViewer(anonymous), wake, wake);
  await clock.advance(pauseMs);
  isAway = true;
  channels[0]?.close();
  await clock.advance(5 * pauseMs);
  t.equal(woken, 1);
  const attempts = channels.length;
  t.ok(attempts > 3 && attempts < 12, `${attempts} attempts`);
  isAway = false;
  await clock.advance(pauseMs);
  t.equal(woken, 2);
  flip(open);
  await clock.advance(pauseMs);
  t.equal(woken, 3);
  flips.close();
  channels.at(-1)?.close();
  await clock.advance(pauseMs);
  t.equal(channels.length, attempts + 1, "nobody waits");
});

t.test("what no node says ends the channel", async (t) => {
  const clock = new TestClock(t);
  for (const messages of [
    [
      { kind: "watch", number: 1 },
      { kind: "watch", number: 1 },
    ],
    [{ kind: "watch", number: 1 }, { kind: "compare" }],
    [
      { kind: "watch", number: 1 },
      { kind: "credit", bytes: 1 },
    ],
    [{ kind: "compare" }, { kind: "watch", number: 1 }],
    Array.from({ length: watchersMax + 1 }, (_, number) => ({ kind: "watch", number })),
    [{ kind: "watch", number: -1 }],
  ]) {
    const { connect, watchers } = leafNode();
    let isClosed = false;
    const channel = connect({ frame: () => undefined, closed: () => (isClosed = true) });
    for (const message of messages) channel.send(message, serialize(anonymous));
    await clock.advance(pauseMs);
    t.same([isClosed, watchers.size], [true, 0], JSON.stringify(messages.slice(0, 2)));
  }
  const said = channelPair();
  const flips = new NodeFlips((receiver) => new FrameChannel(said[0], receiver));
  let woken = 0;
  const wake = () => woken++;
  flips.watch(writeViewer(anonymous), wake, wake);
  const leaf = new FrameChannel(said[1], { frame: () => undefined, closed: () => undefined });
  leaf.send({ kind: "flipped", numbers: [0, 7] });
  await clock.advance(0);
  t.equal(woken, 1, "who is not there is not woken");
  leaf.send({ kind: "restarted" });
  await clock.advance(0);
  t.equal(leaf.isClosed, true);
  flips.close();
});

t.test(
  "a node to which nothing can be opened is asked again, and a viewer that cannot be told is refused before",
  async (t) => {
    const clock = new TestClock(t);
    const { connect, flip } = leafNode();
    let attempts = 0;
    const flips = new NodeFlips((receiver) => {
      if (++attempts < 3) throw new Error("no channel");
      return connect(receiver);
    });
    let woken = 0;
    const wake = () => woken++;
    const end = flips.watch(writeViewer(anonymous), wake, wake);
    t.equal(attempts, 1, "and nothing is thrown");
    await clock.advance(3 * pauseMs);
    t.same([attempts, woken], [3, 1]);
    flip(open);
    await clock.advance(pauseMs);
    t.equal(woken, 2);
    end();
    const readerNames = Array.from({ length: 100_001 }, (_, i) => `${i}`);
    t.throws(() => writeViewer({ ...anonymous, readerNames }), { code: "bad-request" });
    const long = Array.from({ length: 5_000 }, () => "x".repeat(4_000));
    t.throws(() => writeViewer({ ...anonymous, readerNames: long }), { code: "content-too-large" });
    t.same(readViewer(writeViewer({ ...operatorViewer, credential: undefined })).name, operatorViewer.name);
  },
);

t.test("nodes come and go while a stream waits", async (t) => {
  const clock = new TestClock(t);
  const [first, second] = [leafNode(), leafNode()];
  const flips = new FleetFlips();
  const listening: boolean[] = [];
  let woken = 0;
  const watch = (): (() => void) =>
    flips.watch(
      anonymous,
      () => woken++,
      (areAll) => listening.push(areAll),
    );
  const end = watch();
  t.same(listening, [true], "there is nobody else");
  flips.add("a", first.connect);
  await clock.advance(pauseMs);
  t.equal(woken, 1, "it may have flipped before");
  flips.add("b", second.connect);
  await clock.advance(pauseMs);
  const endOther = watch();
  await clock.advance(pauseMs);
  t.same([listening, woken], [[true, false, true], 2]);
  for (const { flip } of [first, second]) flip(open);
  await clock.advance(pauseMs);
  t.equal(woken, 6, "both streams hear of both nodes");
  endOther();
  flips.remove("a");
  await clock.advance(pauseMs);
  t.same([first.watchers.size, second.watchers.size], [0, 1]);
  second.flip(open);
  await clock.advance(pauseMs);
  t.equal(woken, 7);
  flips.add("a", first.connect);
  await clock.advance(pauseMs);
  t.same([woken, first.watchers.size], [8, 1], "it is back");
  end();
  await clock.advance(pauseMs);
  t.same([first.watchers.size, second.watchers.size], [0, 0]);
  watch();
  flips.close();
  await clock.advance(pauseMs);
  t.same([first.watchers.size, second.watchers.size, clock.timerCount], [0, 0, 0]);
});
