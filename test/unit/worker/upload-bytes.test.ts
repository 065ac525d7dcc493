/** The bytes of an upload: what its files are, and that none of them stays open. */
import { mkdtempSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t from "tap";
import { splitIndex } from "../../../src/scip/scip-stream.js";
import { uploadBytes } from "../../../src/worker/ingest/precise-task.js";
import { removeFolder } from "../../support/remove-folder.js";

const folder = mkdtempSync(join(tmpdir(), "trawl-"));
t.teardown(() => removeFolder(folder));

function store(...parts: readonly Uint8Array[]): string[] {
  return parts.map((part, i) => {
    const path = join(folder, `part-${i}`);
    writeFileSync(path, part);
    return path;
  });
}

const nothing = (): void => undefined;

/** The files of the folder that this process has open. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}

const large = Buffer.alloc(1 << 20, "no index, and more than is read at once\n");

t.test("no file stays open, whatever is wrong with the upload", { skip: process.platform !== "linux" }, async (t) => {
  const read = async (bytes: Uint8Array, bytesMax = Infinity): Promise<void> => {
    for await (const message of splitIndex(uploadBytes(store(bytes, bytes), bytesMax, nothing), 100)) void message;
  };
  // Random bytes, so that gzip has more than one chunk of them.
  const noise = Buffer.from(Array.from(large, (_, i) => (i * 2654435761) >>> 13));
  await t.rejects(read(large), /no SCIP index/);
  await t.rejects(read(gzipSync(large)), /no SCIP index/);
  await t.rejects(read(gzipSync(noise)), /SCIP index/);
  await t.rejects(read(large, 10), /more than 10 bytes/);
  await t.rejects(read(gzipSync(noise), 10), /more than 10 bytes/);
  await t.rejects(read(Buffer.concat([Buffer.from("{"), large])), /LSIF/);
  await t.rejects(read(Buffer.concat([gzipSync(large).subarray(0, 200), large])), /not valid gzip|SCIP index/);
  t.same(openFiles(), []);
});

t.test("gzip is recognized wherever the parts of an upload end", async (t) => {
  const zipped = gzipSync("an index");
  const whole = async (...parts: readonly Uint8Array[]): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of uploadBytes(store(...parts), 100, nothing)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  for (let at = 0; at <= zipped.length; at++)
    t.equal(await whole(zipped.subarray(0, at), zipped.subarray(at)), "an index");
  t.equal(await whole(Buffer.from("a"), Buffer.from("b")), "ab");
  t.equal(await whole(Buffer.from("a")), "a");
  t.equal(await whole(), "");
});
