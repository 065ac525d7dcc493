/** Tables of the results of jobs: what is converted, kept and removed. The conversion is the real one. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import t, { type Test } from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { JobExports } from "../../../src/jobs/job-exports.js";
import { type JobRecord, newJob } from "../../../src/jobs/job-record.js";
import type { ReadPool } from "../../../src/pool/read-pool.js";
import { stopWhenSet } from "../../../src/base/stop-signal.js";
import type { ConvertResults, TableFormat } from "../../../src/protocol/read-messages.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { answerConvertResults } from "../../../src/worker/read/convert-results.js";
import { parseCsv } from "../../support/csv.js";
import { realDirectory } from "../../support/fault-layer.js";

function site(t: Test, bytesMax = 1 << 30) {
  const folder = realDirectory(t);
  const requests: ConvertResults[] = [];
  let before: () => Promise<void> = () => Promise.resolve();
  const run = async (request: ConvertResults, { stop }: { readonly stop: Int32Array }) => {
    requests.push(request);
    await before();
    return await answerConvertResults(request, { stop: stopWhenSet(stop) } as unknown as ReadContext);
  };
  const exports = new JobExports({
    folder: join(folder, "exports"),
    reads: { run } as unknown as Pick<ReadPool, "run">,
    bytesMax,
    baseUrl: () => "http://trawl",
  });
  const source = (id: number): string => join(folder, `${id}.jsonl`);
  /** The job after it has found these paths, too. */
  const grow = (job: JobRecord, ...paths: string[]): JobRecord => {
    const lines = paths.map((path) => `${JSON.stringify({ type: "path", repository: "r", path })}\n`).join("");
    appendFileSync(source(job.id), lines);
    return { ...job, resultBytes: job.resultBytes + Buffer.byteLength(lines) };
  };
  const readBytes = async (job: JobRecord, format: TableFormat): Promise<Buffer> => {
    const request = { client: "c", isOpen: () => true, onClosed: () => undefined };
    const { file, byteCount } = await exports.open(job, source(job.id), format, request);
    const bytes = Buffer.alloc(byteCount);
    await file.read(bytes, 0, byteCount, 0);
    await file.close();
    return bytes;
  };
  const read = async (job: JobRecord): Promise<string> => (await readBytes(job, "csv")).toString();
  const setBefore = (act: () => Promise<void>): void => {
    before = act;
  };
  return { folder: join(folder, "exports"), requests, exports, source, grow, read, readBytes, setBefore };
}

const job = (id: number): JobRecord => ({ ...newJob(id, "q", 1), startedAt: "2026-01-01T00:00:00.000Z" });
const pathsOf = (text: string): (string | undefined)[] => parseCsv(text).map(({ path }) => path);

t.test("what a job commits later is appended, and a run of its own begins anew", async (t) => {
  const { folder, requests, exports, grow, read, source } = site(t);
  mkdirSync(folder);
  writeFileSync(join(folder, "1-1.csv"), "left of a crash");
  await exports.start();
  t.same(readdirSync(folder), []);
  t.same(pathsOf(await read(job(1))), [], "a job without results has a header");
  const small = grow(job(1), "a", "b");
  const first = await read(small);
  t.same(pathsOf(first), ["a", "b"]);
  const large = grow(small, "c");
  const [second, same] = await Promise.all([read(large), read(large)]);
  t.equal(second.slice(0, first.length), first);
  t.same(pathsOf(second), ["a", "b", "c"]);
  t.equal(same, second);
  t.equal(requests.length, 3, "two requests share a conversion, and each result is converted once");
  t.equal(requests[2]?.from, small.resultBytes);

  writeFileSync(source(1), "");
  const again = grow({ ...job(1), startedAt: "2026-01-02T00:00:00.000Z" }, "d");
  t.same(pathsOf(await read(again)), ["d"]);
  await exports.remove(1);
  t.same(readdirSync(folder), []);
});

t.test("a Parquet file has all parts, and is made again when the job has more", async (t) => {
  const { folder, requests, exports, grow, readBytes } = site(t);
  await exports.start();
  const pathsIn = async (bytes: Buffer) =>
    (await parquetReadObjects({ file: new Uint8Array(bytes).buffer })).map(({ path }) => path as string);
  t.same(await pathsIn(await readBytes(job(1), "parquet")), []);
  // Each part has at most 8 MiB of JSON lines.
  const paths = Array.from({ length: 2100 }, (_, i) => `${i}${"x".repeat(10_000)}\0=é`);
  const small = grow(job(1), ...paths);
  const bytes = await readBytes(small, "parquet");
  t.same(await pathsIn(bytes), paths);
  t.equal(requests.length, 2 + 3 + 1, "three parts and the end");
  t.equal((await parquetMetadataAsync(new Uint8Array(bytes).buffer)).row_groups.length, 3);
  const large = grow(small, "last");
  const [again] = await Promise.all([readBytes(large, "parquet"), readBytes(large, "parquet")]);
  t.same(await pathsIn(again), [...paths, "last"]);
  t.equal(requests.length, 2 + 3 + 1 + 3 + 1);
  await readBytes(large, "parquet");
  t.equal(requests.length, 2 + 3 + 1 + 3 + 1, "it is kept");
  await exports.remove(1);
  t.same(readdirSync(folder), []);
});

t.test("a conversion that nobody waits for stops, and is continued", async (t) => {
  const { requests, exports, grow, setBefore, source, read } = site(t);
  await exports.start();
  const given = grow(job(1), "a");
  let close: () => void = () => undefined;
  setBefore(() => Promise.resolve(close()));
  let isOpen = true;
  const request = {
    client: "c",
    isOpen: () => isOpen,
    onClosed: (callback: () => void) => {
      close = () => {
        isOpen = false;
        callback();
      };
    },
  };
  await t.rejects(exports.open(given, source(1), "csv", request), { code: "cancelled" });
  setBefore(() => Promise.resolve());
  t.same(pathsOf(await read(given)), ["a"]);
  t.equal(requests.length, 2);

  setBefore(() => Promise.reject(new TrawlError("overloaded", "too many reads")));
  await t.rejects(read(grow(given, "b")), { code: "overloaded" }, "other errors are not retried");
});

t.test("tables have a limit in bytes, and those not read for the longest time give way", async (t) => {
  const header = 300;
  const { folder, exports, grow, read } = site(t, 2 * header + 2000);
  await exports.start();
  const jobs = [1, 2, 3].map((id) => grow(job(id), "x".repeat(500)));
  for (const one of jobs) await read(one);
  t.same(readdirSync(folder).length, 1, "a part may become large, so that there is room for it");
  t.ok(existsSync(join(folder, "3-3.csv")));
  await t.rejects(read(grow(job(4), "y".repeat(3000))), { code: "storage", message: /jobs\.exportBytes/ });
  t.same(pathsOf(await read(grow(job(5), "z"))), ["z"], "what did not fit takes no room");
});
