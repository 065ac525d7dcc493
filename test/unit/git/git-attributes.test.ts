/** `.gitattributes` files: what they say of paths, compared with what git says. */
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { parseAttributeFile, parseMacros } from "../../../src/git/attributes/attribute-file.js";
import { AttributeMacros } from "../../../src/git/attributes/attribute-macros.js";
import { AttributeStack } from "../../../src/git/attributes/attribute-stack.js";
import { GitFixture } from "../../support/git-fixture.js";
import { fc, runs } from "../../support/property.js";

const names = ["linguist-language", "linguist-generated", "a", "m"];

/** Contents by directory. */
type Contents = ReadonlyMap<string, string>;

/** What git says of the paths, as `path name value` for each that is specified. */
function askGit(source: GitFixture, contents: Contents, paths: readonly string[]): string[] {
  const files = [...contents].map(
    ([directory, text]) =>
      [`${directory === "" ? "" : `${directory}/`}.gitattributes`, Buffer.from(text, "latin1")] as const,
  );
  source.git("read-tree", source.commit({ branch: "main", files, orphan: true }));
  const output = source.git("check-attr", "--cached", "-z", ...names, "--", ...paths);
  const words = output.split("\0");
  const said: string[] = [];
  for (let i = 0; i + 2 < words.length; i += 3)
    if (words[i + 2] !== "unspecified") said.push(words.slice(i, i + 3).join(" "));
  return said.sort();
}

function makeStack(contents: Contents, wanted: readonly string[], stop = neverStop): AttributeStack {
  const max = 100_000;
  const macros = new AttributeMacros(wanted, parseMacros(contents.get("") ?? "", max, stop) ?? new Map());
  const files = new Map([...contents].map(([at, text]) => [at, parseAttributeFile(text, macros, max, stop)]));
  return new AttributeStack(files, macros);
}

function askStack(contents: Contents, paths: readonly string[]): string[] {
  const stack = makeStack(contents, names);
  const said: string[] = [];
  for (const path of paths)
    for (const [name, value] of stack.attributesAt(path)) {
      if (value === null || !names.includes(name)) continue;
      said.push(`${path} ${name} ${value === true ? "set" : value === false ? "unset" : value}`);
    }
  return said.sort();
}

const segment = fc.constantFrom("a", "b", "ab", "abc", "a.c", "c", "-", "]", "!a", "*", "a b", "a\\b", "#", "A1");
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const piece = fc.oneof(
  { weight: 4, arbitrary: segment.filter((text) => !text.includes(" ")) },
  fc.constantFrom("*", "**", "***", "?", "/", "/**/", "**/", "/**", "*.c", "\\", "\\*", "\\/", "\\]"),
  fc.constantFrom("[ab]", "[!a]", "[^b]", "[]a]", "[a-c]", "[c-a]", "[[:alpha:]]", "[[:digit:][:punct:]]"),
  fc.constantFrom(
    "[",
    "[a",
    "[!]",
    "[[:what:]]",
    "[[:alpha:",
    "[a\\]b]",
    "[--a]",
    "[a-]",
    "[/]",
    "[!/]",
    "[[:a]",
    "[\\\\]",
  ),
);
const pattern = fc.array(piece, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
const quoted = pattern.map((text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')} b"`);
const state = fc.oneof(
  fc.constantFrom(...names),
  fc.constantFrom(...names.flatMap((name) => [`-${name}`, `!${name}`, `${name}=x`, `${name}=C++`, `${name}=`])),
  fc.constantFrom("m2", "-m2", "=x", "a=b=c", "--a", "other", "a?"),
);
const states = fc.array(state, { minLength: 1, maxLength: 3 }).map((words) => words.join(" "));
const line = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(pattern, states).map(([text, said]) => `${text} ${said}`) },
  fc.tuple(quoted, states).map(([text, said]) => `${text} ${said}`),
  fc
    .tuple(fc.constantFrom("m", "m2", "linguist-generated", "-x"), states)
    .map(([name, said]) => `[attr]${name} ${said}`),
  fc.constantFrom(
    "",
    "# comment a",
    "!a a",
    "*",
    "  \t",
    '"\\141" a',
    '"\\x" a',
    "* a\r",
    `* ${"a ".repeat(1_100)}`,
    "[attr] a",
  ),
);
const text = fc.array(line, { maxLength: 8 }).map((lines) => lines.join("\n"));
const contents = fc
  .tuple(text, fc.dictionary(fc.constantFrom("a", "b", "a/b", "ab/a"), text, { noNullPrototype: true }))
  .map(([root, others]): Contents => new Map([["", root], ...Object.entries(others)]));

t.test("what git says", (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  let saidCount = 0;
  fc.assert(
    fc.property(contents, fc.uniqueArray(path, { minLength: 20, maxLength: 40 }), (files, paths) => {
      const said = askGit(source, files, paths);
      saidCount += said.length;
      const found = askStack(files, paths);
      if (!isDeepStrictEqual(found, said))
        throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(said)}`);
    }),
    { numRuns: runs(1_500) },
  );
  t.ok(saidCount > 200, `git named ${saidCount} attributes`);
  t.end();
});

const [generated, vendored] = ["linguist-generated", "linguist-vendored"];

t.test("a line of 2,048 bytes and more is left out, as git does", (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  for (const [bytes, count] of [
    [2_047, 1],
    [2_048, 0],
    [2_049, 0],
  ]) {
    const files = new Map([["", `${"x ".repeat(10)}a`.padStart(bytes, " ")]]);
    t.equal(askGit(source, files, ["x"]).length, count, `${bytes}`);
    t.equal(askStack(files, ["x"]).length, count, `${bytes}`);
  }
  t.end();
});

t.test("a byte order mark does not count, as for git in a working tree", (t) => {
  t.same(askStack(new Map([["", "\xef\xbb\xbfx a"]]), ["x"]), ["x a set"]);
  t.end();
});

t.test("a chain of macros ends at what it stands for, however long", (t) => {
  const chain = Array.from({ length: 5_000 }, (_, i) => `[attr]m${i} m${i + 1}`);
  const text = [...chain, `[attr]m5000 ${generated}`, "[attr]other text", "x m0", "y m1 -m4000"].join("\n");
  const stack = makeStack(new Map([["", text]]), [generated, vendored]);
  t.equal(stack.ruleCount, 5_003, "macros that matter, and lines");
  t.same([...stack.attributesAt("x")], [[generated, true]]);
  t.same([...stack.attributesAt("y")], [], "one is unset");
  t.equal(parseMacros(text, 100, neverStop), undefined);
  t.end();
});

t.test("what no wanted attribute comes from is not kept, and no pattern is translated before it is asked for", (t) => {
  const lines = `${"[^a]".repeat(255)} text=${"x".repeat(100)}\n`.repeat(900);
  const wanted = `${"[^a]".repeat(500)} ${generated}\n`.repeat(30);
  const macros = new AttributeMacros([generated], new Map());
  const rules = parseAttributeFile(lines + wanted, macros, 1_000, neverStop);
  t.equal(rules.length, 30);
  t.equal(rules[0].wildcard?.byteCount, 2_000);
  t.ok((rules[0].wildcard?.source()?.length ?? 0) < 20_000, "ranges, not 254 bytes each");
  t.ok(rules[0].matches("b".repeat(500)));
  t.notOk(rules[0].matches(`${"b".repeat(499)}a`));
  t.equal(parseAttributeFile(lines + wanted, macros, 10, neverStop).length, 11);
  t.end();
});

t.test("parsing is stopped", (t) => {
  let asked = 0;
  const text = `x ${generated}\n`.repeat(10_000);
  t.throws(() => makeStack(new Map([["", text]]), [generated], () => ++asked > 2), { code: "cancelled" });
  t.end();
});

t.test("rules end to matter when all attributes are decided", (t) => {
  const stack = makeStack(new Map([["", `x ${vendored}\nx -${generated} ${vendored}=2`]]), [generated, vendored]);
  t.same(
    [...stack.attributesAt("x")],
    [
      [generated, false],
      [vendored, "2"],
    ],
  );
  t.end();
});

t.test("of many lines with wildcards only those of a block that may match are tried", (t) => {
  let triedCount = 0;
  const macros = new AttributeMacros([generated], new Map());
  const lines = Array.from({ length: 1_000 }, (_, i) => `*x${i}*y ${generated}`).join("\n");
  const rules = parseAttributeFile(lines, macros, 1_000, neverStop).map((rule) => ({
    ...rule,
    matches: (path: string) => {
      triedCount++;
      return rule.matches(path);
    },
  }));
  const stack = new AttributeStack(new Map([["", rules]]), macros);
  t.equal(stack.attributesAt("a/b").size, 0);
  t.equal(triedCount, 0);
  t.same([...stack.attributesAt("x7y")], [[generated, true]]);
  t.ok(triedCount <= 256, `${triedCount} lines were tried`);
  t.end();
});
