import { TrawlError } from "../../base/errors.js";
import type { ResolversOf } from "../execution/resolver-types.js";

/** Existing clients request search jobs; each request gets the same error. */
export function refuseSearchJobs(): never {
  throw new TrawlError(
    "not-found",
    "search jobs are not available yet; a search with `count:all` streams all its results",
  );
}

export const searchJobQueries: Pick<ResolversOf<"Query">, "searchJobs" | "validateSearchJob"> = {
  searchJobs: refuseSearchJobs,
  validateSearchJob: refuseSearchJobs,
};

export const searchJobMutations: Pick<
  ResolversOf<"Mutation">,
  "createSearchJob" | "cancelSearchJob" | "deleteSearchJob"
> = { createSearchJob: refuseSearchJobs, cancelSearchJob: refuseSearchJobs, deleteSearchJob: refuseSearchJobs };
