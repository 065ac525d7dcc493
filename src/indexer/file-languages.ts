import type { PatchFile } from "../git/history/patch-file.js";
import { readBlobs, readByGit } from "../git/objects/read-blobs.js";
import { isOid } from "../git/objects/refs.js";
import type { StopSignal } from "../git/run/run.js";
import type { HistoryBuilder } from "../history/history-builder.js";
import { textOfBlob } from "./encoding/blob-text.js";
import { ownReadsMax } from "./classify.js";
import { detectByPath, detectLanguage, headBytesMax, tailBytesMax } from "./detect-language.js";

/** Of a larger file the language is that of its path. */
const contentBytesMax = 2 << 20;

/** A read fails if git shows no activity for this long. */
const silenceMs = 120_000;

/** A file whose language depends on a text that has to be read. */
interface Unknown {
  readonly number: number;
  readonly path: string;
}

/**
 * The languages of the files that commits changed, which are those that the files have in the index of texts: of the text
 * after the change or, if the file was removed, before it. Most are known by their path, and of added and removed files
 * the patch has the text. The other texts are read afterwards, each once.
 */
export class FileLanguages {
  readonly #unknown = new Map<string, Unknown[]>();

  /** Adds the file to the builder. */
  add(file: PatchFile, builder: HistoryBuilder): void {
    const path = file.path.toString();
    const ofPath = detectByPath(path);
    const number = builder.fileCount;
    if (ofPath.isCertain || file.isBinary) {
      builder.addFile(file, ofPath.language?.name ?? "");
      return;
    }
    if (file.status !== "M" && !file.isTooLarge) {
      builder.addFile(file, detectLanguage(path, joinEnds(file))?.name ?? "");
      return;
    }
    const [before, after] = file.oids;
    const oid = file.status === "D" ? before : after;
    builder.addFile(file, ofPath.language?.name ?? "");
    if (oid === undefined || !isOid(oid)) return;
    const others = this.#unknown.get(oid);
    if (others === undefined) this.#unknown.set(oid, [{ number, path }]);
    else others.push({ number, path });
  }

  /**
   * Tells the builder the languages that were not known yet. Throws `git` if the mirror is damaged, `cancelled` if stopped.
   */
  async find(directory: string, builder: HistoryBuilder, stop: StopSignal): Promise<void> {
    const files = [...this.#unknown.values()];
    const oids = [...this.#unknown.keys()];
    const read = oids.length > ownReadsMax ? readByGit : readBlobs;
    await read({ directory, contentBytesMax, silenceMs, stop }, oids, (index, outcome) => {
      const text = outcome.kind === "content" ? textOfBlob(outcome.content).text : noBytes;
      if (text.length === 0) return;
      for (const { number, path } of files[index]) builder.setLanguage(number, detectLanguage(path, text)?.name ?? "");
    });
  }
}

/** A text with the same ends as that of a file which the patch adds or removes. */
function joinEnds({ bytes, lineCount, lineFrom, lineTo }: PatchFile): Buffer {
  const lineAt = (line: number): readonly Buffer[] => [bytes.subarray(lineFrom[line], lineTo[line]), newline];
  const head: Buffer[] = [];
  let next = 0;
  for (let size = 0; next < lineCount && size < headBytesMax; next++) {
    head.push(...lineAt(next));
    size += lineTo[next] - lineFrom[next] + 1;
  }
  const tail: (readonly Buffer[])[] = [];
  for (let line = lineCount - 1, size = 0; line >= next && size < tailBytesMax; line--) {
    tail.push(lineAt(line));
    size += lineTo[line] - lineFrom[line] + 1;
  }
  return Buffer.concat([...head, ...tail.reverse().flat()]);
}

const newline = Buffer.from("\n");
const noBytes = Buffer.alloc(0);
