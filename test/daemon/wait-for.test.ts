/** `wait_for`: a search covers a commit that was just pushed, or says why it does not. */
import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/sse-decoder.js";
import type { StreamError, StreamMatch } from "../../src/model/stream-events.js";
import { parseStreamParams } from "../../src/http/stream/stream-params.js";
import { runCommand, testDaemon, type DaemonProcess } from "../support/daemon.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { until } from "../support/waiting.js";

interface Found {
  readonly paths: readonly string[];
  readonly error: string;
}

async function search(daemon: DaemonProcess, query: string, waitFor: string): Promise<Found> {
  const parameters = new URLSearchParams({ q: query, t: "keyword", wait_for: waitFor });
  const { text } = await daemon.get(`/.api/search/stream?${parameters}`);
  const events = [...new SseDecoder().push(Buffer.from(text))];
  t.equal(events.at(-1)?.name, "done", "the stream is complete");
  const matches = events.flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : []));
  const errors = events.flatMap(({ name, data }) =>
    name === "error" ? [(JSON.parse(data) as StreamError).message] : [],
  );
  return { paths: matches.map(({ path }) => path ?? ""), error: errors.join() };
}

const push = (source: GitFixture, name: string, branch = "main"): string =>
  source.commit({ branch, files: { [name]: `the word in ${name}\n` } });

/** Scheduled fetches are far away. */
const rarely = ["--set", "sync.intervalSeconds=3600"];

async function startWith(test: Test, source: GitFixture): Promise<DaemonProcess> {
  const daemon = await testDaemon(test, rarely);
  await daemon.add("host/code", source.path);
  return daemon;
}

t.test("a search waits for a commit", async (t) => {
  const source = fixture(t);
  const first = push(source, "first");
  const daemon = await startWith(t, source);
  t.same(await search(daemon, "word", `host/code@${first}`), { paths: ["first"], error: "" }, "it is there already");

  const second = push(source, "second");
  const found = await search(daemon, "word", `host/code@${second}`);
  t.same([...found.paths].sort(), ["first", "second"], "the commit is fetched, indexed and found");
  t.equal(found.error, "");
  t.equal((await search(daemon, "word", `host/code@${first}`)).error, "", "a later commit covers earlier ones");

  const third = push(source, "third");
  const many = await Promise.all(Array.from({ length: 20 }, () => search(daemon, "word", `host/code@${third}`)));
  t.ok(
    many.every(({ paths, error }) => paths.length === 3 && error === ""),
    "many clients wait for the same commit",
  );

  const fourth = push(source, "fourth");
  const shown = await runCommand("search", "--wait-for", `host/code@${fourth}`, "--endpoint", daemon.url, "word");
  t.match(shown.out, /fourth/, shown.err);

  const fifth = push(source, "fifth");
  const synced = await runCommand("repo", "sync", "host/code", "--wait", fifth, "--data", daemon.data);
  t.match(synced.out, /host\/code/, synced.err);
  t.match(await search(daemon, "fifth", ""), { paths: ["fifth"] }, "a sync waits for a commit as well");

  const aside = push(source, "aside", "side");
  for (const [commit, reason] of [
    [aside, /no indexed branch of host\/code contains commit [0-9a-f]{40} after a fetch; indexed: main at/],
    [aside.slice(1), /its full id/],
  ] as const) {
    const refused = await runCommand("repo", "sync", "host/code", "--wait", commit, "--data", daemon.data);
    t.match(refused.err, reason);
    t.not(refused.exitCode, 0);
  }
  t.match(
    (await search(daemon, "word", `host/code@${aside}`)).error,
    /^wait_for: no indexed branch of host\/code contains commit [0-9a-f]{40} after a fetch; indexed: main at/,
  );
  const unknown = "1".repeat(40);
  t.match(await search(daemon, "word", `host/code@${unknown}`), { paths: [], error: /no indexed branch/ });
  t.match((await search(daemon, "word", `host/none@${unknown}`)).error, /there is no repository "host\/none"/);

  source.git("update-ref", "-d", "refs/heads/main");
  const left = new AbortController();
  const parameters = new URLSearchParams({ q: "word", wait_for: `host/code@${unknown}` });
  const leaving = fetch(`${daemon.url}/.api/search/stream?${parameters}`, { signal: left.signal }).catch(
    () => undefined,
  );
  left.abort();
  await leaving;
  await until("no stream is open", async () => (await daemon.metric("trawl_streams_open")) === 0);
});

t.test("a repository that cannot be fetched", async (t) => {
  const source = fixture(t);
  push(source, "first");
  const daemon = await startWith(t, source);
  const next = push(source, "second");
  source.git("config", "core.repositoryformatversion", "99");
  t.match(await search(daemon, "word", `host/code@${next}`), {
    paths: [],
    error: /^wait_for: host\/code could not be fetched for commit/,
  });
});

t.test("values of wait_for", async (t) => {
  const parse = (value: string) => parseStreamParams(new URLSearchParams({ q: "x", wait_for: value }).toString());
  const oid = "0123456789abcdef0123456789abcdef01234567";
  t.match(parse(`a/b@${oid.toUpperCase()}`), { waitFor: { repository: "a/b", oid } });
  t.match(parse(`a@${oid}${oid.slice(0, 24)}`), { waitFor: { repository: "a" } });
  t.notOk("waitFor" in parse(""));
  for (const bad of ["a", "@", `@${oid}`, "a@main", `a@${oid.slice(1)}`, `a@${oid}0`, `${oid}`])
    t.match(parse(bad), { kind: "bad", message: /^wait_for must be REPOSITORY@COMMIT with the full id/ }, bad);
});
