/**
 * A power loss while the catalog is written: the page that names the newest transaction came to the disk, and the pages
 * that it names did not. What was synced before is all there, and is what the next start has.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { inspectStore } from "../../../src/store/inspect-store.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { dataDirectory } from "../../support/daemon.js";

const pageBytes = 4096;
const bootFile = "/proc/sys/kernel/random/boot_id";

/**
 * The file after a power loss: of what the second state has beyond the first only the two pages are on the disk that
 * name transactions, without the last write to the first one, which says what was synced. It is of another boot of the
 * system.
 */
function torn(before: Buffer, after: Buffer): Buffer {
  const bytes = Buffer.alloc(after.length);
  before.copy(bytes);
  after.copy(bytes, 0, 0, pageBytes / 2);
  after.copy(bytes, pageBytes, pageBytes, 2 * pageBytes);
  const boot = Buffer.alloc(8);
  boot.writeBigInt64LE(BigInt(`0x${readFileSync(bootFile, "utf8").split("-")[0]!}`));
  for (let at = bytes.indexOf(boot); at >= 0 && at < 2 * pageBytes; at = bytes.indexOf(boot, at + 1)) bytes[at]! ^= 1;
  return bytes;
}

t.test(
  "what was synced is read",
  { skip: existsSync(bootFile) ? false : "the system has no id of its boot" },
  async (t) => {
    const folder = join(dataDirectory(t), "catalog");
    const file = join(folder, "data.mdb");
    const store = new RecordStore(folder);
    const change = (count: number) =>
      store.apply(
        Array.from({ length: 100 }, (_, i) => ({ key: `user/${i}`, value: Buffer.from(JSON.stringify({ i, count })) })),
      );
    // Both of LMDB's first pages are of transactions with records.
    for (let count = 0; count < 3; count++) await change(count);
    const before = readFileSync(file);
    await change(3);
    const after = readFileSync(file);
    await store.close();
    writeFileSync(file, torn(before, after));
    t.match(await inspectStore("records", folder, "rewrite"), { kind: "whole", count: 100, unwritten: undefined });
    const next = new RecordStore(folder);
    t.teardown(() => next.close());
    t.same(JSON.parse(String(next.get("user/7"))), { i: 7, count: 2 });
  },
);
