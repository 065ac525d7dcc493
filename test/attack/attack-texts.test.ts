/** Hostile texts against a live daemon: in requests, and in the files of a repository. */
import { request } from "node:http";
import t, { type Test } from "tap";
import { acceptedFormat } from "../../src/http/routes/conditional.js";
import { repeatedBounds, startingBounds, underAttack } from "../support/attack.js";
import { preparedAhead, testDaemon, type DaemonProcess } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { until } from "../support/waiting.js";

/** The bytes go out as they are; 0 is no answer at all. */
function statusOf(
  daemon: DaemonProcess,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${daemon.url}${path}`, { headers, agent: false }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" || error.code === "EPIPE" ? resolve(0) : reject(error),
    );
    sent.end();
  });
}

const stream = (query: string): string => `/.api/search/stream?q=${encodeURIComponent(query)}`;
const blanks = " ".repeat(16_000);

/** What they are answered does not matter, as long as they are. */
const requests: readonly (readonly [name: string, path: string, headers?: Readonly<Record<string, string>>])[] = [
  ["50,000 digits as a timeout", stream(`timeout:${"1".repeat(50_000)}`)],
  ["50,000 digits and dots", stream(`timeout:${"1.".repeat(25_000)}x`)],
  ["a clone URL of dots and slashes", `/-/editor?remote_url=${"/.".repeat(6_000)}&file=a`],
  ["a clone URL of dots", `/-/editor?remote_url=${"a.".repeat(6_000)}&file=a`],
  ["a clone URL of slashes", `/-/editor?remote_url=https://a/${"/".repeat(12_000)}b&file=a`],
  ["Authorization with blanks", "/.api/search/stream?q=a", { Authorization: `token k=${blanks.slice(0, 15_900)}"` }],
  ["Authorization with quotes", "/.api/search/stream?q=a", { Authorization: `token k="${'\\"'.repeat(7_900)}` }],
  ["a glob of open brackets", stream(`repo:^r$ rev:*${"[".repeat(16_000)} a`)],
  ["a shorter glob of open brackets", stream(`repo:^r$ rev:*${"[a".repeat(500)} a`)],
  ["a description of open brackets", stream(`repo:has.description(${"[".repeat(16_000)})`)],
  ["a date of blanks", stream(`repo:has.commit.after(last friday ${" ".repeat(16_000)}x)`)],
  ["a path of slashes", `/${"/".repeat(15_000)}x`],
  ["Accept: constructor", "/r/-/raw/a.txt", { Accept: "constructor" }],
  [
    "Accept-Encoding with a long q",
    "/.api/search/stream?q=a",
    { "Accept-Encoding": `gzip;q=0.${"0".repeat(15_000)}1` },
  ],
];

const inGraphql: readonly (readonly [name: string, query: string, variables: Readonly<Record<string, unknown>>])[] = [
  [
    "a range of dots",
    'query ($x: String!) { repository(name: "r") { contributors(first: 1, revisionRange: $x) { totalCount } } }',
    { x: ".\n".repeat(10_000) + ".".repeat(20_000) },
  ],
  [
    "a revision of carets",
    'query ($x: String!) { repository(name: "r") { commit(rev: $x) { oid } } }',
    { x: "^".repeat(500_000) },
  ],
  ["a clone URL", "query ($x: String!) { repository(cloneURL: $x) { name } }", { x: `${"a.".repeat(200_000)}` }],
  [
    "a language of underscores",
    'query ($x: String!) { highlightCode(code: "a", fuzzyLanguage: $x, disableTimeout: false) }',
    { x: "_".repeat(500_000) },
  ],
  [
    "a language named constructor",
    'query ($x: String!) { highlightCode(code: "a", fuzzyLanguage: $x, disableTimeout: false) }',
    { x: "constructor" },
  ],
];

/** A daemon with a repository `r`, whose threads all run. */
async function warmDaemon(): Promise<DaemonProcess> {
  const daemon = await testDaemon(t, preparedAhead);
  await addRepository(t, daemon, "r", { "a.txt": "a\n" });
  await daemon.search("a");
  await ask(
    daemon.url,
    '{ repository(name: "r") { commit(rev: "HEAD") { blob(path: "a.txt") { highlight(disableTimeout: false) { aborted } } } } }',
  );
  return daemon;
}

async function addRepository(
  t: Test,
  daemon: DaemonProcess,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files });
  await daemon.add(name, fixture.path);
}

const daemon = await warmDaemon();

t.test("requests", async (t) => {
  for (const [name, path, headers] of requests) {
    const status = await underAttack(t, daemon, repeatedBounds, name, () => statusOf(daemon, path, headers));
    // 505 is what uWebSockets.js says of a request line that is too long and came in pieces.
    t.ok(status < 500 || status === 505, `${name}: ${status}`);
  }
  for (const [name, query, variables] of inGraphql)
    await underAttack(t, daemon, repeatedBounds, name, () => ask(daemon.url, query, variables));
});

t.test("names that every object has", async (t) => {
  const highlight = 'query ($x: String!) { highlightCode(code: "a", fuzzyLanguage: $x, disableTimeout: false) }';
  for (const name of Object.getOwnPropertyNames(Object.prototype)) {
    t.equal(await statusOf(daemon, `/r/-/${name}`), 404, name);
    t.equal(await statusOf(daemon, `/${name}`), 404, name);
    t.equal(acceptedFormat(name), "text", name);
    t.match(await ask(daemon.url, highlight, { x: name }), { data: { highlightCode: /a/ } }, name);
  }
});

/** Files that were slow to read, or could be. */
const hostileFiles = {
  "underscores.inc": "_".repeat(70),
  "long-underscores.inc": `${"_".repeat(4_000)}\n`,
  "blanks.ls": `package${" \n".repeat(2_000)}`,
  "colons.pl": `a(${"(".repeat(4_000)}`,
  "mode.unknown": `${"-*- ; ".repeat(700)}`,
  "vim.unknown": `${" vim: ".repeat(170)}`,
  "word.d": "a:".repeat(2_000),
  "brackets.m": "a[".repeat(2_000),
  ".gitmodules": `${"\n".repeat(100_000)}[submodule "a"]\n${" ".repeat(100_000)}path = ${"a ".repeat(100_000)}\n${"url = ".repeat(50_000)}`,
  CODEOWNERS: `${"*".repeat(50_000)}b @a\n${"/a".repeat(50_000)} @b\n${"**/".repeat(20_000)}x @c\n*.txt @docs\n`,
  ".gitattributes": `${"*".repeat(50_000)} text\n${"[".repeat(50_000)} -text\n${"a".repeat(50_000)} linguist-language=${"_".repeat(50_000)}\n`,
  "plain.txt": "an ordinary needle\n",
} as const;

t.test("a hostile repository", async (t) => {
  await underAttack(t, daemon, startingBounds, "indexing", async () => {
    await addRepository(t, daemon, "hostile", hostileFiles);
    await until(
      "the hostile repository is indexed",
      async () => (await daemon.list()).every(({ state }) => state === "searchable"),
      20_000,
    );
  });
  const { found, ...rest } = await daemon.search("ordinary needle");
  t.same(found, ["hostile:plain.txt:1"], JSON.stringify(rest).slice(0, 1_000));
  const owned = await underAttack(t, daemon, repeatedBounds, "owners", () =>
    daemon.search("file:has.owner(docs) needle"),
  );
  t.same(owned.found, ["hostile:plain.txt:1"]);
  const files = Object.keys(hostileFiles).map(
    (path, at) =>
      `f${at}: blob(path: ${JSON.stringify(path)}) { byteSize highlight(disableTimeout: false) { aborted } }`,
  );
  const query = `{ repository(name: "hostile") { commit(rev: "HEAD") { tree { entries { path submodule { url } } } languageStatistics { name } ${files.join("\n")} } } }`;
  const answer = await underAttack(t, daemon, repeatedBounds, "files", () => ask(daemon.url, query));
  t.match(answer, { data: { repository: { commit: { f0: { byteSize: 70 } } } } });
  t.equal((await daemon.get("/hostile/-/raw/plain.txt")).text, hostileFiles["plain.txt"]);
});
