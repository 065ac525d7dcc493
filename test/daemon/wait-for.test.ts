/** `wait_for`: a search covers a commit that was just pushed, or says why it does not. */
import t, { type Test } from "tap";
import { CommitFetches } from "../../src/browse/commit-fetches.js";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { StreamError, StreamMatch } from "../../src/model/stream-events.js";
import { parseStreamParams } from "../../src/http/stream/stream-params.js";
import { runCommand, testDaemon, textsOnly, type DaemonProcess } from "../support/daemon.js";
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
const rarely = [...textsOnly, "--set", "sync.intervalSeconds=3600"];

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
  const notCovered = (commit: string): Found => ({
    paths: [],
    error: `wait_for: commit ${commit} of host/code is not covered`,
  });
  const syncCount = (): Promise<number> => daemon.metric("trawl_syncs_total");
  const before = await syncCount();
  t.same(
    await search(daemon, "word", `host/code@${aside}`),
    notCovered(aside),
    "a commit of a branch that is not indexed",
  );
  t.equal(await syncCount(), before + 1, "for which the repository was fetched");
  const unknown = "1".repeat(40);
  const guesses = Array.from({ length: 12 }, (_, i) =>
    i % 3 === 0 ? unknown : i.toString(16).repeat(40).slice(0, 40),
  );
  const answers = await Promise.all(guesses.map((guess) => search(daemon, "word", `host/code@${guess}`)));
  t.same(answers, guesses.map(notCovered), "guesses learn nothing else");
  t.equal(await syncCount(), before + 1, "and cause no fetch within the interval");
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
  t.same(
    await search(daemon, "word", `host/code@${next}`),
    { paths: [], error: `wait_for: commit ${next} of host/code is not covered` },
    "neither the address of the remote nor what git says",
  );
  const told = await runCommand("repo", "sync", "host/code", "--wait", next, "--data", daemon.data);
  t.match(told.err, /host\/code could not be fetched for commit .*: cannot read \//, "the operator is told");
});

t.test("those who wait for a commit share fetches", async (t) => {
  const fetches: ((error?: Error) => void)[] = [];
  const bringing = (intervalMs: number): CommitFetches =>
    new CommitFetches(
      () => new Promise<void>((resolve, reject) => fetches.push((error) => (error ? reject(error) : resolve()))),
      intervalMs,
    );
  const [yes, no] = [async () => true, async () => false];
  const repository = { id: 1, name: "r" };
  const far = bringing(3_600_000);
  const first = far.bring(repository, no, () => true, 1000);
  const second = far.bring(repository, no, () => true, 1000);
  fetches[0]?.(new Error("no such host"));
  await Promise.all([first, second]);
  await far.bring(repository, no, () => true, 1000);
  t.equal(fetches.length, 1, "a fetch that fails counts as well");
  const other = far.bring({ id: 2, name: "s" }, no, () => true, 1000);
  t.equal(fetches.length, 2, "each repository for itself");
  fetches[1]?.();
  await other;

  const useful = bringing(3_600_000);
  for (let i = 2; i < 5; i++) {
    const brought = useful.bring(repository, yes, () => true, 1000);
    t.equal(fetches.length, i + 1, "a fetch that brought what it was for does not count");
    fetches[i]?.();
    await brought;
  }

  const near = bringing(20);
  const began = near.bring(repository, no, () => true, 60_000);
  fetches[5]?.();
  await began;
  const late = near.bring(repository, yes, () => true, 60_000);
  await until("the interval has passed", async () => fetches.length === 7);
  fetches[6]?.();
  await late;
  const gone = near.bring(repository, yes, () => false, 60_000);
  await gone;
  t.equal(fetches.length, 7, "nothing is fetched for a client that has left");
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
