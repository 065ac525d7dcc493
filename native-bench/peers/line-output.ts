import { TrawlError } from "../../src/base/errors.js";
import { ended, start } from "../system/processes.js";
import type { Answer } from "./peer.js";
import { ResultSet } from "./result-set.js";

const timeoutMs = 600_000;
const newline = 10;
const colon = 58;

/**
 * Runs a tool that prints `PREFIXPATH:LINE:TEXT`, and reads what it found. Other lines are remarks about binary files.
 * Exit code 1 means that nothing was found.
 */
export async function readLineOutput(
  [command = "", ...args]: readonly string[],
  environment: NodeJS.ProcessEnv,
  prefix: string,
): Promise<Answer> {
  const child = start(command, args, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...environment } });
  const code = ended(child, timeoutMs);
  const reader = new LineReader(prefix);
  for await (const part of child.stdout as AsyncIterable<Buffer>) reader.push(part);
  if ((await code) > 1) throw new TrawlError("internal", `${command} ${args.join(" ")} ended with ${await code}`);
  return reader.end();
}

/** Reads output in pieces of any size. */
export class LineReader {
  readonly #lines = new ResultSet();
  readonly #prefix: Buffer;
  #bytes = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  push(part: Buffer): void {
    this.#bytes += part.length;
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    let from = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      this.#addLine(bytes.subarray(from, end));
      from = end + 1;
    }
    this.#rest = bytes.subarray(from);
  }

  end(): Answer {
    this.#addLine(this.#rest);
    return { lines: this.#lines, bytes: this.#bytes };
  }

  /** codesearch omits the newline of a last line that has none in the file, so its next match can be on the same line. */
  #addLine(line: Buffer): void {
    if (this.#prefix.length === 0) return this.#addMatch(line, 0);
    for (let at = line.indexOf(this.#prefix); at !== -1; at = line.indexOf(this.#prefix, at + this.#prefix.length)) {
      this.#addMatch(line, at + this.#prefix.length);
    }
  }

  #addMatch(bytes: Buffer, pathStart: number): void {
    for (let at = bytes.indexOf(colon, pathStart); at !== -1; at = bytes.indexOf(colon, at + 1)) {
      let line = 0;
      let digit = at + 1;
      for (; isDigit(bytes[digit]); digit++) line = line * 10 + (bytes[digit] ?? 0) - 48;
      if (digit === at + 1 || bytes[digit] !== colon) continue;
      this.#lines.add(bytes.toString("utf8", pathStart, at), line);
      return;
    }
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}
