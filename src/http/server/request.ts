import { randomUUID } from "node:crypto";
import type { RequestOrigin, TraceParent } from "../../model/request-origin.js";
import { versionMark } from "../../native/http/request-filter.js";
import type { ClientAddresses } from "./client-address.js";
import type { NativeRequest, NativeResponse } from "./uws-binding.js";

const forwardedForHeader = "x-forwarded-for";

/** A copy of what the client sent; it remains valid as long as it is referenced. */
export interface HttpRequest extends RequestHead {
  /** Decoded captures of the path, by their name in the route's pattern. */
  readonly params: Readonly<Record<string, string>>;
  /** Empty if the route has no body. */
  readonly body: Uint8Array;
}

export interface RequestHead extends RequestOrigin {
  readonly method: string;
  /** As sent, with percent-encoding. */
  readonly path: string;
  /** The query string, as sent. */
  readonly query: string;
  /** Names are in lower case. If a header occurs twice, the first one counts. */
  readonly headers: ReadonlyMap<string, string>;
  /** The address that has opened the connection: of the client, or of a proxy. */
  readonly peerAddress: string;
}

/** A copied request; `fault` says why it must be refused: where it ends, or for which host it is, is ambiguous. */
export interface CopiedRequest {
  readonly request: RequestHead;
  /** The client knows no answers in chunks. */
  readonly isHttp10: boolean;
  readonly fault: string | undefined;
}

/** Copies each property, because spreading takes longer than all other handling of a small request. */
export function withBody(
  { method, path, query, headers, peerAddress, remoteAddress, requestId, traceParent }: RequestHead,
  params: HttpRequest["params"],
  body: Uint8Array,
): HttpRequest {
  return { method, path, query, headers, peerAddress, remoteAddress, requestId, traceParent, params, body };
}

/** The query is read once and raw: reading a single key of it would decode the rest in place. */
export function copyRequest(
  res: NativeResponse,
  req: NativeRequest,
  method: string,
  addresses: ClientAddresses,
  secret: string | undefined,
  /** In lower case: a further header that must not occur twice; "" for none. */
  singleHeader: string,
): CopiedRequest {
  const headers = new Map<string, string>();
  let repeated: string | undefined;
  req.forEach((name, value) => {
    const earlier = headers.get(name);
    if (earlier === undefined) headers.set(name, value);
    // A proxy may append its own header after one sent by the client.
    else if (name === forwardedForHeader) headers.set(name, `${earlier},${value}`);
    else if (singleHeaders.has(name) || name === singleHeader) repeated = name;
  });
  const isHttp10 = secret !== undefined && headers.get(versionMark) === secret;
  if (isHttp10) {
    headers.delete(versionMark);
    if (headers.get("host") === secret) headers.delete("host");
  }
  const peerAddress = Buffer.from(res.getRemoteAddressAsText()).toString();
  const request = {
    method,
    path: req.getUrl(),
    query: req.getQuery() ?? "",
    headers,
    peerAddress,
    remoteAddress: addresses.of(peerAddress, headers.get(forwardedForHeader)),
    requestId: chooseRequestId(headers.get("x-request-id")),
    traceParent: parseTraceParent(headers.get("traceparent")),
  };
  if (repeated !== undefined) return { request, isHttp10, fault: `the header ${repeated} occurs twice` };
  return { request, isHttp10, fault: framingFault(headers) };
}

/** A proxy in front of the server may use another one of them, and so see other requests on the connection. */
const singleHeaders: ReadonlySet<string> = new Set(["host", "content-length", "transfer-encoding"]);

/**
 * uWebSockets.js takes any Transfer-Encoding for chunked, and an empty value of either header for a missing one. It
 * checks a length after the request has been handled.
 */
function framingFault(headers: ReadonlyMap<string, string>): string | undefined {
  const length = headers.get("content-length");
  if (length !== undefined && !/^\d{1,18}$/.test(length)) return "Content-Length is not a number of bytes";
  const encoding = headers.get("transfer-encoding");
  if (encoding !== undefined && encoding.toLowerCase() !== "chunked")
    return "the only Transfer-Encoding that is supported is chunked";
  return undefined;
}

/** Long enough for the ids of all common proxies, and nothing that a log line or a terminal could misread. */
const wellFormedId = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/** The id that a client or a proxy has given to its request, or another one if it is not well-formed. */
function chooseRequestId(header: string | undefined): string {
  return header !== undefined && wellFormedId.test(header) ? header : randomUUID();
}

/** Later versions may append fields; version 255 is invalid. */
const traceParentForm = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/;
const sampledFlag = 1;

/** The header `traceparent`; undefined if there is none, or an invalid one: then the trace begins here. */
export function parseTraceParent(header: string | undefined): TraceParent | undefined {
  if (header === undefined) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = traceParentForm.exec(header) ?? [];
  if (version === undefined || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}
