import { readIdentity, type NodeIdentity, nodeNamePattern } from "../../wire/identity.js";
import { readFileSync } from "node:fs";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { NodeAddress } from "../../wire/node-client.js";
import { nodesMax } from "../../search/source/search-fleet.js";
import { readSecret } from "../../base/secret-source.js";
import { parseDatabaseAddress, type DatabaseAddress } from "../../database/database-address.js";
import { parseObjectAddress, type ObjectAddress } from "../../objects/object-address.js";
import type { OptionValues } from "./options.js";

/** The options of `fleet`, as its parts use them. */
export interface FleetOptions {
  readonly nodes: readonly NodeAddress[];
  /** Names of nodes that have the same repositories. */
  readonly replicas: readonly (readonly string[])[];
  /** HOST:PORT */
  readonly listen: string;
}

type Values = OptionValues["fleet"];

/** Throws `bad-config` for nodes that are no fleet with this node in it. */
export function readFleetNodes({
  node,
  nodes,
  replicas,
  listen,
}: Pick<Values, "node" | "nodes" | "replicas" | "listen">): FleetOptions {
  const parsed = nodes.map(parseNode);
  if (parsed.length > nodesMax) throw bad(`fleet.nodes: at most ${nodesMax} nodes are possible`);
  const twice = parsed.find(({ name }, i) => parsed.findIndex((other) => other.name === name) < i);
  if (twice !== undefined) throw bad(`fleet.nodes: there are two nodes with the name ${twice.name}`);
  const own = parsed.find(({ name }) => name === node);
  if (own === undefined) throw bad(`fleet.nodes: it lacks ${node}, which is fleet.node: add ${node}=HOST:PORT`);
  return { nodes: parsed, replicas: readReplicas({ nodes, replicas }), listen: listen || own.address };
}

/** Throws `bad-config` for groups of nodes that are none. */
export function readReplicas({ nodes, replicas }: Pick<Values, "nodes" | "replicas">): FleetOptions["replicas"] {
  const groups = replicas.map((text) => text.split(",").map((name) => name.trim()));
  const names = groups.flat();
  const unknown = names.find((name) => !nodes.some((node) => node.startsWith(`${name}=`)));
  if (unknown !== undefined) throw badReplicas(`${JSON.stringify(unknown)} is not in fleet.nodes`);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw badReplicas(`node ${twice} is named twice`);
  const alone = groups.find((group) => group.length < 2);
  if (alone !== undefined)
    throw badReplicas(`${JSON.stringify(alone[0])} must be several nodes, such as ${alone[0]},NAME`);
  return groups;
}

function badReplicas(message: string): TrawlError {
  return bad(`fleet.replicas: ${message}`);
}

const hostAndPort = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$/;

function parseNode(text: string): NodeAddress {
  const at = text.indexOf("=");
  const [name, address] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)];
  if (
    !nodeNamePattern.test(name) ||
    !hostAndPort.test(address) ||
    Number(address.slice(address.lastIndexOf(":") + 1)) > 65_535 ||
    !URL.canParse(`https://${address}`)
  )
    throw bad(`fleet.nodes: ${JSON.stringify(text)} must be NAME=HOST:PORT`);
  return { name, address };
}

/** Reads and checks the certificate, its key and the authority. Throws `bad-config`. */
export function readFleetIdentity({
  node,
  id,
  certificate,
  key,
  authority,
}: Pick<Values, "node" | "id" | "certificate" | "key" | "authority">): NodeIdentity {
  if (id === "") throw bad("fleet.id: it is needed with fleet.node");
  for (const [name, path] of Object.entries({ certificate, key, authority }))
    if (path === "") throw bad(`fleet.${name}: it is needed with fleet.node`);
  return readIdentity(id, node, { certificate, key, authority });
}

/** How the database of the fleet is reached. */
export interface FleetDatabase {
  readonly address: DatabaseAddress;
  readonly password: (() => string) | undefined;
  readonly authority: string | undefined;
}

/** Undefined without a database. Throws `bad-config` for options that do not go together, or files that cannot be read. */
export function readDatabaseOptions(
  { database, databaseCredential, databaseAuthority, node, id, nodes, objects }: Values,
  mayReadFiles: boolean,
): FleetDatabase | undefined {
  if (database === "") {
    for (const [name, value] of Object.entries({ databaseCredential, databaseAuthority }))
      if (value !== "") throw bad(`fleet.${name}: it has no effect without fleet.database`);
    return undefined;
  }
  const address = parseDatabaseAddress(database);
  if (node === "" || id === "")
    throw bad("fleet.database: it needs fleet.node, the name of this node, and fleet.id, that of the fleet");
  if (objects === "") throw bad("fleet.database: it needs fleet.objects, where nodes find the shards of one another");
  if (nodes.length > 0)
    throw bad(
      "fleet.database: with it, each node has the whole index, and fleet.nodes must be empty: remove one of them",
    );
  const readPassword = (): string => readSecret(databaseCredential, "fleet.databaseCredential");
  if (mayReadFiles && databaseCredential !== "") readPassword();
  const authority = databaseAuthority === "" || !mayReadFiles ? undefined : readAuthority(databaseAuthority);
  return { address, password: databaseCredential === "" ? undefined : readPassword, authority };
}

function readAuthority(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw bad(`fleet.databaseAuthority: cannot read it: ${errorMessage(error)}`);
  }
  if (!text.includes("-----BEGIN CERTIFICATE-----"))
    throw bad(`fleet.databaseAuthority: ${path} has no certificate in PEM`);
  return text;
}

/** Where the objects of the fleet are. */
export interface FleetObjects {
  readonly address: ObjectAddress;
  readonly credential: string;
}

/** Undefined without a database. Throws `bad-config`. */
export function readObjectOptions(
  { objects, objectsCredential, database }: Pick<Values, "objects" | "objectsCredential" | "database">,
  mayReadFiles: boolean,
): FleetObjects | undefined {
  if (objects === "") return undefined;
  const address = parseObjectAddress(objects);
  if (database === "") throw bad("fleet.objects: it has no effect without fleet.database");
  if (address.kind === "s3" && objectsCredential === "")
    throw bad("fleet.objects: a bucket needs fleet.objectsCredential");
  if (address.kind === "s3" && mayReadFiles) readSecret(objectsCredential, "fleet.objectsCredential");
  return { address, credential: objectsCredential };
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-config", message);
}
