import type { Authenticator } from "../../account/sign-in/authenticator.js";
import { TrawlError } from "../../base/errors.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import { isObject } from "../../base/is-object.js";
import type { SearchJobs } from "../../jobs/search-jobs.js";
import { clientKey } from "../../model/client.js";
import type { Viewer } from "../../model/viewer.js";
import { guardedBody } from "../access/guard.js";
import { takePermit, type ReplyError } from "../access/permits.js";
import type { Headers } from "../server/headers.js";
import { parseJsonBody } from "../server/json-body.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import { type Caller, searchJobMethods } from "./search-job-methods.js";

/** Limit on a message. A query has at most 10,000 characters, each of which JSON may write with 6 bytes. */
const messageBytesMax = 64 << 10;

/** Limit on concurrent calls, and on queued ones; a further one is refused. */
const concurrentMax = 64;
const waitingMax = 256;

const calls = "calls of search jobs";

const jsonHeaders: Headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };

export interface SearchJobServices {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly jobs: SearchJobs;
  readonly externalUrl: () => string;
  readonly sharePercent: number;
}

/**
 * `POST /api/searchjobs.v1.Service/METHOD`: the search jobs of GraphQL as calls of the Connect protocol with JSON. A
 * call that fails is answered with `{"code", "message"}`.
 */
export function addSearchJobRoutes(server: HttpServer, services: SearchJobServices): void {
  const permits = new FairSemaphore(shareLimits(concurrentMax, waitingMax, services.sharePercent));
  const admission = guardedBody(
    services.authenticator,
    permits,
    calls,
    (request, response, viewer) => answer(services, permits, request, response, viewer),
    replyError,
  );
  server.routeWithAdmission("POST", "/api/searchjobs.v1.Service/METHOD", messageBytesMax, admission);
}

/** What is wrong with a call whatever its message: a status and a sentence. Pages of other origins cannot send JSON. */
function findRefusal({ headers, params }: HttpRequest): readonly [status: number, message: string] | undefined {
  const name = params["METHOD"] ?? "";
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  const encoding = headers.get("content-encoding") ?? "identity";
  if (!searchJobMethods.has(name))
    return [501, `there is no method ${JSON.stringify(name)}; there are ${[...searchJobMethods.keys()].join(", ")}`];
  if (type.trim().toLowerCase() !== "application/json") return [415, "the Content-Type must be application/json"];
  return encoding === "identity" ? undefined : [501, "the Content-Encoding must be identity"];
}

async function answer(
  { jobs, externalUrl }: SearchJobServices,
  permits: FairSemaphore,
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer,
): Promise<void> {
  const { userId } = viewer;
  if (userId === undefined)
    return replyError(response, 401, "not authenticated: send an access token in the Authorization header", {});
  const refusal = findRefusal(request);
  if (refusal !== undefined) return replyError(response, ...refusal, {});
  const client = clientKey(viewer, request.remoteAddress);
  const release = await takePermit(permits, client, calls, response, {}, replyError);
  if (release === undefined) return;
  try {
    const caller: Caller = { jobs, viewer, userId, externalUrl: externalUrl() };
    const result = await searchJobMethods.get(request.params["METHOD"] ?? "")?.(parseMessage(request.body), caller);
    response.reply(200, jsonHeaders, JSON.stringify(result));
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    replyError(response, error.httpStatus, error.message, {});
  } finally {
    release();
  }
}

/** The code of the Connect protocol for a status; others are `unknown`. */
const codes: ReadonlyMap<number, string> = new Map([
  [400, "invalid_argument"],
  [401, "unauthenticated"],
  [403, "permission_denied"],
  [404, "not_found"],
  [409, "aborted"],
  [429, "resource_exhausted"],
  [499, "canceled"],
  [500, "internal"],
  [501, "unimplemented"],
  [503, "unavailable"],
]);

const replyError: ReplyError = (response, status, message, headers) =>
  response.reply(
    status,
    { ...jsonHeaders, ...headers },
    JSON.stringify({ code: codes.get(status) ?? "unknown", message }),
  );

/** Throws `bad-request` if it is not a JSON object. */
function parseMessage(body: Uint8Array): Readonly<Record<string, unknown>> {
  const message = parseJsonBody(body);
  if (isObject(message)) return message;
  throw new TrawlError("bad-request", "the body must be a JSON object");
}
