/** Search jobs: results exactly once, whatever happens while they run. */
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import t, { type Test } from "tap";
import { globalId } from "../../src/browse/ids.js";
import { parseCsv } from "../support/csv.js";
import { dataDirectory, type DaemonProcess, runCommand, testDaemon, textsOnly } from "../support/daemon.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { chosen, isFull } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { JobClient } from "../support/search-job.js";
import { shared } from "../support/shared.js";
import { until } from "../support/waiting.js";

t.setTimeout(900_000);

const repositoryCount = 5;
const fileCount = 10;

/** What a daemon with the repositories and the users has left when it was killed. */
const indexed = dataDirectory(t);

t.before(async () => {
  const source = fixture(t);
  source.commit({
    branch: "main",
    files: Object.fromEntries(
      Array.from({ length: fileCount }, (_, i) => [`f${i}.txt`, `needle ${i} },{"type":"needle\nother\n`.repeat(20)]),
    ),
  });
  const data = dataDirectory(t);
  const daemon = await testDaemon(t, textsOnly, data);
  for (let i = 0; i < repositoryCount; i++) await daemon.add(`repo${i}`, source.path);
  for (const name of ["ann", "bob"]) await daemon.addUser(name);
  daemon.signal("SIGSTOP");
  cpSync(data, indexed, { recursive: true, filter: (path) => !path.endsWith(".sock") });
  daemon.signal("SIGCONT");
  plainSite = await siteOn(daemon, () => testDaemon(t, textsOnly, data));
});

/** The users of a daemon, which `start` starts again. */
async function siteOn(first: DaemonProcess, start: () => Promise<DaemonProcess>) {
  let daemon = first;
  const ann = new JobClient(() => daemon, await daemon.addToken("ann"));
  const bob = new JobClient(() => daemon, await daemon.addToken("bob"));
  const restart = async (): Promise<void> => {
    daemon = await start();
  };
  return { daemon: () => daemon, restart, ann, bob, data: first.data };
}

/** The daemon of the tests that need no other options. The last of them kills it, and removes a repository. */
let plainSite: Awaited<ReturnType<typeof siteOn>>;

/** That of the tests of full disks and limits: the results of one job have a little more than 0.3 MB. */
const limitedSite = shared(async () => {
  const data = realDirectory(t);
  cpSync(indexed, data, { recursive: true });
  mkdirSync(join(data, "jobs"), { recursive: true });
  const layer = layerMissing === false ? new FaultLayer(t, join(data, "jobs"), { journals: false }) : undefined;
  // No job here asks for symbols or histories.
  const args = [...textsOnly, "--set", "jobs.totalBytes=475000"];
  const start = (): Promise<DaemonProcess> => testDaemon(t, args, data, layer?.environment);
  return { ...(await siteOn(await start(), start)), layer };
});

/** The number of the job with these results, as it is in the paths of its files. */
const numberIn = (url: string | null | undefined): string => /(\d+)\.jsonl$/.exec(url ?? "")?.[1] ?? "";

/** The matches of JSON lines: repository, path and offset, sorted. */
function matchesIn(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const match = JSON.parse(line) as {
        repository: string;
        path: string;
        chunkMatches: { ranges: { start: { offset: number } }[] }[];
      };
      return match.chunkMatches.flatMap(({ ranges }) =>
        ranges.map(({ start }) => `${match.repository} ${match.path} ${start.offset}`),
      );
    })
    .sort();
}

t.test("a job that meets a full disk says so, and goes on when there is room", { skip: layerMissing }, async (t) => {
  const { ann, layer } = await limitedSite();
  if (layer === undefined) return;
  // Its files are opened and cut to their size, and then written: the first batches succeed.
  layer.failAt(12, "ENOSPC");
  const id = await ann.create("needle");
  await until("the job is interrupted", async () => (await ann.job(id))?.state === "ERRORED");
  const interrupted = await ann.job(id);
  t.match(interrupted, { state: "ERRORED", message: /ENOSPC/, URL: null });
  const committed = matchesIn(await (await ann.get("/.api/search/export/1.jsonl")).text());
  t.equal(committed.length, (interrupted?.repoStats.completed ?? 0) * fileCount * 40, "what is committed can be read");
  const full = await ann.get("/.api/search/export/1.csv");
  t.match(`${full.status} ${await full.text()}`, /^507 the converted results could not be written: .*ENOSPC/);
  layer.heal();
  const job = await ann.ended(id);
  t.match(job, { state: "COMPLETED", message: null });
  const matches = matchesIn(await (await ann.get(job.URL ?? "")).text());
  t.equal(matches.length, repositoryCount * fileCount * 40);
  t.equal(new Set(matches).size, matches.length);
  await ann.delete(id);
});

t.test("all jobs share a limit in bytes; results are not part of a backup", async (t) => {
  const { daemon, ann, data } = await limitedSite();
  const [first, second] = [await ann.create("needle"), await ann.create("needle count:all")];
  t.match(await ann.ended(second), { state: "COMPLETED", message: null });
  t.equal(await ann.job(first), undefined, "the oldest one was removed");
  t.match(await ann.ended(await ann.create("/[a-z]/ count:all")), {
    state: "FAILED",
    message: /all search jobs together would have more than 475000 bytes \(jobs.totalBytes\)/,
  });
  t.equal(await ann.job(second), undefined);
  const kept = await ann.create("needle r:repo1$");
  const file = (await ann.ended(kept)).URL ?? "";

  const backup = join(dataDirectory(t), "backup");
  const target = join(dataDirectory(t), "data");
  t.match(await runCommand("backup", backup, "--data", data), { exitCode: 0 });
  await daemon().kill();
  t.match(await runCommand("restore", backup, "--data", target), { exitCode: 0 });
  const limits = ["--set", "jobs.bytes=100000", "--set", "jobs.exportBytes=2000"];
  const restored = await testDaemon(t, [...textsOnly, ...limits], target);
  const again = new JobClient(() => restored, ann.token);
  t.match(await again.ended(kept), { state: "FAILED", message: /backups do not contain them: retry it/ });
  t.equal(await (await again.get(file)).text(), "");
  await again.graphql("mutation ($id: ID!) { retrySearchJob(id: $id) { state } }", { id: kept });
  const job = await again.ended(kept);
  t.match(job, { state: "COMPLETED", message: null, repoStats: { total: 1, completed: 1 } });
  t.equal(matchesIn(await (await again.get(job.URL ?? "")).text()).length, fileCount * 40);
  await t.test("a job with too many results fails, and is continued by a retry of what failed", (t) => fail(t, again));
});

/** With limits on the results of one job and on the bytes of exports. */
async function fail(t: Test, ann: JobClient): Promise<void> {
  const id = await ann.create("needle");
  const job = await ann.ended(id);
  t.equal(job.state, "FAILED");
  t.ok((await (await ann.get(job.URL ?? "")).text()).length < 100_000, "what is committed is exported");
  const small = await ann.ended(await ann.create("needle r:repo1$ f:f1.txt"));
  t.equal(small.state, "COMPLETED");
  const table = (url: string | null) => (url ?? "").replace(/jsonl$/, "csv");
  const large = await ann.get(table(small.URL));
  t.match(`${large.status} ${await large.text()}`, /^507 there is no room for .*\(jobs\.exportBytes\)\n$/);
  const answer = await ann.graphql("mutation ($id: ID!) { retrySearchJob(id: $id) { state } }", { id });
  t.match(answer.data, { retrySearchJob: { state: "QUEUED" } });
  await ann.graphql("mutation ($id: ID!) { cancelSearchJob(id: $id) { alwaysNil } }", { id });
  t.match((await ann.ended(id)).state, /CANCELED|FAILED/);
}

interface Called {
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

t.test("searchjobs.v1.Service creates, shows, cancels and deletes the same jobs", async (t) => {
  const { daemon, ann, bob } = plainSite;
  const send = async (method: string, body: string, headers: Readonly<Record<string, string>>): Promise<Called> => {
    const url = `${daemon().url}/api/searchjobs.v1.Service/${method}`;
    const response = await fetch(url, { method: "POST", headers, body });
    t.equal(response.headers.get("content-type"), "application/json", method);
    return { status: response.status, answer: (await response.json()) as Called["answer"] };
  };
  const headersOf = (client: JobClient) => ({
    "Content-Type": "application/json",
    Authorization: `token ${client.token}`,
  });
  const call = (client: JobClient, method: string, message: unknown): Promise<Called> =>
    send(method, JSON.stringify(message), headersOf(client));
  const create = (client: JobClient, query: string): Promise<Called> =>
    call(client, "CreateSearchJob", { parent: "users/-", searchJob: { query } });

  const { answer: created } = await create(ann, "needle r:repo1$");
  const { name = "", ...shown } = created as { readonly name?: string };
  t.match(shown, { query: "needle r:repo1$", state: /^STATE_(QUEUED|PROCESSING|COMPLETED)$/, createTime: /Z$/ });
  t.match(name, /^users\/\d+\/searchJobs\/1$/);
  const endOf = async (client: JobClient, job: string): Promise<Called["answer"]> => {
    await until(`${job} has ended`, async () => {
      const { state } = (await call(client, "GetSearchJob", { name: job })).answer;
      return state !== "STATE_QUEUED" && state !== "STATE_PROCESSING";
    });
    return (await call(client, "GetSearchJob", { name: job })).answer;
  };
  const ended = await endOf(ann, name);
  const files = `${daemon().url}/api/users/-/searchJobs/1`;
  t.match(ended, { name, state: "STATE_COMPLETED", startTime: /Z$/ });
  t.match([ended["resultsUrl"], ended["logsUrl"]], [`${files}/results.jsonl`, `${files}/logs.log`]);
  t.equal(matchesIn(await (await ann.get(`${files}/results.jsonl`)).text()).length, fileCount * 40);
  t.match(await (await ann.get(`${files}/logs.log`)).text(), /^Repository,Revision,.*\nrepo1,/);
  t.equal((await ann.job(globalId("SearchJob", 1)))?.state, "COMPLETED", "GraphQL has the same job");

  for (const file of ["results.jsonl", "logs.log"]) t.equal((await bob.get(`${files}/${file}`)).status, 404);
  t.equal((await ann.get(`${files}/results.log`)).status, 400);
  const wrongUser = name.replace(/users\/\d+/, "users/999");
  for (const method of ["GetSearchJob", "CancelSearchJob", "DeleteSearchJob"]) {
    for (const [client, job] of [
      [bob, name],
      [bob, "users/-/searchJobs/1"],
      [ann, "users/-/searchJobs/99"],
      [ann, wrongUser],
    ] as const)
      t.match(await call(client, method, { name: job }), { status: 404, answer: { code: "not_found" } });
    for (const job of [
      undefined,
      1,
      "",
      "1",
      "users/x/searchJobs/1",
      "users/-/searchJobs/1/2",
      `users/-/searchJobs/${"1".repeat(40)}`,
    ])
      t.match(await call(ann, method, { name: job }), { status: 400, answer: { code: "invalid_argument" } });
  }

  for (const query of ["r:repo2$ needle", "r:repo3$ needle"]) t.equal((await create(ann, query)).status, 200);
  const list = (client: JobClient, message: object): Promise<Called> =>
    call(client, "ListSearchJobs", { parent: "users/-", ...message });
  const numbers = ({ answer }: Called): readonly string[] =>
    (answer["searchJobs"] as { readonly name: string }[]).map((job) => job.name.split("/").at(-1) ?? "");
  t.same(numbers(await list(ann, {})), ["3", "2", "1"], "the newest first");
  const first = await list(ann, { pageSize: 2 });
  t.same(numbers(first), ["3", "2"]);
  t.equal((await create(ann, "needle r:repo4$")).status, 200);
  const rest = await list(ann, { pageSize: 2, pageToken: first.answer["nextPageToken"] });
  t.same([numbers(rest), rest.answer["nextPageToken"]], [["1"], undefined], "a new job does not shift the pages");
  t.same(numbers(await list(bob, {})), []);
  t.same(numbers(await list(bob, { parent: name.split("/").slice(0, 2).join("/") })), [], "jobs of others");
  for (const wrong of [{ pageSize: -1 }, { pageSize: "2" }, { pageToken: "x" }, { filter: "a" }, { parent: "ann" }])
    t.match(await list(ann, wrong), { status: 400, answer: { code: "invalid_argument" } }, JSON.stringify(wrong));

  t.match(await call(ann, "CancelSearchJob", { name }), { status: 200, answer: { name, state: "STATE_COMPLETED" } });
  t.same(await call(ann, "DeleteSearchJob", { name }), { status: 200, answer: {} });
  t.match(await call(ann, "GetSearchJob", { name }), { status: 404 });
  t.equal((await ann.get(`${files}/results.jsonl`)).status, 404);

  const invalid = { status: 400, answer: { code: "invalid_argument" } };
  for (const body of [
    "",
    "x",
    "[]",
    "null",
    "1",
    '{"parent":"users/-"}',
    '{"parent":"users/-","searchJob":[]}',
    '{"searchJob":{"query":"a"}}',
    '{"parent":"users/-","searchJob":{"query":1}}',
  ])
    t.match(await send("CreateSearchJob", body, headersOf(ann)), invalid, body);
  t.match(await create(ann, "r:["), { ...invalid, answer: { message: /missing closing ]/ } });
  t.match(await create(ann, "x".repeat(10_001)), invalid);
  const foreign = { parent: "users/999", searchJob: { query: "a" } };
  t.match(await call(ann, "CreateSearchJob", foreign), { status: 403, answer: { code: "permission_denied" } });
  t.match(await call(ann, "constructor", {}), { status: 501, answer: { code: "unimplemented" } });
  const { Authorization } = headersOf(ann);
  t.match(await send("GetSearchJob", "{}", { Authorization }), { status: 415, answer: { code: "unknown" } });
  const unauthenticated = { status: 401, answer: { code: "unauthenticated" } };
  const json = { "Content-Type": "application/json" };
  t.match(await send("ListSearchJobs", '{"parent":"users/-"}', json), unauthenticated);
  t.match(await send("ListSearchJobs", "{}", { ...json, Authorization: "token x" }), unauthenticated);
  const url = `${daemon().url}/api/searchjobs.v1.Service/ListSearchJobs`;
  t.equal((await fetch(url, { headers: headersOf(ann) })).status, 405);
  const long = await fetch(url, { method: "POST", headers: headersOf(ann), body: "x".repeat(70_000) });
  t.equal(long.status, 413);
});

t.test("the command line creates, reads and removes jobs", async (t) => {
  const { daemon } = plainSite;
  await daemon().addUser("cleo");
  const token = await daemon().addToken("cleo");
  const job = (...args: string[]) => runCommand("job", ...args, "--endpoint", daemon().url, "--token", token);
  const created = await job("create", "needle", "r:repo[12]$", "--wait");
  t.match(created, { exitCode: 0, out: /^\d+\n$/, err: /job \d+: completed, 2 of 2 repositories\n$/ });
  const first = created.out.trim();
  t.match((await job("list")).out, /^\d+ {2}COMPLETED {2}2 of 2 repositories .* cleo {2}needle r:repo\[12\]\$\n$/);
  const [listed] = (await job("list", "--json")).out.trim().split("\n");
  t.match(JSON.parse(listed ?? ""), { number: Number(first), state: "COMPLETED", query: "needle r:repo[12]$" });
  const { id } = JSON.parse((await job("get", first)).out) as { id: string };
  const results = await job("results", id);
  t.equal(matchesIn(results.out).length, 2 * fileCount * 40);
  const table = await job("results", first, "--format", "csv");
  t.equal(
    parseCsv(table.out).reduce((sum, row) => sum + Number(row["match_count"]), 0),
    2 * fileCount * 40,
  );
  const parquet = join(dataDirectory(t), "results.parquet");
  const given = ["results", first, "--format", "parquet", "--endpoint", daemon().url, "--token", token];
  execFileSync("bin/trawl", ["job", ...given], { stdio: ["ignore", openSync(parquet, "w"), "pipe"] });
  const records = await parquetReadObjects({ file: new Uint8Array(readFileSync(parquet)).buffer });
  t.equal(records.length, parseCsv(table.out).length);
  if (isFull)
    t.match(await job("results", first, "--format", "xml"), { exitCode: 2, err: /Allowed are jsonl, csv, parquet/ });
  t.match((await job("logs", first)).out, /^Repository,Revision,.*\nrepo\d,/);
  const restarted = await job("restart", first);
  t.match(restarted, { exitCode: 0, out: /^\d+\n$/ });
  const second = restarted.out.trim();
  t.not(second, first);
  for (const command of ["wait", "retry", "cancel"]) t.match(await job(command, second), { exitCode: 0 }, command);
  t.match(await job("delete", first), { exitCode: 0, err: `job ${first} is deleted\n` });
  t.match(await job("get", first), { exitCode: 2, err: /there is no such search job/ });
  if (!isFull) return;
  t.match(await job("results", first), { exitCode: 2, err: /404: there is no such search job/ });
  t.match(await job("get", "x"), { exitCode: 2, err: /"x" is not the number of a search job/ });
  t.match(await job("create", "r:["), { exitCode: 2 });
});

t.test("results can be read as a table, compressed and in parts", async (t) => {
  const { daemon: running, ann } = plainSite;
  const daemon = running();
  const { token } = ann;
  const source = fixture(t);
  const lines = ['"needle", 1', "=needle()", "+needle", "\tneedle", "needle 😀,\r", "", '"needle'];
  const files = {
    "=a.txt": "needle\n",
    'b "c", d.txt': lines.join("\n\n\n"),
    "invalid.txt": Buffer.from("needle \xff\xfe\n", "latin1"),
    "dense.txt": `${"q;".repeat(90_001)}\n`,
    "dots.txt": `${"z;".repeat(90_000)}\n`,
    "long.txt": `start\n${"x".repeat(1_600_000)} far ${"x".repeat(1_600_000)} far\nfar\n`,
  };
  source.commit({ branch: "main", files, message: "=add needle" });
  await daemon.add("code", source.path);
  const exportCount = (): number => readdirSync(join(daemon.data, "jobs", "exports")).length;
  const exportsBefore = exportCount();
  const ids: string[] = [];
  for (const [query, kind] of [
    ["needle", "content"],
    ["needle type:commit", "commit"],
    ["needle type:diff", "diff"],
    ["code type:repo", "repository"],
  ]) {
    const id = await ann.create(`repo:^code$ ${query}`);
    ids.push(id);
    const job = await ann.ended(id);
    const results = (await (await ann.get(job.URL ?? "")).text()).trim().split("\n");
    const tableUrl = (job.URL ?? "").replace(/jsonl$/, "csv");
    const table = await ann.get(tableUrl, { "Accept-Encoding": "identity" });
    t.equal(table.headers.get("content-type"), "text/csv; charset=utf-8");
    t.equal(table.headers.get("content-encoding"), null);
    const text = await table.text();
    const expected = results.flatMap((line) => textsOf(JSON.parse(line) as StreamMatch));
    const rows = parseCsv(text);
    t.same(
      rows.map((row) => [row["path"], row["text"]].map((value) => value?.replace(/^'/, ""))),
      expected,
    );
    t.ok(rows.every((row) => row["kind"] === kind && row["repository"] === "code" && row["cut"] === "false"));
    const parquetUrl = (job.URL ?? "").replace(/jsonl$/, "parquet");
    const parquet = await ann.get(parquetUrl, { "Accept-Encoding": "gzip" });
    t.equal(parquet.headers.get("content-type"), "application/vnd.apache.parquet");
    t.equal(parquet.headers.get("content-encoding"), null, "it is compressed in itself");
    const records = await parquetReadObjects({ file: await parquet.arrayBuffer() });
    t.same(
      records.map((record) => mapValues(record, (value) => String(value ?? ""))),
      rows.map((row) => mapValues(row, (value) => value.replace(/^'/, ""))),
      "CSV has the same values, and apostrophes before formulas",
    );
    if (!isFull && kind !== "content") continue;
    for (const url of [tableUrl, parquetUrl, job.URL ?? ""]) await readInParts(t, ann, url);
  }
  t.equal(exportCount(), exportsBefore + 8);
  const exported = async (query: string): Promise<{ offsets: number[]; cuts: string[]; log: string }> => {
    const id = await ann.create(`repo:^code$ ${query}`);
    const job = await ann.ended(id);
    const read = async (url: string): Promise<string> => (await ann.get(url)).text();
    const found = (await read(job.URL ?? "")).split("\n").flatMap((line) => (line === "" ? [] : [line]));
    const chunks = found.flatMap((line) => (JSON.parse(line) as StreamMatch).chunkMatches ?? []);
    const rows = parseCsv(await read((job.URL ?? "").replace(/jsonl$/, "csv")));
    const log = await read((job.URL ?? "").replace(/jsonl$/, "log"));
    await ann.delete(id);
    return {
      offsets: chunks.flatMap(({ ranges }) => ranges.map(({ start }) => start.offset)),
      cuts: rows.map((row) => String(row["cut"])),
      log,
    };
  };
  const long = await exported("far");
  t.same(long.offsets, [1_600_007, 3_200_012, 3_200_016], "those of grep -abo");
  t.same(long.cuts, ["true", "true", "false"]);
  t.equal((await exported("z;")).offsets.length, 90_000);
  const dense = await exported("q;");
  t.same(dense.offsets, []);
  t.match(dense.log, /,completed,left out: dense\.txt \(full-line\)\n/);
  await ann.delete(ids[0] ?? "");
  t.equal(exportCount(), exportsBefore + 6);

  await t.rejects(daemon.add("never", join(daemon.data, "nothing")), "it cannot be fetched");
  const run = async (...args: string[]): Promise<string> => {
    const { exitCode, err } = await runCommand(...args, "--endpoint", daemon.url, "--token", token);
    return `${exitCode} ${err}`;
  };
  t.match(await run("search", "needle"), /^0 .*1 missing/, "no search would be complete");
  if (isFull) t.match(await run("search", "needle -repo:other"), /^0 .*1 missing/);
  t.match(await run("search", "absent"), /^1 .*1 missing/);
  t.match(await run("search", "--strict", "needle"), /^5 /);
  const among = "needle repo:^(code|never)$";
  for (const query of chosen(["repo:never needle", among], among))
    t.match(await run("search", query), /^(3|0) .*1 missing/, query);
  for (const query of chosen(["repo:^never$ needle", "repo:ever needle"], "repo:^never$ needle"))
    t.match(await run("search", query), /^3 .*1 missing/, "it is what the query asks for");
  const job = await run("job", "create", "--wait", among);
  t.match(job, /^0 .*completed, 1 of 2 repositories, 1 failed \(1 repository was never fetched\)/s);
  t.match(await run("job", "create", "--wait", "needle repo:never"), /^3 .*failed, 0 of 1 repositories, 1 failed/s);
  for (const name of ["never", "code"]) await daemon.remove(name);
});

/** The path and the text of each row that a match object becomes. */
function textsOf({ path = "", chunkMatches, content = "", description = "" }: StreamMatch): string[][] {
  if (chunkMatches !== undefined) return chunkMatches.map((chunk) => [path, chunk.content]);
  return [[path, content.replace(/^```.*\n|\n```$/g, "") || description]];
}

/** The whole file is the same compressed, and in ranges that continue each other. */
async function readInParts(t: Test, client: JobClient, url: string): Promise<void> {
  const whole = await client.get(url, { "Accept-Encoding": "identity" });
  const bytes = Buffer.from(await whole.arrayBuffer());
  const etag = whole.headers.get("etag") ?? "";
  await readRanges(t, client, url, etag, bytes);
  if (url.endsWith("parquet")) return;
  const compressed = await client.get(url, { "Accept-Encoding": "gzip" });
  t.equal(compressed.headers.get("content-encoding"), "gzip");
  t.equal(compressed.headers.get("accept-ranges"), null);
  t.not(compressed.headers.get("etag"), etag);
  t.same(Buffer.from(await compressed.arrayBuffer()), bytes);
  const gone = await client.get(url, { Range: "bytes=1-", "If-Range": compressed.headers.get("etag") ?? "" });
  t.equal(gone.status, 200, "a compressed file is not continued with a range of the other");
  await gone.arrayBuffer();
}

async function readRanges(t: Test, client: JobClient, url: string, etag: string, bytes: Buffer): Promise<void> {
  const half = bytes.length >> 1;
  const parts = [`bytes=0-${half - 1}`, `bytes=${half}-`].map(async (Range) => {
    const part = await client.get(url, { Range, "If-Range": etag, "Accept-Encoding": "gzip" });
    t.equal(part.status, 206);
    t.equal(part.headers.get("content-encoding"), null, "a range is of the uncompressed file");
    return Buffer.from(await part.arrayBuffer());
  });
  t.same(Buffer.concat(await Promise.all(parts)), bytes);
}

function mapValues<V>(record: Readonly<Record<string, V>>, change: (value: V) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

t.test("a job has all results exactly once, also if the daemon is killed while it runs", async (t) => {
  const { daemon, restart, ann, bob, data } = plainSite;
  const expected = repositoryCount * fileCount * 40;
  const first = await ann.create("needle count:1");
  const job = await ann.ended(first);
  t.match(job, { state: "COMPLETED", creator: { username: "ann" } });
  t.match(job.repoStats, { total: repositoryCount, completed: repositoryCount, failed: 0, inProgress: 0 });
  const response = await ann.get(job.URL ?? "");
  t.equal(response.headers.get("content-type"), "application/jsonl; charset=utf-8");
  const text = await response.text();
  const matches = matchesIn(text);
  t.equal(matches.length, expected, "whatever the count in the query");
  t.equal(new Set(matches).size, expected);
  const log = await (await ann.get(job.logURL ?? "")).text();
  t.equal(log.split("\n").filter((line) => line.includes(",completed,")).length, repositoryCount);

  const part = await ann.get(job.URL ?? "", { Range: "bytes=10-29" });
  t.equal(part.status, 206);
  t.equal(await part.text(), text.slice(10, 30));
  t.equal((await ann.get(job.URL ?? "", { Range: `bytes=${text.length}-` })).status, 416);

  t.equal((await bob.get(job.URL ?? "")).status, 404, "jobs of others do not exist");
  t.equal(await bob.job(first), undefined);
  t.match((await bob.graphql("mutation ($id: ID!) { deleteSearchJob(id: $id) { alwaysNil } }", { id: first })).errors, [
    { message: /no such search job/ },
  ]);
  t.match((await bob.graphql("{ searchJobs(first: 10) { totalCount } }")).data, { searchJobs: { totalCount: 0 } });

  const killed = await ann.create("needle");
  await daemon().kill();
  // As if it had been killed after it had written results that it had not committed.
  const number = String(Number(numberIn(job.URL)) + 1);
  mkdirSync(join(data, "jobs", number), { recursive: true });
  appendFileSync(join(data, "jobs", number, "results.jsonl"), '{"type":"content"');
  await restart();
  const again = await ann.ended(killed);
  t.equal(again.state, "COMPLETED");
  t.equal(numberIn(again.URL), number);
  t.same(matchesIn(await (await ann.get(again.URL ?? "")).text()), matches);
  t.same(matchesIn(await (await ann.get(job.URL ?? "")).text()), matches, "that of before is still there");

  rmSync(join(data, "jobs", number, "results.jsonl"));
  const lost = await ann.get(again.URL ?? "");
  t.match(`${lost.status} ${await lost.text()}`, /^404 the results of search job \d+ are not on the disk: retry it/);

  await ann.graphql("mutation ($id: ID!) { deleteSearchJob(id: $id) { alwaysNil } }", { id: first });
  t.equal((await ann.get(job.URL ?? "")).status, 404, "a deleted job has no export");
  t.equal((await ann.get(`/.api/search/export/${numberIn(job.URL)}.csv`)).status, 404);
  t.equal((await ann.get("/.api/search/export/x.jsonl")).status, 400);
  const unknown = await ann.get(`/.api/search/export/${number}.xlsx`);
  t.match(
    `${unknown.status} ${await unknown.text()}`,
    /^400 the path ends with .* 1\.jsonl, 1\.csv, 1\.parquet or 1\.log\n$/,
  );
  t.equal((await ann.get("/.api/search/export/999.jsonl")).status, 404);
  const invalid = await ann.graphql(`{ validateSearchJob(query: "r:[") { alwaysNil } }`);
  t.ok(invalid.errors, "an invalid query is refused");
  t.match((await ann.graphql('mutation { createSearchJob(query: " ") { id } }')).errors, [
    { message: /needs a query/ },
  ]);

  // What was stored is read with the permissions of now, not of then.
  const kept = await ann.ended(await ann.create("needle"));
  const searched = new URLSearchParams({ q: "needle count:all", receipt: "1", token: ann.token });
  const events = await (await fetch(`${daemon().url}/.api/search/stream?${searched}`)).text();
  const receipt = `${/"url":"([^"]*\/receipt\/[^"]*)"/.exec(events)?.[1]}?list=repositories`;
  const exports = [kept.URL!, kept.logURL!, ...[".csv", ".parquet"].map((end) => kept.URL!.replace(".jsonl", end))];
  const statuses = async (client: JobClient): Promise<number[]> =>
    await Promise.all([...exports, receipt].map(async (path) => (await client.get(path)).status));
  t.same(await statuses(ann), [200, 200, 200, 200, 200]);
  await daemon().control("POST", "/.api/repos/repo3/attributes", { private: true, readers: ["bob"] });
  t.same(await statuses(ann), [410, 410, 410, 410, 404], "a repository of it is closed to its creator");
  t.match(await (await ann.get(kept.URL!)).text(), /no longer visible to you: start the job again/);
  const boss = new JobClient(daemon, await daemon().addToken("admin"));
  t.same((await statuses(boss)).slice(0, 2), [200, 200], "site admins see all repositories");
  const rest = await ann.ended(await ann.create("needle"));
  t.equal(matchesIn(await (await ann.get(rest.URL!)).text()).length, expected - expected / repositoryCount);
  await daemon().control("POST", "/.api/repos/repo3/attributes", { private: false });
  t.same(await statuses(ann), [200, 200, 200, 200, 200], "and open again");
  await daemon().remove("repo3");
  t.equal((await ann.get(kept.URL!)).status, 200, "a removal withdraws no permission");
});
