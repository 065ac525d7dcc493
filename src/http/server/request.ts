import type { ClientAddresses } from "../access/client-address.js";
import type { NativeModule, NativeRequest, NativeResponse } from "./uws-binding.js";

const forwardedForHeader = "x-forwarded-for";

/** A copy of what the client sent: valid for as long as someone holds it. */
export interface HttpRequest extends RequestHead {
  /** Decoded parts of the path, by the name they have in the route's pattern. */
  readonly params: Readonly<Record<string, string>>;
  /** Empty when the route takes none. */
  readonly body: Uint8Array;
}

export interface RequestHead {
  readonly method: string;
  /** As sent, percent-encoding included. */
  readonly path: string;
  /** What follows the question mark, as sent. */
  readonly query: string;
  /** Names are in lower case. The first one counts when a header comes twice. */
  readonly headers: ReadonlyMap<string, string>;
  /** The client's, also where it comes through proxies that are trusted. */
  readonly remoteAddress: string;
}

/** Field by field: to spread one takes longer than the rest of a small request's way to its handler. */
export function withBody(
  { method, path, query, headers, remoteAddress }: RequestHead,
  params: HttpRequest["params"],
  body: Uint8Array,
): HttpRequest {
  return { method, path, query, headers, remoteAddress, params, body };
}

/** The query is read once and raw: reading one key of it would decode the rest in place. */
export function copyRequest(
  native: NativeModule,
  res: NativeResponse,
  req: NativeRequest,
  method: string,
  addresses: ClientAddresses,
): RequestHead {
  const headers = new Map<string, string>();
  native.eachHeader(req, (name, value) => {
    const earlier = headers.get(name);
    if (earlier === undefined) headers.set(name, value);
    // A proxy may add a header of its own behind the one that a client has sent.
    else if (name === forwardedForHeader) headers.set(name, `${earlier},${value}`);
  });
  return {
    method,
    path: req.getUrl(),
    query: req.getQuery() ?? "",
    headers,
    remoteAddress: addresses.of(Buffer.from(res.getRemoteAddressAsText()).toString(), headers.get(forwardedForHeader)),
  };
}
