/** What `.gitmodules` says, where submodules may come from, and trees with their contents. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { dropSubmodules, keepSubmodules } from "../../../src/git/mirror/kept-submodules.js";
import { SubmoduleRules } from "../../../src/git/mirror/submodule-rules.js";
import {
  type SubmoduleLimits,
  submoduleLimits,
  submodulesFile,
  TreeComposer,
  type TreeRoom,
} from "../../../src/git/objects/composed-tree.js";
import { parseConfig, parseSubmodules, resolveSubmoduleUrl } from "../../../src/git/objects/gitmodules.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { neverStop } from "../../../src/git/run/run.js";
import { GitFixture, type FixtureFiles } from "../../support/git-fixture.js";
import { fc, runs } from "../../support/property.js";

t.test("settings are read as git reads them", async (t) => {
  const pieces = [
    "[submodule ",
    '"a"',
    '"a\\"b"',
    "]",
    "[core]",
    "[submodule.x]",
    "\n",
    "\r\n",
    " ",
    "\t",
    "path",
    "url",
  ];
  pieces.push("=", "p", "../u", '"', "\\", "\\n", "#", ";", "x y", "Update", "none", "1", "-", ".");
  const read = (text: string): unknown => {
    try {
      return parseConfig(text).map(({ section, subsection, key, value }) => {
        const name = section === "" ? "" : subsection === undefined ? `${section}.` : `${section}.${subsection}.`;
        // git before 2.45 has a space for each within a value.
        return `${name}${key}${value === undefined ? "" : `\n${value.replace(/[\t\r]/g, " ")}`}`;
      });
    } catch {
      return "refused";
    }
  };
  const oracle = (text: string): unknown => {
    const { status, stdout } = spawnSync("git", ["config", "-f", "-", "-z", "--list"], {
      input: text,
      encoding: "latin1",
    });
    if (status !== 0) return "refused";
    return stdout
      .split("\0")
      .slice(0, -1)
      .map((line) => line.replace(/[\t\r]/g, " "));
  };
  const known = [
    '[submodule "a"]\n\tpath = a/b\n\turl = ../x.git\n',
    '[submodule "a"] path = "a b" # c\n',
    '[submodule "a"]\npath = a \\\n b\nurl\n',
    '\u00ef\u00bb\u00bf[submodule "ü"]\nPATH=x;y\n',
    "path = x\n",
    '[submodule "a"]\npath = "x\n',
  ];
  for (const text of known) t.same(read(text), oracle(text), JSON.stringify(text));
  const texts = fc
    .array(fc.constantFrom(...pieces), { maxLength: 12 })
    .map((parts) => `[submodule "a"]\n${parts.join("")}`);
  fc.assert(
    fc.property(texts, (text) => JSON.stringify(read(text)) === JSON.stringify(oracle(text))),
    { numRuns: runs(240) },
  );
});

t.test("what counts of the settings", async (t) => {
  const row = (name: string, ...lines: string[]): string => `[submodule "${name}"]\n${lines.join("\n")}\n`;
  const at = (text: string) => Object.fromEntries(parseSubmodules(text));
  const usual = { url: "u", isUpdated: true };
  t.same(at(row("a", "path = p", "url = u")), { p: usual });
  t.same(at(row("a", "path = p", "url = u", "path = q")), { q: usual }, "the last path");
  t.same(at(row("a", "path = p", "url = x") + row("b", "path = p", "url = u")), { p: usual }, "two at one path");
  t.same(at(row("a", "path = p", "url = x") + row("a", "url = u")), { p: usual }, "a section in two parts");
  t.same(at(row("../..", "path = p", "url = u")), {}, "a name that leads out");
  t.same(at(row("a\\\\..", "path = p", "url = u")), {}, "in the way of Windows");
  t.same(at(row("a", "path = p", "url = --upload-pack=x")), { p: { ...usual, url: undefined } }, "an option for a URL");
  t.same(at(row("a", "path = -p", "url = u")), {}, "an option for a path");
  t.same(at(row("a", "path = p", "url = u", "update = none")), { p: { ...usual, isUpdated: false } });
  t.throws(() => at("[submodule"), { code: "git", message: /\.gitmodules: line \d+ is not in the format/ });
});

t.test("relative URLs", async (t) => {
  const rows: readonly (readonly [base: string, url: string, resolved: string])[] = [
    ["https://host/org/app.git", "../lib.git", "https://host/org/lib.git"],
    ["https://host/org/app/", "../../other/lib/", "https://host/other/lib"],
    ["https://host/org/app", "./sub", "https://host/org/app/sub"],
    ["git@host:org/app", "../lib", "git@host:org/lib"],
    ["git@host:app", "../lib", "git@host:lib"],
    ["ssh://git@host:2222/org/app", "../../x/../y", "ssh://git@host:2222/x/../y"],
    ["/srv/git/app", "../lib", "/srv/git/lib"],
    ["https://host/app", "https://other/lib", "https://other/lib"],
  ];
  const folder = t.testdir({ app: {} });
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", join(folder, "app"), ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  git("init", "-q");
  git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sub`);
  for (const [base, url, resolved] of rows) {
    t.equal(resolveSubmoduleUrl(base, url), resolved, `${url} at ${base}`);
    writeFileSync(join(folder, "app/.gitmodules"), `[submodule "s"]\n\tpath = sub\n\turl = ${url}\n`);
    git("config", "remote.origin.url", base);
    git("submodule", "init");
    t.equal(git("config", "submodule.s.url"), resolved, "as git says");
    git("config", "--remove-section", "submodule.s");
  }
  t.throws(() => resolveSubmoduleUrl("https://host/app", "../../../../../lib"), { code: "bad-config" });
});

t.test("where submodules may be fetched from", async (t) => {
  const root = t.testdir({ git: { lib: {} }, data: { mirrors: {} }, secret: { other: {} } });
  symlinkSync(join(root, "secret"), join(root, "git/link"));
  symlinkSync(join(root, "data"), join(root, "git/data"));
  const token = "https://ada:token@host.example/org/app";
  const outcome = async (own: string, from: readonly string[], url: string, hosts?: string[]): Promise<string> => {
    const source = hosts && { connection: "list", hosts };
    const rules = new SubmoduleRules(parseRemoteUrl(own), source, { from }, join(root, "data"), ["127.0.0.0/8"]);
    try {
      const { remote, resolvedHosts, isNamed } = await rules.require(url);
      const credentials = remote.kind === "http" && remote.authorization !== null ? " with credentials" : "";
      const resolved = resolvedHosts.length > 0 ? ` at ${resolvedHosts.join()}` : "";
      return `${remote.text}${credentials}${resolved}${isNamed ? "" : " unnamed"}`;
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  };
  const rows: readonly (readonly [
    what: string,
    own: string,
    from: readonly string[],
    url: string,
    expected: string,
  ])[] = [
    ["the same origin", token, [], "https://host.example/org/lib", "https://host.example/org/lib with credentials"],
    ["ssh to the own host", token, [], "git@host.example:org/lib", "https://host.example/org/lib with credentials"],
    ["its own credentials", token, [], "https://x:y@host.example/lib", "https://host.example/lib with credentials"],
    ["without https", token, [], "http://host.example/lib", "forbidden"],
    ["that is listed", token, ["http://host.example"], "http://host.example/lib", "http://host.example/lib"],
    ["that is listed for https", token, ["host.example"], "http://host.example/lib", "forbidden"],
    ["another one without https", token, ["other.example", "*"], "http://other.example/lib", "forbidden"],
    ["that is listed", token, ["http://other.example"], "http://other.example/lib", "http://other.example/lib"],
    ["and not for https", token, ["http://other.example"], "https://other.example/lib", "forbidden"],
    ["its usual port", token, ["http://other.example:80"], "http://other.example/lib", "http://other.example/lib"],
    ["the one of https", token, ["other.example:443"], "https://other.example/lib", "https://other.example/lib"],
    ["as the repository", "http://host.example/a", [], "http://host.example/lib", "http://host.example/lib"],
    ["another port", token, [], "https://host.example:9200/lib", "forbidden"],
    ["another host", token, [], "https://other.example/lib", "forbidden"],
    ["one that is listed", token, ["other.example"], "https://other.example/lib", "https://other.example/lib"],
    ["at another port", token, ["other.example"], "https://other.example:22/lib", "forbidden"],
    ["that is listed", token, ["other.example:8443"], "https://other.example:8443/x", "https://other.example:8443/x"],
    ["ssh to one that is listed", token, ["other.example"], "git@other.example:lib", "git@other.example:lib"],
    ["any public address", token, ["*"], "https://93.184.216.34/lib", "https://93.184.216.34/lib unnamed"],
    ["without its password", token, ["*"], "https://a:b@93.184.216.34/lib", "https://93.184.216.34/lib unnamed"],
    ["ssh to any", token, ["*"], "git@93.184.216.34:lib", "forbidden"],
    ["a private address", token, ["*"], "http://10.0.0.1/lib", "forbidden"],
    ["metadata of a cloud", token, ["*"], "http://169.254.169.254/lib", "forbidden"],
    ["as a number", token, ["*"], "http://0xa9fea9fe/lib", "forbidden"],
    ["in git.networks", token, ["*"], "https://127.0.0.1:7080/lib", "https://127.0.0.1:7080/lib unnamed"],
    ["without https", token, ["*"], "http://127.0.0.1:7080/lib", "forbidden"],
    ["any without https", token, ["http://*"], "http://127.0.0.1:7080/lib", "http://127.0.0.1:7080/lib unnamed"],
    ["a private one", token, ["http://*"], "http://10.0.0.1/lib", "forbidden"],
    ["localhost", token, [], "http://localhost/lib", "forbidden"],
    ["a path", token, ["*"], join(root, "git/lib"), "forbidden"],
    ["a path that is listed", token, [join(root, "git")], join(root, "git/lib"), join(root, "git/lib")],
    ["a file URL", token, [join(root, "git")], `file://${join(root, "git/lib")}`, join(root, "git/lib")],
    ["the folder itself", token, [join(root, "git")], join(root, "git"), "forbidden"],
    ["out of it", token, [join(root, "git")], join(root, "git/../secret/other"), "forbidden"],
    ["out of it by a link", token, [join(root, "git")], join(root, "git/link/other"), "forbidden"],
    ["the data directory", token, [root], join(root, "data/mirrors"), "forbidden"],
    ["nothing there", token, [root], join(root, "git/none"), "git"],
    ["a remote helper", token, ["*"], "ext::sh -c touch% /tmp/owned", "bad-config"],
    ["an option", token, ["*"], "--upload-pack=touch", "bad-config"],
    ["git's own protocol", token, ["*"], "git://93.184.216.34/lib", "bad-config"],
    ["a relative path", token, ["*"], "lib", "bad-config"],
    ["ssh by ssh", "git@host.example:app", [], "git@host.example:lib", "git@host.example:lib"],
    ["https by ssh", "git@host.example:app", [], "https://host.example/lib", "https://host.example/lib"],
    ["http by ssh", "git@host.example:app", [], "http://host.example/lib", "forbidden"],
    ["a local repository", "/srv/app", [], "https://host.example/lib", "forbidden"],
  ];
  for (const [what, own, from, url, expected] of rows) t.equal(await outcome(own, from, url), expected, what);

  const any = ["*"];
  const [open, closed] = ["https://ada:token@93.184.216.34", "https://ada:token@10.0.0.1"];
  const shown = "https://93.184.216.34/lib with credentials";
  t.equal(await outcome(`${open}/app`, [], "https://93.184.216.34/lib", any), `${shown} unnamed`, "not the operator's");
  t.equal(await outcome(`${open}/app`, [], "https://93.184.216.34/lib", ["93.184.216.34", "*"]), shown);
  t.equal(await outcome(`${closed}/app`, [], "https://10.0.0.1/lib", any), "forbidden", "not public");
  t.match(await outcome(`${closed}/app`, ["10.0.0.1"], "https://10.0.0.1/lib", any), /with credentials$/);
  t.equal(await outcome("git@10.0.0.1:app", [], "git@10.0.0.1:lib", any), "forbidden", "by ssh");
  t.equal(
    await outcome("https://localhost/app", [], "https://localhost/lib", any),
    "https://localhost/lib at localhost:443:127.0.0.1 unnamed",
  );
});

t.test("what a local submodule leads to is in the folders, too", async (t) => {
  const repository = (more: object = {}) => ({
    HEAD: "ref: refs/heads/main",
    objects: { info: {} },
    refs: {},
    ...more,
  });
  const root = t.testdir({
    git: {
      good: repository(),
      file: { ".git": "gitdir: ../../secret/other" },
      inside: { ".git": "gitdir: ../good" },
      common: repository({ commondir: "../../secret/other" }),
      lent: repository({ objects: { info: { alternates: "../../../secret/other/objects\n" } } }),
      indirect: repository({ objects: { info: { alternates: "../../lent/objects\n" } } }),
      quoted: repository({ objects: { info: { alternates: '"../../../secret/oth\\145r/objects"\n' } } }),
      "good\n": {},
      lines: { ".git": "gitdir: ../good\n/../../secret/other\n" },
      packs: repository(),
      link: {},
    },
    secret: { other: repository({ objects: { info: {}, pack: {} } }) },
    data: {},
  });
  symlinkSync(join(root, "secret/other"), join(root, "git/link/.git"));
  symlinkSync(join(root, "secret/other/objects/pack"), join(root, "git/packs/objects/pack"));
  mkdirSync(join(root, "git/bare.git"));
  symlinkSync(join(root, "secret/other"), join(root, "git/bare.git/.git"));
  mkdirSync(join(root, "git/bare"));
  const policy = { from: [join(root, "git")] };
  const rules = new SubmoduleRules(parseRemoteUrl("/srv/app"), undefined, policy, join(root, "data"), []);
  for (const name of ["good", "inside"]) t.ok(await rules.require(join(root, "git", name)), name);
  for (const name of ["file", "lines", "common", "lent", "indirect", "quoted", "packs", "link", "bare"])
    await t.rejects(rules.require(join(root, "git", name)), { code: "forbidden", message: /leads to a place/ }, name);
});

const room: TreeRoom = { reserveBytes: 0, isBounded: false };

/** One line for each submodule, and for each file of the composed tree. */
async function compose(t: Test, source: GitFixture, commit: string, limits: Partial<SubmoduleLimits> = {}) {
  const composer = new TreeComposer(source.path, commit.length, { ...submoduleLimits, ...limits }, room, neverStop);
  try {
    const { tree, submodules, problems } = await composer.compose(commit, "https://host/app");
    const listed = source.git("ls-tree", "-r", "--format=%(objecttype) %(path)", tree);
    t.equal(source.git("fsck", "--no-dangling", "--strict"), "", "git finds nothing wrong with what was written");
    return {
      tree,
      files: listed.replaceAll("blob ", "").split("\n"),
      submodules: submodules.map(({ path, state, reason, url }) => `${state} ${path} ${reason || url}`),
      problems,
    };
  } finally {
    composer.close();
  }
}

const settings = (paths: Readonly<Record<string, string>>): string =>
  Object.entries(paths)
    .map(([path, url]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`)
    .join("");

t.test("trees with the contents of submodules", async (t) => {
  for (const format of ["sha1", "sha256"] as const)
    await t.test(format, async (t) => {
      const source = GitFixture.create("bare", format);
      t.teardown(() => source.remove());
      const on = (branch: string, files: FixtureFiles) => source.commit({ branch, files, orphan: true });
      const missing = "1".repeat(format === "sha1" ? 40 : 64);
      const inner = on("inner", { "x.txt": "x" });
      const lib = on("lib", {
        "lib.c": "c",
        "in/ner": { gitlink: inner },
        ".gitmodules": settings({ "in/ner": "../inner" }),
      });
      const app = on("main", {
        "a/lib": { gitlink: lib },
        "a/lib-more": "sorts between a gitlink and a directory",
        "a/lib.txt": "as well",
        gone: { gitlink: missing },
        unnamed: { gitlink: lib },
        blob: { gitlink: source.git("rev-parse", `${lib}:lib.c`) },
        file: "no submodule",
        ".gitmodules": settings({
          "a/lib": "../lib",
          gone: "https://other/gone",
          blob: "../blob",
          file: "../x",
          none: "../x",
        }),
      });
      const composed = await compose(t, source, app);
      t.same(composed.files, [
        ".gitmodules",
        "a/lib-more",
        "a/lib.txt",
        "a/lib/.gitmodules",
        "a/lib/in/ner/x.txt",
        "a/lib/lib.c",
        "commit blob",
        "file",
        "commit gone",
        "commit unnamed",
      ]);
      t.same(composed.submodules, [
        "present a/lib https://host/lib",
        "present a/lib/in/ner https://host/inner",
        "missing gone https://other/gone",
        "missing blob https://host/blob",
      ]);
      t.equal((await compose(t, source, app)).tree, composed.tree, "the same again");
      t.equal((await compose(t, source, inner)).tree, inner, "a commit without submodules is itself");
    });
});

t.test("whatever stops the program, nothing is kept when the option is removed", async (t) => {
  const kept = (): string => source.git("for-each-ref", "--format=%(refname)", "refs/trawl");
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  const lib = source.commit({ branch: "lib", files: { "lib.c": "c" }, orphan: true });
  const files = { lib: { gitlink: lib }, ".gitmodules": settings({ lib: "../lib" }) };
  const app = source.commit({ branch: "main", files, orphan: true });
  const composer = new TreeComposer(source.path, app.length, submoduleLimits, room, neverStop);
  t.teardown(() => composer.close());
  const { tree } = await composer.compose(app, "https://host/app");
  const keep = () =>
    keepSubmodules(source.path, composer, [tree], { pins: new Map([["https://host/lib", [lib]]]) }, 0, neverStop);
  const file = join(source.path, submodulesFile);
  await t.test("between the file and the reference", async (t) => {
    const lock = join(source.path, "refs/trawl/submodules.lock");
    mkdirSync(join(lock, ".."), { recursive: true });
    writeFileSync(lock, "");
    await t.rejects(keep());
    t.ok(existsSync(file), "the file comes first");
    rmSync(lock);
    await dropSubmodules(source.path, neverStop);
    t.same([existsSync(file), kept()], [false, ""]);
  });
  await t.test("between the reference and the file, in either direction", async (t) => {
    for (const lost of [file, join(source.path, "refs/trawl/submodules")]) {
      await keep();
      t.equal(kept(), "refs/trawl/submodules");
      rmSync(lost);
      await dropSubmodules(source.path, neverStop);
      t.same([existsSync(file), kept()], [false, ""]);
    }
  });
});

t.test("bounds and hostile commits", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  const on = (branch: string, files: FixtureFiles) => source.commit({ branch, files, orphan: true });
  const small = on("small", { "x.txt": "x" });
  const mktree = (listing: string): string =>
    execFileSync("git", ["-C", source.path, "mktree"], { input: listing, encoding: "utf8" }).trim();
  const commitTree = (tree: string): string =>
    source.git("-c", "user.name=a", "-c", "user.email=b", "commit-tree", "-m", "hostile", tree);
  const withOne = (pin: string, path = "sub") =>
    on("main", { [path]: { gitlink: pin }, ".gitmodules": settings({ [path]: "../sub" }) });

  await t.test("one in the other, too deep", async (t) => {
    let pin = small;
    for (let depth = 0; depth < 4; depth++) pin = withOne(pin);
    const { submodules, files } = await compose(t, source, pin, { depthMax: 3 });
    t.match(submodules[3], /^left-out sub\/sub\/sub\/sub it is in 3 others/);
    t.ok(files.includes("commit sub/sub/sub/sub"), "the others are there");
  });
  await t.test("too many", async (t) => {
    const paths = Array.from({ length: 5 }, (_, i) => `s${i}`);
    const commit = on("main", {
      ...Object.fromEntries(paths.map((path) => [path, { gitlink: small }])),
      ".gitmodules": settings(Object.fromEntries(paths.map((path) => [path, "../s"]))),
    });
    const { files, problems } = await compose(t, source, commit, { countMax: 3 });
    t.same(files, [".gitmodules", "s0/x.txt", "s1/x.txt", "s2/x.txt", "commit s3", "commit s4"]);
    t.match(problems, [/^s3 and further submodules: there are more than 3/]);
    const few = await compose(t, source, commit, { fileCountMax: 2 });
    t.match(few.submodules[2], /^left-out s2 it has too many files: those of all submodules may be 2/);
    t.ok(few.files.includes("s1/x.txt"), "others are there");
  });
  await t.test("a tree that contains itself many times over", async (t) => {
    let tree = source.git("rev-parse", `${small}^{tree}`);
    for (let level = 0; level < 40; level++) tree = mktree(`040000 tree ${tree}\ta\n040000 tree ${tree}\tb\n`);
    const bomb = commitTree(tree);
    const { submodules, files } = await compose(t, source, withOne(bomb));
    t.match(submodules, [/^left-out sub it has too many files/]);
    t.same(files, [".gitmodules", "commit sub"]);
    let deep = source.git("rev-parse", `${small}^{tree}`);
    for (let level = 0; level < 300; level++) deep = mktree(`040000 tree ${deep}\ta\n`);
    const { submodules: one } = await compose(t, source, withOne(commitTree(deep)));
    t.match(one, [/^left-out sub it has more than 256 directories/]);
  });
  await t.test("too much to read", async (t) => {
    const names = Array.from({ length: 300 }, (_, i) => `s${i}`);
    const many = Object.fromEntries(names.map((name) => [name, { gitlink: small }]));
    const wide = on("wide", { ...many, ".gitmodules": settings(Object.fromEntries(names.map((name) => [name, "u"]))) });
    const commit = on("main", {
      a: { gitlink: small },
      b: { gitlink: wide },
      ".gitmodules": settings({ a: "../a", b: "../b" }),
    });
    const { files, submodules } = await compose(t, source, commit, { workMax: 30_000 });
    t.same(files, [".gitmodules", "a/x.txt", "commit b"], "what was found before is there");
    t.match(submodules[1], /^left-out b there is too much to read/);
    const all = await compose(t, source, commit, { countMax: 600 });
    t.equal(all.submodules.length, 302);
    const few = await compose(t, source, commit, { countMax: 250 });
    t.equal(few.submodules.length, 250, "those within one another count");
    t.match(few.problems, [/^b\/s248 and further submodules/]);
  });
  await t.test("many names beside many files cost what both cost", async (t) => {
    const names = Array.from({ length: 3_000 }, (_, i) => `wide/f${i}`);
    const commit = on("main", {
      ...Object.fromEntries(names.map((name) => [name, "x"])),
      sub: { gitlink: small },
      ".gitmodules": settings({ ...Object.fromEntries(names.map((name) => [name, "u"])), sub: "../sub" }),
    });
    const { submodules } = await compose(t, source, commit, { workMax: 2 << 20 });
    t.match(submodules, [/^present sub /]);
  });
  await t.test("trees that are not there", async (t) => {
    const absent = "3".repeat(40);
    const linesOf = (commit: string) => source.git("ls-tree", commit);
    const plain = on("main", { sub: { gitlink: small }, ".gitmodules": settings({ sub: "../s", "gone/x": "../x" }) });
    const input = `${linesOf(plain)}\n040000 tree ${absent}\tgone\n`;
    const tree = execFileSync("git", ["-C", source.path, "mktree", "--missing"], { input, encoding: "utf8" }).trim();
    const composer = new TreeComposer(source.path, 40, submoduleLimits, room, neverStop);
    t.teardown(() => composer.close());
    const composed = await composer.compose(commitTree(tree), "https://host/app");
    t.match(composed.submodules, [{ path: "sub", state: "present" }], "the others are there");
    t.match(composed.problems, [/^gone\/: /]);
    t.equal(composed.isFinal, false);
    const full = new TreeComposer(
      source.path,
      40,
      submoduleLimits,
      { reserveBytes: Infinity, isBounded: true },
      neverStop,
    );
    t.teardown(() => full.close());
    t.same(await full.hasCommits([small, absent]), [true, false]);
  });
  await t.test("paths and settings", async (t) => {
    const composer = new TreeComposer(source.path, 40, submoduleLimits, room, neverStop);
    t.teardown(() => composer.close());
    const stateOf = async (files: FixtureFiles): Promise<readonly string[]> => {
      const { submodules, problems, tree } = await composer.compose(on("main", files), "https://host/app");
      t.ok(tree, "the commit is readable");
      return [...submodules.map(({ state, path, reason }) => `${state} ${path} ${reason}`), ...problems];
    };
    t.match(await stateOf({ sub: { gitlink: small }, ".gitmodules": "[submodule\n" }), [/^\.gitmodules: line 2/]);
    t.match(await stateOf({ sub: { gitlink: small }, ".gitmodules": `[submodule "s"]\npath = sub\n` }), [/has no URL/]);
    t.match(await stateOf({ sub: { gitlink: small }, ".gitmodules": `${settings({ sub: "u" })}update = none` }), [
      /^left-out sub \.gitmodules says update = none/,
    ]);
    t.same(
      await stateOf({ sub: { gitlink: small }, ".gitmodules": settings({ "../sub": "u", "sub/": "u", "/sub": "u" }) }),
      [],
    );
    t.same(
      await stateOf({ sub: { gitlink: small }, target: settings({ sub: "u" }), ".gitmodules": { symlink: "target" } }),
      [],
    );
    t.match(await stateOf({ ".git": { gitlink: small }, ".gitmodules": settings({ ".git": "../u" }) }), [
      /^left-out \.git its path is none that git checks out/,
    ]);
    t.match(await stateOf({ sub: { gitlink: small }, ".gitmodules": settings({ sub: "../../../../../u" }) }), [
      /^left-out sub .*leads above the URL/,
    ]);
    const odd = on("odd", { "..": { gitlink: small } });
    t.match(await stateOf({ sub: { gitlink: odd }, ".gitmodules": settings({ sub: "../u" }) }), ["present sub "]);
    t.same(
      await stateOf({ sub: { gitlink: small }, ".gitmodules": "x".repeat(2 << 20) }).then(({ length }) => length),
      1,
    );
  });
});
