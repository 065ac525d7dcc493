import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import { folderProblem, makeFolder } from "../base/make-folder.js";
import { resolveOptions } from "../daemon/config/config.js";
import { readDatabaseOptions, readObjectOptions } from "../daemon/config/fleet-options.js";
import type { ResolvedOptions } from "../daemon/config/options.js";
import { type Database, DatabaseError } from "../database/database.js";
import { migrate } from "../database/migrations.js";
import { schema } from "../database/schema.js";
import { FleetRecords, type NodeRecord } from "../fleet/fleet-records.js";
import {
  type DirectoryIdentity,
  findForeign,
  readIdentityFile,
  removeIdentityFile,
  writeIdentityFile,
} from "../fleet/node-identity.js";
import { PartitionRecords, type PartitionState } from "../fleet/partition-records.js";
import { aliveLeases } from "../fleet/placement.js";
import { PlanRecords } from "../fleet/plan-records.js";
import { nameHolder } from "../fleet/replica.js";
import { onlyPartition, openDatabase } from "../fleet/shared-index.js";
import { hashObject, usualObjectLimits } from "../objects/object-store.js";
import { openObjects } from "../objects/open-objects.js";
import { visible } from "./terminal/output.js";

type Print = (line: string) => void;

/** Objects are tried with these bytes; the object stays. */
const probe = Buffer.from("trawl\n");

/** A person waits. */
const probeLimits = { ...usualObjectLimits, deadlineMs: 10_000 };

/** Calls `work` with the database of the configuration. */
export async function withFleet<T>(
  configFile: string,
  work: (database: Database, fleet: FleetRecords, options: ResolvedOptions) => Promise<T>,
): Promise<T> {
  const options = resolveOptions({ configFile, overrides: [], repositories: [] });
  const found = readDatabaseOptions(options.fleet, true);
  if (found === undefined)
    throw new TrawlError(
      "bad-config",
      `${configFile}: fleet.database: it is needed for this; without it, nodes share nothing`,
    );
  const seen = existsSync(options.data) ? readIdentityFile(options.data)?.seen : undefined;
  const database = openDatabase(found, options.fleet.node, seen);
  try {
    return await work(database, new FleetRecords(database), options);
  } finally {
    await database.close();
  }
}

/** Whether this host can write and read objects. */
async function tryObjects({ fleet }: ResolvedOptions): Promise<void> {
  const found = readObjectOptions(fleet, true);
  if (found === undefined) return;
  const objects = openObjects({ ...found, limits: probeLimits });
  const name = hashObject("shard", probe);
  await objects.put(name, probe, () => false);
  await objects.get(name, () => false);
}

export function initFleet(configFile: string, print: Print): Promise<void> {
  return withFleet(configFile, async (database, records, options) => {
    await migrate(database, schema);
    await tryObjects(options);
    const { name, id } = await records.init(options.fleet.id);
    print(
      `the fleet ${name} is ready (${id}); add this node with \`trawl fleet join --config ${visible(configFile)}\``,
    );
  });
}

export function joinFleet(configFile: string, replaces: boolean, print: Print): Promise<void> {
  return withFleet(configFile, async (database, records, options) => {
    const { fleet, data } = options;
    await migrate(database, schema);
    const { id, name } = await records.require(fleet.id);
    const known = existsSync(data) ? readIdentityFile(data) : undefined;
    const isMember = known !== undefined && (await records.nodes()).some((node) => node.id === known.node);
    if (known?.fleet === id && known.name === fleet.node && isMember)
      return print(`node ${fleet.node} is in the fleet ${name} already`);
    requireEmpty(data, known);
    await tryObjects(options);
    // If joining has failed in the middle, it is the same node that joins again.
    const node = known?.fleet === id && known.name === fleet.node ? known.node : randomUUID();
    // First, because a node that has joined without its directory would have to be replaced.
    await inFolder(data, async () => {
      makeFolder(data);
      requireEmpty(data, known);
      await writeIdentityFile(data, { fleet: id, node, name: fleet.node, seen: database.timeline });
    });
    try {
      await records.join(node, fleet.node, replaces, aliveLeases * fleet.leaseSeconds * 1000);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.isUnknown)) await inFolder(data, () => removeIdentityFile(data));
      throw error;
    }
    print(
      `node ${fleet.node} has joined the fleet ${name}; start it with \`trawl serve --config ${visible(configFile)}\``,
    );
  });
}

/** Throws `conflict` unless a node can begin with this directory, which may be missing. */
function requireEmpty(data: string, known: DirectoryIdentity | undefined): void {
  const name = existsSync(data) ? findForeign(data) : undefined;
  if (name === undefined) return;
  const how =
    known !== undefined
      ? `is in use, as node ${known.name}`
      : existsSync(join(data, "catalog"))
        ? "is in use without a fleet"
        : `is not empty (it has ${JSON.stringify(name)})`;
  throw new TrawlError(
    "conflict",
    `${data} ${how}: a node joins with an empty data directory, and gets everything from the fleet`,
  );
}

async function inFolder(data: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("storage", `cannot use ${data} as data directory: ${folderProblem(error)}`, { cause: error });
  }
}

/** One line for each node, or JSON. */
export function fleetStatus(configFile: string, isJson: boolean): Promise<string> {
  return withFleet(configFile, async (database, records, { fleet }) => {
    const { name } = await records.require(fleet.id);
    // A program before this one may have made the tables.
    await migrate(database, schema);
    const aliveMs = aliveLeases * fleet.leaseSeconds * 1000;
    const [nodes, server, state, plan] = await Promise.all([
      records.nodes(),
      records.server(),
      partitionState(database, fleet.leaseSeconds),
      new PlanRecords(database).read(aliveMs),
    ]);
    const owner = ownerIn(state);
    const planned = state?.planned?.name ?? "";
    const version = state?.version ?? 0;
    if (isJson)
      return JSON.stringify({
        name,
        owner,
        planned,
        version,
        plan: plan.version,
        refusal: plan.refusal,
        server,
        nodes,
      });
    const standby =
      server.standbyCount === 0
        ? "no standby"
        : server.isSynchronous
          ? "a synchronous standby"
          : "a standby that is NOT synchronous";
    return [
      `fleet ${name}: ${nodes.length} nodes, ${version} changes, ${owner === "" ? "nobody fetches and indexes" : `${owner} fetches and indexes`}`,
      `database: timeline ${server.timeline}, ${standby}`,
      ...(planned === "" || planned === owner ? [] : [`plan: ${planned} should fetch and index`]),
      ...(plan.refusal === "" ? [] : [`plan: nothing is changed, because ${plan.refusal}`]),
      ...nodes.map((node) => describeNode(node, version, owner, aliveMs)),
    ]
      .map(visible)
      .join("\n");
  });
}

function partitionState(database: Database, leaseSeconds: number): Promise<PartitionState | undefined> {
  return new PartitionRecords(database, onlyPartition, leaseSeconds * 1000).state();
}

/** The node that has the partition; "" if nobody has it. */
function ownerIn(state: PartitionState | undefined): string {
  return state === undefined || state.freeInMs < 0 ? "" : nameHolder(state.holder);
}

function describeNode(
  { name, silentSeconds, program, version, failure, isStopped, isDraining }: NodeRecord,
  last: number,
  owner: string,
  aliveMs: number,
): string {
  const drains = isDraining ? ", draining" : "";
  if (silentSeconds === undefined) return `${name}  has not started yet${drains}`;
  const isAlive = silentSeconds * 1000 <= aliveMs;
  const silence = `${Math.round(silentSeconds)} s`;
  const behind = Math.max(0, last - version);
  const does = name === owner ? "up, fetches and indexes" : "up, follows";
  const fields = [
    name,
    (isStopped ? `stopped, last heard of ${silence} ago` : isAlive ? does : `not heard of for ${silence}`) + drains,
    behind === 0 ? "has everything" : `${behind} changes behind`,
    `version ${program}`,
  ];
  if (failure !== "") fields.push(`error: ${failure}`);
  return fields.join("  ");
}

/** What draining a node waits for. */
export interface DrainOptions {
  readonly waitSeconds: number;
  /** Lets the node be used again. */
  readonly isUndone: boolean;
}

/** Lets a node be emptied, and waits until another one fetches and indexes. Throws `conflict` if none does. */
export function drainNode(
  configFile: string,
  node: string,
  { waitSeconds, isUndone }: DrainOptions,
  print: Print,
): Promise<void> {
  return withFleet(configFile, async (database, records, { fleet }) => {
    const { name } = await records.require(fleet.id);
    await migrate(database, schema);
    const plans = new PlanRecords(database);
    if (!(await plans.drain(node, !isUndone)))
      throw new TrawlError(
        "not-found",
        `the fleet ${name} has no node ${JSON.stringify(node)}: see \`trawl fleet status\``,
      );
    if (isUndone) return print(`node ${visible(node)} may fetch and index again`);
    const deadline = monotonicMs() + waitSeconds * 1000;
    for (;;) {
      const state = await partitionState(database, fleet.leaseSeconds);
      const owner = ownerIn(state);
      if (owner !== node && state?.planned?.name !== node)
        return print(
          `node ${visible(node)} does not fetch and index${owner === "" ? "" : `, ${visible(owner)} does`}; it can be stopped`,
        );
      if (monotonicMs() >= deadline) {
        const { refusal } = await plans.read(aliveLeases * fleet.leaseSeconds * 1000);
        throw new TrawlError(
          "conflict",
          `node ${node} still is the one to fetch and index after ${waitSeconds} s: ${refusal === "" ? "no other node is ready" : refusal}. It goes on draining; see \`trawl fleet status\`, or take it back with --undo`,
        );
      }
      await sleep(drainPollMs);
    }
  });
}

const drainPollMs = 500;
