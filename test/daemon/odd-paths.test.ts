/** Files whose names are any bytes, from the search to their content, pages, history and archives. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { decodePath, escapeUrlPath, shownPath } from "../../src/base/path-text.js";
import { pathOfMatch, type StreamMatch } from "../../src/model/stream-events.js";
import { newestMirror, runCommand, withSymbols } from "../support/daemon.js";
import { isFull } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { sharedDaemon } from "../support/shared-daemon.js";

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

const names: readonly (string | Uint8Array)[] = [
  "plain.txt",
  "with space .txt",
  "trailing space ",
  " leading space",
  "-dash",
  "--all",
  ":colon",
  ":(glob)*",
  ":/top",
  "star*[a-z]?.txt",
  "question?x=1&y=2.txt",
  "hash#tag.txt",
  "percent%.txt",
  "percent%41%2F.txt",
  "plus+at@semi;comma,.txt",
  "quote\"'`.txt",
  "back\\slash.txt",
  "new\nline.txt",
  "carriage\rreturn.txt",
  "tab\tstop.txt",
  "bell\u0007escape\u001b[31m.txt",
  "html<b>&amp;.txt",
  "ümlaut.txt",
  "u\u0308mlaut.txt",
  "日本語.txt",
  "😀.txt",
  "line\u2028separator.txt",
  "replacement\ufffd.txt",
  ".gitignore",
  ".gitx",
  "git~2",
  "x.git",
  "dir/-/blob/name.txt",
  "-/raw",
  `${"long-".repeat(50)}.txt`,
  `${"deep/".repeat(60)}end`,
  latin1("caf\u00e9.txt"),
  latin1("caf\u00e8.txt"),
  latin1("r\u00e9pertoire/fichier.txt"),
  latin1("r\u00e9pertoire/\u00e9t\u00e9 #1?.txt"),
  Buffer.from([0xe3, 0x81, 0x2e, 0x74]),
  Buffer.from([0xed, 0xb2, 0x80, 0x78]),
  Buffer.from([0xff, 0xfe, 0x2f, 0x80]),
  Buffer.from([0xc3, 0xa9, 0xe9]),
];
const toBytes = (name: string | Uint8Array): Buffer => Buffer.from(name);
const keyOf = (name: string | Uint8Array): string => toBytes(name).toString("latin1");
const repository = "example.org/odd";

const source = GitFixture.create();
t.teardown(() => source.remove());
source.commit({ branch: "main", files: { "first.txt": "nothing\n" } });
const contentOf = (at: number): string => `needle ${at}\nlast\n`;
const oid = source.commit({
  branch: "main",
  message: "odd names\n",
  files: [
    ...names.map((name, at) => [toBytes(name), contentOf(at)] as const),
    [latin1("lien\u00e9"), { symlink: "plain.txt" }],
    [latin1("module\u00e9"), { gitlink: "1".repeat(40) }],
  ],
});
const daemon = await sharedDaemon(t, {}, withSymbols);
/** Histories are read from the mirrors. */
const add = (name: string, url: string): Promise<unknown> =>
  daemon.control("POST", "/.api/repos", { name, url, history: "off" });
await add(repository, source.path);

const matches = (await daemon.stream("needle"))
  .filter(({ name }) => name === "matches")
  .flatMap(({ data }) => JSON.parse(data) as StreamMatch[]);
const lines = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString("latin1");
const fetchBytes = async (path: string, accept = "text/plain"): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${daemon.url}${path}`, { headers: { Accept: accept } });
  return { status: response.status, text: lines(await response.arrayBuffer()) };
};

t.test("each file is found under its own name", async (t) => {
  const found = matches.map((match) => Buffer.from(escapedBytes(pathOfMatch(match))).toString("latin1"));
  t.strictSame(found.sort(), names.map(keyOf).sort());
  for (const { path = "", escapedPath } of matches)
    t.equal(escapedPath !== undefined, !names.includes(path), `the escaped path of ${encodeURIComponent(path)}`);
  const directories = (await daemon.stream("needle select:file.directory"))
    .filter(({ name }) => name === "matches")
    .flatMap(({ data }) => JSON.parse(data) as StreamMatch[]);
  t.ok(directories.some(({ escapedPath }) => escapedPath === "r%E9pertoire/"));
});

t.test("addresses", async (t) => {
  for (const [at, name] of names.entries()) {
    const path = decodePath(toBytes(name));
    const address = escapeUrlPath(path);
    const shown = address;
    const page = (of: string): string => `/${repository}/-/${of}/${address}`;
    t.strictSame(await fetchBytes(page("raw")), { status: 200, text: contentOf(at) }, `raw of ${shown}`);
    // An address is read in the same way for each route.
    if (!isFull && at % 5 !== 0) continue;
    t.strictSame(await fetchBytes(page("blob")), { status: 200, text: contentOf(at) }, `blob of ${shown}`);
    t.equal((await fetchBytes(page("blob"), "text/html")).status, 200, `page of ${shown}`);
    const archive = await fetch(`${daemon.url}${page("raw")}?format=tar`);
    const listed = execFileSync("tar", ["--null", "-xOf", "-"], { input: Buffer.from(await archive.arrayBuffer()) });
    t.equal(listed.toString(), contentOf(at), `archive of ${shown}`);
    // Histories and blame of the others are asked of GraphQL below.
    if (!isFull && at % 10 !== 0) continue;
    t.match((await fetchBytes(page("commits"))).text, /^[0-9a-f]{12} .*odd names\n$/, `history of ${shown}`);
    const blame = (await fetchBytes(`/.api/blame/${repository}/-/stream/${address}`)).text;
    t.match(blame, /event: done/, `blame of ${shown}`);
    const [hunk] = JSON.parse(/^data: (\[[^\n]*)$/m.exec(Buffer.from(blame, "latin1").toString())?.[1] ?? "[]") as [
      { commitID: string; filename: string },
    ];
    t.strictSame([hunk?.commitID, hunk?.filename], [oid, shownPath(path)], `blame of ${shown}`);
  }
  t.equal((await fetchBytes(`/${repository}/-/raw/lien%E9`)).text, "plain.txt");
  t.equal((await fetchBytes(`/${repository}/-/raw/module%E9`)).status, 404);
  t.equal((await fetchBytes(`/${repository}/-/raw/caf%E7.txt`)).status, 404);
  t.equal((await fetchBytes(`/${repository}/-/raw/caf%zz.txt`)).status, 400);
  t.equal((await fetchBytes(`/${repository}/-/raw/r%E9pertoire`)).text, "fichier.txt\n\u00e9t\u00e9 #1?.txt\n");
  t.match((await fetchBytes(`/${repository}/-/raw`)).text, /^new&#10;line\.txt$/m);
  t.match((await fetchBytes(`/${repository}/-/raw?list=files`)).text, /^new&#10;line\.txt$/m);
  t.equal(
    (await fetchBytes(`/${repository}/-/raw/r%E9pertoire?list=files`)).text,
    "r\u00e9pertoire/fichier.txt\nr\u00e9pertoire/\u00e9t\u00e9 #1?.txt\n",
  );
});

t.test("a path as it is shown names the only file that is shown like that", async (t) => {
  const raw = (path: string) => fetchBytes(`/${repository}/-/raw/${encodeURIComponent(path)}`);
  t.equal(
    (await raw("r\ufffdpertoire/fichier.txt")).text,
    contentOf(names.findIndex((n) => keyOf(n).endsWith("ier.txt"))),
  );
  t.equal((await raw("caf\ufffd.txt")).status, 404, "there are two");
  t.equal((await raw("replacement\ufffd.txt")).status, 200);
});

interface File {
  readonly path: string;
  readonly url: string;
  readonly content: string | null;
  readonly byteSize: number | null;
  readonly isSingleChild: boolean | null;
  readonly blame: readonly { readonly rev: string; readonly filename: string }[] | null;
  readonly history: { readonly nodes: readonly { readonly path: string; readonly commit: { readonly oid: string } }[] };
}
const fileFields = `path url content byteSize isSingleChild blame(startLine: 1, endLine: 9) { rev filename }
  history { nodes { path commit { oid } } }`;

t.test("GraphQL", async (t) => {
  const query = `{ search(query: "needle count:all", version: V3) { results { results { ... on FileMatch { file { ${fileFields} } } } } } }`;
  const answer = (await ask(daemon.url, query)) as {
    errors?: unknown;
    data: { search: { results: { results: { file: File }[] } } };
  };
  t.equal(answer.errors, undefined);
  const files = answer.data.search.results.results.map(({ file }) => file);
  t.equal(files.length, names.length);
  const paths = names.map((name) => decodePath(toBytes(name)));
  const byPath = (await ask(
    daemon.url,
    `query (${paths.map((_, at) => `$p${at}: String!`).join(", ")}) { repository(name: "${repository}") { commit(rev: "") {
      ${paths.map((_, at) => `f${at}: file(path: $p${at}) { content url } t${at}: path(path: $p${at}) { __typename }`).join("\n")} } } }`,
    Object.fromEntries(paths.map((path, at) => [`p${at}`, path])),
  )) as { data: { repository: { commit: Record<string, File | null> } } };
  for (const [at, path] of paths.entries()) {
    const shown = shownPath(path);
    const url = `/${repository}/-/blob/${escapeUrlPath(path)}`;
    const file = files.find((one) => one.url === url);
    t.match(
      file,
      {
        path: shown,
        content: contentOf(at),
        byteSize: contentOf(at).length,
        blame: [{ rev: oid, filename: shown }],
        history: { nodes: [{ path: shown, commit: { oid } }] },
      },
      url,
    );
    t.match(byPath.data.repository.commit[`f${at}`], { content: contentOf(at) }, `variable ${url}`);
    t.match(byPath.data.repository.commit[`t${at}`], { __typename: "GitBlob" }, `path ${url}`);
  }
  const compared = (await ask(
    daemon.url,
    `{ repository(name: "${repository}") { comparison(base: "HEAD~", head: "HEAD") { fileDiffs { nodes { newPath newFile { url content } } } } commit(rev: "HEAD") { fileNames tree { entries(recursive: true) { path url } } } } }`,
  )) as {
    errors?: unknown;
    data: {
      repository: {
        comparison: { fileDiffs: { nodes: { newPath: string; newFile: File }[] } };
        commit: { fileNames: string[]; tree: { entries: { path: string; url: string }[] } };
      };
    };
  };
  t.equal(compared.errors, undefined);
  const { comparison, commit } = compared.data.repository;
  t.strictSame(
    comparison.fileDiffs.nodes
      .filter(({ newFile }) => newFile.content?.startsWith("needle"))
      .map(({ newFile }) => newFile.url.replace(`@${oid}`, "@HEAD"))
      .sort(),
    names.map((name) => `/${repository}@HEAD/-/blob/${escapeUrlPath(decodePath(toBytes(name)))}`).sort(),
  );
  t.equal(commit.fileNames.length, names.length + 3);
  for (const name of names) {
    const url = `/${repository}@HEAD/-/blob/${escapeUrlPath(decodePath(toBytes(name)))}`;
    t.ok(
      commit.tree.entries.some((entry) => entry.url === url),
      url,
    );
  }
});

t.test("a directory and a file below it are both found in one request", async (t) => {
  const query = `{ repository(name: "${repository}") { commit(rev: "") { a: path(path: "dir") { __typename } b: path(path: "dir/-") { __typename } c: path(path: "dir/-/blob/name.txt") { __typename } } } }`;
  t.match(await ask(daemon.url, query), {
    data: {
      repository: {
        commit: { a: { __typename: "GitTree" }, b: { __typename: "GitTree" }, c: { __typename: "GitBlob" } },
      },
    },
  });
});

t.test("paths that cannot exist answer for themselves", async (t) => {
  const paths = ["\ud800", "a\udfffb", "x\0y", "y".repeat(200_000), "../x", "a//b", "\ufffd".repeat(50), ""];
  const fields = paths.map((_, at) => `f${at}: path(path: $p${at}) { __typename }`).join(" ");
  const types = paths.map((_, at) => `$p${at}: String!`).join(" ");
  const answer = (await ask(
    daemon.url,
    `query (${types}) { repository(name: "${repository}") { commit(rev: "") { ok: blob(path: "plain.txt") { content } ${fields} } } }`,
    Object.fromEntries(paths.map((path, at) => [`p${at}`, path])),
  )) as { data: { repository: { commit: Record<string, unknown> } } };
  const { ok, ...others } = answer.data.repository.commit;
  t.strictSame(ok, { content: contentOf(0) });
  t.strictSame(
    Object.values(others).filter((value) => value !== null),
    [{ __typename: "GitTree" }],
    "only the root",
  );
  const text = await (
    await fetch(`${daemon.url}/.api/graphql`, {
      method: "POST",
      body: JSON.stringify({
        query: `query ($p: String!) { repository(name: "${repository}") { commit(rev: "") { tree(path: $p) { path } blob(path: $p) { path } file(path: $p) { path } } } }`,
        variables: { p: "plain.txt\udc80" },
      }),
    })
  ).text();
  t.notMatch(text, /\\ud/i, "an answer has no unpaired surrogate");
});

t.test("the command line shows each file", async (t) => {
  const { exitCode, out } = await runCommand("search", "--endpoint", daemon.url, "needle count:all");
  t.equal(exitCode, 0);
  t.equal(out.match(/needle \d+/g)?.length, names.length);
});

t.test("assistants read each file by the path of a result or of a list", async (t) => {
  const call = async (name: string, args: object): Promise<string> => {
    const response = await fetch(`${daemon.url}/.api/mcp/all`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
    });
    const { result } = (await response.json()) as { result: { content: { text: string }[] } };
    return result.content[0].text;
  };
  interface Item {
    readonly path: string;
    readonly escapedPath?: string;
    readonly lines: readonly { readonly text: string }[];
  }
  const contents = names.map((_, at) => contentOf(at)).sort();
  for (const [tool, key] of [
    ["keyword_search", "results"],
    ["regexp_search", "results"],
    ["nls_search", "results"],
  ]) {
    const found = JSON.parse(await call(tool, { query: "needle", count: 100, max_bytes: 262_144 })) as Record<
      string,
      Item[]
    >;
    const items = found[key];
    t.equal(items.length, names.length, tool);
    // Their results have the same form.
    if (!isFull && tool !== "keyword_search") continue;
    const read = await Promise.all(
      items.map(async ({ path, escapedPath, lines }) => {
        const text = await call("read_file", { repo: repository, path: escapedPath ?? path });
        const { content } = JSON.parse(text) as { content: string };
        t.equal(content.split("\n")[0], lines[0]?.text, encodeURIComponent(path));
        return `${content.replace(/\n$/, "")}\n`;
      }),
    );
    t.strictSame(read.sort(), contents, tool);
  }
  const list = async (path: string): Promise<string[]> => {
    const { files } = JSON.parse(await call("list_files", { repo: repository, path })) as { files: string[] };
    return (await Promise.all(files.map((one) => (one.endsWith("/") ? list(one) : [one])))).flat();
  };
  t.match(await call("list_files", { repo: repository, path: "r%E9pertoire" }), /fichier\.txt/);
  t.match(await call("read_file", { repo: repository, path: "caf\ufffd.txt" }), /escapedPath/, "there are two");
  const listed = await list("");
  t.strictSame(
    names
      .map((name) => decodePath(toBytes(name)))
      .filter((path) => !listed.includes(path) && !listed.includes(escapeUrlPath(path))),
    [],
  );
  t.ok(listed.includes("caf%E9.txt") && listed.includes("caf%E8.txt"));
  const compared = await call("compare_revisions", { repo: repository, base: "HEAD~", head: "HEAD", first: 100 });
  t.match(compared, /"path":"caf%E9\.txt"/);
  for (const [tool, args] of [
    ["diff_search", { pattern: "needle", repos: [repository] }],
    ["commit_search", { messageTerms: ["odd"], repos: [repository] }],
    ["list_repos", {}],
    ["go_to_definition", { repo: repository, path: "caf%E9.txt", symbol: "needle" }],
    ["find_references", { repo: repository, path: "caf%E9.txt", symbol: "needle", limit: 100 }],
  ] as const)
    t.notMatch(await call(tool, args), /\\ud[89a-f]|"error"/i, tool);
});

t.test("a field that fails leaves the others of the answer", async (t) => {
  const large = GitFixture.create();
  t.teardown(() => large.remove());
  const files = Object.fromEntries([1, 2, 3].map((i) => [`large${i}.txt`, `needle ${i}\n${`${i}\n`.repeat(3 << 20)}`]));
  large.commit({ branch: "main", files: { ...files, "small.txt": "needle small\n", "lost.txt": "needle lost\n" } });
  await add("example.org/large", large.path);
  const blob = large.git("rev-parse", "main:lost.txt");
  const mirror = newestMirror(daemon.data);
  const git = (...args: string[]): void => void execFileSync("git", [`--git-dir=${mirror}`, ...args], { input: "" });
  for (const pack of execFileSync("find", [join(mirror, "objects/pack"), "-name", "*.pack"])
    .toString()
    .split("\n")) {
    if (pack === "") continue;
    const moved = join(daemon.data, "moved.pack");
    execFileSync("mv", [pack, moved]);
    rmSync(pack.replace(/pack$/, "idx"), { force: true });
    execFileSync("sh", ["-c", `git --git-dir=${mirror} unpack-objects -q < ${moved}`]);
    rmSync(moved);
  }
  git("rev-parse", "HEAD");
  rmSync(join(mirror, "objects", blob.slice(0, 2), blob.slice(2)), { force: true });
  const query = `{ search(query: "repo:large needle count:all patterntype:keyword", version: V3) { results { matchCount results { ... on FileMatch { lineMatches { preview } file { path byteSize content totalLines history { nodes { path } } commit { author { date } } } } } } } }`;
  const answer = (await ask(daemon.url, query)) as {
    errors: { path: (string | number)[]; message: string }[];
    data: { search: { results: { matchCount: number; results: { file: File; lineMatches: unknown[] }[] } } };
  };
  const found = new Map(answer.data.search.results.results.map(({ file }) => [file.path, file]));
  t.equal(found.size, 5);
  t.equal(found.get("small.txt")?.content, "needle small\n");
  t.match(found.get("lost.txt"), { content: null, byteSize: null, history: { nodes: [{ path: "lost.txt" }] } });
  for (const { path } of answer.errors) t.match(path.at(-1), /^(content|totalLines)$/);
  const directory = await ask(
    daemon.url,
    '{ repository(name: "example.org/large") { commit(rev: "main") { tree(path: "") { files { name byteSize } } } } }',
  );
  t.match(directory, { errors: undefined }, "a lost file leaves its directory readable");
  const whole = [1, 2, 3].filter((i) => found.get(`large${i}.txt`)?.content !== null);
  t.ok(whole.length >= 1 && whole.length < 3, `${whole.length} of the large files fit into the answer`);
  t.equal((await fetchBytes("/example.org/large/-/raw/lost.txt")).status, 404);
});

/** The bytes of a path as `pathOfMatch` returns it. */
function escapedBytes(path: string): Uint8Array {
  const escaped = escapeUrlPath(path);
  return Buffer.from(
    escaped.replace(/[^%]|%[0-9A-F]{2}/gu, (one) =>
      one.length === 3 && one.startsWith("%")
        ? String.fromCharCode(Number.parseInt(one.slice(1), 16))
        : Buffer.from(one).toString("latin1"),
    ),
    "latin1",
  );
}
