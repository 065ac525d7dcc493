/** Nodes of a fleet with a database, which can be ended and started again. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRepositories } from "../../src/catalog/catalog-records.js";
import { withFleet } from "../../src/cli/run-fleet.js";
import { RecordStore } from "../../src/store/record-store.js";
import { dataDirectory, type DaemonProcess, testDaemon, textsOnly } from "./daemon.js";
import { TestAuthority } from "./fleet-site.js";
import { PostgresServer } from "./postgres.js";
import { removeFolder } from "./remove-folder.js";
import { S3Server } from "./s3-server.js";
import type { Owner } from "./shared.js";

/**
 * Seconds. On a busy machine a lease is prolonged late, and none may end by that: those of a node that is killed are ended in
 * the database.
 */
const leaseSeconds = 15;

export class IndexNode {
  daemon: DaemonProcess | undefined;

  constructor(
    readonly owner: Owner,
    readonly name: string,
    readonly config: string,
    readonly data: string,
  ) {}

  async start(args: readonly string[] = []): Promise<DaemonProcess> {
    this.daemon = await testDaemon(this.owner, ["--config", this.config, ...textsOnly.slice(0, 2), ...args], this.data);
    return this.daemon;
  }

  /** Starts a daemon with its data directory as a single host. */
  async startAlone(): Promise<DaemonProcess> {
    const config = `${this.config}.alone`;
    const { fleet: _, ...single } = JSON.parse(readFileSync(this.config, "utf8")) as { readonly fleet: object };
    writeFileSync(config, JSON.stringify(single));
    this.daemon = await testDaemon(this.owner, ["--config", config, ...textsOnly.slice(0, 2)], this.data);
    return this.daemon;
  }

  /** When each repository was indexed, as its data directory says, which no daemon uses. */
  async readChanges(): Promise<readonly string[]> {
    const records = new RecordStore(join(this.data, "catalog"));
    try {
      return [...readRepositories(records)].flat().map(({ name, lastChanged }) => `${name} ${lastChanged}`);
    } finally {
      await records.close();
    }
  }

  async stop(): Promise<void> {
    await this.running.stop();
    this.daemon = undefined;
  }

  get running(): DaemonProcess {
    if (this.daemon === undefined) throw new RangeError(`${this.name} was not started`);
    return this.daemon;
  }

  /** Whether it has fetched a repository, or had the node that changes its part of the index do so; false if that could not be asked. */
  async trySync(repository: string): Promise<boolean> {
    try {
      await this.running.sync(repository);
      return true;
    } catch (error) {
      if (
        error instanceof Error &&
        /changes? the index|of this fleet|does not fetch|nobody can be asked/.test(error.message)
      )
        return false;
      throw error;
    }
  }

  /** Kills the process, and ends its leases in the database, as if their time had passed. */
  async kill(): Promise<void> {
    await this.running.kill();
    this.daemon = undefined;
    await withFleet(this.config, async (database) => {
      for (const table of ["partition", "lease"])
        await database.query(
          `update ${table} set until = clock_timestamp() where split_part(holder, '/', 1) = $1 and until > clock_timestamp()`,
          [this.name],
        );
      // It was heard of before.
      await database.query("update node set seen = seen - $2 * interval '1 s' where name = $1", [
        this.name,
        leaseSeconds,
      ]);
    });
  }
}

/** What nodes share, and the nodes, which are neither joined nor started. */
export interface IndexSite<Node> {
  readonly nodes: readonly Node[];
  readonly server: S3Server;
}

/** Starts a database and a bucket, and writes the configurations of nodes with these names, all for the same repositories. */
export async function makeIndexSite<Node>(
  owner: Owner,
  names: readonly string[],
  repositories: readonly { readonly name: string; readonly url: string }[],
  makeNode: new (...node: ConstructorParameters<typeof IndexNode>) => Node,
): Promise<IndexSite<Node>> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-index-"));
  owner.teardown(() => removeFolder(folder));
  const [postgres, server] = await Promise.all([PostgresServer.start(), S3Server.start()]);
  owner.teardown(() => postgres.remove());
  owner.teardown(() => server.stop());
  const key = join(folder, "key");
  writeFileSync(key, server.credential);
  const authority = new TestAuthority(owner);
  const nodes = names.map((name) => {
    const data = dataDirectory(owner);
    const config = join(folder, `${name}.jsonc`);
    const fleet = {
      node: name,
      id: "test",
      database: `postgresql:///postgres?host=${postgres.folder}&user=trawl`,
      objects: server.url,
      objectsCredential: `file:${key}`,
      leaseSeconds,
      listen: "127.0.0.1:0",
      ...authority.issue(`URI:trawl://test/${name}`),
    };
    writeFileSync(config, JSON.stringify({ data, fleet, repositories, search: { warmPercent: 0 } }));
    return new makeNode(owner, name, config, data);
  });
  return { nodes, server };
}
