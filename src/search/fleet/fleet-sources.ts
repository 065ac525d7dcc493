import { randomBytes } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { SearchRequest } from "../../model/search-request.js";
import { secretBytes } from "../../protocol/result-batch.js";
import { creditBytes, isRanked, isShared } from "../limits/search-limits.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { baseCountMax, baseUnitsMax, divideBase, sizeOfBase, writeAsked } from "./fleet-messages.js";
import type { AskedPartitions } from "./leaf-search.js";
import { type RemoteNode, RemoteSource, type RepositoryPlaces } from "./remote-source.js";
import { type OrderKey, ResultOrder, sections } from "./result-order.js";
import { SharedContents } from "./shared-contents.js";

/** All leaves together may send what a search of one host may have unread, and each of them at least this. */
const leafCreditMin = 64 * 1024;

/** Parts of a search's timeout after which no node waits any longer for one that has not said what it would rank. */
const rankWaits = [1 / 2, 3 / 4] as const;

/** Nodes that have the same, of which one is asked: the first of them, and the next one if it is lost. */
export interface SourceGroup {
  readonly nodes: readonly [RemoteNode, ...RemoteNode[]];
  /** What they are asked for; undefined for all that they have. */
  readonly partitions: AskedPartitions | undefined;
}

export interface GroupServices {
  readonly log: Log;
  /** Called when a search goes on at another node. */
  readonly onFailover: () => void;
  /** The node on which a repository is known to be before any node has told; undefined for none. */
  readonly findOwner: (repository: string) => string | undefined;
  /** Where repositories are, in the order of the groups; undefined if nobody knows before nodes have told. */
  readonly places: RepositoryPlaces | undefined;
}

/** The sources of a search on several nodes: one for each group, in this order. */
export function openGroups(
  search: SourcedSearch,
  root: SourceRoot,
  groups: readonly SourceGroup[],
  { log, onFailover, findOwner, places }: GroupServices,
): readonly SearchSource[] {
  const owners = new Map<string, string>();
  const claim = (repository: string, claimer: string): string => {
    const owner = findOwner(repository) ?? owners.get(repository);
    if (owner === undefined) owners.set(repository, claimer);
    return owner ?? claimer;
  };
  const { plan, request, limits } = search;
  const { lane, timeoutsMs, isSuggestible } = limits;
  const { since } = request;
  const asked = writeAsked({
    plan,
    request: {
      ...request,
      since: undefined,
      origin: undefined,
      viewer: { ...request.viewer, credential: undefined },
    },
    lane,
    timeoutsMs,
    isSuggestible,
    secret: randomBytes(secretBytes),
  });
  const isOnly = groups.length === 1;
  const isAwaited = isRanked(plan, limits) && !isOnly;
  const rankWaitsMs = isAwaited ? rankWaits.map((part) => part * Math.max(...timeoutsMs)) : [];
  const shared = {
    creditBytes: leafCredit(groups.length),
    isOnly,
    claim,
    order: new ResultOrder(firstPlace(search), isShared(limits), () => root.listener.advanced(), rankWaitsMs),
    heads: { byteCount: 0, tallied: undefined },
    contents: search.claims && new SharedContents(search.claims),
    covered: { count: 0, units: 0 },
    places,
    asked,
    log,
    onFailover,
  };
  const bases = since && divideBase(since, groups.length, places && ((repository) => places.find(repository)));
  const sources: SearchSource[] = [];
  try {
    for (const [i, { nodes, partitions }] of groups.entries())
      sources.push(new RemoteSource(search, root, nodes, shared, partitions, bases?.[i]));
  } catch (error) {
    for (const source of sources) source.release();
    throw error;
  }
  return sources;
}

/** Nodes that have the same, in the order in which they are asked: those that are down come last, as the others may be able to go on. */
export function upFirst<T>(nodes: readonly T[], isDown: (node: T) => boolean): readonly T[] {
  if (nodes.length < 2) return nodes;
  const down = new Set(nodes.filter(isDown));
  return down.size === 0 ? nodes : [...nodes.filter((node) => !down.has(node)), ...down];
}

/** What each of so many sources may send before the client has read. */
export function leafCredit(sourceCount: number): number {
  return Math.max(leafCreditMin, Math.floor(creditBytes / sourceCount));
}

/** Without repositories and ranked results, nobody has to wait until all have said that they have none. */
function firstPlace({ plan, limits }: SourcedSearch): OrderKey {
  const hasRepositories = plan.basicQueries.some(({ repositoryNames }) => repositoryNames !== undefined);
  return [hasRepositories || isRanked(plan, limits) ? sections.repositories : sections.others];
}

/** Throws `content-too-large` for what other nodes cannot be told. */
export function requireSpreadable({ since }: SearchRequest): void {
  if (since === undefined) return;
  const { units, revisionCount } = sizeOfBase(since);
  if (Math.max(since.size, revisionCount) > baseCountMax || units > baseUnitsMax)
    throw new TrawlError(
      "content-too-large",
      `since: other nodes of the fleet cannot be told what the earlier search covered: ${since.size} repositories and ${revisionCount} revisions with names of ${units} characters; they may be told ${baseCountMax} of each and ${baseUnitsMax} characters: choose fewer repositories`,
    );
}
