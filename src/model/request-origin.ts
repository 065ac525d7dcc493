/** Where the work of a request comes from, for logs and traces. */
export interface RequestOrigin {
  /** The client's address, even if it connects through trusted proxies; "" for the daemon itself. */
  readonly remoteAddress: string;
  /** Chosen by the client, or made: the log lines of the request and its answer have it. "" for the daemon itself. */
  readonly requestId: string;
  /** The client's span to which the request belongs; undefined if it names none. */
  readonly traceParent: TraceParent | undefined;
}

/** A span of another program, as in the header `traceparent` (W3C Trace Context). */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether that program may have recorded its span. */
  readonly isSampled: boolean;
}

/** The origin of work that no client has asked for. */
export const noOrigin: RequestOrigin = { remoteAddress: "", requestId: "", traceParent: undefined };

/** Only the origin of something that has more properties, so that it does not keep the others in memory. */
export function toOrigin({ remoteAddress, requestId, traceParent }: RequestOrigin): RequestOrigin {
  return { remoteAddress, requestId, traceParent };
}

/** What the log lines of a request have in common. */
export function originFields(origin: RequestOrigin | undefined): { readonly requestId?: string; traceId?: string } {
  if (origin === undefined || origin.requestId === "") return {};
  const { requestId, traceParent } = origin;
  return traceParent === undefined ? { requestId } : { requestId, traceId: traceParent.traceId };
}

/** All that a client is told about a bug: whoever reads the log finds it by the id of the request. */
export function internalError({ requestId }: RequestOrigin): string {
  return requestId === "" ? "internal error" : `internal error in request ${requestId}`;
}
