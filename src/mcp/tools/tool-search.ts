import { TrawlError } from "../../base/errors.js";
import type { RequestContext } from "../../browse/request-context.js";
import { SearchCollector, type Collected } from "../../graphql/sources/search-collector.js";
import type { PatternType } from "../../model/search-request.js";
import type { DuplicateCounts, StreamMatch } from "../../model/stream-events.js";
import type { Exclusion } from "../calls/tool.js";
import { requireAdmission } from "../calls/tool-calls.js";

/** Limit on the JSON of the matches of one search: it is parsed on the main thread, in pieces of up to 128 KiB. */
const matchBytesMax = 2 << 20;

/** Longer lines are cut: minified files have lines of megabytes. */
const lineBytesMax = 1_000;

/** A search on behalf of a tool. */
export interface ToolSearch {
  readonly query: string;
  readonly patternType: PatternType;
  /** Used if the query has no `count:`. */
  readonly count: number;
  readonly contextLines: number;
  /** Whether the matches of files with the same content are wanted once. */
  readonly duplicates?: boolean;
}

export interface ToolMatches {
  readonly matches: readonly StreamMatch[];
  /** Including those that are not in `matches`. */
  readonly matchCount: number;
  /** Undefined unless duplicates are wanted. */
  readonly duplicates: DuplicateCounts | undefined;
  readonly excluded: readonly Exclusion[];
  readonly isRepeatable: boolean;
}

/** Runs a search to its end. Throws `bad-query`, `overloaded`, or `cancelled` if the client has disconnected. */
export async function runToolSearch(
  { query, patternType, count, contextLines, duplicates = false }: ToolSearch,
  context: RequestContext,
): Promise<ToolMatches> {
  requireAdmission(context);
  const { searcher } = context.services;
  let bytes = 0;
  const collector = new SearchCollector((byteCount) => (bytes += byteCount) <= matchBytesMax, false);
  const forget = context.onCancel(() => collector.end());
  const request = {
    isForAllNodes: true,
    query,
    version: "V3",
    patternType,
    display: undefined,
    chunkMatches: true,
    contextLines,
    lineBytesMax,
    diffType: "commit" as const,
    defaultCount: count,
    debug: false,
    receipt: "none" as const,
    near: false,
    duplicates,
    viewer: context.viewer,
    client: context.client,
    origin: context.origin,
  };
  searcher.run(request, collector, (end) => collector.recordEnd(end));
  const collected = await collector.collected();
  forget();
  if (context.isCancelled)
    throw new TrawlError("cancelled", "the call was stopped, because its client has disconnected");
  if (collected.error !== undefined) throw new TrawlError("bad-request", collected.error);
  if (collected.end === undefined) throw new TrawlError("bad-query", alertText(collected));
  return {
    matches: collected.matches,
    matchCount: collected.progress?.matchCount ?? 0,
    duplicates: collected.progress?.duplicates,
    excluded: listExclusions(collected),
    isRepeatable: collected.end.isRepeatable,
  };
}

function alertText({ alert }: Collected): string {
  if (alert === undefined) return "the search has no results, because the daemon is stopping";
  return alert.description === undefined ? alert.title : `${alert.title}: ${alert.description}`;
}

/** Everything that the search did not cover, and matches that did not fit. */
function listExclusions({ progress, alert, isCut, matches }: Collected): Exclusion[] {
  const skipped = (progress?.skipped ?? []).map(({ reason, title, message }) => ({
    reason,
    message: `${title}: ${message}`,
  }));
  const cut = isCut
    ? [
        {
          reason: "limit",
          message: `matches with more than ${matchBytesMax} bytes are left out after ${matches.length} files: narrow the query`,
        },
      ]
    : [];
  // A query that is valid, but finds nothing for a reason that the user should know.
  const told =
    alert !== undefined && skipped.length === 0 && matches.length === 0
      ? [
          {
            reason: "alert",
            message: alert.description === undefined ? alert.title : `${alert.title}: ${alert.description}`,
          },
        ]
      : [];
  return [...skipped, ...cut, ...told];
}
