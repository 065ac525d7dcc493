import { eachInSteps } from "../../base/yielding.js";
import type { Repository } from "../../model/repository.js";
import { repositoryState } from "../../model/repository-status.js";
import type { RequestContext } from "../../browse/request-context.js";

/** The states of the repositories that the viewer may see. */
export interface RepositorySummary {
  readonly total: number;
  readonly cloned: number;
  readonly pending: number;
  readonly searchable: number;
  /** Repositories whose last sync failed. */
  readonly failed: number;
  /** Some of them. */
  readonly failures: readonly Repository[];
  /** Some of the repositories that a thread could not index completely. */
  readonly quarantined: readonly Repository[];
  /** The time of the latest fetch of any repository, RFC 3339; "" if never. */
  readonly newest: string;
}

const failuresMax = 20;
const quarantinedMax = 20;

/** Computed once for all fields of a request. */
export function repositorySummary({ repositories, work }: RequestContext): Promise<RepositorySummary> {
  return work.once("repository summary", repositories.count, function* () {
    const states = { searchable: 0, pending: 0, failed: 0, removed: 0 };
    const failures: Repository[] = [];
    const quarantined: Repository[] = [];
    let [cloned, failed, newest] = [0, 0, ""];
    yield* eachInSteps(repositories.values(), (repository) => {
      const { lastFetched, lastError } = repository;
      states[repositoryState(repository)]++;
      if (lastFetched !== "") cloned++;
      if (lastError !== "" && failed++ < failuresMax) failures.push(repository);
      if (repository.quarantine !== undefined && quarantined.length < quarantinedMax) quarantined.push(repository);
      if (lastFetched > newest) newest = lastFetched;
    });
    return {
      total: repositories.count,
      cloned,
      pending: states.pending,
      searchable: states.searchable,
      failed,
      failures,
      quarantined,
      newest,
    };
  });
}
