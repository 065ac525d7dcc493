import type { Repository } from "../../model/repository.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Viewer } from "../../model/viewer.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchPart } from "./search-part.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "./search-source.js";

/** Repositories that a node may have: ids of repositories take 31 bits, as clients of the stream expect, of 64 nodes. */
export const nodeIdSpan = 2 ** 25;
export const nodesMax = 64;

/** The nodes over which the repositories are spread, as the searches of this one see them. */
export interface SearchFleet {
  /** Whether this node has copies of all that there is. */
  readonly hasAll: boolean;
  /** Whether it can search all of it by itself, for such a search, which may be for changes. */
  searchesHere(plan: SearchPlan, request?: Pick<SearchRequest, "since">): boolean;
  /** What is added to the ids of repositories of this node, so that they are different from those of others. */
  readonly idBase: number;
  /** Which node has the repository with this id in results, and its id there if that is this node. */
  locate(repositoryId: number): { readonly node: string; readonly id: number | undefined };
  /** Throws `not-implemented` if several nodes cannot answer this yet as one would. */
  requireSearchable(request: SearchRequest): void;
  /** The sources of a search, this node first. */
  openSources(search: SourcedSearch, root: SourceRoot, here: RepositoriesHere): readonly SearchSource[];
  /**
   * Calls back whenever other nodes may have indexed repositories that the viewer may see, and sometimes when they have not; of each node
   * once it listens, with whether all of them do. Returns a function that ends it.
   */
  watchFlips(viewer: Viewer, onFlip: () => void, onListening: (areAll: boolean) => void): () => void;
}

/** The repositories of the node that was asked. */
export interface RepositoriesHere {
  /** Whether it has none, whoever asks: then it only passes on what the others find. */
  readonly areNone: boolean;
  /** Whether the viewer of the search sees this one. */
  has(name: string): boolean;
}

/** What this node searches for another one: what it has chosen for it. */
export interface ChosenHere {
  /** What it chose, before anything is searched, and the names of all repositories. */
  first(): { readonly part: SearchPart; readonly names: readonly string[] };
  /**
   * A source of what is chosen. With `from`, a source that goes on where the one before, which was stopped, was asked to: it has
   * no repositories, and of the documents that were ranked only those from this one on.
   */
  open(search: SourcedSearch, root: SourceRoot, from: number | undefined): SearchSource;
  /** To be called when all sources are released. */
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
  /** Calls back whenever repositories of this node have been indexed that the viewer may see. Returns a function that ends it. */
  watchFlips(viewer: Viewer, onFlip: () => void): () => void;
  /**
   * Undefined if the search is not wanted any more. Of what is pinned, no other commit is searched; with `partitions`, only the repositories in
   * these.
   */
  chooseHere(
    plan: SearchPlan,
    request: SearchRequest,
    timeoutMs: number,
    isWanted: () => boolean,
    pinned: readonly PinnedRevision[],
    partitions: readonly number[] | undefined,
  ): Promise<ChosenHere | undefined>;
}
