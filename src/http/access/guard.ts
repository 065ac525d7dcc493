import type { AuthResult, Authenticator, Refusal } from "../../account/sign-in/authenticator.js";
import type { NarrowScope } from "../../account/records/validation.js";
import { errorMessage } from "../../base/errors.js";
import { clientKey } from "../../model/client.js";
import type { Viewer } from "../../model/viewer.js";
import { type ClientPermits, isRefused, replyText, type ReplyError } from "./concurrency.js";
import type { BodyAdmission, BodySink, Handler, StreamAdmission } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/** A handler that receives the viewer. */
export type ViewerHandler = (request: HttpRequest, response: HttpResponse, viewer: Viewer) => Promise<void> | void;

/**
 * Authenticates the request before the handler runs; a refusal is a line of plain text. `suffices` is the scope with which a
 * narrow token may do this, if there is one.
 */
export function guarded(
  authenticator: Pick<Authenticator, "authenticate">,
  handler: ViewerHandler,
  suffices?: NarrowScope,
): Handler {
  return (request, response) => {
    const entry = authenticator.authenticate(request, suffices);
    return entry.kind === "viewer"
      ? admit(entry, response, () => handler(request, response, entry.viewer))
      : refuse(response, entry);
  };
}

/**
 * Like `guarded`, for a route with a body: a sender who may not send one, or has too many requests in progress, gets a
 * response before any of it is read.
 */
export function guardedBody(
  authenticator: Pick<Authenticator, "authenticate">,
  permits: ClientPermits,
  what: string,
  handler: ViewerHandler,
  { replyError = replyText, suffices, challenge = () => ({}) }: BodyGuard = {},
): BodyAdmission {
  return (request, response) => {
    const entry = authenticator.authenticate(request, suffices);
    if (entry.kind === "refused")
      return void replyError(response, entry.status, entry.message, challenge(request, entry));
    const { viewer } = entry;
    const client = clientKey(viewer, request.remoteAddress);
    if (isRefused(permits, client, what, response, {}, replyError)) return undefined;
    // A body may take long: the right to send it may end before the body does.
    endWithRight(entry, response);
    return { client, handler: (whole, answer) => whenRecorded(entry, answer, () => handler(whole, answer, viewer)) };
  };
}

/** Like `guardedBody`, for a body that is received as it arrives: `admit` gets the viewer before any of it is read. */
export function guardedStream(
  authenticator: Pick<Authenticator, "authenticate">,
  admitBody: (request: HttpRequest, response: HttpResponse, viewer: Viewer) => BodySink | undefined,
): StreamAdmission {
  return (request, response) => {
    const entry = authenticator.authenticate(request);
    if (entry.kind === "refused") return void refuse(response, entry);
    endWithRight(entry, response);
    const sink = admitBody(request, response, entry.viewer);
    if (sink === undefined || entry.recorded === undefined) return sink;
    return {
      bytesMax: sink.bytesMax,
      write: (chunk) => sink.write(chunk),
      abort: () => sink.abort(),
      end: async () => whenRecorded(entry, response, () => sink.end()),
    };
  };
}

/** How a route with a body differs from most. */
interface BodyGuard {
  readonly replyError?: ReplyError;
  /** As in `guarded`. */
  readonly suffices?: NarrowScope;
  /** Headers that tell a client how it can be admitted. */
  readonly challenge?: (request: HttpRequest, refusal: Refusal) => Headers;
}

type Admitted = AuthResult & { readonly kind: "viewer" };

/**
 * Handles an authenticated request once any required record has been written; if it cannot be written, the request is
 * refused. When the authorization ends, the response does.
 */
export function admit(entry: Admitted, response: HttpResponse, act: () => Promise<void> | void): Promise<void> | void {
  endWithRight(entry, response);
  return whenRecorded(entry, response, act);
}

function endWithRight({ watch }: Admitted, response: HttpResponse): void {
  response.onClosed(watch((reason) => response.revoke(reason)));
}

function whenRecorded(
  { recorded }: Admitted,
  response: HttpResponse,
  act: () => Promise<void> | void,
): Promise<void> | void {
  if (recorded === undefined) return act();
  return recorded.then(
    () => (response.closed ? undefined : act()),
    (error: unknown) => response.reply(503, { ...plainText, "Retry-After": "1" }, `${errorMessage(error)}\n`),
  );
}

export function refuse(response: HttpResponse, { status, message }: Refusal): void {
  replyText(response, status, message, {});
}

export function refusePage({ path, query }: HttpRequest, response: HttpResponse, entry: Refusal): void {
  if (!entry.wantsSignIn) return refuse(response, entry);
  const returnTo = encodeURIComponent(query === "" ? path : `${path}?${query}`);
  const { signInPath = "/sign-in" } = entry;
  return response.reply(302, { ...plainText, Location: `${signInPath}?returnTo=${returnTo}` }, "");
}
