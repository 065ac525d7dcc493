import { existsSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../base/errors.js";
import type { OwnerCommands } from "../../browse/mirror-answers.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import type { SharedIndex } from "../../fleet/shared-index.js";
import type { LeafServerSettings } from "../../search/fleet/leaf-server.js";
import type { PartitionNodes, PartitionNodesSettings } from "../../search/fleet/partition-nodes.js";
import type { Searcher } from "../../search/searcher.js";
import { splitAddress } from "../config/config.js";
import { readDatabaseOptions, readFleetIdentity, readFleetNodes, readObjectOptions } from "../config/fleet-options.js";
import type { ResolvedOptions } from "../config/options.js";
import type { DaemonParts } from "./parts.js";
import { programVersion } from "./program.js";

/** What this node is to others: it searches with them, and for them. */
export interface JoinedFleet {
  stop(): Promise<void>;
  /** Undefined without a database. */
  readonly partitions: { readonly nodes: PartitionNodes; readonly address: string } | undefined;
}

/**
 * Makes this daemon a node of its fleet. Undefined on a single host, which does not load what searches several nodes, and where each node has the
 * whole index.
 */
export async function joinFleet(
  options: ResolvedOptions,
  searcher: Searcher,
  { catalog, later, mirrors, log }: Pick<DaemonParts, "catalog" | "later" | "mirrors" | "log">,
  commands: OwnerCommands,
  metrics: Metrics,
): Promise<JoinedFleet | undefined> {
  const { fleet } = options;
  if (fleet.node === "") return undefined;
  // Where each node has the whole index, nodes ask one another only for what needs mirrors, and need not.
  if (fleet.database !== "" && catalog.partitions.count === 1 && fleet.listen === "") return undefined;
  const { MirrorAnswers } = await import("../../browse/mirror-answers.js");
  const answers = new MirrorAnswers({ name: fleet.node, mirrors, catalog, commands, fleet: () => searcher.fleet, log });
  const answerMirrors: LeafServerSettings["answerMirrors"] = (node, channel) => answers.accept(node, channel);
  if (fleet.database !== "") {
    const held = {
      partitions: catalog.partitions,
      // A node that has the whole index searches it as it is, also if it cannot follow.
      isSearchable: (partition: number) =>
        (catalog.partitions.count === 1 && catalog.position.version > 0) ||
        later?.replica?.isSearchable(partition) === true,
      outdated: () => later?.replica?.outdated ?? [],
      versionIn: (partition: number) => catalog.positionIn(partition).version,
      owned: () => later?.replica?.changed ?? new Set<number>(),
    };
    return joinPartitions(options, searcher, { ...held, answerMirrors }, log, metrics);
  }
  const { FleetNodes } = await import("../../search/fleet/fleet-nodes.js");
  const { nodes, replicas, listen } = readFleetNodes(fleet);
  const joined = new FleetNodes({
    ...serverSettings(options, listen),
    nodes,
    replicas,
    searcher,
    answerMirrors,
    log,
    metrics,
  });
  const bound = await joined.start();
  searcher.fleet = joined;
  log.info({ node: fleet.node, nodes: nodes.length, port: bound }, "this is a node of a fleet");
  return { stop: () => joined.stop(), partitions: undefined };
}

async function joinPartitions(
  options: ResolvedOptions,
  searcher: Searcher,
  held: Pick<
    PartitionNodesSettings,
    "partitions" | "isSearchable" | "outdated" | "versionIn" | "owned" | "answerMirrors"
  >,
  log: Log,
  metrics: Metrics,
): Promise<JoinedFleet> {
  const { fleet } = options;
  if (fleet.listen === "")
    throw new TrawlError(
      "bad-config",
      `fleet.listen: it is needed, because the fleet has ${held.partitions.count} partitions: nodes ask one another`,
    );
  const { PartitionNodes } = await import("../../search/fleet/partition-nodes.js");
  const settings = serverSettings(options, fleet.listen);
  const nodes = new PartitionNodes({ ...settings, ...held, searcher, log, metrics });
  const bound = await nodes.start();
  searcher.fleet = nodes;
  log.info({ node: fleet.node, partitions: held.partitions.count, port: bound }, "this is a node of a fleet");
  const host = settings.listenHost;
  const address = fleet.address || `${host.includes(":") ? `[${host}]` : host}:${bound}`;
  return { stop: () => nodes.stop(), partitions: { nodes, address } };
}

/** How this node answers the others. */
function serverSettings({ fleet, workers }: ResolvedOptions, listen: string) {
  const { host, port } = splitAddress(listen);
  const identity = readFleetIdentity(fleet);
  return { identity, listenHost: host, listenPort: port, version: programVersion(), workerCount: workers };
}

/**
 * Warns of what lets different people have one name at different nodes that share an index: accounts are those of a node, and the readers of
 * repositories are names.
 */
export function warnOfNames(
  { fleet, auth, identityProviders }: Pick<ResolvedOptions, "fleet" | "auth" | "identityProviders">,
  log: Pick<Log, "warn">,
): void {
  if (fleet.database === "") return;
  for (const { name, signUp, scimToken, trustUsernames } of identityProviders)
    if (!trustUsernames && (signUp !== "none" || scimToken !== ""))
      log.warn(
        { provider: name },
        "each node of this fleet chooses the names of new accounts itself, so two people may have one name at two nodes, and read what only one of them may: set trustUsernames, or signUp to none",
      );
  if (auth.headerSignUp)
    log.warn(
      "each node of this fleet makes accounts for whom the proxy names: it must name users by names, and not by addresses, and be the same for all nodes, or two people may have one name at two nodes",
    );
}

/**
 * Divides the catalog as that of the fleet is, before it is loaded. Throws `conflict` for the directory of a node without its fleet: what a single host
 * changed in some partition would not be found out by the node.
 */
export async function divideCatalog(
  { fleet, data }: Pick<ResolvedOptions, "fleet" | "data">,
  catalog: Pick<Catalog, "divide">,
): Promise<void> {
  if (fleet.database === "") {
    if (existsSync(join(data, "fleet.json")))
      throw new TrawlError(
        "conflict",
        `${data} is the data directory of a node of a fleet, and fleet.database is missing from the configuration: use \`trawl fleet leave\` with the configuration of the node to make it that of a single host`,
      );
    return;
  }
  const { readIdentityFile } = await import("../../fleet/node-identity.js");
  catalog.divide(readIdentityFile(data)?.partitions ?? 1);
}

/** Opens the index that the nodes of a fleet share. Undefined without a database, of which nothing is loaded then. */
export async function openSharedIndex(
  { fleet, data }: ResolvedOptions,
  { catalog, later, sync, threads, log, registry }: DaemonParts,
  joined: JoinedFleet | undefined,
): Promise<SharedIndex | undefined> {
  const database = readDatabaseOptions(fleet, true);
  const objects = readObjectOptions(fleet, true);
  if (database === undefined || objects === undefined || later === undefined) return undefined;
  const [{ SharedIndex }, { readIdentityFile }] = await Promise.all([
    import("../../fleet/shared-index.js"),
    import("../../fleet/node-identity.js"),
  ]);
  const identity = readIdentityFile(data);
  if (identity === undefined)
    throw new TrawlError(
      "conflict",
      `${data} has not joined the fleet: use \`trawl fleet join\` with this configuration first, or \`trawl fleet init --import\` if it has the index of a single host`,
    );
  if (identity.name !== fleet.node)
    throw new TrawlError(
      "conflict",
      `${data} is the data directory of node ${identity.name}, and fleet.node is ${fleet.node}`,
    );
  const index = new SharedIndex({
    database,
    objects,
    dataFolder: data,
    identity,
    fleetName: fleet.id,
    program: programVersion(),
    leaseMs: fleet.leaseSeconds * 1000,
    address: () => joined?.partitions?.address ?? "",
    onHolders: joined?.partitions && ((nodes) => joined.partitions?.nodes.update(nodes)),
    catalog,
    pool: threads.ingest,
    shardIds: sync.shards.shardIds,
    stop: sync.stopWord,
    retire: (shardIds) => sync.shards.retire(shardIds),
    log,
    metrics: registry.metrics,
  });
  await index.check();
  later.manifest = index.manifest;
  later.replica = index.replica;
  later.restore = (record, kind) => index.shards.restore(record, kind);
  sync.pause(() => index.replica.refusal);
  return index;
}
