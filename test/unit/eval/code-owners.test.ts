import t from "tap";
import { CodeOwners, isSameOwner, readOwner, OwnerPattern } from "../../../src/eval/people/code-owners.js";

// Patterns as GitHub describes them: https://docs.github.com/articles/about-code-owners

const patterns: readonly (readonly [pattern: string, yes: readonly string[], no: readonly string[]])[] = [
  ["*", ["a", "a/b/c.js"], []],
  ["*.js", ["a.js", "deep/er/b.js", "dir.js/file"], ["a.jsx", "a/js"]],
  ["/build/logs/", ["build/logs/a", "build/logs/x/y"], ["build/logs", "src/build/logs/a", "build/log"]],
  ["docs/*", ["docs/start.md"], ["docs/app/trouble.md", "x/docs/start.md", "docs"]],
  ["apps/", ["apps/a", "x/apps/y/z"], ["apps", "x/apps", "myapps/a"]],
  ["/docs/", ["docs/a", "docs/a/b"], ["x/docs/a"]],
  ["/scripts/", ["scripts/run.sh"], ["tools/scripts/run.sh"]],
  ["**/logs", ["logs", "logs/a", "build/logs/a/b", "deep/er/logs"], ["logs2/a", "build/mylogs"]],
  ["/apps/github", ["apps/github", "apps/github/a"], ["apps/github2", "x/apps/github"]],
  ["README", ["README", "x/README", "README/a"], ["README.md"]],
  ["a/b", ["a/b", "a/b/c"], ["x/a/b", "a/bc"]],
  ["a/**/z", ["a/z", "a/b/z", "a/b/c/z", "a/b/z/y"], ["a/b", "x/a/z"]],
  ["a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]],
  ["/**", ["a", "a/b"], []],
  ["**", ["a", "a/b"], []],
  ["/*", ["a", ".b"], ["a/b"]],
  ["a?c", ["abc", "x/adc"], ["ac", "a/c", "abbc"]],
  ["src/*/test", ["src/a/test", "src/a/test/b"], ["src/test", "src/a/b/test"]],
  ["**/a/**/b", ["a/b", "x/a/y/z/b"], ["b/a", "a/c"]],
  ["*a*b*c", ["abc", "xaxbxc"], ["acb", "ab"]],
  [String.raw`my\ dir/`, ["my dir/a"], ["my/dir/a", String.raw`my\ dir/a`]],
  [String.raw`a\*`, ["a*"], ["ab"]],
  ["Makefile", ["Makefile"], ["makefile"]],
];

t.test("patterns", async (t) => {
  for (const [text, yes, no] of patterns) {
    const pattern = OwnerPattern.parse(text);
    for (const path of yes) t.ok(pattern?.matches(path.split("/")), `${text} matches ${path}`);
    for (const path of no) t.notOk(pattern?.matches(path.split("/")), `${text} does not match ${path}`);
  }
});

t.test("invalid patterns", async (t) => {
  for (const text of ["", "/", "!a", "[ab]", "a[0-9]"]) t.equal(OwnerPattern.parse(text), undefined, text);
});

t.test("a hostile pattern is not slower", async (t) => {
  const stars = OwnerPattern.parse(`${"*a".repeat(500)}b`);
  t.notOk(stars?.matches(["a".repeat(4000)]));
  const directories = OwnerPattern.parse(`${"**/a/".repeat(500)}b`);
  t.notOk(directories?.matches(new Array<string>(1000).fill("a")));
});

function ownersOf(lines: readonly string[], path: string): string {
  return new CodeOwners(lines.join("\n"))
    .match(path)
    .map(({ kind, text }) => `${kind}:${text}`)
    .join(" ");
}

t.test("the last matching rule applies", async (t) => {
  const lines = ["* @all", "*.js @js js@acme.test", "/apps/ @octo", "/apps/github", "/apps/github/special @one"];
  t.equal(ownersOf(lines, "a.md"), "handle:all");
  t.equal(ownersOf(lines, "lib/a.js"), "handle:js email:js@acme.test");
  t.equal(ownersOf(lines, "apps/a.js"), "handle:octo", "later rules win, however narrow the earlier ones");
  t.equal(ownersOf(lines, "apps/github/a.js"), "", "a rule without owners takes them away");
  t.equal(ownersOf(lines, "apps/github/special"), "handle:one");
});

t.test("lines", async (t) => {
  t.equal(ownersOf(["# * @no", "", "  * @yes @org/team  # not @this"], "a"), "handle:yes handle:org/team");
  t.equal(
    ownersOf(["* @all", "*.js js-team", "!x @no", "[a] @no"], "a.js"),
    "handle:all",
    "what cannot be understood is skipped",
  );
  t.equal(ownersOf(["* @all\r", "a @me\r"], "a"), "handle:me", "line ends of Windows");
  t.equal(
    ownersOf(["[Section][2] @nobody", "^[Other]", "a @me"], "a"),
    "handle:me",
    "headings of sections are skipped",
  );
  t.equal(ownersOf([String.raw`my\ dir/ @me`], "my dir/a"), "handle:me");
  t.equal(ownersOf([], "a"), "");
});

t.test("rules for one directory are found among many", async (t) => {
  const lines = Array.from({ length: 2000 }, (_, i) => `/d${i}/ @o${i}`);
  t.equal(ownersOf(["* @all", ...lines], "d1234/x/y"), "handle:o1234");
  t.equal(ownersOf([...lines, "*.md @docs"], "d1234/x.md"), "handle:docs");
  t.equal(ownersOf(["*.md @docs", ...lines], "d1234/x.md"), "handle:o1234");
});

t.test("matching an owner", async (t) => {
  t.same(readOwner("@ben"), { kind: "handle", text: "ben" });
  t.same(readOwner(" ben "), { kind: "handle", text: "ben" });
  t.same(readOwner("ben@acme.test"), { kind: "email", text: "ben@acme.test" });
  t.same(readOwner("@org/team"), { kind: "handle", text: "org/team" });
  t.ok(isSameOwner(readOwner("@Ben"), readOwner("BEN")));
  t.notOk(isSameOwner({ kind: "handle", text: "a" }, { kind: "email", text: "a" }));
});

t.test("files of any size are read in bounded time", async (t) => {
  const last = "/a/x @last\n";
  t.same(
    new CodeOwners(`${"b\n".repeat(1_500_000)}${last}`).match("a/x").map(({ text }) => text),
    ["last"],
    "of many lines the last ones count",
  );
  const ownersOf = (text: string): readonly string[] => new CodeOwners(text).match("a/x").map((owner) => owner.text);
  t.same(ownersOf(`${last}${"#\n".repeat(100_000)}`), [], "no further lines are read");
  t.same(ownersOf(`${last}${"/b/y @b\n".repeat(50_000)}`), [], "and no further rules");
  t.same(ownersOf(`${last}/a/${"*".repeat(2000)} @long\n`), ["last"], "long patterns are skipped");
  t.same(ownersOf(`${last}/a/x ${"@z ".repeat(10_000)}\n`), ["last"], "and long lines");
  const deep = `a/${"ab/".repeat(1_000)}c`;
  const start = process.cpuUsage();
  t.same(new CodeOwners(`**/${"a*/".repeat(300)}b @a\n`).match(deep), []);
  t.ok(process.cpuUsage(start).user < 1_000_000, "a pattern of many names and a deep path");
});

t.test("the rule that applies", async (t) => {
  const owners = new CodeOwners("# first\n\n* @all\nlib/** @a\n");
  t.match(owners.findRule("lib/x"), { pattern: "lib/**", line: 4, owners: [{ text: "a" }] });
  t.match(owners.findRule("x"), { pattern: "*", line: 3 });
  t.equal(new CodeOwners("lib @a").findRule("x"), undefined);
  t.match(
    new CodeOwners(`${"b @x\n".repeat(200_000)}a @last`).findRule("a"),
    { line: 200_001 },
    "only the last lines are read",
  );
});
