/** What the files of a commit say of its other files, read from a repository. */
import t from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { entriesOfBranches } from "../../../src/indexer/index-repository.js";
import {
  attributeFilesMax,
  attributeRulesMax,
  attributeStatesMax,
  wildcardBytesMax,
} from "../../../src/indexer/rules/commit-rules.js";
import { noRules, rulesOfKey } from "../../../src/indexer/rules/path-rules.js";
import { documentFlags } from "../../../src/shard/format.js";
import type { FixtureFiles } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";

const { kinds, generated, vendored, language } = documentFlags;
const source = fixture(t);

async function rulesIn(files: FixtureFiles) {
  const commit = source.commit({ branch: "main", files, orphan: true });
  const { entries, problems } = await entriesOfBranches(source.path, [{ name: "main", bit: 0, commit }], neverStop);
  const found = new Map(entries.map(({ path, rules }) => [path.toString(), rules]));
  return { at: (path: string) => found.get(path), problems };
}

t.test("languages by name and alias, and kinds", async (t) => {
  const lines = [
    "*.a linguist-language=golang",
    "*.b linguist-language=Visual-Basic-.NET linguist-generated",
    "*.c linguist-language=Nonsense -linguist-vendored",
    "*.d linguist-language linguist-detectable linguist-documentation",
    "*.e linguist-generated=false",
    "*.f linguist-vendored=true !linguist-generated",
  ];
  const names = ["x.a", "x.b", "vendor/x.c", "x.d", "dist/x.e", "dist/x.f", "x.g"];
  const { at, problems } = await rulesIn({
    ".gitattributes": lines.join("\n"),
    ...Object.fromEntries(names.map((name) => [name, "text"])),
    "link.a": { symlink: "x.a" },
  });
  const said = (path: string) => [at(path)?.language, at(path)?.flags];
  t.same(said("x.a"), ["Go", language]);
  t.same(said("x.b"), ["Visual Basic .NET", language | kinds | generated]);
  t.same(said("vendor/x.c"), ["", kinds], "the path says that it is vendored, the attribute that it is not");
  t.same(said("x.d"), ["", 0]);
  t.same(said("dist/x.e"), ["", kinds]);
  t.same(said("dist/x.f"), ["", kinds | generated | vendored], "what is unspecified is left to the path");
  t.equal(at("x.g"), noRules);
  t.equal(at("link.a"), noRules);
  t.same(problems, []);
  for (const name of names) t.same(rulesOfKey(at(name)?.key ?? "?"), at(name));
});

t.test("what is wrong is named, and has no effect", async (t) => {
  const long = `${"x".repeat(80)}\n`.repeat(15_000);
  const rows: readonly (readonly [files: FixtureFiles, problem: string])[] = [
    [{ ".sourcegraph/ignore": "ok\na[" }, ".sourcegraph/ignore: line 2: a bracket is not closed"],
    [{ ".sourcegraph/ignore": long }, ".sourcegraph/ignore: has more than 256 KiB: nothing is left out"],
    [
      { ".gitattributes": `* linguist-vendored\n${long}` },
      ".gitattributes: .gitattributes has more than 1024 KiB: attributes have no effect",
    ],
    [
      { ".gitattributes": "* linguist-vendored\n".repeat(attributeRulesMax + 1) },
      `.gitattributes: more than ${attributeRulesMax} lines for linguist: attributes have no effect`,
    ],
    [
      { ".gitattributes": `${"[attr]m linguist-vendored a\n".repeat(attributeRulesMax)}* m` },
      `.gitattributes: more than ${attributeRulesMax} lines for linguist: attributes have no effect`,
    ],
    [
      { ".gitattributes": `${"[^a]".repeat(500)} linguist-vendored\n`.repeat(60) },
      `.gitattributes: more than ${wildcardBytesMax >> 10} KiB of patterns with wildcards: attributes have no effect`,
    ],
    [
      {
        ".gitattributes": [
          ...Array.from({ length: 100 }, (_, i) => `[attr]m${i} linguist-vendored`),
          ...new Array<string>(100).fill(`* ${Array.from({ length: 100 }, (_, i) => `m${i}`).join(" ")}`),
        ].join("\n"),
      },
      `.gitattributes: more than ${attributeStatesMax} attributes in lines: attributes have no effect`,
    ],
    [
      Object.fromEntries(
        Array.from({ length: 5 }, (_, i) => [
          `${i}/.gitattributes`,
          `* linguist-vendored\n${long.slice(0, 1_000_000)}`,
        ]),
      ),
      ".gitattributes: more than 4 MiB: attributes have no effect",
    ],
    [
      Object.fromEntries(
        Array.from({ length: attributeFilesMax + 1 }, (_, i) => [`${i}/.gitattributes`, "* linguist-vendored"]),
      ),
      `.gitattributes: more than ${attributeFilesMax} files: attributes have no effect`,
    ],
  ];
  for (const [files, problem] of rows) {
    const { at, problems } = await rulesIn({ ...files, "1/a": "text" });
    t.same(problems, [`rules of the branch "main": ${problem}`]);
    t.equal(at("1/a"), noRules);
  }
});

t.test("a line that is no pattern, or many stars, cost nothing", async (t) => {
  const stars = `${"*a".repeat(1_000)} linguist-vendored`;
  const { at } = await rulesIn({ ".gitattributes": `[ linguist-vendored\n${stars}\n`, ["a".repeat(255)]: "", b: "" });
  t.equal(at("a".repeat(255)), noRules);
  t.equal(at("b"), noRules);
});

t.test("the rules of many files are found in steps that can be stopped, once for branches with the same", async (t) => {
  const names = Array.from({ length: 50 }, (_, i) => [`${i}.c`, ""]);
  const files = { ".gitattributes": "*.c linguist-vendored", ...Object.fromEntries(names) };
  const commit = source.commit({ branch: "main", files, orphan: true });
  const branches = ["main", "dev"].map((name, bit) => ({ name, bit, commit }));
  const now = performance.now.bind(performance);
  let clock = 0;
  performance.now = () => (clock += 1_000);
  t.teardown(() => (performance.now = now));
  let asked = 0;
  const { entries } = await entriesOfBranches(source.path, branches, () => ++asked < 0);
  t.ok(asked > 100, "each step is long by this clock");
  t.equal(entries.length, 51);
  asked = 0;
  await t.rejects(
    entriesOfBranches(source.path, branches, () => ++asked > 60),
    { code: "cancelled" },
  );
});
