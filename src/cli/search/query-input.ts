import { TrawlError } from "../../base/errors.js";

/** Longer queries are refused by the daemon. */
const queryBytesMax = 64 * 1024;

/**
 * The query: the words joined with spaces, or, if there are none or the only one is `-`, all of the input. Line ends
 * in a query are spaces, so it may have many lines.
 */
export async function readQueryText(
  words: readonly string[],
  input: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean },
): Promise<string> {
  const isPiped = words.length === 0 && input.isTTY !== true;
  if (!isPiped && !(words.length === 1 && words[0] === "-")) {
    if (words.length > 0) return words.join(" ");
    throw new TrawlError(
      "bad-request",
      "there is no query; write one, as in `trawl search 'lang:go context'`, or pipe it to `trawl search -`",
    );
  }
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of input) {
    parts.push(Buffer.from(part as Uint8Array));
    byteCount += part.length;
    if (byteCount > queryBytesMax)
      throw new TrawlError("bad-request", `the query on standard input is longer than ${queryBytesMax} bytes`);
  }
  const query = Buffer.concat(parts).toString().trim();
  if (query === "") throw new TrawlError("bad-request", "standard input has no query");
  return query;
}
