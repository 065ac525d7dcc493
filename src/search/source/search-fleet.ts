import type { Repository } from "../../model/repository.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchPart } from "./search-part.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "./search-source.js";

/** Repositories that a node may have: ids of repositories take 31 bits, as clients of the stream expect, of 64 nodes. */
export const nodeIdSpan = 2 ** 25;
export const nodesMax = 64;

/** The nodes over which the repositories are spread, as the searches of this one see them. */
export interface SearchFleet {
  /** What is added to the ids of repositories of this node, so that they are different from those of others. */
  readonly idBase: number;
  /** Throws `not-implemented` if several nodes cannot answer this yet as one would. */
  requireSearchable(request: SearchRequest, plan: SearchPlan): void;
  /** The sources of a search, `local` first, which is that of this node; `has` tells whether it has a repository. */
  openSources(
    search: SourcedSearch,
    root: SourceRoot,
    local: SearchSource,
    has: (repository: string) => boolean,
  ): readonly SearchSource[];
}

/** What this node searches for another one: what it has chosen for it. */
export interface ChosenHere {
  /** What it chose, before anything is searched, and the names of all repositories. */
  first(): { readonly part: SearchPart; readonly names: readonly string[] };
  /** The source, which `release` does not concern any more. */
  open(search: SourcedSearch, root: SourceRoot): SearchSource;
  release(): void;
}

/** What another node has searched before, and sent results of: a repository, the revision as typed, and the commit. */
export interface PinnedRevision {
  readonly repository: string;
  readonly typed: string;
  readonly commit: string;
}

/** What a leaf needs of this node. */
export interface LeafServices {
  /** All repositories of this node, whoever may see them. */
  repositories(): readonly Repository[];
  /** Undefined if the search is not wanted any more. Of what is pinned, no other commit is searched. */
  chooseHere(
    plan: SearchPlan,
    request: SearchRequest,
    timeoutMs: number,
    isWanted: () => boolean,
    pinned: readonly PinnedRevision[],
  ): Promise<ChosenHere | undefined>;
}
