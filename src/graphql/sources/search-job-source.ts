import type { JobRecord } from "../../jobs/job-record.js";

/** A search job as GraphQL shows it. */
export class SearchJobSource {
  readonly __typename = "SearchJob";
  readonly job: JobRecord;

  constructor(job: JobRecord) {
    this.job = job;
  }
}
