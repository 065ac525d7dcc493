import { randomUUID } from "node:crypto";
import type { TraceParent } from "../../model/request-origin.js";

/** Long enough for the ids of all common proxies, and nothing that a log line or a terminal could misread. */
const wellFormedId = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/** The id that a client or a proxy has given to its request, or another one if it is not well-formed. */
export function chooseRequestId(header: string | undefined): string {
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
