/** The contents of submodules are searchable as in a clone with --recurse-submodules. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { resolveOptions } from "../../src/daemon/config/config.js";
import { newestMirror, textsOnly } from "../support/daemon.js";
import { GraphqlSite } from "../support/graphql-site.js";
import { serveHttp } from "../support/http-remote.js";
import { sharedDaemon } from "../support/shared-daemon.js";
import { removeFolder } from "../support/remove-folder.js";

type Files = Readonly<Record<string, string | null>>;

/** Of all commits. */
const commitTime = "2001-02-03 04:05:06";

/** Repositories side by side in one folder. */
class Repositories {
  readonly folder: string;

  constructor(t: Test) {
    this.folder = mkdtempSync(join(tmpdir(), "trawl-submodules-"));
    t.teardown(() => removeFolder(this.folder));
  }

  git(name: string, ...args: string[]): string {
    const settings = ["-c", "user.name=ann", "-c", "user.email=b", "-c", "protocol.file.allow=always"];
    return execFileSync("git", ["-C", join(this.folder, name), ...settings, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, GIT_COMMITTER_DATE: `${commitTime} +0000` },
    }).trim();
  }

  create(name: string, files: Files): string {
    mkdirSync(join(this.folder, name));
    this.git(name, "init", "-q", "-b", "main");
    return this.commit(name, files);
  }

  /** Commits these files, and what else has changed. A gitlink is written as `->OID`; null deletes. */
  commit(name: string, files: Files = {}): string {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.folder, name, path);
      if (text === null || text.startsWith("->")) {
        this.git(name, "update-index", "--force-remove", path);
        rmSync(file, { recursive: true, force: true });
        if (text !== null) mkdirSync(file, { recursive: true });
      } else {
        mkdirSync(join(file, ".."), { recursive: true });
        writeFileSync(file, text);
      }
    }
    this.git(name, "add", "-A");
    for (const [path, text] of Object.entries(files))
      if (text?.startsWith("->"))
        this.git(name, "update-index", "--add", "--cacheinfo", `160000,${text.slice(2)},${path}`);
    this.git(name, "commit", "-q", "-m", "changes");
    return this.git(name, "rev-parse", "HEAD");
  }

  /** The lines with the word in a clone of the revision with all submodules, as a search answers. */
  clone(name: string, revision: string, word: string): string[] {
    const target = mkdtempSync(join(this.folder, "clone-"));
    try {
      execFileSync("git", ["-c", "protocol.file.allow=always", "clone", "-q", join(this.folder, name), target], {
        stdio: "ignore",
      });
      const own = target.slice(this.folder.length + 1);
      this.git(own, "checkout", "-q", revision);
      this.git(own, "submodule", "update", "--init", "--recursive", "-q");
      return linesWith(target, word)
        .map((line) => `${name}:${line}`)
        .sort();
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  }
}

function linesWith(folder: string, word: string, prefix = ""): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true }).flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    if (entry.name === ".git") return [];
    if (entry.isDirectory()) return linesWith(folder, word, `${path}/`);
    const lines = readFileSync(join(folder, path), "utf8").split("\n");
    return lines.flatMap((line, i) => (line.includes(word) ? [`${path}:${i + 1}`] : []));
  });
}

const settings = (rows: readonly (readonly [name: string, path: string, url: string])[]): string =>
  rows.map(([name, path, url]) => `[submodule "${name}"]\n\tpath = ${path}\n\turl = ${url}\n`).join("");

t.test("as in a clone with --recurse-submodules", async (t) => {
  const all = new Repositories(t);
  all.create("inner", { "deep.txt": "needle in the inner one\n" });
  all.create("lib", { "lib.c": "int needle;\n", "sub dir/more.c": "a\nneedle b\n" });
  all.git("lib", "submodule", "add", "-q", "../inner", "nested/inner");
  all.commit("lib", { ".gitmodules": settings([["inner", "nested/inner", "../inner"]]) });
  all.create("app", { "main.c": "needle of the app\n", "deps/readme": "needle beside\n" });
  all.git("app", "submodule", "add", "-q", join(all.folder, "lib"), "deps/lib");
  all.commit("app", { ".gitmodules": settings([["the lib", "deps/lib", "../lib"]]) });
  all.git("app", "tag", "v1");
  const item = { name: "app", url: join(all.folder, "app"), submodules: true, submodulesFrom: [all.folder] };
  const site = await GraphqlSite.start(t, { repositories: [item] }, textsOnly);
  const { daemon } = site;
  const found = async (query: string) => (await daemon.search(query)).found;
  await daemon.sync("app");
  const expected = all.clone("app", "main", "needle");
  t.equal(expected.length, 5, "the oracle has those of both submodules");
  t.same(await found("needle"), expected, "both submodules, one in the other");
  t.same(
    await found("file:^deps/lib/ needle"),
    expected.filter((line) => line.startsWith("app:deps/lib/")),
  );

  await t.test("pages, files, archives and GraphQL", async (t) => {
    t.equal((await daemon.get("/app/-/raw/deps/lib/nested/inner/deep.txt")).text, "needle in the inner one\n");
    t.equal((await daemon.get("/app/-/raw/deps/lib")).text, ".gitmodules\nlib.c\nnested/\nsub dir/\n");
    t.match((await daemon.get("/app/-/raw/?list=files")).text, "deps/lib/sub dir/more.c\n");
    const archive = async (format: string) => {
      const answer = await fetch(`${daemon.url}/app/-/raw/?format=${format}`);
      return { tag: answer.headers.get("etag"), bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const { bytes: input } = await archive("tar");
    const listing = execFileSync("tar", ["-tv", "--utc", "--full-time"], { input, encoding: "utf8" }).trimEnd();
    t.match(listing, " deps/lib/nested/inner/deep.txt\n");
    for (const line of listing.split("\n")) t.match(line, ` ${commitTime} `, "the time of the commit");
    for (const format of ["tar", "zip"])
      t.same(await archive(format), await archive(format), `${format}: the same bytes`);
    const query = `{ repository(name: "app") { commit(rev: "main") {
      tree(path: "deps") { entries { name isDirectory } } blob(path: "deps/lib/lib.c") { content } } } }`;
    t.match(await site.data("admin", query), {
      repository: {
        commit: {
          tree: {
            entries: [
              { name: "lib", isDirectory: true },
              { name: "readme", isDirectory: false },
            ],
          },
          blob: { content: "int needle;\n" },
        },
      },
    });
  });

  const pin = all.git("lib", "rev-parse", "HEAD");
  const [lead] = all.git("lib", "rev-list", "--max-parents=0", "HEAD").split("\n");
  const isClosed = async (t: Test): Promise<void> => {
    const mirror = (args: readonly string[]): string =>
      execFileSync("git", [`--git-dir=${newestMirror(daemon.data)}`, ...args], { encoding: "utf8" });
    const app = all.git("app", "rev-parse", "v1");
    for (const [commit = "", isOwn] of [
      [pin, false],
      [lead, false],
      [pin.slice(0, 12), false],
      [`${pin}~1`, false],
      ["refs/trawl/submodules", false],
      ["refs/trawl/submodules^1", false],
      [app, true],
      [app.slice(0, 12), true],
      [`${app}~1`, true],
    ] as const) {
      if (/^[0-9a-f~]+$/.test(commit)) t.equal(mirror(["cat-file", "-t", commit.split("~")[0]]), "commit\n");
      t.equal((await daemon.get(`/app@${commit}/-/raw/`)).status, isOwn ? 200 : 404, `a page of ${commit}`);
      t.equal((await found(`repo:^app$ rev:${commit} file:.`)).length > 0, isOwn, `a search of ${commit}`);
      t.equal((await found(`repo:^app$ rev:${commit} type:commit`)).length > 0, isOwn, `a history of ${commit}`);
      const query = `{ repository(name: "app") { commit(rev: "${commit}") { oid } } }`;
      const { repository } = (await site.data("admin", query)) as { repository: { commit: unknown } };
      t.equal(repository.commit !== null, isOwn, `GraphQL about ${commit}`);
    }
    const items = [{ repository: "app", revisions: [{ revision: "", commit: pin }] }];
    const since = encodeURIComponent(JSON.stringify({ repositories: { items, count: 1 } }));
    const changes = (
      await daemon.get(`/.api/search/stream?q=${encodeURIComponent("repo:^app$ needle")}&since=${since}`)
    ).text;
    t.notMatch(changes, '"lib.c"', "changes since a commit of another repository");
    t.match(changes, pin, "which is told");
  };
  await t.test("a commit of a submodule is no revision of the repository", isClosed);

  await t.test("commits that move, come and go", async (t) => {
    const steps: readonly (readonly [string, () => void])[] = [
      [
        "a file is added to the submodule, and the commit moves",
        () => {
          const pin = all.commit("lib", { "lib.c": "int other;\n", "added.c": "x\nneedle added\n" });
          all.commit("app", { "deps/lib": `->${pin}` });
        },
      ],
      [
        "another one of the same repository",
        () => {
          const pin = all.git("lib", "rev-parse", "HEAD~1");
          const rows = [
            ["the lib", "deps/lib", "../lib"],
            ["again", "again", "../lib"],
          ] as const;
          all.commit("app", { again: `->${pin}`, ".gitmodules": settings(rows) });
        },
      ],
      [
        "a submodule moves to another path",
        () => {
          all.git("app", "mv", "deps/lib", "third");
          all.commit("app");
        },
      ],
      [
        "a submodule becomes a directory",
        () => {
          const rows = [["the lib", "third", "../lib"]] as const;
          all.commit("app", { again: null, "again/own.c": "needle of its own\n", ".gitmodules": settings(rows) });
        },
      ],
      [
        "the last submodule is removed",
        () => {
          all.commit("app", { third: null, ".gitmodules": null });
        },
      ],
    ];
    for (const [name, change] of steps) {
      change();
      const status = await daemon.sync("app");
      t.same(status.warnings, [], `${name}: nothing is left out`);
      t.same(await found("needle"), all.clone("app", "main", "needle"), name);
    }
    t.equal((await daemon.get("/app@v1/-/raw/deps/lib/lib.c")).text, "int needle;\n", "a page of a tag");
  });

  await t.test("revisions that are not indexed", async (t) => {
    for (const commit of ["v1", "main~3", "main~1"])
      t.same(
        await found(`repo:^app$@${commit} needle`),
        all.clone("app", commit, "needle"),
        `${commit}: the tree is compared with that of the indexed branch`,
      );
  });

  await t.test("without the option, a submodule is one path", async (t) => {
    all.commit("app", {
      ".gitmodules": settings([["lib", "lib", "../lib"]]),
      lib: `->${all.git("lib", "rev-parse", "HEAD")}`,
    });
    await daemon.sync("app");
    t.same(await found("needle"), all.clone("app", "main", "needle"));
    await sharedDaemon(t, { repositories: [{ name: "app", url: item.url }] }, textsOnly);
    await daemon.sync("app");
    t.same(await found("needle"), ["app:again/own.c:1", "app:deps/readme:1", "app:main.c:1"]);
    t.same(await found("file:^lib$ type:path"), ["app:lib"]);
    t.match((await daemon.get("/app/-/raw/lib")).text, "is a submodule");
    await isClosed(t);
  });
});

t.test("what cannot be had is left out and told", async (t) => {
  const all = new Repositories(t);
  const lib = all.create("lib", { "lib.c": "needle of the lib\n" });
  const later = "2".repeat(40);
  const [far, helper] = ["far", "helper"].map((name) => all.create(name, { [`${name}.c`]: "needle elsewhere\n" }));
  all.create("app", {
    "main.c": "needle of the app\n",
    good: `->${lib}`,
    gone: `->${later}`,
    far: `->${far}`,
    helper: `->${helper}`,
    unnamed: `->${lib}`,
    ".gitmodules": settings([
      ["good", "good", "../lib"],
      ["gone", "gone", "../lib"],
      ["far", "far", "http://127.0.0.1:1/lib"],
      ["helper", "helper", "ext::touch /tmp/owned"],
      ["../..", "unnamed", "../lib"],
    ]),
  });
  const item = { name: "app", url: join(all.folder, "app"), submodules: true, submodulesFrom: [all.folder] };
  const site = await GraphqlSite.start(t, { repositories: [item] }, textsOnly);
  const { daemon } = site;
  const found = async (query: string) => (await daemon.search(query)).found;
  const status = await daemon.sync("app");
  t.equal(status.error, "", "the repository is in order");
  t.same(await found("needle"), ["app:good/lib.c:1", "app:main.c:1"]);
  t.match(status.warnings, [
    /^the submodule "gone" at 2222222222 is not searched: its remote does not have that commit$/,
    /^the submodule "far" at [0-9a-f]{10} is not searched: http:\/\/127\.0\.0\.1:1\/lib may not be fetched: it is neither/,
    /^the submodule "helper" at [0-9a-f]{10} is not searched: unusable repository URL/,
  ]);
  t.match(status.skippedCounts, { submodule: 4 }, "with the one that has no usable entry");
  const query = `{ repository(name: "app") { leftOut { ignoredFilesCount submodulesCount warnings } } }`;
  const leftOut = { ignoredFilesCount: 0, submodulesCount: 4, warnings: [/gone/, /far/, /helper/] };
  t.match(await site.data("admin", query), { repository: { leftOut } });
  t.same(
    await site.data("ann", query),
    { repository: { leftOut: { ...leftOut, warnings: [] } } },
    "addresses are for site admins",
  );
  const receiptOf = async (query: string): Promise<string> =>
    (await daemon.get(`/.api/search/stream?q=${encodeURIComponent(query)}&receipt=1`)).text;
  const receipt = await receiptOf("needle");
  t.match(receipt, /"reason":"submodule"/);
  t.match(receipt, /is a submodule whose contents are not in the mirror/);

  await t.test("the commit comes, and the repository does not change", async (t) => {
    all.git("lib", "clone", "-q", ".", "../draft");
    const missing = all.commit("draft", { "lib.c": "needle that came\n" });
    all.commit("app", { gone: `->${missing}` });
    all.git("app", "tag", "pinned");
    const head = all.commit("app", { "more.c": "int more;\n" });
    await daemon.sync("app");
    t.same(await found("came"), []);
    const atTag = async () => [
      await found("repo:^app$@pinned came"),
      (await daemon.get("/app@pinned/-/raw/gone/lib.c")).status,
      await found("repo:has.content(came) rev:pinned main.c"),
    ];
    t.same(await atTag(), [[], 404, []]);
    all.git("lib", "fetch", "-q", "../draft", "main:draft");
    const { warnings, branches } = await daemon.sync("app");
    t.match(branches, [{ commit: head }]);
    t.same(await found("came"), ["app:gone/lib.c:1"]);
    t.same(await atTag(), [["app:gone/lib.c:1"], 200, ["app:main.c"]], "the same of a commit that is not indexed");
    t.equal(warnings.length, 2, "the others are told still");
    t.notMatch(await receiptOf("repo:^app$ file:^gone/ needle"), /"path":"gone"/);
  });
});

t.test("credentials go to the same origin only", async (t) => {
  const all = new Repositories(t);
  const lib = all.create("lib", { "lib.c": "needle of the lib\n" });
  const second = all.create("second", { "lib.c": "needle of another one\n" });
  const requests: string[] = [];
  const other = await serveHttp(t, { path: all.folder }, undefined, (request) => {
    requests.push(String(request.headers.authorization));
    return undefined;
  });
  const own = await serveHttp(t, { path: all.folder });
  all.create("app", {
    "main.c": "needle of the app\n",
    good: `->${lib}`,
    other: `->${second}`,
    ".gitmodules": settings([
      ["good", "good", "../lib"],
      ["other", "other", `http://127.0.0.1:${other}/second`],
    ]),
  });
  const item = {
    name: "app",
    url: `http://ada:s3cret@127.0.0.1:${own}/app`,
    submodules: true,
    submodulesFrom: [`http://127.0.0.1:${other}`],
  };
  const daemon = await sharedDaemon(t, { repositories: [item] }, textsOnly);
  const { warnings } = await daemon.sync("app");
  t.same([...new Set(requests)], ["undefined"], "the other origin was asked, without the credentials");
  t.same((await daemon.search("needle")).found, ["app:good/lib.c:1", "app:main.c:1"]);
  t.match(warnings, [/^the submodule "other" at [0-9a-f]{10} is not searched: cannot read http:\/\/127\.0\.0\.1:/]);
});

t.test("configurations that are refused", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  const resolve = (item: object) => {
    writeFileSync(configFile, JSON.stringify({ repositories: [{ name: "x", url: "/x", ...item }] }));
    return resolveOptions({ configFile, overrides: [], repositories: [] }).repositories[0];
  };
  const refused = (item: object, message: RegExp) => t.throws(() => resolve(item), { code: "bad-config", message });
  refused({ submodulesFrom: ["a.example"] }, /submodulesFrom needs submodules/);
  refused({ submodules: true, submodulesFrom: ["a/b"] }, /"a\/b" is neither a host/);
  refused({ submodules: true, submodulesFrom: ["git@host"] }, /neither a host/);
  t.same(resolve({})?.submodules, undefined);
  refused({ submodules: true, submodulesFrom: ["http:///srv"] }, /neither a host/);
  refused({ submodules: true, submodulesFrom: ["http://http://host"] }, /neither a host/);
  refused({ submodules: true, submodulesFrom: ["https://host"] }, /neither a host/);
  const from = ["Git.Example.org:8443", "*", "/srv", "::1", "http://Git.Example.org:8080", "http://*"];
  t.same(resolve({ submodules: true, submodulesFrom: from })?.submodules, {
    from: ["git.example.org:8443", "*", "/srv", "::1", "http://git.example.org:8080", "http://*"],
  });
});
