import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 as nodeCrc32 } from "node:zlib";
import t from "tap";
import { collectGarbage } from "../../../src/base/garbage.js";
import { ShardStore } from "../../../src/store/shard-store.js";
import { addonIfBuilt } from "../../../src/native/kernel/addon.js";
import { crc32, populate, releaseMemory } from "../../../src/native/memory/memory.js";
import { randomFrom } from "../../support/random.js";

const skip = addonIfBuilt() === undefined ? "the addon is not built" : false;

t.test("the checksum equals zlib's for any length and alignment", { skip }, (t) => {
  const random = randomFrom(20261123);
  const bytes = Buffer.from(Uint8Array.from({ length: 70_000 }, () => random(256)));
  const lengths = [0, 1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 255, 4095, 4096, 65_536];
  for (const length of lengths) {
    for (let from = 0; from < 20; from++) {
      const part = bytes.subarray(from, from + length);
      if (crc32(part) !== nodeCrc32(part)) t.fail(`${length} bytes from ${from}`);
    }
  }
  t.equal(crc32(Buffer.from("123456789")), 0xcbf43926, "the check value of CRC-32/ISO-HDLC");
  t.end();
});

t.test("populated memory keeps its contents", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-memory-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const value = Buffer.alloc(3_000_000, "mapped ");
  const store = new ShardStore(join(folder, "shards"));
  await store.put([{ id: 1, bytes: value }]);
  const snapshot = store.read();
  const mapped = snapshot.get(1) ?? Buffer.alloc(0);
  populate(mapped);
  t.ok(value.equals(mapped));
  for (const [from, to] of [
    [0, 0],
    [1, 2],
    [4_095, 4_097],
    [2_999_999, 3_000_000],
  ] as const)
    populate(mapped.subarray(from, to));
  t.ok(value.equals(mapped), "parts of pages");
  snapshot.close();
  await store.close();
});

// qemu does not say how much memory a process has.
const skipResident = process.memoryUsage().rss === 0 ? "the resident memory is unknown" : skip;

t.test("memory that was freed is given back to the system", { skip: skipResident }, async (t) => {
  // Smaller than what the allocator maps by itself; what is kept lies between what is freed.
  const kept: Uint8Array[] = [];
  let freed: Uint8Array[] = [];
  for (let i = 0; i < 1_000; i++) {
    freed.push(new Uint8Array(100_000).fill(1));
    kept.push(new Uint8Array(5_000).fill(1));
  }
  const before = process.memoryUsage().rss;
  freed = [];
  // V8 frees the buffers in another thread, which may get no processor before the collection has ended.
  let bytes = 0;
  for (let tries = 0; tries < 100 && bytes <= 40_000_000; tries++) {
    collectGarbage();
    await nextTurn();
    releaseMemory();
    bytes = before - process.memoryUsage().rss;
  }
  t.ok(bytes > 40_000_000, `${bytes} bytes`);
  t.ok(kept.every((one) => one[4_999] === 1));
  t.same(freed, []);
});

t.test("arguments that are not byte arrays are rejected", { skip }, (t) => {
  for (const value of [undefined, "text", 1, new Uint32Array(4), new ArrayBuffer(8)]) {
    t.throws(() => crc32(value as never), TypeError);
    t.throws(() => populate(value as never), TypeError);
  }
  t.end();
});
