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
import { FleetRecords, type FleetShape, type NodeRecord } from "../fleet/fleet-records.js";
import {
  type DirectoryIdentity,
  findForeign,
  readIdentityFile,
  readImportFile,
  removeIdentityFile,
  removeImportFile,
  writeIdentityFile,
} from "../fleet/node-identity.js";
import { aliveLeases, type PartitionPlace, PlanRecords } from "../fleet/plan-records.js";
import { openDatabase } from "../fleet/shared-index.js";
import { describeIndex } from "../fleet/shared-manifest.js";
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

export function initFleet(configFile: string, print: Print, shape: FleetShape = {}): Promise<void> {
  return withFleet(configFile, async (database, records, options) => {
    await migrate(database, schema);
    await tryObjects(options);
    const { name, id } = await records.init(options.fleet.id, shape);
    print(
      `the fleet ${name} is ready (${id}); add this node with \`trawl fleet join --config ${visible(configFile)}\``,
    );
  });
}

/** Makes the index of this single host that of a new fleet, and this host its first node. It may be repeated until it has ended. */
export function importFleet(
  configFile: string,
  print: Print,
  { partitions = 1, copies }: FleetShape = {},
): Promise<void> {
  return withFleet(configFile, async (database, records, options) => {
    const { fleet, data } = options;
    if (partitions !== 1 || copies !== undefined)
      throw new TrawlError(
        "bad-config",
        "an index that was made without a fleet cannot be divided: its shards have repositories of several partitions. Import it without --partitions and --copies",
      );
    const found = readObjectOptions(fleet, true);
    if (found === undefined)
      throw new TrawlError("bad-config", `${configFile}: fleet.objects: the index is stored there`);
    if (existsSync(data) && readIdentityFile(data) !== undefined)
      return print(`${data} is that of a node of a fleet already`);
    await migrate(database, schema);
    await tryObjects(options);
    const objects = openObjects({ ...found, limits: usualObjectLimits });
    const { withStoredIndex } = await import("./import-index.js");
    await withStoredIndex(data, objects, print, async (catalog) => {
      const node = await inFolder(data, () => readImportFile(data));
      const made = await records.import(fleet.id, { id: node, name: fleet.node }, describeIndex(catalog));
      // From here on the daemon is a node.
      await inFolder(data, async () => {
        await writeIdentityFile(data, {
          fleet: made.id,
          node,
          name: fleet.node,
          partitions: made.partitions,
          seen: database.timeline,
        });
        await removeImportFile(data);
      });
      print(
        `the fleet ${made.name} has the index of ${data}, and node ${fleet.node}; start it with \`trawl serve --config ${visible(configFile)}\``,
      );
    });
  });
}

export function joinFleet(configFile: string, replaces: boolean, print: Print): Promise<void> {
  return withFleet(configFile, async (database, records, options) => {
    const { fleet, data } = options;
    await migrate(database, schema);
    const { id, name, partitions } = await records.require(fleet.id);
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
      await writeIdentityFile(data, {
        fleet: id,
        node,
        name: fleet.node,
        partitions,
        seen: database.timeline,
      });
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

/** How a node leaves its fleet. */
export interface LeaveOptions {
  /** Its database is lost: what others have is not asked for. */
  readonly withoutDatabase: boolean;
  /** How long others may take to fetch and index what it did. */
  readonly waitSeconds: number;
}

/**
 * Makes the directory of a node that does not run that of a single host, with the index that it has; what it lacks a single host fetches and indexes.
 * It may be repeated until it has ended. Throws `conflict` if the node has not all partitions, or is still needed.
 */
export function leaveFleet(
  configFile: string,
  { withoutDatabase, waitSeconds }: LeaveOptions,
  print: Print,
): Promise<void> {
  return withFleet(configFile, async (database, records, { fleet, data }) => {
    const known = existsSync(data) ? readIdentityFile(data) : undefined;
    if (known === undefined)
      throw new TrawlError("conflict", `${data} is not that of a node of a fleet: there is nothing to leave`);
    const { withoutDaemon } = await import("./check/offline-check.js");
    await withoutDaemon(data, async () => {
      if (!withoutDatabase) {
        await requireLeaving(new PlanRecords(database), records, known, fleet.id, waitSeconds);
        await inFolder(data, () => writeIdentityFile(data, { ...known, isLeaving: true }));
        await records.leave(known.node);
      }
      await inFolder(data, () => removeIdentityFile(data));
    });
    print(
      `${data} is that of a single host: remove fleet from ${visible(configFile)} and start it, or make it the first node of another fleet with \`trawl fleet init --import\``,
    );
  });
}

/** Throws `conflict` if this node cannot be a single host, or the fleet needs it. */
async function requireLeaving(
  plans: PlanRecords,
  records: FleetRecords,
  { fleet, node, name, isLeaving }: DirectoryIdentity,
  fleetName: string,
  waitSeconds: number,
): Promise<void> {
  const nodes = (await records.require(fleetName)).id === fleet ? await records.nodes() : [];
  if (!nodes.some(({ id }) => id === node)) {
    if (isLeaving === true) return;
    throw new TrawlError(
      "conflict",
      `the database has no such node ${name}, which was replaced, or is of another fleet: see \`trawl fleet status\``,
    );
  }
  const isReady = ({ copies }: PartitionPlace): boolean =>
    copies.some((copy) => copy.node === name && copy.state !== "loading");
  const places = await plans.places();
  const lacking = places.filter((place) => !isReady(place)).map(({ id }) => id);
  if (lacking.length > 0)
    throw new TrawlError(
      "conflict",
      `node ${name} has no copy of ${places.length === 1 ? "the index" : `partitions ${nameSome(lacking)}`}, which a single host needs: give each node a copy of each with \`trawl fleet init --copies 0\`, and wait until \`trawl fleet status\` says that it has everything`,
    );
  if (nodes.length > 1 && (await waitForOthers(plans, name, waitSeconds)) === undefined)
    throw new TrawlError(
      "conflict",
      `no other node fetches and indexes what node ${name} did after ${waitSeconds} s: see \`trawl fleet status\`, and try again`,
    );
}

/** Throws `conflict` unless a node can begin with this directory, which may be missing. */
function requireEmpty(data: string, known: DirectoryIdentity | undefined): void {
  const name = existsSync(data) ? findForeign(data) : undefined;
  if (name === undefined) return;
  const isAlone = known === undefined && existsSync(join(data, "catalog"));
  const how =
    known !== undefined
      ? `is in use, as node ${known.name}`
      : isAlone
        ? "is in use without a fleet"
        : `is not empty (it has ${JSON.stringify(name)})`;
  const otherwise = isAlone ? "; `trawl fleet init --import` makes what it has that of a new fleet" : "";
  throw new TrawlError(
    "conflict",
    `${data} ${how}: a node joins with an empty data directory, and gets everything from the fleet${otherwise}`,
  );
}

async function inFolder<T>(data: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("storage", `cannot use ${data} as data directory: ${folderProblem(error)}`, { cause: error });
  }
}

/** One line for each node, or JSON. */
export function fleetStatus(configFile: string, isJson: boolean): Promise<string> {
  return withFleet(configFile, async (database, records, { fleet }) => {
    const { name, copies } = await records.require(fleet.id);
    // A program before this one may have made the tables.
    await migrate(database, schema);
    const aliveMs = aliveLeases * fleet.leaseSeconds * 1000;
    const plans = new PlanRecords(database);
    const [nodes, server, partitions, plan] = await Promise.all([
      records.nodes(),
      records.server(),
      plans.places(),
      plans.read(fleet.leaseSeconds * 1000),
    ]);
    const [first] = partitions;
    const { owner = "", planned = "" } = first ?? {};
    const version = partitions.reduce((sum, one) => sum + one.version, 0);
    if (isJson) {
      const { refusal, withoutRoom } = plan;
      const whole = { name, version, plan: plan.version, refusal, withoutRoom, copies, server, nodes, partitions };
      return JSON.stringify(partitions.length > 1 ? whole : { ...whole, owner, planned });
    }
    const standby =
      server.standbyCount === 0
        ? "no standby"
        : server.isSynchronous
          ? "a synchronous standby"
          : "a standby that is NOT synchronous";
    const lines =
      partitions.length > 1
        ? describePartitions(name, nodes, partitions, copies, aliveMs)
        : [
            `fleet ${name}: ${nodes.length} nodes, ${version} changes, ${owner === "" ? "nobody fetches and indexes" : `${owner} fetches and indexes`}`,
            ...(planned === "" || planned === owner ? [] : [`plan: ${planned} should fetch and index`]),
            ...nodes.map((node) => describeNode(node, doesOnly(node.name === owner), version - node.version, aliveMs)),
          ];
    return [
      ...lines.slice(0, 1),
      `database: timeline ${server.timeline}, ${standby}`,
      ...(plan.refusal === "" ? [] : [`plan: nothing is changed, because ${plan.refusal}`]),
      ...(plan.withoutRoom === 0 ? [] : [`plan: ${plan.withoutRoom} copies are missing, because no node has room`]),
      ...lines.slice(1),
    ]
      .map(visible)
      .join("\n");
  });
}

/** The fleet, what is wrong with its partitions, and what each node has of them. */
function describePartitions(
  fleet: string,
  nodes: readonly NodeRecord[],
  partitions: readonly PartitionPlace[],
  copies: number,
  aliveMs: number,
): readonly string[] {
  const version = partitions.reduce((sum, one) => sum + one.version, 0);
  const orphans = partitions.filter(({ owner }) => owner === "").map(({ id }) => id);
  const lost = partitions.filter((one) => one.copies.every(({ state }) => state === "loading")).map(({ id }) => id);
  const each = copies === 0 ? "a copy of each at each node" : `${copies} ${copies === 1 ? "copy" : "copies"} of each`;
  return [
    `fleet ${fleet}: ${nodes.length} nodes, ${partitions.length} partitions, ${each}, ${version} changes`,
    ...(orphans.length === 0 ? [] : [`nobody fetches and indexes partitions ${nameSome(orphans)}`]),
    ...(lost.length === 0 ? [] : [`no node can search partitions ${nameSome(lost)} yet`]),
    ...nodes.map((node) => {
      const held = partitions.flatMap(({ version: last, ...one }) =>
        one.copies.filter((copy) => copy.node === node.name).map((copy) => ({ ...copy, last })),
      );
      const owned = partitions.filter(({ owner }) => owner === node.name).length;
      const loading = held.filter(({ state }) => state === "loading").length;
      const behind = held.reduce((sum, copy) => sum + Math.max(0, copy.last - copy.version), 0);
      const does = `up, fetches and indexes ${owned} of ${held.length} partitions${loading === 0 ? "" : `, loads ${loading}`}`;
      return describeNode(node, does, behind, aliveMs);
    }),
  ];
}

function nameSome(numbers: readonly number[]): string {
  return (
    numbers.slice(0, namedMax).join(", ") + (numbers.length > namedMax ? ` and ${numbers.length - namedMax} more` : "")
  );
}

const namedMax = 10;

function doesOnly(isOwner: boolean): string {
  return isOwner ? "up, fetches and indexes" : "up, follows";
}

function describeNode(
  { name, silentSeconds, program, failure, isStopped, isDraining }: NodeRecord,
  does: string,
  behind: number,
  aliveMs: number,
): string {
  const drains = isDraining ? ", draining" : "";
  if (silentSeconds === undefined) return `${name}  has not started yet${drains}`;
  const isAlive = silentSeconds * 1000 <= aliveMs;
  const silence = `${Math.round(silentSeconds)} s`;
  const fields = [
    name,
    (isStopped ? `stopped, last heard of ${silence} ago` : isAlive ? does : `not heard of for ${silence}`) + drains,
    behind <= 0 ? "has everything" : `${behind} changes behind`,
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
    const partitions = await waitForOthers(plans, node, waitSeconds);
    if (partitions === undefined) {
      const { refusal } = await plans.read(fleet.leaseSeconds * 1000);
      throw new TrawlError(
        "conflict",
        `node ${node} still is the one to fetch and index after ${waitSeconds} s: ${refusal === "" ? "no other node is ready" : refusal}. It goes on draining; see \`trawl fleet status\`, or take it back with --undo`,
      );
    }
    const [first] = partitions;
    const owner = partitions.length === 1 ? (first?.owner ?? "") : "others";
    const does = owner === "" ? "" : `, ${visible(owner)} ${owner === "others" ? "do" : "does"}`;
    print(`node ${visible(node)} does not fetch and index${does}; it can be stopped`);
  });
}

/** Where the partitions are as soon as others do with each what this node did; undefined if that takes longer. */
async function waitForOthers(
  plans: PlanRecords,
  node: string,
  waitSeconds: number,
): Promise<readonly PartitionPlace[] | undefined> {
  const deadline = monotonicMs() + waitSeconds * 1000;
  for (;;) {
    const places = await plans.places();
    if (places.every((place) => canDoWithout(place, node, places.length > 1))) return places;
    if (monotonicMs() >= deadline) return undefined;
    await sleep(placesPollMs);
  }
}

/** Whether another node owns the partition, and answers searches, if not all have a copy anyway. */
function canDoWithout({ owner, planned, copies }: PartitionPlace, node: string, areSeveral: boolean): boolean {
  // What was handed over is nobody's until the other one has taken it.
  if (owner === node || planned === node || (owner === "" && planned !== "")) return false;
  const isHeld = copies.some((copy) => copy.node === node);
  return !areSeveral || !isHeld || copies.some((copy) => copy.node !== node && copy.state === "ready");
}

const placesPollMs = 500;
