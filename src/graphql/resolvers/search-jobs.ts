import type { RequestContext } from "../../browse/request-context.js";
import { globalId, numericKey } from "../../browse/ids.js";
import { hasEnded, type JobRecord } from "../../jobs/job-record.js";
import { filterInSteps, resultWhileYielding, sortInSteps } from "../../base/yielding.js";
import type { ResolversOf } from "./resolver-types.js";
import type { ObjectTypes } from "./schema-types.js";
import { SearchJobSource } from "../sources/sources.js";
import { userSource } from "./account-access.js";
import { nothing, paginateBothWays } from "./connection-types.js";

export const searchJob: ResolversOf<"SearchJob"> = {
  id: ({ job }) => globalId("SearchJob", job.id),
  query: ({ job }) => job.query,
  state: ({ job }, _, { services }) => services.jobs.shownState(job).state,
  creator: ({ job }, _, context) => userSource(job.creatorId, context),
  createdAt: ({ job }) => job.createdAt,
  startedAt: ({ job }) => job.startedAt || null,
  finishedAt: ({ job }) => job.finishedAt || null,
  URL: ({ job }, _, context) => exportUrl(job, "jsonl", context),
  logURL: ({ job }, _, context) => exportUrl(job, "log", context),
  message: ({ job }, _, { services }) => services.jobs.shownState(job).message || null,
  repoStats: ({ job, job: { total, done, failedCount } }, _, { services }) => ({
    total,
    completed: done - failedCount,
    failed: failedCount,
    inProgress: services.jobs.isRunning(job.id) && !hasEnded(job) ? total - done : 0,
  }),
};

function exportUrl(job: JobRecord, ending: string, { services }: RequestContext): string | null {
  return hasEnded(job) ? `${services.externalUrl()}/.api/search/export/${job.id}.${ending}` : null;
}

export const searchJobQueries: Pick<ResolversOf<"Query">, "searchJobs" | "validateSearchJob"> = {
  searchJobs: async (_, { first, last, after, before, ...wanted }, context) => {
    const found = await findJobs(wanted, context);
    const { nodes, totalCount, pageInfo } = paginateBothWays(found, { first, last, after, before });
    await context.yieldAfter(nodes.length);
    const jobs = context.services.jobs.records(nodes);
    return { nodes: jobs.map((job) => new SearchJobSource(job)), totalCount, pageInfo };
  },
  validateSearchJob: async (_, { query }, context) => {
    context.requireUser();
    await context.services.jobs.validate(query, context.viewer);
    return nothing;
  },
};

type Wanted = Omit<ObjectTypes["Query"]["searchJobs"]["args"], "first" | "last" | "after" | "before">;

/** The ids of the jobs. Without a condition on query or state, and in the order of creation, no job is looked at. */
async function findJobs(wanted: Wanted, context: RequestContext): Promise<readonly number[]> {
  context.requireUser();
  const { query, states, orderBy, descending } = wanted;
  const { jobs } = context.services;
  const users = (wanted.userIDs ?? []).map((id) => numericKey(id, "User"));
  const ids = users.length === 0 ? jobs.visibleIds(context.viewer) : jobs.visibleIdsOf(users, context.viewer);
  const hasStates = states !== undefined && states !== null && states.length > 0;
  const sorts = orderBy === "QUERY" || orderBy === "STATE";
  if (!hasStates && !sorts && (query ?? "") === "") return descending === true ? ids.toReversed() : ids;
  const isWanted = (job: JobRecord): boolean =>
    (!hasStates || states.includes(jobs.shownState(job).state)) && job.query.includes(query ?? "");
  const found = await resultWhileYielding(filterInSteps(jobs.records(ids), isWanted));
  const sign = descending === true ? -1 : 1;
  const keyOf = (job: JobRecord): string =>
    orderBy === "QUERY" ? job.query : orderBy === "STATE" ? jobs.shownState(job).state : "";
  const compare = (a: JobRecord, b: JobRecord): number =>
    sign * (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : a.id - b.id);
  return (await resultWhileYielding(sortInSteps(found, compare))).map(({ id }) => id);
}

export const searchJobMutations: Pick<
  ResolversOf<"Mutation">,
  "createSearchJob" | "cancelSearchJob" | "deleteSearchJob" | "retrySearchJob"
> = {
  createSearchJob: async (_, { query }, context) => {
    context.requireUser();
    return new SearchJobSource(await context.services.jobs.create(query, context.viewer));
  },
  cancelSearchJob: async (_, { id }, context) => {
    await context.services.jobs.cancel(actingFor(id, context), context.viewer);
    return nothing;
  },
  deleteSearchJob: async (_, { id }, context) => {
    await context.services.jobs.delete(actingFor(id, context), context.viewer);
    return nothing;
  },
  retrySearchJob: async (_, { id }, context) =>
    new SearchJobSource(await context.services.jobs.retry(actingFor(id, context), context.viewer)),
};

function actingFor(id: string, context: RequestContext): number {
  context.requireUser();
  return numericKey(id, "SearchJob");
}

/** Throws `not-found` rather than being null, because `src search-jobs get` panics at null, and shows an error. */
export function searchJobById(key: number, { viewer, services }: RequestContext): SearchJobSource {
  return new SearchJobSource(services.jobs.get(key, viewer));
}
