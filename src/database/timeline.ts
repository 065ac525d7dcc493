import { TrawlError } from "../base/errors.js";

/** Which database a server has, and how often it was taken over from another server. */
export interface Timeline {
  /** Made when the database was created: copies of it have the same. */
  readonly system: string;
  /** Grows each time that a copy becomes the primary server. */
  readonly timeline: number;
}

/**
 * The fence against servers that must not be believed. A node that has once seen a database accepts the same one, on the same
 * timeline or on a later one: an earlier one is a primary server that has been replaced and does not know it.
 *
 * A later timeline may have lost what was confirmed, if its server was an asynchronous copy. Then each partition in it is behind those who
 * have more, and they follow it.
 */
export class TimelineFence {
  #seen: Timeline | undefined;

  /** `seen` is what this host has seen before it was started. */
  constructor(seen: Timeline | undefined) {
    this.#seen = seen;
  }

  get seen(): Timeline | undefined {
    return this.#seen;
  }

  /** Whether the server was taken over since the last one was seen. Throws `storage` for one that must not be believed. */
  judge(found: Timeline): boolean {
    const before = this.#seen;
    if (before !== undefined && before.system !== found.system)
      throw new TrawlError(
        "storage",
        `this is another database: its system identifier is ${found.system}, and that of this fleet is ${before.system}. See fleet.database`,
      );
    if (before !== undefined && before.timeline > found.timeline)
      throw new TrawlError(
        "storage",
        `this server is on timeline ${found.timeline} of the database, and another one is on ${before.timeline}: it was replaced. Stop it, or let it follow the other one`,
      );
    this.#seen = found;
    return before !== undefined && before.timeline < found.timeline;
  }
}
