export {
  type ChangeOptions,
  type ResumableOptions,
  type SearchOptions,
  type SearchResults,
  TrawlClient,
  type WatchOptions,
} from "./client.js";
export type { ClientOptions } from "./connection.js";
export { TrawlError } from "./errors.js";
export type { CallOptions, JobFile, JobReference, SearchJobs } from "./search-jobs.js";
export type { SearchEvent, SearchStream, StreamLimits } from "./search-stream.js";
export type * from "./types.js";
