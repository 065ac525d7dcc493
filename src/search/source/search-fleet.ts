import type { Repository } from "../../model/repository.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Viewer } from "../../model/viewer.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchPart } from "./search-part.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "./search-source.js";

/** Repositories that a node may have: ids of repositories take 31 bits, as clients of the stream expect, of 64 nodes. */
export const nodeIdSpan = 2 ** 25;
export const nodesMax = 64;

/** Another node, which is asked for what it has of a repository. */
export interface RepositoryHolder {
  readonly name: string;
  /** What is added to its ids of repositories, so that they are different from those of this node. */
  readonly idsFrom: number;
  open(receiver: FrameReceiver): Pick<FrameChannel, "send" | "pause" | "resume" | "close">;
}

/** Repositories that this node does not have, and who lists them: the first of the nodes that is there. */
export interface ListedElsewhere {
  readonly holders: readonly RepositoryHolder[];
  /** Only those in these partitions, of so many; undefined for all that they have. */
  readonly partitions: { readonly numbers: readonly number[]; readonly count: number } | undefined;
}

/** Another node, and the partitions that it owns, of so many; undefined for all that it has. */
export interface OwnerElsewhere {
  readonly holder: RepositoryHolder;
  readonly partitions: ListedElsewhere["partitions"];
}

/** The nodes over which the repositories are spread, as this one sees them. */
export interface SearchFleet {
  /** Whether this node has copies of all that there is. */
  readonly hasAll: boolean;
  /** Whether it can search all of it by itself, for such a search, which may be for changes. */
  searchesHere(plan: SearchPlan, request?: Pick<SearchRequest, "since">): boolean;
  /** What is added to the ids of repositories of this node, so that they are different from those of others. */
  readonly idBase: number;
  /** Which node has the repository with this id in results, and its id there if that is this node. */
  locate(repositoryId: number): { readonly node: string; readonly id: number | undefined };
  /** What is added to the id in a result of a repository of another node, so that it is different from those of this node. */
  readonly otherIdsFrom: number;
  /** The node that reads the mirror of the repository with this id; undefined for this one. */
  findReader(repositoryId: number): RepositoryHolder | undefined;
  /** Why this node, which is to read it, may have no mirror of the repository, as a sentence without its end. */
  explainNoMirror(repositoryId: number): string;
  /**
   * The nodes that know of a repository with this name or id, `isKnown` here: of each list the first one that is there. None if this node
   * decides whether there is one. Throws `overloaded` if it should ask, and there is nobody.
   */
  findHolders(repository: string | number, isKnown: boolean): readonly (readonly RepositoryHolder[])[];
  /** Throws `overloaded` if this node cannot tell others whether there is such a repository. */
  requireKnowing(repository: string | number): void;
  /**
   * The node that fetches and indexes the repository; undefined for this one, and for a name where names do not say which node has it.
   * Throws `overloaded` if none is known that can be asked.
   */
  findOwner(repository: string | number): RepositoryHolder | undefined;
  /** Who fetches what this node does not; `missing` are partitions of which it is not known, or that nobody owns. */
  findOwners(): { readonly owners: readonly OwnerElsewhere[]; readonly missing: readonly number[] };
  /** Which of these partitions this node does not own. Throws `bad-request` if the fleet is not divided like that. */
  findNotOwned(partitions: ListedElsewhere["partitions"]): readonly number[];
  /** The partition of the repository with this name, and whether this node searches it itself; undefined without partitions. */
  findPlace(repository: string): { readonly partition: number; readonly isHere: boolean } | undefined;
  /** Who lists what this node does not have; `lack` is a sentence about what nobody lists. */
  findLists(): { readonly lists: readonly ListedElsewhere[]; readonly lack: string | undefined };
  /** Throws `overloaded` if this node cannot list for others what is in these partitions. */
  requirePartitions(partitions: ListedElsewhere["partitions"]): void;
  /** Throws `content-too-large` if other nodes cannot be told this. */
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
