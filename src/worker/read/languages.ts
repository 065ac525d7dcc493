import { decodePath } from "../../base/path-text.js";
import { countFileLines } from "../../git/history/file-diffs.js";
import { fileMode, listTree } from "../../git/objects/objects.js";
import { readBlobs, readByGit } from "../../git/objects/read-blobs.js";
import { detectByPath, detectLanguage } from "../../indexer/detect-language.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { ownReadsMax } from "../../indexer/classify.js";
import type { CountLanguages, GitReadAnswer } from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";

interface CountedFile {
  readonly path: string;
  readonly oid: string;
  readonly byteCount: number;
}

/**
 * Languages of a commit's files, as `lang:` finds them; the one with the most bytes first. The texts are read of those
 * files whose paths do not decide.
 */
export async function answerCountLanguages(
  { repositoryId, commit, withLines }: CountLanguages,
  context: ReadContext,
): Promise<GitReadAnswer<"count-languages">> {
  const mirror = mirrorPath(context, repositoryId);
  const [entries, lines] = await Promise.all([
    listTree(mirror, commit, "with-sizes", context.stop),
    withLines ? countFileLines(mirror, commit, context.stop) : new Map<string, number>(),
  ]);
  const counts = new Map<string, { name: string; byteCount: number; lineCount: number }>();
  const add = ({ path, byteCount }: CountedFile, name: string | undefined): void => {
    if (name === undefined) return;
    const count = counts.get(name) ?? { name, byteCount: 0, lineCount: 0 };
    count.byteCount += byteCount;
    count.lineCount += lines.get(path) ?? 0;
    counts.set(name, count);
  };
  const unknown: CountedFile[] = [];
  for (const { mode, path, oid, size } of entries) {
    if (mode === fileMode.symlink || mode === fileMode.gitlink) continue;
    // A blob that the mirror lacks has no size.
    const file: CountedFile = { path: decodePath(path), oid, byteCount: Math.max(0, size) };
    const { language, isCertain } = detectByPath(file.path);
    if (isCertain) add(file, language?.name);
    else unknown.push(file);
  }
  await readTexts(mirror, unknown, context, (file, text) => add(file, detectLanguage(file.path, text)?.name));
  return { languages: [...counts.values()].sort((a, b) => b.byteCount - a.byteCount || (a.name < b.name ? -1 : 1)) };
}

/** The text is empty if it is binary or cannot be read. */
async function readTexts(
  mirror: string,
  files: readonly CountedFile[],
  context: ReadContext,
  onText: (file: CountedFile, text: Buffer) => void,
): Promise<void> {
  const read = files.length > ownReadsMax ? readByGit : readBlobs;
  await read(
    blobOptions(mirror, context),
    files.map(({ oid }) => oid),
    (index, outcome) => {
      onText(files[index], outcome.kind === "content" ? textOfBlob(outcome.content).text : noBytes);
    },
  );
}

const noBytes = Buffer.alloc(0);
