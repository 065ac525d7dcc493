import { open } from "node:fs/promises";
import { TrawlError, errorMessage } from "../../base/errors.js";
import { type Input, readInput } from "../terminal/input.js";

/** Longer queries are refused by the daemon. */
const queryBytesMax = 64 * 1024;

/**
 * The query: the words joined with spaces, or, if there are none or the only one is `-`, all of the input. Line ends
 * in a query are spaces, so it may have many lines.
 */
export async function readQueryText(
  words: readonly string[],
  input: Input & { readonly isTTY?: boolean },
): Promise<string> {
  const isPiped = words.length === 0 && input.isTTY !== true;
  if (!isPiped && !(words.length === 1 && words[0] === "-")) {
    if (words.length > 0) return words.join(" ");
    throw new TrawlError(
      "bad-request",
      "there is no query; write one, as in `trawl search 'lang:go context'`, or pipe it to `trawl search -`",
    );
  }
  return await readInput(input, queryBytesMax);
}

/** More is refused by the daemon. */
const fileBytesMax = 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The patterns in a file, one per line; `-` is standard input. Throws if it cannot be read, or has an empty line. */
export async function readPatterns(
  path: string,
  input: AsyncIterable<Uint8Array | string>,
): Promise<readonly string[]> {
  const bytes = await (path === "-" ? collect(input, "standard input") : readFile(path));
  const text = decode(bytes, path);
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  if (lines.at(-1) === "") lines.pop();
  if (lines.length === 0) throw new TrawlError("bad-request", `${path} has no patterns; write one per line`);
  const empty = lines.indexOf("");
  if (empty >= 0)
    throw new TrawlError("bad-request", `line ${empty + 1} of ${path} is empty: it would match everywhere`);
  return lines;
}

async function readFile(path: string): Promise<Buffer> {
  try {
    const file = await open(path);
    try {
      return await collect(file.createReadStream({ end: fileBytesMax }), path);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("bad-request", `the patterns cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

async function collect(input: AsyncIterable<Uint8Array | string>, name: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part as Uint8Array);
    byteCount += bytes.length;
    if (byteCount > fileBytesMax) throw new TrawlError("bad-request", `${name} is longer than ${fileBytesMax} bytes`);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function decode(bytes: Buffer, path: string): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    const line =
      bytes
        .toString()
        .split("\n")
        .findIndex((text) => text.includes("\ufffd")) + 1;
    throw new TrawlError("bad-request", `${path} is not UTF-8 in line ${line}`, { cause: error });
  }
}
