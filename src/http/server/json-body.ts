import { errorMessage, TrawlError } from "../../base/errors.js";

/**
 * Lists and objects within one another that a body may have. Half a million take 80 ms of the main thread, most of it in
 * collections of garbage, and requests need five.
 */
const depthMax = 500;

/** Shared, because creating one costs more than decoding a small body with it. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses a request's body. Throws `bad-request` if it is not JSON in UTF-8, or is nested too deeply. */
export function parseJsonBody(body: Uint8Array): unknown {
  if (body.length > depthMax && nestingDepth(body) > depthMax)
    throw new TrawlError("bad-request", `the body has more than ${depthMax} lists and objects within one another`);
  try {
    return JSON.parse(utf8.decode(body));
  } catch (error) {
    throw new TrawlError("bad-request", `the body is not JSON in UTF-8: ${errorMessage(error)}`);
  }
}

const [quote, backslash, listStart, listEnd, objectStart, objectEnd] = Buffer.from('"\\[]{}');

/** How deeply lists and objects are nested; of a body that is not JSON, of what precedes the error at least. */
function nestingDepth(body: Uint8Array): number {
  let depth = 0;
  let most = 0;
  let inText = false;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (inText) {
      if (byte === backslash) i++;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    else if (byte === listStart || byte === objectStart) most = Math.max(most, ++depth);
    else if (byte === listEnd || byte === objectEnd) depth--;
  }
  return most;
}
