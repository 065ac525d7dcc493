/** What uploaded indexes say about a name, if there are many, or some cannot be read. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { neverStop } from "../../../src/git/run/run.js";
import { type PreciseCandidate, preciseFolder, preciseIndexName } from "../../../src/model/precise-index.js";
import { mirrorName, mirrorsFolder } from "../../../src/model/repository.js";
import type { PreciseQuestion } from "../../../src/protocol/precise-messages.js";
import { buildIndex } from "../../../src/scip/build-index.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { answerFindPrecise } from "../../../src/worker/read/precise-reads.js";
import { fixture } from "../../support/git-mirror.js";
import { removeFolder } from "../../support/remove-folder.js";
import { encodeScipIndex, indexWords, type ScipFile } from "../../support/scip-index.js";

const source = fixture(t);
const dataFolder = mkdtempSync(join(tmpdir(), "trawl-"));
t.teardown(() => removeFolder(dataFolder));
for (const folder of [mirrorsFolder, preciseFolder]) mkdirSync(join(dataFolder, folder));
symlinkSync(source.path, join(dataFolder, mirrorsFolder, mirrorName(1)));
// What precise answers need of it.
const context = { dataFolder, stop: neverStop } as ReadContext;

const far = "t npm other 1 `x.ts`/far.";
const app: ScipFile = {
  path: "use.ts",
  encoding: 2,
  occurrences: [
    { range: [0, 0, 3], symbol: far },
    { range: [0, 4, 8], symbol: "local 1", roles: 1 },
  ],
  symbols: [{ symbol: far, signature: "const far: number" }],
};
const roots = Array.from({ length: 10 }, (_, i) => `lib${i}/`);
const libraries = Object.fromEntries(roots.map((root, i) => [`${root}x.ts`, `name${i}\n`]));
const texts = { "app/use.ts": "far near\n", "readme.txt": "one\n", ...libraries };
const commit = source.commit({ branch: "main", files: texts });

const indexPath = (id: number): string => join(dataFolder, preciseFolder, preciseIndexName(id));

async function addIndex(id: number, root: string, files: readonly ScipFile[]): Promise<PreciseCandidate> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield encodeScipIndex(files);
  }
  const all: Readonly<Record<string, string>> = texts;
  const readTexts: Parameters<typeof buildIndex>[1]["readTexts"] = async (paths, onText) => {
    for (const [i, path] of paths.entries()) await onText(i, Buffer.from(all[root + path] ?? ""));
  };
  await buildIndex(chunks(), { readTexts }, indexPath(id), () => undefined);
  return { id, commit, root };
}

const addLibrary = (id: number, i: number): Promise<PreciseCandidate> =>
  addIndex(id, `lib${i}/`, indexWords({ "x.ts": `name${i}\n` }));

const ask = (
  candidates: readonly PreciseCandidate[],
  { want = "definitions" as PreciseQuestion, at = 0, asked = commit, repositoryId = 1 } = {},
) =>
  answerFindPrecise(
    {
      kind: "find-precise",
      repositoryId,
      commit: asked,
      path: "app/use.ts",
      at: { line: 0, character: at },
      want,
      candidates,
      placesMax: 100,
    },
    context,
  );

/** "ID SIGNATURE PLACES; failures" */
async function print(answer: ReturnType<typeof ask>): Promise<string> {
  const { found, failures } = await answer;
  const shown = found === undefined ? "nothing" : `${found.indexId} ${found.about.signature} ${found.placeCount}`;
  const failed = failures.map(({ indexId, reason, isDamage }) => `${indexId}${isDamage ? " damaged" : ""}: ${reason}`);
  return [shown, ...failed].join("; ");
}

t.test("an index stays open while others are asked", async (t) => {
  const others = await Promise.all(roots.map((_, i) => addLibrary(10 + i, i)));
  const own = await addIndex(1, "app/", [app]);
  for (const candidates of [
    [...others, own],
    [own, ...others],
  ])
    t.equal(await print(ask(candidates)), "1 const far: number 0");
  for (const { id } of [own, ...others]) rmSync(indexPath(id));
  t.equal(await print(ask([own, ...others])), "nothing", "they were deleted");
});

t.test("an index that cannot be read is named, and the others answer", async (t) => {
  const own = await addIndex(2, "app/", [app]);
  const damaged = await addLibrary(20, 0);
  const path = indexPath(damaged.id);
  writeFileSync(path, readFileSync(path).subarray(0, -1));
  const found = "2 const far: number 0";
  t.match(await print(ask([own, damaged])), new RegExp(`^${found}; 20 damaged: [^;]*$`));

  const later = await addLibrary(21, 1);
  const bytes = readFileSync(indexPath(later.id));
  bytes.writeUInt32LE(99, 4);
  writeFileSync(indexPath(later.id), bytes);
  t.match(await print(ask([own, later])), new RegExp(`^${found}; 21: [^;]* format 99[^;]*$`));
  t.equal(await print(ask([own, later])), found, "it is reported once");
  t.match(await print(ask([own], { repositoryId: 9 })), /^nothing; 2: git /, "a mirror that is not there");
});

t.test("a list of uses says whether there may be more", async (t) => {
  const own = await addIndex(3, "app/", [app]);
  const other = await addLibrary(30, 0);
  const uses = async (candidates: readonly PreciseCandidate[], options: { asked?: string; at?: number } = {}) => {
    const { found } = await ask(candidates, { want: "references", ...options });
    return `${found?.placeCount}${found?.limitHit === true ? " or more" : ""}`;
  };
  t.equal(await uses([own]), "1");
  t.equal(await uses([own, other]), "1 or more", "another index describes other files");
  t.equal(await uses([own, other], { at: 4 }), "1", "a local name is used only in its file");
  const outside = source.commit({ branch: "main", files: { "readme.txt": "two\n" } });
  t.equal(await uses([own], { asked: outside }), "1", "what changed is not what it describes");
  const added = source.commit({ branch: "main", files: { "app/more.ts": "far\n" } });
  t.equal(await uses([own], { asked: added }), "1 or more", "a file that is not indexed");
  t.equal(await uses([own], { asked: added, at: 4 }), "1");
  const changed = source.commit({ branch: "main", files: { "app/use.ts": "far near\nnear\n" } });
  t.equal(await uses([own], { asked: changed, at: 4 }), "1 or more");
});
