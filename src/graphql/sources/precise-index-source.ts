import type { PreciseIndexRecord } from "../../model/precise-index.js";

/** An uploaded index as GraphQL shows it. */
export class PreciseIndexSource {
  readonly __typename = "PreciseIndex";
  readonly record: PreciseIndexRecord;

  constructor(record: PreciseIndexRecord) {
    this.record = record;
  }
}
