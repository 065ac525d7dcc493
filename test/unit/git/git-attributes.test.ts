/** `.gitattributes` files: what they say of paths, compared with what git says. */
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { type AttributeFile, parseAttributeFile } from "../../../src/git/attributes/attribute-file.js";
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

function askStack(contents: Contents, paths: readonly string[]): string[] {
  const files = new Map<string, AttributeFile>();
  for (const [directory, text] of contents) files.set(directory, parseAttributeFile(text));
  const stack = new AttributeStack(files, names);
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
