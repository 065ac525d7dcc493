import { randomBytes } from "node:crypto";
import { callEvery, type PendingCall } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { SearchRequest } from "../../model/search-request.js";
import { windowBytesMax } from "../../wire/connection.js";
import type { FrameReceiver } from "../../wire/frame-channel.js";
import type { NodeIdentity } from "../../wire/identity.js";
import { type NodeAddress, NodeClient } from "../../wire/node-client.js";
import { NodeServer } from "../../wire/node-server.js";
import { secretBytes } from "../../protocol/result-batch.js";
import { creditBytes, isRanked, isShared } from "../limits/search-limits.js";
import { type LeafServices, nodeIdSpan, type RepositoriesHere, type SearchFleet } from "../source/search-fleet.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { writeAsked } from "./fleet-messages.js";
import { LeafSearch } from "./leaf-search.js";
import { type Channel, LocalChannel } from "./local-channel.js";
import { compareWithPeers, holdingsInSteps, ReplicaDifferences } from "./replica-check.js";
import { type RemoteNode, RemoteSource } from "./remote-source.js";
import { type OrderKey, ResultOrder, sections } from "./result-order.js";

/** All leaves together may send what a search of one host may have unread, and each of them at least this. */
const leafCreditMin = 64 * 1024;

/** Parts of a search's timeout after which no node waits any longer for one that has not said what it would rank. */
const rankWaits = [1 / 2, 3 / 4] as const;

/** How often nodes that should have the same repositories compare them. */
const compareMs = 60_000;

/** Searches for other nodes at the same time. */
const leafSearchesMax = 1_000;

export interface FleetSettings {
  readonly identity: NodeIdentity;
  /** All nodes, this one among them, in the order in which their repositories are numbered. */
  readonly nodes: readonly NodeAddress[];
  /** Names of nodes that have the same repositories. Those that are in no group have repositories of their own. */
  readonly replicas: readonly (readonly string[])[];
  readonly listenHost: string;
  readonly listenPort: number;
  /** Of the program: nodes of another one are refused. */
  readonly version: string;
  readonly workerCount: number;
  readonly searcher: LeafServices;
  readonly log: Log;
  readonly metrics: Pick<
    Metrics,
    "fleetSearchesRunning" | "fleetFailovers" | "fleetNodeUp" | "fleetReplicaDifferences"
  >;
}

/** The nodes of a fleet as one of them sees it: it searches with the others, and for them. */
export class FleetNodes implements SearchFleet {
  readonly #settings: FleetSettings;
  readonly #server: NodeServer;
  /** By index in the nodes; undefined for this one. */
  readonly #clients: readonly (NodeClient | undefined)[];
  /** Indexes of the other nodes: those that have the same repositories are together. */
  readonly #groups: readonly (readonly number[])[];
  readonly #leaves = new Set<LeafSearch>();
  /** Index of this node. */
  readonly #own: number;
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
    this.#server = new NodeServer({
      identity,
      nodes: others.map(({ name }) => name),
      protocol: version,
      log,
      accept: (coordinator, channel) => {
        const leaf = this.#makeLeaf(coordinator, channel);
        this.#leaves.add(leaf);
        settings.metrics.fleetSearchesRunning.set(this.#leaves.size);
        leaf.onEnd = () => {
          this.#leaves.delete(leaf);
          settings.metrics.fleetSearchesRunning.set(this.#leaves.size);
        };
        if (this.#leaves.size > leafSearchesMax)
          queueMicrotask(() => leaf.refuse(`it has ${leafSearchesMax} searches for others`));
        return leaf;
      },
    });
  }

  #makeLeaf(coordinator: string, channel: () => Channel): LeafSearch {
    const { workerCount, searcher, log } = this.#settings;
    return new LeafSearch(channel, { coordinator, searcher, workerCount, log, idBase: this.idBase });
  }

  /** A search of the repositories of this node, which are searched as those of the others are. */
  #openHere(receiver: FrameReceiver): Channel {
    const [here, there] = LocalChannel.pair();
    here.receive(receiver);
    there.receive(this.#makeLeaf(this.#settings.identity.node, () => there));
    return here;
  }

  /** Resolves with the port. Rejects with `conflict` if the address is in use. */
  start(): Promise<number> {
    this.#comparing = callEvery(compareMs, () => void this.compareReplicas());
    return this.#server.start(this.#settings.listenHost, this.#settings.listenPort);
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
    for (const leaf of [...this.#leaves]) leaf.refuse("it is stopping");
    for (const client of this.#clients) client?.close();
    await this.#server.stop();
  }

  /** The nodes of a group that are there come first. */
  #inOrder(group: readonly number[]): [RemoteNode, ...RemoteNode[]] {
    const nodes = group.flatMap((i) => {
      const client = this.#clients[i];
      const { name } = this.#settings.nodes[i];
      return client === undefined ? [] : [{ client, name, idBase: i * nodeIdSpan, open: client.open.bind(client) }];
    });
    const down = nodes.length === 1 ? [] : nodes.filter(({ client }) => client.isDown);
    const [first, ...others] = [...nodes.filter((node) => !down.includes(node)), ...down];
    return [first, ...others];
  }

  locate(repositoryId: number): { readonly node: string; readonly id: number | undefined } {
    const i = Math.floor(repositoryId / nodeIdSpan);
    const { nodes } = this.#settings;
    const node = nodes.at(i)?.name ?? "unknown";
    return { node, id: i === this.#own ? repositoryId - this.idBase : undefined };
  }

  requireSearchable(request: SearchRequest): void {
    const { since, duplicates, patterns } = request;
    if (since !== undefined) throw unavailable("since and watch are");
    if (duplicates === true) throw unavailable("duplicates=1 is");
    if (patterns !== undefined) throw unavailable("patterns are");
  }

  openSources(search: SourcedSearch, root: SourceRoot, here: RepositoriesHere): readonly SearchSource[] {
    const { identity, log, metrics } = this.#settings;
    const owners = new Map<string, string>();
    const claim = (repository: string, claimer: string): string => {
      if (here.has(repository)) return `node ${identity.node}`;
      const owner = owners.get(repository);
      if (owner === undefined) owners.set(repository, claimer);
      return owner ?? claimer;
    };
    const { plan, request, limits } = search;
    const { lane, timeoutsMs, isSuggestible } = limits;
    const asked = writeAsked({
      plan,
      request: { ...request, origin: undefined, viewer: { ...request.viewer, credential: undefined } },
      lane,
      timeoutsMs,
      isSuggestible,
      secret: randomBytes(secretBytes),
    });
    const isOwnSearched = !here.areNone || this.#groups.length === 0;
    const sourceCount = this.#groups.length + Number(isOwnSearched);
    const isOnly = sourceCount === 1;
    const isAwaited = isRanked(plan, limits) && !isOnly;
    const rankWaitsMs = isAwaited ? rankWaits.map((part) => part * Math.max(...timeoutsMs)) : [];
    const shared = {
      creditBytes: leafCredit(sourceCount),
      isOnly,
      claim,
      order: new ResultOrder(firstPlace(search), isShared(limits), () => root.listener.advanced(), rankWaitsMs),
      heads: { byteCount: 0, tallied: undefined },
      asked,
      log,
      onFailover: () => metrics.fleetFailovers.inc(),
    };
    const sources: SearchSource[] = [];
    try {
      const open = (receiver: FrameReceiver): Channel => this.#openHere(receiver);
      const own: RemoteNode = { name: identity.node, idBase: this.idBase, open };
      if (isOwnSearched) sources.push(new RemoteSource(search, root, [own], shared));
      for (const group of this.#groups) {
        const [first, ...others] = this.#inOrder(group);
        sources.push(new RemoteSource(search, root, [first, ...others], shared));
      }
    } catch (error) {
      for (const source of sources) source.release();
      throw error;
    }
    return sources;
  }
}

function leafCredit(sourceCount: number): number {
  return Math.max(leafCreditMin, Math.floor(creditBytes / sourceCount));
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

/** Without repositories and ranked results, nobody has to wait until all have said that they have none. */
function firstPlace({ plan, limits }: SourcedSearch): OrderKey {
  const hasRepositories = plan.basicQueries.some(({ repositoryNames }) => repositoryNames !== undefined);
  return [hasRepositories || isRanked(plan, limits) ? sections.repositories : sections.others];
}

function unavailable(subject: string): TrawlError {
  return new TrawlError(
    "not-implemented",
    `${subject} not available where the repositories are on several nodes (fleet.nodes): search without, or ask a host that has all of them`,
  );
}
