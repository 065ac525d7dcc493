/** Lists of match objects become lines, with both kernels. */
import t from "tap";
import { LineSplitter } from "../../../src/jobs/line-splitter.js";
import { loadKernel } from "../../../src/native/kernel/load.js";

const trap = JSON.stringify('},{"type":"content"}');
const objects = (count: number): string[] =>
  Array.from(
    { length: count },
    (_, i) => `{"type":"${i % 2 ? "path" : "content"}","text":${trap},"ranges":[{"a":1},{"b":2}]}`,
  );

for (const kind of ["native", "ts"] as const) {
  const splitter = new LineSplitter(loadKernel(kind));
  for (const count of [1, 2, 3, 2048, 2049, 10_000])
    t.test(`${kind}: ${count} objects`, async (t) => {
      const all = objects(count);
      const before = Buffer.from(`#${all.join(",")}#`);
      const bytes = before.subarray(1, -1);
      splitter.split(bytes);
      t.equal(before.toString(), `#${all.join("\n")}#`);
    });
}
