import Negotiator from "negotiator";
import { codeForStatus, type ErrorCode } from "../../base/errors.js";
import { type Headers, statusText } from "./headers.js";

const problemType = "application/problem+json";

/** An error as a client reads it that accepts `application/problem+json` (RFC 9457). */
export interface Problem {
  /** What is wrong is what the status says; `code` is more precise. */
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** One of `errorTable`; does not change. */
  readonly code: ErrorCode;
  /** A sentence for people; may change. */
  readonly detail: string;
  /** That of `X-Request-Id`, by which the operator finds the request in the log. */
  readonly requestId: string;
}

/**
 * Whether a client prefers errors in this form. It has to name it: one that accepts anything gets the line of text that
 * clients of this interface have always got.
 */
export function acceptsProblem(accept: string | undefined): boolean {
  if (accept === undefined || !/problem\+json/i.test(accept)) return false;
  return new Negotiator({ headers: { accept } }).mediaType(["text/plain", problemType]) === problemType;
}

/** An error response in this format, for clients that do not want plain text. */
export function problemAnswer(
  status: number,
  code: ErrorCode | undefined,
  headers: Headers,
  body: string | Uint8Array,
  requestId: string,
): { readonly headers: Headers; readonly body: string } {
  const title = statusText[status] ?? "Error";
  const text = typeof body === "string" ? body : Buffer.from(body).toString();
  const problem: Problem = {
    type: "about:blank",
    title,
    status,
    code: code ?? codeForStatus(status),
    detail: text.trimEnd() || title,
    requestId,
  };
  // The text need not say so: a cache that keeps it gives it to others as well, who can read it.
  const vary = headers["Vary"] === undefined ? "Accept" : `Accept, ${headers["Vary"]}`;
  return { headers: { ...headers, "Content-Type": problemType, Vary: vary }, body: JSON.stringify(problem) };
}
