import { TrawlError } from "../../base/errors.js";
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
