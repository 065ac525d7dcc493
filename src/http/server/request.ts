import type { ClientAddresses } from "../access/client-address.js";
import type { NativeModule, NativeRequest, NativeResponse } from "./uws-binding.js";

const forwardedForHeader = "x-forwarded-for";

/** A copy of what the client sent; it remains valid as long as it is referenced. */
export interface HttpRequest extends RequestHead {
  /** Decoded captures of the path, by their name in the route's pattern. */
  readonly params: Readonly<Record<string, string>>;
  /** Empty if the route has no body. */
  readonly body: Uint8Array;
}

export interface RequestHead {
  readonly method: string;
  /** As sent, with percent-encoding. */
  readonly path: string;
  /** The query string, as sent. */
  readonly query: string;
  /** Names are in lower case. If a header occurs twice, the first one counts. */
  readonly headers: ReadonlyMap<string, string>;
  /** The client's address, even if it connects through trusted proxies. */
  readonly remoteAddress: string;
}

/** Copies each property, because spreading takes longer than all other handling of a small request. */
export function withBody(
  { method, path, query, headers, remoteAddress }: RequestHead,
  params: HttpRequest["params"],
  body: Uint8Array,
): HttpRequest {
  return { method, path, query, headers, remoteAddress, params, body };
}

/** The query is read once and raw: reading a single key of it would decode the rest in place. */
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
    // A proxy may append its own header after one sent by the client.
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
