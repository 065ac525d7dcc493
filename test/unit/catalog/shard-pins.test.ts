/** A shard that a flip removed is freed when the last view of a generation with it is released, and not before. */
import t from "tap";
import { ShardPins } from "../../../src/catalog/live-shards.js";

t.test("without views, removed shards are freed immediately", async (t) => {
  const pins = new ShardPins();
  t.same(pins.advance([1, 2]), [1, 2]);
  t.same(pins.advance([]), []);
  const view = pins.pin();
  t.same(pins.unpin(view), []);
  t.same(pins.advance([3]), [3]);
});

t.test("releasing the last view of an earlier generation frees them", async (t) => {
  const pins = new ShardPins();
  const [first, second] = [pins.pin(), pins.pin()];
  t.same(pins.advance([1]), []);
  const later = pins.pin();
  t.same(pins.advance([2]), []);
  const latest = pins.pin();
  t.same(pins.advance([3]), []);
  t.same(pins.unpin(first), []);
  t.same(pins.unpin(later), [], "views of before hold what it held as well");
  t.same(pins.unpin(second), [1, 2]);
  t.same(pins.unpin(latest), [3]);
  t.throws(() => pins.unpin(latest), "each view is released once");
});
