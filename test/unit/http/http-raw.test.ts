/** Files, directories and archives over HTTP. */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { request, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import t from "tap";
import { type DaemonProcess, dataDirectory, testDaemon, textsOnly } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { until, within } from "../../support/waiting.js";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const binary = Buffer.from([0, 255, 254, 10, 13, 0, 128]);
const letters = "abcdefghij";
/** Larger than the blobs that git keeps in memory, and than all buffers between. */
const large = Buffer.concat([randomBytes(1 << 20), Buffer.alloc(15 << 20, "trawl "), randomBytes(1 << 20)]);

/** More than the buffers of both sockets, so that the server has to wait for a client that pauses. */
const longText = "trawl ü\n".repeat(800_000);

const japanese = "これは日本語の文章です。検索の結果を表示します。\n";
const shiftJis = execFileSync("iconv", ["-f", "UTF-8", "-t", "SHIFT_JIS"], { input: japanese });

const fixture = GitFixture.create();
t.teardown(() => fixture.remove());
const first = fixture.commit({
  branch: "main",
  files: {
    "letters.txt": letters,
    empty: "",
    "binary.dat": binary,
    "large.dat": large,
    "a dir/ü@1 %.txt": "odd\n",
    "src/a&b.c": "int a;\n",
    "src/deep/x.c": "int x;\n",
    "src/-/dash": "dash\n",
    link: { symlink: "../../etc/passwd" },
    module: { gitlink: "1".repeat(40) },
    "page.html": "<script>alert(1)</script>",
    "seen/dot.PNG": binary,
    "seen/evil.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "seen/a.pdf": "%PDF-1.1\n",
    "encoded/utf-16le.txt": Buffer.from("\ufeffgrüße\r\nおはよう\n", "utf16le"),
    "encoded/utf-16be.txt": Buffer.from("\ufeffgrüße\n", "utf16le").swap16(),
    "encoded/utf-8.txt": "\ufeffgrüße\n",
    "encoded/latin-1.txt": Buffer.from(
      "Die Größe der Tür ändert sich schön für alle.\nWir müssen früher gehören können.\n",
      "latin1",
    ),
    "encoded/shift-jis.txt": shiftJis,
    "encoded/long.txt": longText,
    "encoded/odd.txt": Buffer.from("a\xff\x81b\n", "latin1"),
  },
});
fixture.commit({ branch: "feature/one", files: { "letters.txt": "on the branch\n" } });
const second = fixture.commit({ branch: "main", files: { "late.txt": "late\n" } });
const [empty, hidden] = [GitFixture.create(), GitFixture.create()];
t.teardown(() => empty.remove());
t.teardown(() => hidden.remove());
hidden.commit({ branch: "main", files: { "letters.txt": letters } });

const data = dataDirectory(t);
// One client may have 2 of the 64 permits for files.
const settings = [...textsOnly, "--set", "workers=1", "--set", "clients.sharePercent=4"];
// No client that pauses is cut, however busy the machine is.
const daemon = await testDaemon(t, [...settings, "--set", "search.stallSeconds=3600"], data);
const host = new URL(daemon.url);
await daemon.add("git.example/raw", fixture.path);
await daemon.add("git.example/empty", empty.path);
await daemon.control("POST", "/.api/repos", {
  name: "git.example/hidden",
  url: hidden.path,
  private: true,
  readers: ["ann"],
});
await daemon.control("POST", "/.api/users", { name: "ann" });
const { text: token } = (await daemon.control("POST", "/.api/tokens", {
  user: "ann",
  scopes: ["user:all"],
  note: "",
  expires: "1d",
})) as { text: string };

/** Sends the path exactly as given. */
function open(path: string, headers: Record<string, string> = {}, method = "GET", at = host): Promise<IncomingMessage> {
  return within(
    new Promise((resolve, reject) => {
      request({ host: at.hostname, port: at.port, path, headers, method, agent: false }, resolve)
        .on("error", reject)
        .end();
    }),
    path,
  );
}

async function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  const response = await open(path, headers, method);
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) };
}

/**
 * Returns when the server cannot send more of a response, of which nobody reads: it has answered other requests since, so it
 * has had turns enough to fill the buffers of both sockets.
 */
async function requireStalled(response: IncomingMessage): Promise<void> {
  for (let turn = 0; turn < 5; turn++) t.equal((await ask(raw("empty"))).status, 200);
  const { bytesRead } = response.socket;
  t.equal((await ask(raw("empty"))).status, 200);
  t.equal(response.socket.bytesRead, bytesRead, "nobody reads");
  t.ok(bytesRead < Number(response.headers["content-length"]), "and most of the response is still to be sent");
}

const raw = (path: string): string => `/git.example/raw/-/raw/${path}`;

t.test("files", async (t) => {
  const rows: readonly (readonly [path: string, body: Buffer])[] = [
    [raw("letters.txt"), Buffer.from(letters)],
    [raw("empty"), Buffer.alloc(0)],
    [raw("binary.dat"), binary],
    [raw("large.dat"), large],
    [raw("a%20dir/%C3%BC@1%20%25.txt"), Buffer.from("odd\n")],
    [raw("src/-/dash"), Buffer.from("dash\n")],
    [raw("link"), Buffer.from("../../etc/passwd")],
    ["/git.example/raw@feature/one/-/raw/letters.txt", Buffer.from("on the branch\n")],
    [`/git.example/raw@${first}/-/raw/letters.txt`, Buffer.from(letters)],
    ["/git.example/raw@main~1/-/raw/letters.txt", Buffer.from(letters)],
    ["/git.example/raw/-/blob/letters.txt", Buffer.from(letters)],
  ];
  for (const [path, body] of rows) {
    const answer = await ask(path);
    t.equal(answer.status, 200, path);
    t.ok(answer.body.equals(body), path);
    t.equal(answer.headers["content-length"], String(body.length), path);
    t.equal(answer.headers["content-type"], "text/plain; charset=utf-8", path);
    t.equal(answer.headers["x-content-type-options"], "nosniff", path);
    const head = await ask(path, {}, "HEAD");
    t.match(
      [head.status, head.headers["content-length"], head.headers["etag"], head.body.length],
      [200, String(body.length), answer.headers["etag"], 0],
      path,
    );
  }
});

t.test("missing files are 404, invalid paths 400", async (t) => {
  for (const path of [
    raw("none"),
    raw("letters.txt/below"),
    raw("module"),
    raw("../letters.txt"),
    raw("src/../letters.txt"),
    raw("src//deep"),
    raw("./src"),
    raw("%2e%2e/%2e%2e/etc/passwd"),
    "/git.example/raw@none/-/raw/letters.txt",
    "/git.example/none/-/raw/letters.txt",
    "/git.example/empty/-/raw/",
    raw("%ff"),
    "/git.example/raw/-/none",
    "/-/raw/",
    "/..%2f..%2fetc/passwd/-/raw/",
  ]) {
    const { status, headers, body } = await ask(path);
    t.equal(status, 404, `${path}: ${body}`);
    t.equal(headers["content-type"], "text/plain; charset=utf-8", path);
  }
  for (const path of [
    raw("a%00b"),
    raw("%zz"),
    "/git.example/raw@%00/-/raw/",
    "/git.example/raw@--help/-/raw/",
    "/git.example/raw@main:letters.txt/-/raw/",
  ])
    t.equal((await ask(path)).status, 400, path);
  t.equal((await ask(raw("letters.txt"), {}, "POST")).status, 405);
});

t.test("what a page cannot show has no content", async (t) => {
  for (const [path, byteCountMax, status] of [
    ["letters.txt", 10, 200],
    ["letters.txt", 9, 204],
    ["src", 10, 204],
    ["module", 10, 204],
    ["none", 10, 204],
  ] as const) {
    const answer = await ask(`${raw(path)}?maxBytes=${byteCountMax}`);
    t.equal(answer.status, status, path);
    t.equal(answer.body.toString(), status === 200 ? letters : "", path);
  }
  t.equal((await ask(`${raw("letters.txt")}?maxBytes=few`)).status, 200, "not a number");
});

t.test("a file as the text that a search finds in it", async (t) => {
  for (const [path, text] of [
    ["letters.txt", letters],
    ["empty", ""],
    ["encoded/utf-16le.txt", "grüße\r\nおはよう\n"],
    ["encoded/utf-16be.txt", "grüße\n"],
    ["encoded/utf-8.txt", "grüße\n"],
    ["encoded/latin-1.txt", "Die Größe der Tür ändert sich schön für alle.\nWir müssen früher gehören können.\n"],
    ["encoded/shift-jis.txt", japanese],
    ["encoded/odd.txt", "a\ufffd\ufffdb\n"],
  ] as const) {
    const answer = await ask(`${raw(path)}?as=text&maxBytes=10000`);
    t.equal(answer.status, 200, path);
    t.equal(answer.body.toString(), text, path);
    t.not(answer.headers.etag, (await ask(raw(path))).headers.etag, "another state than that of the bytes");
    const again = await ask(`${raw(path)}?as=text`, { "if-none-match": answer.headers.etag ?? "" });
    t.equal(again.status, 304, path);
  }
  t.equal((await ask(`${raw("encoded/utf-8.txt")}?as=text`, { range: "bytes=0-1" })).status, 200, "no ranges");
  t.equal((await ask(`${raw("binary.dat")}?as=text`)).status, 204, "not text");
  t.equal((await ask(`${raw("large.dat")}?as=text`)).status, 400, "too large");
  const paused = await open(`${raw("encoded/long.txt")}?as=text`);
  t.equal(paused.headers["content-length"], String(Buffer.byteLength(longText)));
  await requireStalled(paused);
  const parts: Buffer[] = [];
  for await (const part of paused) parts.push(part as Buffer);
  t.ok(Buffer.concat(parts).equals(Buffer.from(longText)), "who pauses gets all of it");
  t.equal((await ask(`${raw("empty")}?as=text`)).body.length, 0);
  t.same((await ask(raw("encoded/utf-8.txt"))).body, Buffer.from("\ufeffgrüße\n"), "otherwise its bytes");
});

t.test("an image or a PDF has its type if a page asks for it, and can do nothing alone", async (t) => {
  for (const [path, type, policy] of [
    ["seen/dot.PNG", "image/png", /; sandbox$/],
    ["seen/evil.svg", "image/svg+xml", /; sandbox$/],
    ["seen/a.pdf", "application/pdf", /frame-ancestors 'self'$/],
    ["page.html", "text/plain; charset=utf-8", /; sandbox$/],
  ] as const) {
    const { headers } = await ask(`${raw(path)}?as=media`);
    t.equal(headers["content-type"], type, path);
    t.equal(headers["x-content-type-options"], "nosniff", path);
    t.match(headers["content-security-policy"], policy, path);
    t.match(headers["content-security-policy"], /^default-src 'none'/, path);
    t.match((await ask(raw(path))).headers["content-type"], /^text\/plain/, path);
  }
});

t.test("ranges", async (t) => {
  const rows: readonly (readonly [range: string, status: number, contentRange: string | undefined, body: string])[] = [
    ["bytes=0-3", 206, "bytes 0-3/10", "abcd"],
    ["bytes=3-3", 206, "bytes 3-3/10", "d"],
    ["bytes=7-", 206, "bytes 7-9/10", "hij"],
    ["bytes=-2", 206, "bytes 8-9/10", "ij"],
    ["bytes=-99", 206, "bytes 0-9/10", letters],
    ["bytes=8-99", 206, "bytes 8-9/10", "ij"],
    ["bytes=5-4", 200, undefined, letters],
    ["bytes=1-2,4-5", 200, undefined, letters],
    ["lines=1-2", 200, undefined, letters],
    ["bytes=-", 200, undefined, letters],
    ["bytes=10-", 416, "bytes */10", "the file has 10 bytes\n"],
    ["bytes=-0", 416, "bytes */10", "the file has 10 bytes\n"],
  ];
  for (const [range, status, contentRange, body] of rows) {
    const answer = await ask(raw("letters.txt"), { range });
    t.match(
      [answer.status, answer.headers["content-range"], answer.body.toString()],
      [status, contentRange, body],
      range,
    );
  }
  const etag = (await ask(raw("letters.txt"))).headers["etag"] ?? "";
  t.equal((await ask(raw("letters.txt"), { range: "bytes=0-0", "if-range": etag })).status, 206);
  t.equal((await ask(raw("letters.txt"), { range: "bytes=0-0", "if-range": '"other"' })).status, 200);
  const far = await ask(raw("large.dat"), { range: `bytes=${12 << 20}-${(12 << 20) + 2_999_999}` });
  t.ok(far.body.equals(large.subarray(12 << 20, (12 << 20) + 3_000_000)));
  t.equal((await ask(raw("letters.txt"), { range: "bytes=0-3" }, "HEAD")).headers["content-length"], "10");
});

t.test("conditional requests", async (t) => {
  for (const path of [
    raw("letters.txt"),
    raw(""),
    raw("src"),
    `${raw("encoded")}?format=zip`,
    `${raw("src")}?format=tar`,
  ]) {
    const { etag } = (await ask(path)).headers;
    t.match(etag, /^"[^"]+"$/, path);
    for (const named of [etag ?? "", `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await ask(path, { "if-none-match": named });
      t.match([again.status, again.headers["etag"], again.body.length], [304, etag, 0], `${path} ${named}`);
    }
    t.equal((await ask(path, { "if-none-match": '"other"' })).status, 200, path);
  }
  t.equal(
    (await ask(`/git.example/raw@${first}/-/raw/letters.txt`)).headers["etag"],
    (await ask(raw("letters.txt"))).headers["etag"],
    "the same file in another commit",
  );
  t.not((await ask(`/git.example/raw@${first}/-/raw/`)).headers["etag"], (await ask(raw(""))).headers["etag"]);
});

t.test("directories", async (t) => {
  t.equal(
    (await ask(raw(""))).body.toString(),
    "a dir/\nbinary.dat\nempty\nencoded/\nlarge.dat\nlate.txt\nletters.txt\nlink\nmodule\npage.html\nseen/\nsrc/\n",
  );
  for (const path of ["src", "src/"]) t.equal((await ask(raw(path))).body.toString(), "-/\na&amp;b.c\ndeep/\n", path);
  t.equal((await ask("/git.example/raw/-/raw", {}, "HEAD")).status, 200);
  t.equal((await ask("/git.example/none/-/raw", {}, "HEAD")).status, 404);
});

t.test("archives", async (t) => {
  const names = (tar: Buffer): string[] =>
    execFileSync("tar", ["-tf", "-"], { input: tar, maxBuffer: 1 << 20 })
      .toString()
      .trim()
      .split("\n");
  for (const [path, accept] of [
    [`${raw("src")}?format=tar`, "*/*"],
    [raw("src"), "application/x-tar"],
    [raw("src"), "text/plain;q=0.5, application/x-tar"],
  ]) {
    const { status, headers, body } = await ask(path, { accept });
    t.match(
      [status, headers["content-type"], headers["content-disposition"]],
      [200, "application/x-tar", "Attachment; filename=raw.tar"],
    );
    t.same(names(body), ["src/", "src/-/", "src/-/dash", "src/a&b.c", "src/deep/", "src/deep/x.c"]);
  }
  const whole = await ask(`${raw("")}?format=tar`);
  t.ok(whole.body.includes(large.subarray(0, 4096)));
  t.equal(
    createHash("sha256").update(whole.body).digest("hex"),
    createHash("sha256")
      .update(execFileSync("git", ["-C", fixture.path, "archive", "--format=tar", second], { maxBuffer: 1 << 28 }))
      .digest("hex"),
  );
  const zip = await ask(`/git.example/raw@feature/one/-/raw/?format=zip`);
  t.match(
    [zip.headers["content-type"], zip.headers["content-disposition"]],
    ["application/zip", "Attachment; filename=raw.zip"],
  );
  t.equal(zip.body.subarray(0, 4).toString("latin1"), "PK\u0003\u0004");
  t.ok(zip.body.includes("letters.txt"));
  t.match(await ask(`${raw("")}?format=zip`, {}, "HEAD"), {
    status: 200,
    headers: { "content-type": "application/zip" },
  });
  t.equal((await ask(`${raw("none")}?format=zip`)).status, 404);
  t.equal((await ask(`${raw("module")}?format=zip`)).status, 404);
});

/** The child processes of a daemon that write archives or files. */
function childCount({ pid: daemonPid }: DaemonProcess): number {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "latin1");
    } catch {
      // The thread or the process has ended.
      return "";
    }
  };
  return readdirSync(`/proc/${daemonPid}/task`)
    .flatMap((thread) => read(`/proc/${daemonPid}/task/${thread}/children`).trim().split(" "))
    .filter((pid) => pid !== "" && /\0(archive|cat-file)\0/.test(read(`/proc/${pid}/cmdline`))).length;
}

t.test("clients that disconnect, that pause, and too many clients", async (t) => {
  const paused = await Promise.all([1, 2, 3, 4].map(() => open(`${raw("")}?format=tar`)));
  for (const response of paused) response.pause();
  let isFifthAnswered = false;
  const fifth = ask(`${raw("src")}?format=tar`).then(({ status }) => {
    isFifthAnswered = true;
    return status;
  });
  t.equal((await ask(raw("letters.txt"))).status, 200, "files have permits of their own");
  t.equal(
    (await ask(`${raw("src")}?format=tar`, { authorization: `token ${token}` })).status,
    200,
    "and so has another client",
  );
  t.notOk(isFifthAnswered, "one client has four permits for archives; a fifth waits");
  paused[0].destroy();
  t.equal(await fifth, 200, "until one of them ends");
  await until("the child of a client that left ends", () => childCount(daemon) <= 3);
  for (const response of paused.slice(1)) response.on("error", () => undefined).destroy();
  await until("those of the others, too", () => childCount(daemon) === 0);
  const files = await Promise.all([1, 2].map(() => open(raw("large.dat"))));
  for (const response of files) response.pause();
  let isTextAnswered = false;
  const text = ask(`${raw("letters.txt")}?as=text`).then((answer) => {
    isTextAnswered = true;
    return answer.body.toString();
  });
  t.equal((await ask(raw(""))).status, 200, "a directory needs no permit");
  t.notOk(isTextAnswered, "a text has one of the permits for files, and waits");
  files[0].destroy();
  t.equal(await text, letters, "until a file ends");
  files[1].on("error", () => undefined);
  files[1].destroy();
  const slow = await open(raw("large.dat"));
  slow.pause();
  await requireStalled(slow);
  const hash = createHash("sha256");
  for await (const part of slow) hash.update(part as Buffer);
  t.equal(hash.digest("hex"), createHash("sha256").update(large).digest("hex"), "who pauses gets all of it");
});

t.test("to other viewers a private repository does not exist", async (t) => {
  const hidden = "/git.example/hidden/-/raw/letters.txt";
  const strip = (answer: Answer) => ({
    status: answer.status,
    text: answer.body.toString().replaceAll("git.example/hidden", "git.example/nowhere"),
    headers: { ...answer.headers, date: "", "content-length": "", "x-request-id": "" },
  });
  for (const suffix of [
    "/-/raw/letters.txt",
    "/-/raw",
    "/-/raw/?format=zip",
    "@none/-/raw/",
    "",
    "/-/commits",
    "/-/compare/a...b",
    "/-/branches",
  ]) {
    t.same(strip(await ask(`/git.example/hidden${suffix}`)), strip(await ask(`/git.example/nowhere${suffix}`)), suffix);
  }
  const basic = Buffer.from(`${token}:`).toString("base64");
  for (const [path, headers] of [
    [hidden, { authorization: `token ${token}` }],
    [`${hidden}?token=${token}`, {}],
    [hidden, { authorization: `Basic ${basic}` }],
  ] as const) {
    t.equal((await ask(path, headers)).body.toString(), letters);
  }
  t.equal(
    (await ask(hidden, { authorization: "token sgp_local_0000000000000000000000000000000000000000" })).status,
    401,
  );
});

t.test("pages in plain text", async (t) => {
  const rows: readonly (readonly [path: string, text: RegExp])[] = [
    ["/git.example/raw", new RegExp(`default branch  main\ncommit          ${second}`)],
    ["/git.example/raw/", /search {4}curl/],
    ["/git.example/raw@feature/one", /archive/],
    ["/git.example/empty", /none yet/],
    ["/git.example/raw/-/tree/src", /a&amp;b\.c/],
    ["/git.example/raw/-/commit/main", new RegExp(`^commit    ${second}\nparent    ${first}\n`)],
    [`/git.example/raw/-/commit/${first}`, new RegExp(`^commit    ${first}\n`)],
    ["/git.example/raw/-/commits", new RegExp(`^${second.slice(0, 12)}.*\n${first.slice(0, 12)}`)],
    ["/git.example/raw/-/commits/late.txt", new RegExp(`^${second.slice(0, 12)}[^\n]*\n$`)],
    ["/git.example/raw/-/branches/all", /feature\/one/],
    ["/git.example/raw/-/tags", /^\n$/],
    ["/git.example/raw/-/compare/main~1...main", /\+late/],
    ["/git.example/raw/-/stats/contributors", /Fixture <fixture@example\.org>/],
    ["/git.example/raw/-/settings", /trawl repo set/],
    ["/users/ann/settings/tokens", /trawl command/],
    ["/help/api/graphql", /docs/],
    ["/sign-in", /POST/],
  ];
  for (const [path, text] of rows) {
    const { status, body } = await ask(path);
    t.match([status, body.toString()], [200, text], path);
  }
  for (const path of [
    "/nothing",
    "/git.example/raw@none",
    "/git.example/raw/-/commit/none",
    "/git.example/raw/-/nothing",
    "/-/nothing",
  ])
    t.equal((await ask(path)).status, 404, path);
  const rowsOfEditors: readonly (readonly [query: string, location: string])[] = [
    [
      "remote_url=git@git.example:raw.git&branch=main&file=src/a%26b.c&start_row=0&start_col=4&end_row=1&end_col=0",
      "/git.example/raw/-/blob/src/a&b.c?L1:5-2:1",
    ],
    ["remote_url=https://git.example/raw&branch=feature/one&file=x", "/git.example/raw@feature/one/-/blob/x"],
    [
      "search=a+b&search_remote_url=https://git.example/raw",
      "/search?q=repo%3A%5Egit%5C.example%2Fraw%24+a+b&patternType=literal",
    ],
  ];
  for (const [query, location] of rowsOfEditors) {
    const { status, headers } = await ask(`/-/editor?${query}`);
    t.match([status, headers["location"]], [302, location], query);
  }
  t.equal((await ask("/-/editor")).status, 400);
});

t.test("blame: an event for each run of lines from the same commit", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  const old = fixture.commit({
    branch: "main",
    files: { "a dir/x.txt": "one\ntwo\nthree\n", empty: "" },
    message: "Write it\n\nAt last.",
  });
  const changed = fixture.commit({ branch: "main", files: { "a dir/x.txt": "one\n2\nthree\n" } });
  await daemon.add("git.example/blamed", fixture.path);
  const blame = (name: string, path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    ask(`/.api/blame/${name}/-/stream/${path}`, headers);
  const { status, headers, body } = await blame("git.example/blamed", "a%20dir/x.txt");
  t.match([status, headers["content-type"]], [200, "text/event-stream"]);
  const events = body
    .toString()
    .split("\n\n")
    .slice(0, -1)
    .map((text) => /^event: (\w+)\ndata: (.*)$/.exec(text)?.slice(1) ?? []);
  t.same(
    events.map(([name]) => name),
    ["hunk", "hunk", "hunk", "done"],
  );
  const hunks = events
    .slice(0, -1)
    .map(([, data]) => (JSON.parse(data!) as { startLine: number }[])[0])
    // They come as git finds them.
    .sort((a, b) => a.startLine - b.startLine);
  const author = { Name: /./, Email: /@/, Date: /^\d{4}-\d\d-\d\dT/ };
  t.match(hunks, [
    {
      commitID: old,
      startLine: 1,
      endLine: 2,
      author,
      message: "Write it",
      filename: "a dir/x.txt",
      commit: { parents: [], url: `git.example/blamed/-/commit/${old}` },
    },
    { commitID: changed, startLine: 2, endLine: 3, author, commit: { parents: [old] } },
    { commitID: old, startLine: 3, endLine: 4 },
  ]);
  t.match(
    (await blame("git.example/blamed@main~1", "a%20dir/x.txt")).body.toString().match(/"startLine":\d+,"endLine":\d+/g),
    ['"startLine":1,"endLine":4'],
  );
  const first = fixture.commit({ branch: "main", files: { "y.c": "call(first, second);\n" } });
  const formatted = fixture.commit({ branch: "main", files: { "y.c": "  call(first, second);\n" } });
  fixture.commit({ branch: "main", files: { ".git-blame-ignore-revs": `# spaces\n${formatted}\nnonsense\n` } });
  await daemon.sync("git.example/blamed");
  const originOf = async (revision: string) =>
    /"commitID":"(\w+)"/.exec((await blame(`git.example/blamed@${revision}`, "y.c")).body.toString())?.[1];
  t.equal(await originOf("main~1"), formatted);
  t.equal(await originOf("main"), first, "a commit that the repository lists as ignored is passed over");
  t.equal(await originOf("main"), first, "from the cache");
  t.equal((await blame("git.example/blamed", "empty")).body.toString(), "event: done\ndata: {}\n\n");
  for (const [name, path] of [
    ["git.example/none", "x"],
    ["git.example/blamed@none", "empty"],
    ["git.example/blamed", "none"],
    ["git.example/blamed", "a%20dir"],
    ["git.example/hidden", "letters.txt"],
  ] as const) {
    t.equal((await blame(name, path)).status, 404, `${name} ${path}`);
  }
  t.equal((await blame("git.example/hidden", "letters.txt", { authorization: `token ${token}` })).status, 200);
  t.equal((await ask("/.api/blame/git.example/blamed/-/other/empty")).status, 404);
  t.equal((await ask("/.api/blame/git.example/blamed/-/stream/empty", {}, "HEAD")).status, 405);
});

// Last, because the daemon starts again with its data.
t.test("clients that take nothing are cut", async (t) => {
  await daemon.stop();
  const impatient = await testDaemon(t, [...settings, "--set", "search.stallSeconds=1"], data);
  const paused = await Promise.all(
    [`${raw("")}?format=tar`, raw("large.dat")].map((path) => open(path, {}, "GET", new URL(impatient.url))),
  );
  for (const response of paused) response.on("error", () => undefined).pause();
  await until("their children end", () => childCount(impatient) === 0);
  for (const response of paused) {
    let isWhole = true;
    response.on("aborted", () => (isWhole = false)).resume();
    await new Promise((resolve) => response.once("close", resolve));
    t.notOk(isWhole, "a truncated response cannot be mistaken for a complete one");
  }
});
