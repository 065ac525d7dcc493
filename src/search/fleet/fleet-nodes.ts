import { callEvery, type PendingCall } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Metrics } from "../../base/metrics.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Viewer } from "../../model/viewer.js";
import { windowBytesMax } from "../../wire/connection.js";
import type { FrameReceiver } from "../../wire/frame-channel.js";
import { type NodeAddress, NodeClient } from "../../wire/node-client.js";
import { nodeIdSpan, type RepositoriesHere, type RepositoryHolder, type SearchFleet } from "../source/search-fleet.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { leafCredit, openGroups, requireSpreadable, type SourceGroup, upFirst } from "./fleet-sources.js";
import { LeafServer, type LeafServerSettings } from "./leaf-server.js";
import type { Channel } from "./local-channel.js";
import { FleetFlips } from "./node-flips.js";
import { compareWithPeers, holdingsInSteps, ReplicaDifferences } from "./replica-check.js";
import type { RemoteNode, RepositoryPlaces } from "./remote-source.js";

/** How often nodes that should have the same repositories compare them. */
const compareMs = 60_000;

/** Repositories of which it is remembered where they are. */
const placesMax = 200_000;

export interface FleetSettings extends LeafServerSettings {
  /** All nodes, this one among them, in the order in which their repositories are numbered. */
  readonly nodes: readonly NodeAddress[];
  /** Names of nodes that have the same repositories. Those that are in no group have repositories of their own. */
  readonly replicas: readonly (readonly string[])[];
  readonly metrics: Pick<
    Metrics,
    "fleetSearchesRunning" | "fleetFailovers" | "fleetNodeUp" | "fleetReplicaDifferences"
  >;
}

interface IndexedNode extends RemoteNode {
  /** In the nodes of the configuration. */
  readonly index: number;
}

/** The nodes of a fleet as one of them sees it: it searches with the others, and for them. */
export class FleetNodes implements SearchFleet {
  readonly #settings: FleetSettings;
  readonly #server: LeafServer;
  /** By index in the nodes; undefined for this one. */
  readonly #clients: readonly (NodeClient | undefined)[];
  /** Indexes of the other nodes: those that have the same repositories are together. */
  readonly #groups: readonly (readonly number[])[];
  /** Index of this node. */
  readonly #own: number;
  readonly #flips = new FleetFlips();
  /** By the names of repositories that streams wait for: -1 for this node, or the index of a group. Only a guess, which sources check. */
  readonly #places = new Map<string, number>();
  readonly idBase: number;
  readonly #differences: ReplicaDifferences;
  #comparing: PendingCall | undefined;
  #isComparing = false;

  constructor(settings: FleetSettings) {
    const { identity, nodes, version, log } = settings;
    this.#settings = settings;
    this.#differences = new ReplicaDifferences(log);
    const others = nodes.filter(({ name }) => name !== identity.node);
    this.#own = nodes.findIndex(({ name }) => name === identity.node);
    this.idBase = this.#own * nodeIdSpan;
    this.#groups = groupNodes(settings);
    // A leaf that keeps to its credit is never held up by the window.
    const windowBytes = Math.min(windowBytesMax, 2 * leafCredit(this.#groups.length));
    this.#clients = nodes.map((node, i) => {
      const isReplaceable = this.#groups.some((group) => group.length > 1 && group.includes(i));
      const onConnection = (isThere: boolean): void =>
        settings.metrics.fleetNodeUp.set({ node: node.name }, Number(isThere));
      return others.includes(node)
        ? new NodeClient(node, identity, version, log, isReplaceable, onConnection, windowBytes)
        : undefined;
    });
    for (const [i, client] of this.#clients.entries())
      if (client !== undefined) this.#flips.add(nodes[i].name, client.open.bind(client));
    const names = others.map(({ name }) => name);
    this.#server = new LeafServer(settings, () => names, names.length, this.idBase);
  }

  readonly hasAll = false;
  /** Each node gives its repositories smaller ones. */
  readonly otherIdsFrom = 2 ** 31;

  searchesHere(): boolean {
    return false;
  }

  /** Resolves with the port. Rejects with `conflict` if the address is in use. */
  start(): Promise<number> {
    this.#comparing = callEvery(compareMs, () => void this.compareReplicas());
    return this.#server.start();
  }

  /** Compares this node with those that should have the same repositories. Never rejects. */
  async compareReplicas(): Promise<void> {
    const { identity, nodes, replicas, searcher, metrics, log } = this.#settings;
    const peers = (replicas.find((group) => group.includes(identity.node)) ?? []).filter(
      (name) => name !== identity.node,
    );
    if (peers.length === 0 || this.#isComparing) return;
    this.#isComparing = true;
    try {
      const own = await resultWhileYielding(holdingsInSteps(searcher.repositories()));
      const reachable = peers.flatMap((name) => {
        const client = this.#clients[nodes.findIndex((node) => node.name === name)];
        return client === undefined ? [] : [{ name, open: client.open.bind(client) }];
      });
      const gauge = metrics.fleetReplicaDifferences;
      const note = (node: string, count: number | undefined): void =>
        count === undefined ? gauge.remove({ node }) : gauge.set({ node }, count);
      await compareWithPeers(own, reachable, this.#differences, note, log);
    } catch (error) {
      log.info({ error: errorMessage(error) }, "nodes with the same repositories could not be compared");
    } finally {
      this.#isComparing = false;
    }
  }

  async stop(): Promise<void> {
    this.#comparing?.cancel();
    this.#server.refuseAll();
    this.#flips.close();
    for (const client of this.#clients) client?.close();
    await this.#server.stop();
  }

  /** The nodes of a group that are there come first. */
  #inOrder(group: readonly number[]): [IndexedNode, ...IndexedNode[]] {
    const nodes = group.flatMap((index) => {
      const client = this.#clients[index];
      return client === undefined ? [] : [{ client, index, ...this.#toRemote(index), open: client.open.bind(client) }];
    });
    const [first, ...others] = upFirst(nodes, ({ client }) => client.isDown);
    return [first, ...others];
  }

  locate(repositoryId: number): { readonly node: string; readonly id: number | undefined } {
    const i = Math.floor(repositoryId / nodeIdSpan);
    const { nodes } = this.#settings;
    const node = nodes.at(i)?.name ?? "unknown";
    return { node, id: i === this.#own ? repositoryId - this.idBase : undefined };
  }

  findReader(repositoryId: number): RepositoryHolder | undefined {
    return repositoryId < this.otherIdsFrom
      ? undefined
      : this.#toHolder(Math.floor((repositoryId - this.otherIdsFrom) / nodeIdSpan));
  }

  explainNoMirror(): string {
    return "it has not fetched it yet";
  }

  findHolders(repository: string | number, isKnown: boolean): readonly (readonly RepositoryHolder[])[] {
    if (isKnown) return [];
    if (typeof repository === "string")
      return this.#groups.map((group) => this.#inOrder(group).flatMap(({ index }) => this.#toHolder(index) ?? []));
    const holder = this.findReader(repository);
    return holder === undefined ? [] : [[holder]];
  }

  requireKnowing(): void {
    // Each node decides about its own.
  }

  findOwner(repository: string | number): RepositoryHolder | undefined {
    return typeof repository === "string" ? undefined : this.findReader(repository);
  }

  /** Nodes with the same repositories fetch for themselves, each of them. */
  findOwners(): ReturnType<SearchFleet["findOwners"]> {
    const holders = this.#settings.nodes.flatMap((_, index) => this.#toHolder(index) ?? []);
    return { owners: holders.map((holder) => ({ holder, partitions: undefined })), missing: [] };
  }

  findNotOwned(): readonly [] {
    return [];
  }

  findPlace(): undefined {
    return undefined;
  }

  findLists(): ReturnType<SearchFleet["findLists"]> {
    const lists = this.#groups.map((group) => ({
      holders: this.#inOrder(group).flatMap(({ index }) => this.#toHolder(index) ?? []),
      partitions: undefined,
    }));
    return { lists, lack: undefined };
  }

  requirePartitions(): void {
    // It lists all that it has.
  }

  #toHolder(index: number): RepositoryHolder | undefined {
    const [client, node] = [this.#clients[index], this.#settings.nodes.at(index)];
    if (client === undefined || node === undefined) return undefined;
    return { name: node.name, idsFrom: this.otherIdsFrom + index * nodeIdSpan, open: client.open.bind(client) };
  }

  requireSearchable(request: SearchRequest): void {
    requireSpreadable(request);
  }

  watchFlips(viewer: Viewer, onFlip: () => void, onListening: (areAll: boolean) => void): () => void {
    return this.#flips.watch(viewer, onFlip, onListening);
  }

  /** Its repositories have ids from its own number on. */
  #toRemote(i: number): Pick<RemoteNode, "name" | "mayHave"> {
    const idBase = i * nodeIdSpan;
    return { name: this.#settings.nodes[i].name, mayHave: (id) => id >= idBase && id < idBase + nodeIdSpan };
  }

  openSources(search: SourcedSearch, root: SourceRoot, here: RepositoriesHere): readonly SearchSource[] {
    const { identity, log, metrics } = this.#settings;
    const open = (receiver: FrameReceiver): Channel => this.#server.openHere(receiver);
    const own: RemoteNode = { ...this.#toRemote(this.#own), open };
    const isOwnSearched = !here.areNone || this.#groups.length === 0;
    const groups: SourceGroup[] = isOwnSearched ? [{ nodes: [own], partitions: undefined }] : [];
    for (const group of this.#groups) groups.push({ nodes: this.#inOrder(group), partitions: undefined });
    return openGroups(search, root, groups, {
      log,
      onFailover: () => metrics.fleetFailovers.inc(),
      findOwner: (repository) => (here.has(repository) ? `node ${identity.node}` : undefined),
      places: search.request.isBase === true ? this.#placesFrom(isOwnSearched ? -1 : 0) : undefined,
    });
  }

  /**
   * For a stream that waits, which searches again if a guess was wrong. The number of its first source is 0, and `first` is that of the
   * node or the group.
   */
  #placesFrom(first: number): RepositoryPlaces {
    const places = this.#places;
    return {
      find: (repository) => {
        const place = places.get(repository);
        return place === undefined || place < first ? undefined : place - first;
      },
      learn: (repository, source) => {
        if (places.size >= placesMax && !places.has(repository)) places.clear();
        places.set(repository, source + first);
      },
      forget: () => places.clear(),
    };
  }
}

/**
 * The nodes beside this one, and those with the same repositories as it: each group has the same repositories. All nodes ask those of
 * a group in the order of the configuration, so that each repository is in the memory of one of them.
 */
function groupNodes({ identity, nodes, replicas }: FleetSettings): readonly (readonly number[])[] {
  const groups = nodes.map(({ name }) => {
    const names = replicas.find((group) => group.includes(name)) ?? [name];
    const members = names.map((one) => nodes.findIndex((node) => node.name === one));
    return names[0] === name ? members : [];
  });
  const own = nodes.findIndex(({ name }) => name === identity.node);
  return groups.filter((group) => group.length > 0 && !group.includes(own));
}
