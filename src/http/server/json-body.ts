import { errorMessage, TrawlError } from "../../base/errors.js";

/**
 * Limit on the nesting of lists and objects. To parse half a million levels takes 80 ms of the main thread, most of it in
 * garbage collections; requests need about five.
 */
const depthMax = 500;

/** Shared, because creating one costs more than decoding a small body with it. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses a request's body. Throws `bad-request` if it is not JSON in UTF-8, or is nested too deeply. */
export function parseJsonBody(body: Uint8Array): unknown {
  if (body.length > depthMax && nestingDepth(body) > depthMax)
    throw new TrawlError("bad-request", `the body must not be nested more than ${depthMax} levels deep`);
  try {
    return JSON.parse(utf8.decode(body));
  } catch (error) {
    throw new TrawlError("bad-request", `the body is not JSON in UTF-8: ${errorMessage(error)}`);
  }
}

const [quote, backslash, listStart, listEnd, objectStart, objectEnd] = Buffer.from('"\\[]{}');

/** The number of levels of lists and objects. If the body is not JSON, at least that of the part before the error. */
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
