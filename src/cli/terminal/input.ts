import { TrawlError } from "../../base/errors.js";

/** Standard input, or a stream of a test. */
export type Input = AsyncIterable<Uint8Array | string>;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** All of the input as text without white space at its ends. Throws if it is empty, not UTF-8, or longer than `bytesMax`. */
export async function readInput(input: Input, bytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of input) {
    parts.push(Buffer.from(part as Uint8Array));
    byteCount += part.length;
    if (byteCount > bytesMax) throw new TrawlError("bad-request", `standard input is longer than ${bytesMax} bytes`);
  }
  const text = decode(Buffer.concat(parts)).trim();
  if (text === "") throw new TrawlError("bad-request", "standard input is empty");
  return text;
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new TrawlError("bad-request", "standard input is not UTF-8", { cause: error });
  }
}
