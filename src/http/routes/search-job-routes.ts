import type { Authenticator } from "../../account/sign-in/authenticator.js";
import { TrawlError } from "../../base/errors.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import { isObject } from "../../base/is-object.js";
import type { SearchJobs } from "../../jobs/search-jobs.js";
import { clientKey } from "../../model/client.js";
import type { Viewer } from "../../model/viewer.js";
import { guardedBody } from "../access/guard.js";
import { type ReplyError, takePermit } from "../access/concurrency.js";
import type { Headers } from "../server/headers.js";
import { parseJsonBody } from "../server/json-body.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import { lowerBoundBy } from "../../base/sorted-search.js";
import { hasEnded, type JobRecord } from "../../jobs/job-record.js";

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
    { replyError },
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

/** Jobs on a page of a list, unless `pageSize` says otherwise; and at most. */
const pageSizeDefault = 50;
const pageSizeMax = 1_000;

/** Who calls, and what the methods use. */
interface Caller {
  readonly jobs: SearchJobs;
  readonly viewer: Viewer;
  readonly userId: number;
  /** Base of absolute URLs; without a trailing slash. */
  readonly externalUrl: string;
}

type Message = Readonly<Record<string, unknown>>;

/** Throws a `TrawlError` if the call fails. Members of messages that are not known are ignored. */
type SearchJobMethod = (message: Message, caller: Caller) => Promise<object> | object;

/** The methods of `searchjobs.v1.Service`. */
const searchJobMethods: ReadonlyMap<string, SearchJobMethod> = new Map<string, SearchJobMethod>([
  ["CreateSearchJob", createSearchJob],
  ["GetSearchJob", (message, caller) => describe(findJob(message, caller), caller)],
  ["ListSearchJobs", listSearchJobs],
  ["CancelSearchJob", cancelSearchJob],
  ["DeleteSearchJob", deleteSearchJob],
]);

async function createSearchJob(message: Message, caller: Caller): Promise<object> {
  if (parentIn(message, caller) !== caller.userId)
    throw new TrawlError("forbidden", "search jobs are created for oneself: parent is users/-");
  const job = message["searchJob"];
  if (typeof job !== "object" || job === null) throw bad('"searchJob" must be an object with a "query"');
  const query = textIn(job as Message, "query");
  return describe(await caller.jobs.create(query, caller.viewer), caller);
}

async function cancelSearchJob(message: Message, caller: Caller): Promise<object> {
  const { id } = findJob(message, caller);
  await caller.jobs.cancel(id, caller.viewer);
  return describe(caller.jobs.get(id, caller.viewer), caller);
}

async function deleteSearchJob(message: Message, caller: Caller): Promise<object> {
  await caller.jobs.delete(findJob(message, caller).id, caller.viewer);
  return {};
}

/** The newest jobs first. The token of a page is the id of the job before it, so that a page does not shift. */
function listSearchJobs(message: Message, caller: Caller): object {
  const { jobs, viewer } = caller;
  for (const name of ["filter", "orderBy"])
    if (textIn(message, name) !== "") throw bad(`${JSON.stringify(name)} is not supported: leave it out`);
  const ids = jobs.visibleIdsOf([parentIn(message, caller)], viewer);
  const token = textIn(message, "pageToken");
  if (!/^[0-9]{0,15}$/.test(token)) throw bad('"pageToken" is not the nextPageToken of a page');
  const end = token === "" ? ids.length : lowerBoundBy(ids.length, (at) => ids[at] < Number(token));
  const from = Math.max(0, end - pageSizeIn(message));
  const page = ids.slice(from, end).reverse();
  return {
    searchJobs: jobs.records(page).map((job) => describe(job, caller)),
    ...(from > 0 ? { nextPageToken: String(page.at(-1)) } : {}),
  };
}

/** The job as its message. The log is there as soon as it has begun, and all results when it has ended. */
function describe(job: JobRecord, { jobs, externalUrl }: Caller): object {
  const files = `${externalUrl}/api/users/-/searchJobs/${job.id}`;
  return {
    name: `users/${job.creatorId}/searchJobs/${job.id}`,
    query: job.query,
    state: `STATE_${jobs.shownState(job).state}`,
    createTime: job.createdAt,
    ...(job.startedAt === "" ? {} : { startTime: job.startedAt, logsUrl: `${files}/logs.log` }),
    ...(hasEnded(job) ? { resultsUrl: `${files}/results.jsonl` } : {}),
  };
}

/** Throws `not-found` also for jobs that the viewer may not see, and for the job of another user than the name says. */
function findJob(message: Message, { jobs, viewer }: Caller): JobRecord {
  const [, user, id] = /^users\/(-|[0-9]{1,15})\/searchJobs\/([0-9]{1,15})$/.exec(textIn(message, "name")) ?? [];
  if (id === undefined) throw bad('"name" must be that of a search job, as in users/-/searchJobs/1');
  const job = jobs.get(Number(id), viewer);
  if (user === "-" || Number(user) === job.creatorId) return job;
  throw new TrawlError("not-found", "there is no such search job of this user");
}

/** The id of the user in `parent`. */
function parentIn(message: Message, { userId }: Caller): number {
  const [, user] = /^users\/(-|[0-9]{1,15})$/.exec(textIn(message, "parent")) ?? [];
  if (user === undefined) throw bad('"parent" must be users/-, or users/ and the number of a user');
  return user === "-" ? userId : Number(user);
}

function pageSizeIn(message: Message): number {
  const size = message["pageSize"] ?? 0;
  if (typeof size !== "number" || !Number.isInteger(size) || size < 0)
    throw bad('"pageSize" must be a whole number that is not negative');
  return size === 0 ? pageSizeDefault : Math.min(size, pageSizeMax);
}

/** "" if it is absent. */
function textIn(message: Message, name: string): string {
  const value = message[name] ?? "";
  if (typeof value !== "string") throw bad(`${JSON.stringify(name)} must be a string`);
  return value;
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-request", message);
}
