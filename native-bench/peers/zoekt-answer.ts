import { TrawlError } from "../../src/base/errors.js";
import type { Answer } from "./peer.js";
import { ResultSet } from "./result-set.js";

/** Longer than a path and than every other value that is read. */
const tailLength = 16_384;

/**
 * Reads an answer of zoekt's `/api/search` with line matches as it arrives: the whole JSON text can exceed the longest
 * string. Only a file's `FileName` has a text as its value (a line's has a boolean), and it precedes the lines of the
 * file. The counters come first.
 */
export class ZoektAnswerReader {
  readonly #lines = new ResultSet();
  #bytes = 0;
  #head = "";
  #tail = "";
  #path = "";

  push(part: Buffer): void {
    this.#bytes += part.length;
    const text = this.#tail + part.toString("latin1");
    if (this.#head.length < headLength) this.#head = (this.#head + part.toString("latin1")).slice(0, headLength);
    const pattern = /"FileName":"((?:[^"\\]|\\.)*)"|"LineNumber":(\d+)(?=[,}])/g;
    let end = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [, path, line] = match;
      if (path !== undefined) this.#path = JSON.parse(Buffer.from(`"${path}"`, "latin1").toString()) as string;
      else this.#lines.add(this.#path, Number(line));
      end = pattern.lastIndex;
    }
    this.#tail = text.slice(Math.max(end, text.length - tailLength));
  }

  /** Throws when the answer ended early or zoekt left something out. */
  end(): Answer {
    if (!this.#tail.trimEnd().endsWith("}}")) throw new TrawlError("cancelled", "the answer of zoekt ended early");
    const left = /"(ShardFilesSkipped|FilesSkipped|ShardsSkipped|Crashes)":([1-9]\d*)/.exec(this.#head);
    if (left !== null) throw new TrawlError("cancelled", `the answer of zoekt is not whole: ${left[1]} ${left[2]}`);
    return { lines: this.#lines, bytes: this.#bytes };
  }
}

const headLength = 2000;
