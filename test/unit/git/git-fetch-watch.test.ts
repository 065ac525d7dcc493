/** Which output counts as progress of a fetch. */
import t from "tap";
import { FetchWatch } from "../../../src/git/run/fetch-watch.js";
import { lackOfRoom } from "../../../src/git/run/disk-room.js";

const stillMs = 300_000;

/** Ten lines at intervals of 60 s; `i` counts from 0. */
function outcome(line: (i: number) => string): "goes on" | "given up" {
  let nowMs = 0;
  const watch = new FetchWatch(stillMs, () => nowMs);
  for (let i = 0; i < 10; i++) {
    watch.note(line(i));
    nowMs += 60_000;
    if (watch.complaint() !== null) return "given up";
  }
  return "goes on";
}

const rows: readonly (readonly [name: string, line: (i: number) => string, expected: ReturnType<typeof outcome>])[] = [
  ["nothing that is progress", () => "remote: still here", "given up"],
  ["the same line again", () => "remote: Counting objects:  10% (1/10)", "given up"],
  ["a count that grows", (i) => `remote: Counting objects:  10% (${i}/1000)`, "goes on"],
  ["a count without a share", (i) => `remote: Enumerating objects: ${i}`, "goes on"],
  ["a count that goes up and down", (i) => `remote: Counting objects: ${i % 2}`, "given up"],
  ["local work", (i) => `Resolving deltas:   3% (${i}/1000)`, "goes on"],
  ["objects without bytes", (i) => `Receiving objects:   1% (${i}/1000)`, "given up"],
  ["60 bytes a minute", (i) => `Receiving objects:   1% (${i}/1000), ${60 * i} bytes | 1 bytes/s`, "given up"],
  ["a mebibyte a minute", (i) => `Receiving objects:   1% (${i}/1000), ${i}.00 MiB | 17.00 KiB/s`, "goes on"],
  ["one large object", (i) => `Receiving objects:   1% (1/1000), ${i}.00 GiB | 17.00 MiB/s`, "goes on"],
  [
    "the remote cannot claim bytes",
    (i) => `remote: Receiving objects:   1% (1/1000), ${i}.00 GiB | 17.00 MiB/s`,
    "given up",
  ],
  ["an overlong phase", (i) => `remote: ${"A".repeat(500)}${"B".repeat(i)}: 1`, "given up"],
];
for (const [name, line, expected] of rows) {
  t.test(name, (t) => {
    t.equal(outcome(line), expected);
    t.end();
  });
}

t.test("phases that the remote invents prolong a fetch only to a limit", (t) => {
  let nowMs = 0;
  const watch = new FetchWatch(stillMs, () => nowMs);
  let steps = 0;
  for (; watch.complaint() === null && steps < 1_000; steps++) {
    watch.note(`remote: Phase ${"x".repeat(steps)}: 1`);
    nowMs += 60_000;
  }
  t.ok(steps < 30, `${steps} minutes`);
  t.end();
});

t.test("the check after the last object prints nothing, and gets more time", (t) => {
  let nowMs = 0;
  const watch = new FetchWatch(stillMs, () => nowMs);
  watch.note("Receiving objects: 100% (10/10), 2.00 KiB | 2.00 KiB/s, done.");
  nowMs = 2 * stillMs;
  t.equal(watch.complaint(), null);
  nowMs = 5 * stillMs;
  t.match(watch.complaint(), /made no progress for 1500 s.*raise sync\.timeoutSeconds/);
  t.end();
});

t.test("free disk space", (t) => {
  t.equal(lackOfRoom("/tmp", 0), null);
  t.match(lackOfRoom("/proc", 2 ** 50), null, "a disk without blocks has nothing to reserve");
  t.end();
});
