/** The package trawl-client with a running daemon, and as a program uses it that has installed it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { type Match, type SearchEvent, TrawlClient } from "../../clients/trawl-client/src/index.js";
import { fixture } from "../support/git-mirror.js";
import { removeFolder } from "../support/remove-folder.js";
import { sharedDaemon } from "../support/shared-daemon.js";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const fileCount = 60;

const source = fixture(t);
source.commit({
  branch: "main",
  files: Object.fromEntries(Array.from({ length: fileCount }, (_, i) => [`f${i}.txt`, `needle ${i}\n`.repeat(200)])),
});
const daemon = await sharedDaemon(t);
await daemon.add("client/one", source.path);
await daemon.control("POST", "/.api/users", { name: "ann" });
const token = await daemon.addToken("ann");
const client = new TrawlClient({ url: daemon.url, token });

const pathIn = (match: Match): string => ("path" in match ? match.path : "");

t.test("search, with a receipt and what changed since", async (t) => {
  const { matches, progress, receipt, alert } = await client.searchAll("needle type:file count:all", { receipt: true });
  t.equal(matches.length, fileCount);
  t.equal(progress?.matchCount, fileCount * 200);
  t.match([receipt?.complete, alert], [true, undefined]);
  const content = matches.find((match) => match.type === "content");
  t.equal(content?.lineMatches?.length, 200);
  const items = [];
  for await (const { repository } of client.receiptItems(receipt!, "repositories")) items.push(repository);
  t.same(items, ["client/one"]);

  const changes: string[] = [];
  const watching = new AbortController();
  const watch = client.watch("needle", { since: receipt, signal: watching.signal });
  const first = await watch.next();
  t.equal(first.value?.kind, "progress", "nothing has changed yet");
  source.commit({ branch: "main", files: { "new.txt": "a needle\n" } });
  await daemon.sync("client/one");
  for await (const event of watch) {
    if (event.kind !== "changes") continue;
    changes.push(...event.changes.map(({ change, path }) => `${change} ${path}`));
    break;
  }
  t.same(changes, ["came new.txt"]);
  const stream = client.changes("needle", { since: receipt! });
  const kinds: string[] = [];
  for await (const event of stream) kinds.push(event.kind);
  // A search that takes long tells its progress before it has found something.
  t.same([kinds.filter((kind) => kind !== "progress"), kinds.at(-1)], [["changes"], "progress"]);
  t.not(stream.receipt?.generation, receipt?.generation);
});

t.test("a stream that is left goes on in another one", async (t) => {
  const query = "needle type:file count:all";
  const options = { contextLines: 0, resume: true };
  const first = client.search(query, options);
  const found: string[] = [];
  const note = (event: SearchEvent): void => {
    if (event.kind === "matches") found.push(...event.matches.map(pathIn));
  };
  for await (const event of first) {
    note(event);
    if (event.kind === "matches") break;
  }
  t.notOk(first.hasEnded);
  const rest = client.search(query, { ...options, lastEventId: first.lastEventId });
  for await (const event of rest) note(event);
  t.ok(rest.hasEnded);
  t.equal(found.length, new Set(found).size, "each once");
  t.equal(found.length, fileCount + 1);
  await t.rejects(client.searchAll("other", { ...options, lastEventId: first.lastEventId }), {
    status: 400,
    code: "bad-request",
  });
});

t.test("search jobs", async (t) => {
  const job = await client.jobs.create("needle type:file");
  t.match(await client.jobs.wait(job), { state: "STATE_COMPLETED" });
  const found: string[] = [];
  for await (const match of client.jobs.results(job)) found.push(pathIn(match));
  t.equal(found.length, fileCount + 1);
  t.match(await (await client.jobs.file(job, "csv")).text(), /^kind,repository,/);
  const names: string[] = [];
  for await (const { name } of client.jobs.list()) names.push(name);
  t.ok(names.includes(job.name));
  await client.jobs.delete(job);
  await t.rejects(client.jobs.get(job), { status: 404, code: "not-found" });
});

t.test("refusals have codes", async (t) => {
  const wrong = new TrawlClient({ url: daemon.url, token: "wrong" });
  await t.rejects(wrong.searchAll("needle"), {
    status: 401,
    code: "unauthenticated",
    message: "Invalid access token.",
  });
  await t.rejects(new TrawlClient({ url: daemon.url }).jobs.create("needle"), { code: "unauthenticated" });
  await t.rejects(client.searchAll("needle", { parameters: { display: "x" } }), { code: "stream-failed" });
});

t.test("the package, installed in an empty folder", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-"));
  t.teardown(() => removeFolder(folder));
  const pack = join(checkout, "clients/trawl-client");
  execFileSync("npm", ["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: pack, stdio: "pipe" });
  const [file = ""] = readdirSync(folder);
  const installed = join(folder, "node_modules/trawl-client");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["xzf", file, "-C", installed, "--strip-components=1"], { cwd: folder });
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" }).sort();
  for (const name of ["LICENSE", "README.md", "package.json", "dist/index.js", "dist/index.d.ts"])
    t.ok(files.includes(name), name);
  t.same(
    files.filter((name) => !/^(dist|dist\/[a-z-]+\.(js|d\.ts)|LICENSE|README\.md|package\.json)$/.test(name)),
    [],
  );
  const program = `import { TrawlClient } from "trawl-client";
    const client = new TrawlClient({ url: ${JSON.stringify(daemon.url)} });
    const { matches } = await client.searchAll("needle type:file count:all");
    process.stdout.write(String(matches.length));`;
  writeFileSync(join(folder, "program.mjs"), program);
  t.equal(execFileSync(process.execPath, ["program.mjs"], { cwd: folder, encoding: "utf8" }), String(fileCount + 1));
});
