import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import type { FleetNodes } from "../../search/fleet/fleet-nodes.js";
import type { Searcher } from "../../search/searcher.js";
import { splitAddress } from "../config/config.js";
import { readFleetIdentity, readFleetNodes } from "../config/fleet-options.js";
import type { ResolvedOptions } from "../config/options.js";
import { programVersion } from "./program.js";

/** Makes this daemon a node of its fleet. Undefined on a single host, which does not load what searches several nodes. */
export async function joinFleet(
  { fleet, workers }: ResolvedOptions,
  searcher: Searcher,
  log: Log,
  metrics: Metrics,
): Promise<FleetNodes | undefined> {
  if (fleet.node === "") return undefined;
  const { FleetNodes } = await import("../../search/fleet/fleet-nodes.js");
  const { nodes, replicas, listen } = readFleetNodes(fleet);
  const { host, port } = splitAddress(listen);
  const joined = new FleetNodes({
    identity: readFleetIdentity(fleet),
    nodes,
    replicas,
    listenHost: host,
    listenPort: port,
    version: programVersion(),
    workerCount: workers,
    searcher,
    log,
    metrics,
  });
  const bound = await joined.start();
  searcher.fleet = joined;
  log.info({ node: fleet.node, nodes: nodes.length, port: bound }, "this is a node of a fleet");
  return joined;
}
