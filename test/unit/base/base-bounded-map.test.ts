import t from "tap";
import { BoundedMap } from "../../../src/base/bounded-map.js";

t.test("a bounded map", async (t) => {
  const map = new BoundedMap<string, string>(10, (value) => value.length);
  map.set("a", "1234");
  map.set("b", "1234");
  t.equal(map.get("a"), "1234");
  map.set("c", "1234");
  t.strictSame(
    [map.get("a"), map.get("b"), map.get("c")],
    ["1234", undefined, "1234"],
    "what was longest not asked for goes",
  );
  map.set("d", "x".repeat(11));
  t.equal(map.get("d"), undefined, "what is too heavy is not kept");
  t.equal(map.size, 2);
  map.set("a", "12345678");
  t.strictSame([map.get("a"), map.get("c")], ["12345678", undefined], "a heavier value drives others out");
});
