import { TrawlError } from "../../base/errors.js";
import { lowerBoundBy } from "../../base/sorted-search.js";
import { hasEnded, type JobRecord } from "../../jobs/job-record.js";
import type { SearchJobs } from "../../jobs/search-jobs.js";
import type { Viewer } from "../../model/viewer.js";

/** Jobs on a page of a list, unless `pageSize` says otherwise; and at most. */
const pageSizeDefault = 50;
const pageSizeMax = 1_000;

/** Who calls, and what the methods use. */
export interface Caller {
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
export const searchJobMethods: ReadonlyMap<string, SearchJobMethod> = new Map<string, SearchJobMethod>([
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
