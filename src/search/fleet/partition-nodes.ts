import { isDeepStrictEqual } from "node:util";
import { TrawlError } from "../../base/errors.js";
import { hashText, mixBits } from "../../base/text.js";
import type { Metrics } from "../../base/metrics.js";
import type { Partitions } from "../../catalog/partitions.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Viewer } from "../../model/viewer.js";
import { windowBytesMax } from "../../wire/connection.js";
import type { FrameReceiver } from "../../wire/frame-channel.js";
import { closedFrameChannel, type NodeAddress, NodeClient } from "../../wire/node-client.js";
import { isAscii, type SearchPlan } from "../../query/plan/plan.js";
import { searchesHistory } from "../history/history-choice.js";
import type { ListedElsewhere, RepositoryHolder, SearchFleet } from "../source/search-fleet.js";
import type { SearchSource, SourcedSearch, SourceRoot } from "../source/search-source.js";
import { leafCredit, openGroups, requireSpreadable, type SourceGroup, upFirst } from "./fleet-sources.js";
import type { RequirePartitions } from "./leaf-search.js";
import { LeafServer, type LeafServerSettings } from "./leaf-server.js";
import type { Channel } from "./local-channel.js";
import { FleetFlips } from "./node-flips.js";
import type { RemoteNode, RepositoryPlaces } from "./remote-source.js";

/** A node of the fleet, as the database has it. */
export interface HoldingNode extends NodeAddress {
  /** Those of which it has a copy that answers searches, in order. */
  readonly partitions: readonly number[];
  /** Those that it owns, and so has mirrors of. */
  readonly owned: readonly number[];
}

export interface PartitionNodesSettings extends LeafServerSettings {
  readonly partitions: Partitions;
  /** Whether this node can search a partition at this moment. */
  readonly isSearchable: (partition: number) => boolean;
  /** Those of which this node has an older copy, which it searches if no other node has one. */
  readonly outdated: () => readonly number[];
  /** The changes that the copy of this node has. */
  readonly versionIn: (partition: number) => number;
  /** Those that this node owns. */
  readonly owned: () => ReadonlySet<number>;
  readonly metrics: Pick<Metrics, "fleetSearchesRunning" | "fleetFailovers" | "fleetNodeUp">;
}

/** Nodes that may connect. */
const nodesMax = 1_000;

/** Sources of a search. With more, partitions that may have to go on at different nodes are asked for together. */
const sourcesMax = 64;

/** Partitions that a sentence names. */
const namedPartitionsMax = 10;

/** Partitions that the same nodes have, in the order in which these are asked. */
interface Group {
  readonly numbers: number[];
  readonly nodes: readonly string[];
  /** What ids of repositories they may tell. */
  ids?: Pick<RemoteNode, "mayHave">;
}

/** Partitions by who is asked for them: as of one moment, for all searches. */
interface Route {
  readonly own: Group;
  /** All that this node can search, if nobody else does. */
  readonly held: readonly number[];
  readonly groups: readonly Group[];
  /** Those that no node has. */
  readonly missing: readonly number[];
}

/**
 * The nodes of a fleet with a database, as one of them sees it. For each partition exactly one node is asked: this one if it
 * has it; otherwise the first by a hash of partition and node, so that a text is in the page cache of one node and not of two. What
 * needs mirrors is asked of the owner, which alone has them, and only if that is lost of others, which say what they lack.
 */
export class PartitionNodes implements SearchFleet {
  readonly #settings: PartitionNodesSettings;
  readonly #server: LeafServer;
  #nodes: readonly HoldingNode[] = [];
  readonly #clients = new Map<string, { readonly address: string; readonly client: NodeClient }>();
  readonly #flips = new FleetFlips();
  /** The other nodes that have each partition, in the order in which they are asked. */
  #holders = new Map<number, readonly string[]>();
  /** The node that owns each partition, if it is another one. */
  #owners = new Map<number, string>();
  /** The last one that was known to own it, which may be gone. */
  readonly #lastOwners = new Map<number, string>();
  /** By whether mirrors are needed. */
  readonly #routes = new Map<boolean, Route>();
  /** Ids of repositories are those of the fleet. */
  readonly idBase = 0;
  readonly otherIdsFrom = 0;

  constructor(settings: PartitionNodesSettings) {
    this.#settings = settings;
    const names = (): readonly string[] => this.#nodes.map(({ name }) => name);
    this.#server = new LeafServer(settings, names, nodesMax, this.idBase, (...asked) =>
      this.#requirePartitions(...asked),
    );
  }

  /** Resolves with the port. Rejects with `conflict` if the address is in use. */
  start(): Promise<number> {
    return this.#server.start();
  }

  async stop(): Promise<void> {
    this.#server.refuseAll();
    this.#flips.close();
    for (const { client } of this.#clients.values()) client.close();
    await this.#server.stop();
  }

  /** Takes what the database says of all nodes. */
  update(nodes: readonly HoldingNode[]): void {
    const { identity, version, log, metrics } = this.#settings;
    const others = nodes.filter(({ name }) => name !== identity.node);
    if (isDeepStrictEqual(others, this.#nodes)) return;
    this.#nodes = others;
    this.#routes.clear();
    const wanted = new Map(this.#nodes.map(({ name, address }) => [name, address]));
    for (const [name, { client, address }] of this.#clients) {
      if (wanted.get(name) === address) continue;
      client.close();
      this.#clients.delete(name);
      this.#flips.remove(name);
      metrics.fleetNodeUp.remove({ node: name });
    }
    // A leaf that keeps to its credit is never held up by the window.
    const windowBytes = Math.min(windowBytesMax, 2 * leafCredit(1));
    for (const { name, address } of this.#nodes) {
      if (address === "" || this.#clients.has(name)) continue;
      const onConnection = (isThere: boolean): void => metrics.fleetNodeUp.set({ node: name }, Number(isThere));
      const client = new NodeClient({ name, address }, identity, version, log, true, onConnection, windowBytes);
      this.#clients.set(name, { address, client });
      this.#flips.add(name, client.open.bind(client));
    }
    const reachable = this.#nodes.filter(({ name }) => this.#clients.has(name));
    this.#holders = orderHolders(reachable);
    this.#owners = new Map(
      reachable.flatMap(({ name, owned }) => owned.map((partition) => [partition, name] as const)),
    );
    for (const [partition, name] of this.#owners) this.#lastOwners.set(partition, name);
  }

  get hasAll(): boolean {
    const { partitions, isSearchable } = this.#settings;
    for (let partition = 0; partition < partitions.count; partition++) if (!isSearchable(partition)) return false;
    return true;
  }

  searchesHere(plan: SearchPlan, { since }: Pick<SearchRequest, "since"> = {}): boolean {
    const { partitions, owned } = this.#settings;
    const areMirrorsNeeded = since !== undefined || needsMirrors(plan);
    return this.hasAll && (!areMirrorsNeeded || owned().size === partitions.count);
  }

  locate(repositoryId: number): { readonly node: string; readonly id: number | undefined } {
    const { partitions, identity, isSearchable } = this.#settings;
    const partition = partitions.find(repositoryId);
    if (isSearchable(partition)) return { node: identity.node, id: repositoryId };
    return { node: this.#holders.get(partition)?.[0] ?? "unknown", id: undefined };
  }

  /** If nobody is known to own it, this node may have it since it did. */
  findReader(repositoryId: number): RepositoryHolder | undefined {
    const { partitions, owned } = this.#settings;
    const partition = partitions.find(repositoryId);
    const owner = owned().has(partition) ? undefined : this.#owners.get(partition);
    return owner === undefined ? undefined : this.#toHolder(owner);
  }

  explainNoMirror(repositoryId: number): string {
    const { partitions, owned } = this.#settings;
    const partition = partitions.find(repositoryId);
    return owned().has(partition) ? "it has not fetched it yet" : this.#explainNoOwner(partition);
  }

  #explainNoOwner(partition: number): string {
    const [last, part] = [this.#lastOwners.get(partition), namePartitions([partition])];
    return last === undefined
      ? `no node owns its part of the index (${part}) at this moment`
      : `node ${last}, which owned its part of the index (${part}), is gone, and no other node owns it yet`;
  }

  findHolders(repository: string | number): readonly (readonly RepositoryHolder[])[] {
    const { isSearchable, outdated } = this.#settings;
    const partition = this.#place(repository);
    if (isSearchable(partition)) return [];
    const all = this.#toHolders(this.#holders.get(partition) ?? []);
    if (all.length > 0) return [all];
    if (outdated().includes(partition)) return [];
    throw new TrawlError(
      "overloaded",
      `no node has the part of the index (${namePartitions([partition])}) that the repository is in, as far as this node knows: try again in a moment`,
    );
  }

  requireKnowing(repository: string | number): void {
    const { isSearchable, identity } = this.#settings;
    const partition = this.#place(repository);
    if (isSearchable(partition)) return;
    throw new TrawlError("overloaded", `node ${identity.node} does not have ${namePartitions([partition])}`);
  }

  findOwner(repository: string | number): RepositoryHolder | undefined {
    const partition = this.#place(repository);
    if (this.#settings.owned().has(partition)) return undefined;
    const owner = this.#owners.get(partition);
    const holder = owner === undefined ? undefined : this.#toHolder(owner);
    if (holder !== undefined) return holder;
    throw new TrawlError(
      "overloaded",
      `nobody can be asked, because ${this.#explainNoOwner(partition)}: try again in a moment`,
    );
  }

  findOwners(): ReturnType<SearchFleet["findOwners"]> {
    const { partitions, owned } = this.#settings;
    const { count } = partitions;
    const owns = owned();
    const numbersOf = new Map<string, number[]>();
    const missing: number[] = [];
    for (let partition = 0; partition < count; partition++) {
      if (owns.has(partition)) continue;
      const owner = this.#owners.get(partition);
      const numbers = owner === undefined ? missing : (numbersOf.get(owner) ?? []);
      numbers.push(partition);
      if (owner !== undefined) numbersOf.set(owner, numbers);
    }
    const owners = [...numbersOf].flatMap(([name, numbers]) => {
      const holder = this.#toHolder(name);
      return holder === undefined ? [] : [{ holder, partitions: { numbers, count } }];
    });
    return { owners, missing };
  }

  findNotOwned(asked: ListedElsewhere["partitions"]): readonly number[] {
    if (asked === undefined) throw new TrawlError("bad-request", "the partitions must be said");
    this.#requireCount(asked.count);
    const owns = this.#settings.owned();
    return asked.numbers.filter((number) => !owns.has(number));
  }

  findPlace(repository: string): { readonly partition: number; readonly isHere: boolean } {
    const partition = this.#place(repository);
    return { partition, isHere: this.#settings.isSearchable(partition) };
  }

  findLists(): ReturnType<SearchFleet["findLists"]> {
    const { identity, partitions } = this.#settings;
    const { groups, missing } = this.#findRoute(false);
    const lists = groups.flatMap(({ numbers, nodes }): ListedElsewhere[] => {
      const holders = this.#toHolders(nodes);
      // What this node has of them is older than theirs, and better than nothing.
      if (holders.length === 0 && nodes.includes(identity.node)) return [];
      return [{ holders, partitions: { numbers, count: partitions.count } }];
    });
    if (missing.length === 0) return { lists, lack: undefined };
    const lack = `a part of the index (${namePartitions(missing)}) is not listed: no node has it, as far as this one knows`;
    return { lists, lack };
  }

  requirePartitions(asked: ListedElsewhere["partitions"]): void {
    if (asked === undefined) throw new TrawlError("bad-request", "the partitions of a list must be said");
    const { identity, isSearchable } = this.#settings;
    this.#requireCount(asked.count);
    const lacking = asked.numbers.filter((number) => !isSearchable(number));
    if (lacking.length > 0)
      throw new TrawlError("overloaded", `node ${identity.node} does not have ${namePartitions(lacking)}`);
  }

  /** The nodes of these names that can be asked; those that are there come first. */
  #toHolders(names: readonly string[]): readonly RepositoryHolder[] {
    const holders = names.flatMap((name) => this.#toHolder(name) ?? []);
    return upFirst(holders, ({ name }) => this.#isDown(name));
  }

  #isDown(name: string): boolean {
    return this.#clients.get(name)?.client.isDown === true;
  }

  #place(repository: string | number): number {
    const { partitions } = this.#settings;
    return typeof repository === "string" ? partitions.place(repository) : partitions.find(repository);
  }

  #toHolder(name: string): RepositoryHolder | undefined {
    const client = this.#clients.get(name)?.client;
    return client === undefined ? undefined : { name, idsFrom: 0, open: client.open.bind(client) };
  }

  requireSearchable(request: SearchRequest): void {
    requireSpreadable(request);
  }

  watchFlips(viewer: Viewer, onFlip: () => void, onListening: (areAll: boolean) => void): () => void {
    return this.#flips.watch(viewer, onFlip, onListening);
  }

  /** Throws if this node cannot answer for all of them. */
  #requirePartitions(...[{ numbers, count }, coordinator, { since, atLeast }]: Parameters<RequirePartitions>): void {
    const { identity, isSearchable, outdated, owned, versionIn } = this.#settings;
    this.#requireCount(count);
    // Others have a newer copy, and ask nobody else if they have none.
    const old = new Set(coordinator === identity.node ? outdated() : []);
    const lacking = numbers.filter((number) => !isSearchable(number) && !old.has(number));
    if (lacking.length > 0) throw new TrawlError("not-found", `it does not have ${namePartitions(lacking)}`);
    // Its mirrors may be those of the time when it did.
    const others = since === undefined ? [] : numbers.filter((number) => !owned().has(number));
    if (others.length > 0) throw new TrawlError("not-found", `it does not own ${namePartitions(others)}`);
    if (atLeast === undefined || !numbers.includes(atLeast.partition)) return;
    const version = versionIn(atLeast.partition);
    if (version < atLeast.version)
      throw new TrawlError(
        "not-found",
        `it has ${namePartitions([atLeast.partition])} at version ${version}, and not yet at ${atLeast.version}`,
      );
  }

  #requireCount(count: number): void {
    const { partitions } = this.#settings;
    if (count !== partitions.count)
      throw new TrawlError("bad-request", `the fleet has ${partitions.count} partitions, and not ${count}`);
  }

  /** Computed anew when something has changed. */
  #findRoute(areMirrorsNeeded: boolean): Route {
    const { isSearchable, outdated, owned, partitions, identity } = this.#settings;
    const current = Array.from({ length: partitions.count }, (_, partition) => partition).filter(isSearchable);
    const held = [...current, ...outdated()];
    const owns = owned();
    const own = areMirrorsNeeded ? current.filter((partition) => owns.has(partition)) : current;
    const known = this.#routes.get(areMirrorsNeeded);
    if (known !== undefined && isDeepStrictEqual([known.own.numbers, known.held], [own, held])) return known;
    const [isOwn, isHeld] = [new Set(own), new Set(held)];
    const groups = new Map<string, Group>();
    const missing: number[] = [];
    for (let partition = 0; partition < partitions.count; partition++) {
      if (isOwn.has(partition)) continue;
      const others = this.#holders.get(partition) ?? [];
      const owner = areMirrorsNeeded ? this.#owners.get(partition) : undefined;
      const ordered = owner === undefined ? others : [owner, ...others.filter((name) => name !== owner)];
      const nodes = isHeld.has(partition) ? [...ordered, identity.node] : ordered;
      if (nodes.length === 0) missing.push(partition);
      else addTo(groups, nodes.join(), nodes, partition);
    }
    const route: Route = {
      own: { numbers: [...own], nodes: [identity.node] },
      held: [...held],
      groups: fewer([...groups.values()]),
      missing,
    };
    this.#routes.set(areMirrorsNeeded, route);
    return route;
  }

  openSources(search: SourcedSearch, root: SourceRoot): readonly SearchSource[] {
    const { log, metrics } = this.#settings;
    const { since } = search.request;
    const route = this.#findRoute(since !== undefined || needsMirrors(search.plan));
    const wanted = this.#askOwnerFirst(only(route, findWanted(search, this.#settings.partitions)), search.request);
    const { own, groups, missing } = since === undefined ? wanted : this.#ownersOf(wanted);
    const sourceGroups: SourceGroup[] = [];
    if (own.numbers.length > 0) sourceGroups.push(this.#toGroup(own.numbers, this.#inOrder(own)));
    for (const group of groups) sourceGroups.push(this.#toGroup(group.numbers, this.#inOrder(group)));
    if (missing.length > 0) sourceGroups.push(this.#toGroup(missing, [this.#nobody(missing)]));
    return openGroups(search, root, sourceGroups, {
      log,
      onFailover: () => metrics.fleetFailovers.inc(),
      findOwner: () => undefined,
      places: since && this.#placesIn(sourceGroups),
    });
  }

  /** The owner of a partition has all of its changes, and others may not have the last ones yet. */
  #askOwnerFirst(route: Route, { atLeast }: Pick<SearchRequest, "atLeast">): Route {
    const partition = atLeast?.partition;
    const owner = partition === undefined ? undefined : this.#owners.get(partition);
    if (partition === undefined || owner === undefined) return route;
    const groups = route.groups.flatMap((group): readonly Group[] => {
      const { numbers, nodes } = group;
      if (!numbers.includes(partition)) return [group];
      const alone = { numbers: [partition], nodes: [owner, ...nodes.filter((name) => name !== owner)] };
      return numbers.length === 1 ? [alone] : [alone, { numbers: numbers.filter((one) => one !== partition), nodes }];
    });
    return { ...route, groups };
  }

  /**
   * The route of a search for changes. Nobody but the owner has the commits of both sides: others would tell that something has changed,
   * and not what, and the next search would begin behind it.
   */
  #ownersOf(route: Route): Route {
    const groups = new Map<string, Group>();
    const missing = [...route.missing];
    for (const partition of route.groups.flatMap(({ numbers }) => numbers)) {
      const owner = this.#owners.get(partition);
      if (owner === undefined) missing.push(partition);
      else addTo(groups, owner, [owner], partition);
    }
    return { ...route, groups: [...groups.values()], missing };
  }

  /** The name of a repository says in which group it is. */
  #placesIn(groups: readonly SourceGroup[]): RepositoryPlaces {
    const { partitions } = this.#settings;
    const places = new Int32Array(partitions.count).fill(-1);
    for (const [i, group] of groups.entries()) for (const number of group.partitions?.numbers ?? []) places[number] = i;
    return {
      find: (repository) => places[partitions.place(repository)],
      learn: () => undefined,
      forget: () => undefined,
    };
  }

  #toGroup(numbers: readonly number[], nodes: SourceGroup["nodes"]): SourceGroup {
    return { nodes, partitions: { numbers, count: this.#settings.partitions.count } };
  }

  #findIds(group: Group): Pick<RemoteNode, "mayHave"> {
    if (group.ids !== undefined) return group.ids;
    const share = this.#settings.partitions.share(group.numbers);
    group.ids = { mayHave: (id) => share.has(id) };
    return group.ids;
  }

  /** Those that are there come first. */
  #inOrder(group: Group): SourceGroup["nodes"] {
    const ids = this.#findIds(group);
    const nodes = group.nodes.flatMap((name): RemoteNode[] => {
      if (name === this.#settings.identity.node) {
        const open = (receiver: FrameReceiver): Channel => this.#server.openHere(receiver);
        return [{ name, open, ...ids }];
      }
      const client = this.#clients.get(name)?.client;
      return client === undefined ? [] : [{ name, open: client.open.bind(client), ...ids }];
    });
    const [first, ...others] = upFirst(nodes, ({ name }) => this.#isDown(name));
    return first === undefined ? [this.#nobody(group.numbers)] : [first, ...others];
  }

  /** What is searched for partitions that no node has: their repositories are named as not searched. */
  #nobody(numbers: readonly number[]): RemoteNode {
    return {
      name: "",
      said: `a part of the index (${namePartitions(numbers)})`,
      mayHave: () => false,
      open: (receiver) => closedFrameChannel("no node has it, as far as this one knows", receiver),
    };
  }
}

/**
 * Whether something of it is read from mirrors: histories, revisions that may not be indexed, and what files and commits of a repository say
 * of it.
 */
function needsMirrors(plan: SearchPlan): boolean {
  return (
    searchesHistory(plan) ||
    plan.resultOptions.some(({ select }) => select === "file.owners") ||
    plan.basicQueries.some(
      ({ repositories: { include, conditions, committedAfter }, text }) =>
        include.some(({ revisions }) => revisions.length > 0) ||
        conditions.length + committedAfter.length + (text?.people.length ?? 0) > 0,
    )
  );
}

/** The partitions that may have repositories of the search; undefined for all. A name says in which one it is. */
function findWanted({ plan, request }: SourcedSearch, partitions: Partitions): ReadonlySet<number> | undefined {
  const placeAll = (names: readonly string[]): ReadonlySet<number> =>
    new Set(names.map((name) => partitions.place(name)));
  const wanted = new Set<number>();
  for (const { repositories } of plan.basicQueries) {
    const { among, include } = repositories;
    // Names are compared ignoring case, and of others than ASCII it is not known what that means.
    const exact = include.flatMap(({ exactName }) =>
      exactName !== undefined && isAscii(exactName) ? [exactName] : [],
    );
    const lists = [
      ...exact.map((name) => [name]),
      ...[among, request.viewer.narrowed?.repositories].flatMap((one) => (one === undefined ? [] : [one])),
    ];
    const [first, ...others] = lists.map(placeAll);
    if (first === undefined) return undefined;
    for (const partition of first) if (others.every((some) => some.has(partition))) wanted.add(partition);
  }
  return wanted.size === 0 ? undefined : wanted;
}

/** The part of a route that is wanted. */
function only(route: Route, wanted: ReadonlySet<number> | undefined): Route {
  if (wanted === undefined) return route;
  const cut = ({ numbers, nodes }: Group): Group => ({ numbers: numbers.filter((one) => wanted.has(one)), nodes });
  return {
    ...route,
    own: cut(route.own),
    groups: route.groups.map(cut).filter(({ numbers }) => numbers.length > 0),
    missing: route.missing.filter((one) => wanted.has(one)),
  };
}

/** By partition, the nodes that have it, the first by a hash of partition and node first. */
function orderHolders(nodes: readonly HoldingNode[]): Map<number, readonly string[]> {
  const hashes = new Map(nodes.map(({ name }) => [name, hashText(name)]));
  const found = new Map<number, string[]>();
  for (const { name, partitions } of nodes)
    for (const partition of partitions) {
      const some = found.get(partition);
      if (some === undefined) found.set(partition, [name]);
      else some.push(name);
    }
  for (const [partition, names] of found) {
    const preference = (name: string): number => mixBits((hashes.get(name) ?? 0) ^ mixBits(partition + 1)) >>> 0;
    names.sort((a, b) => preference(b) - preference(a) || (a < b ? -1 : 1));
  }
  return found;
}

function addTo(groups: Map<string, Group>, key: string, nodes: readonly string[], partition: number): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, { numbers: [partition], nodes });
  else group.numbers.push(partition);
}

/** With very many nodes, one group for each node that is asked first. Others go on if they have all of it. */
function fewer(groups: readonly Group[]): readonly Group[] {
  if (groups.length <= sourcesMax) return groups;
  const byFirst = new Map<string, { numbers: number[]; nodes: readonly string[] }>();
  for (const { numbers, nodes } of groups) {
    const [first] = nodes;
    const group = byFirst.get(first);
    if (group === undefined) byFirst.set(first, { numbers: [...numbers], nodes });
    else {
      group.numbers.push(...numbers);
      group.nodes = group.nodes.filter((node) => nodes.includes(node));
    }
  }
  return [...byFirst.values()].map(({ numbers, nodes }) => ({ numbers: numbers.sort((a, b) => a - b), nodes }));
}

function namePartitions(numbers: readonly number[]): string {
  const named = numbers.slice(0, namedPartitionsMax).join(", ");
  const more = numbers.length > namedPartitionsMax ? ` and ${numbers.length - namedPartitionsMax} more` : "";
  return `partition${numbers.length > 1 ? "s" : ""} ${named}${more}`;
}
