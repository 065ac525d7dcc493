/** Which lines of two commits are the same. */
import { mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { neverStop } from "../../../src/git/run/run.js";
import { mirrorName, mirrorsFolder } from "../../../src/model/repository.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { CommitTexts } from "../../../src/worker/read/precise-texts.js";
import { fixture } from "../../support/git-mirror.js";
import { removeFolder } from "../../support/remove-folder.js";

const source = fixture(t);
const dataFolder = mkdtempSync(join(tmpdir(), "trawl-"));
t.teardown(() => removeFolder(dataFolder));
mkdirSync(join(dataFolder, mirrorsFolder));
symlinkSync(source.path, join(dataFolder, mirrorsFolder, mirrorName(1)));
// What the texts need of it.
const context = { dataFolder, stop: neverStop } as ReadContext;

t.test("lines are the same only if a diff says so", async (t) => {
  const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");
  const from = source.commit({
    branch: "main",
    files: {
      "same.ts": "a\n",
      "lines.ts": "a\rdiff --git a/x b/x\r@@ -1 +1 @@\nb\n",
      "wide.ts": utf16("a\nb\n"),
      "link.ts": "a\n",
      "mode.ts": "a\n",
      "old.ts": "a\n",
    },
  });
  const to = source.commit({
    branch: "main",
    files: {
      "lines.ts": "new\na\rdiff --git a/x b/x\r@@ -1 +1 @@\nb\n",
      "wide.ts": utf16("new\na\nb\n"),
      "link.ts": { symlink: "same.ts" },
      "mode.ts": { executable: "a\n" },
      "old.ts": { deleted: true },
    },
  });
  const indexed = new CommitTexts(context, 1, from, to);
  for (const [path, line] of [
    ["lines.ts", 1],
    ["same.ts", 0],
    ["wide.ts", undefined],
    ["link.ts", undefined],
    ["mode.ts", 0],
    ["old.ts", undefined],
    // Those of the first question are still known.
    ["lines.ts", 1],
  ] as const)
    t.equal((await indexed.lineMap(path))?.toNew(0), line, path);
});
