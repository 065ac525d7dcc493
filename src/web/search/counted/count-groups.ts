import type { GroupKind, ResultGroups } from "../../../model/result-groups.js";
import { type Alert, type Progress, type Skipped, type StreamError, alertText } from "../../../model/stream-events.js";
import { ApiError } from "../../api/api-error.js";
import { readEvents } from "../../api/event-stream.js";
import type { QueryState } from "../../query/query-state.js";
import { queryParameters } from "../search-run.js";

export interface CountedGroups {
  readonly groups: ResultGroups;
  /** Why some matches may not be counted. */
  readonly skipped: readonly Skipped[];
}

/** Counts all matches of a query: a search of its own, which sends none of them. */
export async function countGroups(query: QueryState, by: GroupKind, signal: AbortSignal): Promise<CountedGroups> {
  const parameters = queryParameters(query);
  parameters.set("group", by);
  let groups: ResultGroups | undefined;
  let skipped: readonly Skipped[] = [];
  let refusal: string | undefined;
  let isComplete = false;
  await readEvents(`/search/stream?${parameters}`, signal, (name, data) => {
    if (name === "groups") groups = JSON.parse(data) as ResultGroups;
    else if (name === "progress") ({ skipped } = JSON.parse(data) as Progress);
    else if (name === "error") refusal = (JSON.parse(data) as StreamError).message;
    else if (name === "alert") refusal ??= alertText(JSON.parse(data) as Alert);
    else if (name === "done") isComplete = true;
    return undefined;
  });
  if (groups !== undefined && isComplete) return { groups, skipped };
  throw new ApiError(200, refusal ?? "The connection to the server broke off before the end.");
}
