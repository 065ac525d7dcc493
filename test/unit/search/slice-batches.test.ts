/** Batches of slices: which are awaited, and those that are held until it is known whether they are wanted. */
import t from "tap";
import type { BatchMessage } from "../../../src/protocol/messages.js";
import { emptyTally } from "../../../src/protocol/result-batch.js";
import { SliceBatches } from "../../../src/search/slices/search-slices.js";

function makeBatches() {
  const passed: number[] = [];
  const dropped: number[] = [];
  const released: number[] = [];
  const batches = new SliceBatches(
    ({ bytes }) => passed.push(bytes.length),
    (byteCount) => dropped.push(byteCount),
  );
  /** A batch of this many bytes, which is what the lists name it by. */
  const receive = (slice: number, byteCount: number): void =>
    batches.receive(
      { slice, batch: { bytes: Buffer.alloc(byteCount), tally: emptyTally() } } as unknown as BatchMessage,
      () => released.push(byteCount),
    );
  return { batches, passed, dropped, released, receive };
}

t.test("batches that arrive before and after the result of their slice", async (t) => {
  const { batches, passed, receive } = makeBatches();
  receive(0, 1);
  t.notOk(batches.isComplete, "the slice has not reported yet");
  batches.expect(0, 2);
  t.notOk(batches.isComplete);
  receive(0, 2);
  t.ok(batches.isComplete);
  receive(1, 3);
  batches.lose(1);
  t.ok(batches.isComplete, "those of a crashed worker are not awaited");
  receive(1, 4);
  t.ok(batches.isComplete);
  t.same(passed, [1, 2, 3, 4]);
});

t.test("batches that are held and then wanted", async (t) => {
  const { batches, passed, dropped, receive } = makeBatches();
  batches.hold(5);
  receive(5, 1);
  receive(4, 2);
  t.same(passed, [2], "those of other slices are passed on");
  batches.takeHeld();
  t.same(passed, [2, 1]);
  receive(5, 3);
  t.same(passed, [2, 1, 3]);
  batches.expect(4, 1);
  batches.expect(5, 2);
  t.ok(batches.isComplete);
  t.same(dropped, []);
});

t.test("batches that are held and then dropped", async (t) => {
  const { batches, passed, dropped, released, receive } = makeBatches();
  batches.hold(5);
  receive(5, 1);
  t.same(released, []);
  batches.dropHeld();
  receive(5, 2);
  receive(6, 3);
  batches.expect(6, 1);
  t.same(passed, [3]);
  t.same(dropped, [1, 2], "their credit can be returned, even of those that arrive later");
  t.same(released, [1, 2]);
  t.ok(batches.isComplete, "they are not awaited");
});
