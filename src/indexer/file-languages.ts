import { isBinary } from "../base/text.js";
import { plusSign, minusSign, type PatchFile } from "../git/history/patch-file.js";
import { readBlobs } from "../git/objects/read-blobs.js";
import { readByGit } from "../git/objects/read-by-git.js";
import { isOid } from "../git/mirror/refs.js";
import type { StopSignal } from "../git/run/run.js";
import type { HistoryBuilder } from "../history/history-builder.js";
import { ownReadsMax } from "./classify.js";
import { detectByPath, detectLanguage, headBytesMax } from "./detect-language.js";

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
      builder.addFile(file, detectLanguage(path, joinHead(file))?.name ?? "");
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
      if (outcome.kind !== "content" || isBinary(outcome.content)) return;
      for (const { number, path } of files[index])
        builder.setLanguage(number, detectLanguage(path, outcome.content)?.name ?? "");
    });
  }
}

/** The first bytes of a file whose text the patch has. */
function joinHead({ bytes, status, lineCount, lineFrom, lineTo, lineSign }: PatchFile): Buffer {
  const sign = status === "A" ? plusSign : minusSign;
  const lines: Buffer[] = [];
  for (let line = 0, size = 0; line < lineCount && size < headBytesMax; line++) {
    if (lineSign[line] !== sign) continue;
    lines.push(bytes.subarray(lineFrom[line], lineTo[line]), newline);
    size += lineTo[line] - lineFrom[line] + 1;
  }
  return Buffer.concat(lines);
}

const newline = Buffer.from("\n");
