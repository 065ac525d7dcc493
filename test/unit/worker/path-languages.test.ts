/** What the attribute files above a file say of its language. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { mirrorName, mirrorsFolder } from "../../../src/model/repository.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { directoriesMax, readGivenLanguages } from "../../../src/worker/read/path-languages.js";
import { CommitTexts } from "../../../src/worker/read/precise-texts.js";
import { answerListOccurrences, answerListSymbols } from "../../../src/worker/read/symbol-reads.js";
import { fixture } from "../../support/git-mirror.js";
import { removeFolder } from "../../support/remove-folder.js";

const source = fixture(t);
const given = (commit: string, paths: readonly string[]) => readGivenLanguages(source.path, commit, paths, neverStop);

t.test("the files above count, links do not", async (t) => {
  const commit = source.commit({
    branch: "main",
    files: {
      said: "*.c linguist-language=Go",
      ".gitattributes": "*.c linguist-language=Zig",
      "a/.gitattributes": "*.c linguist-language=C++",
      "b/.gitattributes": { symlink: "../said" },
      "*.c linguist-language=Go": "",
      "c/.gitattributes": { symlink: "*.c linguist-language=Go" },
    },
  });
  const paths = ["x.c", "a/x.c", "a/b/x.c", "b/x.c", "c/x.c", "x.h"];
  for (const round of ["first", "kept"])
    t.same(await given(commit, paths), ["Zig", "C++", "C++", "Zig", "Zig", ""], round);
});

t.test("a file below very many directories costs no more than others", async (t) => {
  const at = (depth: number): string => "d/".repeat(depth);
  const commit = source.commit({
    branch: "main",
    orphan: true,
    files: {
      [`${at(directoriesMax)}.gitattributes`]: "*.c linguist-language=Go",
      [`${at(directoriesMax + 1)}.gitattributes`]: "*.c linguist-language=Zig",
    },
  });
  t.same(await given(commit, [`${at(directoriesMax)}x.c`, `${at(directoriesMax + 1)}x.c`]), ["Go", "Go"]);
});

t.test("a directory that cannot be read says nothing", async (t) => {
  const files = { ".gitattributes": "*.c linguist-language=Go", "a/b": "text" };
  const commit = source.commit({ branch: "main", orphan: true, files });
  const tree = source.git("rev-parse", "main:a");
  rmSync(join(source.path, "objects", tree.slice(0, 2), tree.slice(2)));
  t.same(await given(commit, ["a/x.c"]), [""]);
  t.same(await given(commit, ["x.c"]), ["Go"]);
});

t.test("symbols and texts for navigation have the languages of their commits", async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "trawl-"));
  t.teardown(() => removeFolder(dataFolder));
  mkdirSync(join(dataFolder, mirrorsFolder));
  symlinkSync(source.path, join(dataFolder, mirrorsFolder, mirrorName(1)));
  // What these answers need of it.
  const context = { dataFolder, stop: neverStop } as ReadContext;
  for (const language of ["Zig", "Go"]) {
    const files = { "x.c": "int x;\n", ".gitattributes": `*.c linguist-language=${language}` };
    const commit = source.commit({ branch: "main", orphan: true, files });
    const file = { repositoryId: 1, commit, oid: source.git("rev-parse", "main:x.c"), path: "x.c" };
    const page = { query: "", kinds: [], skipCount: 0, countMax: 1 };
    t.equal((await answerListSymbols({ kind: "list-symbols", ...file, ...page }, context)).language, language);
    const place = { line: 0, character: 4, all: false };
    t.equal((await answerListOccurrences({ kind: "list-occurrences", ...file, ...place }, context)).language, language);
    const found: string[] = [];
    await new CommitTexts(context, 1, commit, commit).readTexts(["x.c"], (_, text) => found.push(text.language));
    t.same(found, [language]);
  }
});
