/**
 * revisionProblem(text) == null  =>  git finds no option, no control character, no regular expression and no path in
 * the text; and of texts without `~` and `^`: exactly the names that `git check-ref-format` accepts and that begin with
 * no minus.
 */
import { spawnSync } from "node:child_process";
import t from "tap";
import { checkRevision, refGlobProblem, revisionProblem, splitRange } from "../../../src/model/revision-syntax.js";
import { scaled } from "../../support/full-run.js";
import { fixture } from "../../support/git-mirror.js";
import { randomFrom } from "../../support/random.js";

const oid = "0123456789abcdef0123456789abcdef01234567";

const accepted: readonly (readonly [name: string, texts: readonly string[]])[] = [
  [
    "branches and tags",
    ["main", "team/topic", "v1.0", "release-1.x", "größe", "a@b", "a{b}", "x.lock.y", "a'b", "50%", "#1", "main@"],
  ],
  ["full refs", ["refs/heads/main", "refs/tags/v1.0", "refs/pull/1/head", "refs/heads/-h"]],
  ["commits", [oid, oid.slice(0, 4), oid.toUpperCase(), "a".repeat(64), "v1.0-3-gabcdef0"]],
  ["HEAD", ["HEAD", "@", "@~1"]],
  ["ancestors", ["HEAD~2", "main~", "main~~", "main^", "main^2", "main^0", "main^^^", "v1~3^2~999999"]],
  [
    "what a tag or commit stands for",
    ["v1^{commit}", "v1^{}", "v1^{tree}", "v1^{tag}", "v1^{object}", "v1^{}^{commit}~2"],
  ],
  ["the longest", ["a".repeat(1024), `a${"^".repeat(64)}`]],
];

const refused: readonly (readonly [name: string, texts: readonly string[], problem: RegExp])[] = [
  [
    "searches of messages",
    ["HEAD^{/a}", "HEAD^{/(((b{1,255}){1,255}){1,255})}", "main^{/}", "main^{/!-a}"],
    /continues with/,
  ],
  ["the same from the start", [":/a", ":/(((b{1,255}){1,255}){1,255})"], /holds ":"/],
  ["paths", ["main:a.txt", ":0:a", "main:./a"], /holds ":"/],
  [
    "logs and upstreams",
    ["@{u}", "main@{upstream}", "@{-1}", "main@{1}", "main@{yesterday}", "HEAD@{2 days ago}"],
    /reflog|space/,
  ],
  ["ranges", ["a..b", "a...b", "..", "a.."], /range/],
  ["sides of ranges", ["^main", "~1"], /does not begin/],
  ["all parents", ["main^!", "main^@", "main^-", "main^-1"], /continues with/],
  ["options", ["-x", "--all", "-", "--"], /minus/],
  [
    "control characters and blanks",
    ["\0", "main\0", "a\nb", "a b", "a\tb", "\x7f", "main^{commit} "],
    /space|control|continues/,
  ],
  ["globs", ["*", "v?", "[a]", "a\\b"], /holds/],
  ["parts of a name", [".a", "a/.b", "a//b", "/a", "a/", "a.lock", "a.lock/b"], /path component/],
  ["a dot at the end", ["a."], /dot/],
  [
    "steps without an end",
    ["a^{commit", "a^{blob}", "a^{ commit}", "a~x", "a~-1", "a~1x", "a^{commit}}"],
    /continues|space/,
  ],
  ["numbers that git would count for long", ["a~1000000", "a^99999999999999999999"], /continues/],
  ["too much", ["a".repeat(1025), `a${"^".repeat(65)}`, `a${"~1".repeat(65)}`], /more than/],
  ["nothing", [""], /does not begin/],
];

for (const [name, texts] of accepted) {
  t.test(`accepted: ${name}`, (t) => {
    for (const text of texts) t.equal(revisionProblem(text), null, text.slice(0, 40));
    t.end();
  });
}
for (const [name, texts, problem] of refused) {
  t.test(`rejected: ${name}`, (t) => {
    for (const text of texts) t.match(revisionProblem(text), problem, JSON.stringify(text.slice(0, 40)));
    t.end();
  });
}

t.test("the error names the problem and what is allowed", (t) => {
  t.throws(() => checkRevision("HEAD^{/a}"), {
    code: "bad-request",
    message:
      'the revision "HEAD^{/a}" continues with "^{/a}": a revision is a branch, a tag, a full ref, a commit or a prefix of its id, optionally followed by ~N, ^N, ^{commit}, ^{tree} and ^{}',
  });
  t.end();
});

t.test("ranges", (t) => {
  t.same(splitRange("a..b"), { base: "a", head: "b" });
  t.same(splitRange("a...b"), { base: "a", head: "b" });
  t.same(splitRange("..b"), { base: "", head: "b" });
  t.same(splitRange("a....b"), { base: "a", head: ".b" }, "whose head is refused then");
  t.equal(splitRange("a.b"), undefined);
  t.same(splitRange(".".repeat(1_000_000))?.base, "");
  t.end();
});

t.test("globs", (t) => {
  for (const glob of ["refs/heads/*", "", "!refs/tags/v[0-9]?", "[[["]) t.equal(refGlobProblem(glob), null, glob);
  for (const glob of ["a b", "\0", "*".repeat(1025)]) t.ok(refGlobProblem(glob), glob.slice(0, 20));
  t.end();
});

const pieces = [
  "main",
  "a",
  "/",
  ".",
  "..",
  ".lock",
  "@",
  "@{",
  "{",
  "}",
  "^",
  "~",
  "1",
  "999",
  "-",
  ":",
  "^{",
  "^{}",
  "commit}",
  "tree}",
  "/x",
  "!",
  "\0",
  "\n",
  " ",
  "*",
  "?",
  "[",
  "\\",
  "é",
  "\ud800",
  "refs/heads/",
];

t.test("ref names are validated as by git", (t) => {
  const random = randomFrom(11);
  const texts = Array.from({ length: 400 }, () =>
    Array.from({ length: 1 + random(4) }, () => pieces[random(pieces.length)]).join(""),
  ).filter((text) => text !== "@" && !/[\0~^\ud800]/.test(text) && !text.startsWith("-"));
  for (const text of new Set(texts)) {
    const isName = spawnSync("git", ["check-ref-format", "--allow-onelevel", text]).status === 0;
    if ((revisionProblem(text) === null) !== isName)
      t.fail(`${JSON.stringify(text)}: git says ${isName}, we say ${revisionProblem(text)}`);
  }
  t.ok(texts.length > 200);
  t.end();
});

t.test("an accepted text is never an option, a pattern or a path", async (t) => {
  const repository = fixture(t);
  repository.commit({ branch: "main", files: { a: "1" }, message: "x" });
  repository.commit({ branch: "a", files: { a: "2" }, message: "1" });
  const random = randomFrom(12);
  const found: string[] = [];
  for (let i = 0; i < scaled(40_000, 200_000); i++) {
    const text = Array.from({ length: 1 + random(6) }, () => pieces[random(pieces.length)]).join("");
    if (revisionProblem(text) !== null) continue;
    found.push(text);
    // eslint-disable-next-line no-control-regex
    if (/^-|[\0- \x7f]|\^\{\/|:|@\{|\.\./.test(text)) t.fail(JSON.stringify(text));
  }
  t.ok(found.length > 200, `${found.length} of them`);
  const args = [`--git-dir=${repository.path}`, "cat-file", "--batch-check=%(objecttype)"];
  const lines = spawnSync("git", args, { input: found.map((text) => `${text}\n`).join("") })
    .stdout.toString()
    .split("\n")
    .slice(0, -1);
  t.equal(lines.length, found.length, "git reads each as one name");
  t.ok(
    lines.every((line) => /^(commit|tree)$|missing$|ambiguous$/.test(line)),
    "and finds commits, trees or nothing",
  );
});
