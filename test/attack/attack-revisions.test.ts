/**
 * Revisions that a client makes up, on a live daemon: whichever way they come, git is not started for what is no
 * revision, and what is one costs no more than it may. And remotes that mean harm: nobody waits for them, and they are
 * left in bounded time.
 */
import { request } from "node:http";
import t, { type Test } from "tap";
import { repeatedBounds, startingBounds, underAttack } from "../support/attack.js";
import { dataDirectory, testDaemon, textsOnly, type DaemonProcess } from "../support/daemon.js";
import { chosen, isFull } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { gitLog } from "../support/git-log.js";
import { ask } from "../support/graphql.js";
import { hostileUrl, sshToAny, type Harm } from "../support/hostile-remote.js";
import { ProcessorWatch } from "../support/processor-time.js";
import { until } from "../support/waiting.js";

/**
 * Ordinary requests are answered in this time, excluding the time for which threads wait for a processor. It is less than
 * a fetch that hangs takes (5 s).
 */
const atOnceMs = 4_500;

function source(t: Test): GitFixture {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.txt": "needle\n" } });
  fixture.commit({
    branch: "main",
    files: { "a.txt": "needle\n", "b.txt": "b\n" },
    message: `${"b".repeat(100_000)}\n`,
  });
  fixture.annotatedTag("v1", fixture.git("rev-parse", "main"));
  return fixture;
}

/** The path goes out as it is. Status 0 is no answer at all, as for a head that is longer than the server reads. */
function get({ url }: DaemonProcess, path: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer
        .on("data", (part: Buffer) => parts.push(part))
        .once("close", () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
    });
    sent.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" || error.code === "EPIPE" ? resolve({ status: 0, text: "" }) : reject(error),
    );
    sent.end();
  });
}

const fields = [
  "commit(rev: $x) { oid }",
  'comparison(base: $x, head: "main") { commits(first: 1) { totalCount } }',
  'comparison(base: "main", head: $x) { fileDiffs { totalCount } }',
  "contributors(first: 1, revisionRange: $x) { totalCount }",
  'commit(rev: "main") { behindAhead(revspec: $x) { ahead } }',
  'commit(rev: "main") { diff(base: $x) { fileDiffs { totalCount } } }',
  'commit(rev: $x) { blob(path: "a.txt") { blame(startLine: 1, endLine: 1) { startLine } } }',
];

/** Each field once, all in one request. */
const document = `query ($x: String!) { repository(name: "r") { ${fields.map((field, at) => `f${at}: ${field}`).join("\n")} } }`;

const pagesOf = (revision: string): readonly string[] => [
  `/r@${revision}/-/raw/a.txt`,
  `/r@${revision}/-/raw/?format=zip`,
  `/r@${revision}/-/blob/a.txt`,
  `/r@${revision}/-/commits`,
  `/r@${revision}/-/stats`,
  `/r@${revision}`,
  `/r/-/commit/${revision}`,
  `/r/-/compare/${revision}...main`,
  `/r/-/compare/main...${revision}`,
  `/.api/blame/r@${revision}/-/stream/a.txt`,
];

/** git finds nothing in them that it could be told. */
const editors = (revision: string): readonly string[] => [
  `/-/editor?remote_url=https://x/r&file=a.txt&revision=${revision}`,
  `/-/editor?search=needle&search_remote_url=https://x/r&search_revision=${revision}`,
];

interface GraphqlAnswer {
  readonly data?: { readonly repository?: { readonly f0: unknown } | null } | null;
  readonly errors?: readonly { readonly message: string }[];
}

/** Longer ones do not fit into a head, or into a query. One head is sent all the same. */
const pathLengthMax = 4_000;
const queryLengthMax = 20_000;

async function tryEverywhere(
  t: Test,
  daemon: DaemonProcess,
  revision: string,
  expected: "refused" | "whatever",
): Promise<void> {
  const answer = (await ask(daemon.url, document, { x: revision })) as GraphqlAnswer;
  const inPath = encodeURIComponent(revision);
  const isLong = inPath.length > pathLengthMax;
  const pages = await Promise.all(
    pagesOf(inPath)
      .slice(0, isLong ? 1 : Infinity)
      .map((path) => get(daemon, path)),
  );
  await Promise.all((isLong ? [] : editors(inPath)).map((path) => get(daemon, path)));
  // In a query a colon stands between revisions.
  const queries =
    revision.length > queryLengthMax || revision.includes(":")
      ? []
      : [
          `repo:^r$@${revision} needle`,
          `repo:^r$ rev:${revision} needle`,
          `repo:^r$ rev:${JSON.stringify(revision)} needle`,
          `repo:^r$ rev:at.time(2020-01-01, ${revision}) needle`,
        ];
  const searches = await Promise.all(queries.map((query) => daemon.search(`${query} timeout:5s`, "standard")));
  if (expected === "whatever") return;
  t.equal(answer.data?.repository?.f0 ?? null, null);
  t.ok(
    answer.errors?.every(({ message }) => message.includes("a revision is a branch, a tag")),
    JSON.stringify(answer).slice(0, 300),
  );
  for (const { status, text } of isLong ? [] : pages)
    if (status !== 400 && status !== 404) t.fail(`${status} ${text.slice(0, 200)}`);
  for (const { found } of searches) t.same(found, []);
}

const nested = "(((b{1,255}){1,255}){1,255})";

/** What git would take for more than a name. */
const refused: readonly string[] = [
  `HEAD^{/${nested}}`,
  `main^{/${nested}}`,
  `:/${nested}`,
  ":/!-x",
  "HEAD^{/a",
  `HEAD${"^{commit}".repeat(100)}`,
  "HEAD^{commit^{commit}}",
  "@{u}",
  "main@{upstream}",
  "@{-1}",
  "main@{1}",
  "main@{999999999 days ago}",
  "HEAD~999999999",
  "HEAD^999999999999999999999",
  `HEAD${"~1".repeat(1_000)}`,
  "--all",
  "--output=/tmp/owned",
  "-n1",
  "main:a.txt",
  ":0:a.txt",
  "main^!",
  "main^@",
  "HEAD\0",
  "a\nb",
  "\u007f",
  "*".repeat(2_000),
  "[a",
  "a".repeat(3_000),
  "^main",
];

const usualRefused = chosen(
  refused,
  `HEAD^{/${nested}}`,
  ":/!-x",
  "@{u}",
  "main@{999999999 days ago}",
  "HEAD~999999999",
  "--output=/tmp/owned",
  "main:a.txt",
  "main^!",
  "HEAD\0",
  "*".repeat(2_000),
  "a".repeat(3_000),
  "^main",
);

/** Too long for some of the ways. */
const long: readonly string[] = chosen(
  ["a", "^", "~1", "@{", "^{/", "^{commit}", ":/(", "/", "\0", "é", "-"],
  "^",
  "@{",
  "^{commit}",
  "é",
).map((piece) => `HEAD${piece.repeat(Math.floor((500 << 10) / JSON.stringify(piece).length))}`);

/** git is asked for these, and may take its time. */
const accepted: readonly string[] = [
  "HEAD~999999",
  `HEAD${"~1".repeat(64)}`,
  `HEAD${"^0".repeat(64)}`,
  `v1${"^{}".repeat(64)}`,
  "0000",
  "a".repeat(40),
  `refs/${"a/".repeat(500)}b`,
];

const usualAccepted = chosen(accepted, "HEAD~999999", `v1${"^{}".repeat(64)}`, "0000", `refs/${"a/".repeat(500)}b`);

async function ordinaryReads(t: Test, daemon: DaemonProcess): Promise<void> {
  const watch = new ProcessorWatch(daemon.pid);
  watch.start();
  t.equal((await daemon.get("/r@v1/-/raw/a.txt")).text, "needle\n");
  t.match(await ask(daemon.url, '{ repository(name: "r") { commit(rev: "v1~1") { oid } } }'), {
    data: { repository: { commit: { oid: /^[0-9a-f]{40}$/ } } },
  });
  t.same((await daemon.search("repo:^r$@v1 needle")).found, ["r:a.txt:1"]);
  const { wallMs, waitedMs } = watch.since();
  if (isFull)
    t.ok(
      wallMs - waitedMs < atOnceMs,
      `ordinary reads took ${wallMs.toFixed(0)} ms, of which ${waitedMs.toFixed(0)} waiting`,
    );
}

t.test("revisions", async (t) => {
  const log = gitLog(t);
  const daemon = await testDaemon(
    t,
    [...textsOnly, "--set", "sync.intervalSeconds=3600"],
    dataDirectory(t),
    log.variables,
  );
  await daemon.add("r", source(t).path);
  await ordinaryReads(t, daemon);
  // What a new mirror still has to do is done by then.
  await until("the mirror is looked after", () =>
    daemon.list().then((list) => list.every(({ activity }) => activity === "")),
  );

  await t.test("git is not started for what is none", async (t) => {
    const before = log.commands().length;
    for (const revision of usualRefused)
      await underAttack(t, daemon, repeatedBounds, JSON.stringify(revision.slice(0, 60)), () =>
        tryEverywhere(t, daemon, revision, "refused"),
      );
    for (const revision of long)
      await underAttack(t, daemon, repeatedBounds, `${revision.length} characters ${revision.slice(0, 12)}`, () =>
        tryEverywhere(t, daemon, revision, "refused"),
      );
    await underAttack(t, daemon, repeatedBounds, "all at once", () =>
      Promise.all(
        [...usualRefused.slice(0, isFull ? 12 : 4), ...long.slice(0, isFull ? 4 : 1)].map((revision) =>
          tryEverywhere(t, daemon, revision, "refused"),
        ),
      ),
    );
    t.equal(log.commands().length, before, log.commands().slice(-10).join("\n"));
    await ordinaryReads(t, daemon);
  });

  await t.test("what is one has its limits", async (t) => {
    for (const revision of isFull ? usualAccepted : [])
      await underAttack(t, daemon, repeatedBounds, revision.slice(0, 60), () =>
        tryEverywhere(t, daemon, revision, "whatever"),
      );
    await underAttack(t, daemon, repeatedBounds, "four at once", () =>
      Promise.all(usualAccepted.map((revision) => tryEverywhere(t, daemon, revision, "whatever"))),
    );
    await ordinaryReads(t, daemon);
  });

  await t.test("ranges have two of them", async (t) => {
    for (const range of [
      `main..HEAD^{/${nested}}`,
      `:/${nested}...main`,
      "main..--all",
      ".".repeat(900 << 10),
      "main..@{u}",
    ]) {
      const query =
        'query ($x: String!) { repository(name: "r") { contributors(first: 1, revisionRange: $x) { totalCount } } }';
      const answer = (await underAttack(t, daemon, repeatedBounds, range.slice(0, 40), () =>
        ask(daemon.url, query, { x: range }),
      )) as GraphqlAnswer;
      t.match(answer.errors?.[0]?.message, /a revision is a branch, a tag/, range.slice(0, 40));
    }
  });
});

const fetchBytesMax = (isFull ? 64 : 16) << 20;

t.test("remotes", async (t) => {
  const bounds = [
    "--set",
    `sync.timeoutSeconds=${isFull ? 5 : 600}`,
    "--set",
    `git.maxFetchBytes=${fetchBytesMax}`,
    "--set",
    `git.maxMemoryBytes=${1 << 28}`,
  ];
  const daemon = await testDaemon(t, [
    ...textsOnly,
    ...bounds,
    "--set",
    `git.sshCommand=${JSON.stringify(sshToAny(t))}`,
    "--set",
    "index.workers=1",
  ]);
  const harms: readonly (readonly [harm: Harm, message: RegExp])[] = [
    // Otherwise it is removed while it is silent, however long the others take.
    ["silence", isFull ? /made no progress/ : /./],
    ["an endless pack", new RegExp(`received more than ${fetchBytesMax} bytes`)],
  ];
  await daemon.add("r", source(t).path);
  await ordinaryReads(t, daemon);
  // The ssh of each harm runs in Node, and counts as a child of the daemon.
  const grownBytesMax = startingBounds.grownBytesMax + harms.length * (64 << 20);
  await underAttack(t, daemon, { ...startingBounds, grownBytesMax }, "remotes", async () => {
    const fetches = harms.map(async ([harm, message]) => {
      const error: unknown = await daemon.add(harm.replaceAll(" ", "-"), hostileUrl(harm)).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      t.match(error, { message }, harm);
    });
    await until("they are fetched", async () => (await daemon.list()).length === 1 + harms.length);
    await daemon.add("other", source(t).path);
    const states = (await daemon.list()).map(({ name, state }) => `${name} ${state}`);
    t.ok(states.includes("silence pending"), `it was indexed meanwhile: ${states.join(", ")}`);
    await ordinaryReads(t, daemon);
    if (!isFull) await daemon.remove("silence");
    await Promise.all(fetches);
  });
  await ordinaryReads(t, daemon);
});
