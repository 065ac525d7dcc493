import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { NodeIdentity } from "../../wire/identity.js";
import { type NodeAddress, NodeClient } from "../../wire/node-client.js";
import { NodeServer } from "../../wire/node-server.js";
import { creditBytes } from "../limits/search-limits.js";
import { type LeafServices, nodeIdSpan, type SearchFleet } from "../source/search-fleet.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { LeafSearch } from "./leaf-search.js";
import { RemoteSource } from "./remote-source.js";

/** All leaves together may send what a search of one host may have unread, and each of them at least this. */
const leafCreditMin = 64 * 1024;

/** Searches for other nodes at the same time. */
const leafSearchesMax = 1_000;

export interface FleetSettings {
  readonly identity: NodeIdentity;
  /** All nodes, this one among them, in the order in which their repositories are numbered. */
  readonly nodes: readonly NodeAddress[];
  readonly listenHost: string;
  readonly listenPort: number;
  /** Of the program: nodes of another one are refused. */
  readonly version: string;
  readonly workerCount: number;
  readonly searcher: LeafServices;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "fleetSearchesRunning">;
}

/** The nodes of a fleet as one of them sees it: it searches with the others, and for them. */
export class FleetNodes implements SearchFleet {
  readonly #settings: FleetSettings;
  readonly #server: NodeServer;
  /** By index in the nodes; undefined for this one. */
  readonly #clients: readonly (NodeClient | undefined)[];
  readonly #leaves = new Set<LeafSearch>();
  readonly idBase: number;

  constructor(settings: FleetSettings) {
    const { identity, nodes, version, log } = settings;
    this.#settings = settings;
    const others = nodes.filter(({ name }) => name !== identity.node);
    this.idBase = nodes.findIndex(({ name }) => name === identity.node) * nodeIdSpan;
    this.#clients = nodes.map((node) =>
      others.includes(node) ? new NodeClient(node, identity, version, log) : undefined,
    );
    this.#server = new NodeServer({
      identity,
      nodes: others.map(({ name }) => name),
      protocol: version,
      log,
      accept: (coordinator, channel) => {
        const { workerCount, searcher } = settings;
        const leaf = new LeafSearch(channel, { coordinator, searcher, workerCount, log });
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

  /** Resolves with the port. Rejects with `conflict` if the address is in use. */
  start(): Promise<number> {
    return this.#server.start(this.#settings.listenHost, this.#settings.listenPort);
  }

  async stop(): Promise<void> {
    for (const leaf of [...this.#leaves]) leaf.refuse("it is stopping");
    for (const client of this.#clients) client?.close();
    await this.#server.stop();
  }

  requireSearchable(request: SearchRequest, plan: SearchPlan): void {
    const { since, duplicates, patterns } = request;
    if (since !== undefined) throw unavailable("since and watch are");
    if (duplicates === true) throw unavailable("duplicates=1 is");
    if (patterns !== undefined) throw unavailable("patterns are");
    if (plan.basicQueries.some(({ history }) => history.length > 0)) throw unavailable("type:commit and type:diff are");
  }

  openSources(
    search: SourcedSearch,
    root: SourceRoot,
    local: SearchSource,
    has: (repository: string) => boolean,
  ): readonly SearchSource[] {
    const { identity, log, nodes } = this.#settings;
    const owners = new Map<string, string>();
    const claim = (repository: string, node: string): string => {
      if (has(repository)) return identity.node;
      const owner = owners.get(repository);
      if (owner === undefined) owners.set(repository, node);
      return owner ?? node;
    };
    const shared = { creditBytes: Math.max(leafCreditMin, Math.floor(creditBytes / nodes.length)), claim, log };
    // If they are run in turn, the others work meanwhile, and this one does not.
    const sources: SearchSource[] = [local];
    try {
      for (const [i, client] of this.#clients.entries()) {
        if (client === undefined) continue;
        const node = { name: nodes[i].name, idBase: i * nodeIdSpan, open: client.open.bind(client) };
        sources.push(new RemoteSource(search, root, node, shared));
      }
    } catch (error) {
      for (const source of sources) source.release();
      throw error;
    }
    return sources;
  }
}

function unavailable(subject: string): TrawlError {
  return new TrawlError(
    "not-implemented",
    `${subject} not available where the repositories are on several nodes (fleet.nodes): search without, or ask a host that has all of them`,
  );
}
