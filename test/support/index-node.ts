/** A node of a fleet with a database, which can be ended and started again. */
import { withFleet } from "../../src/cli/run-fleet.js";
import { type DaemonProcess, testDaemon, textsOnly } from "./daemon.js";
import type { Owner } from "./shared.js";

/**
 * Seconds. On a busy machine a lease is prolonged late, and none may end by that: those of a node that is killed are ended in
 * the database.
 */
export const leaseSeconds = 15;

export class IndexNode {
  daemon: DaemonProcess | undefined;

  constructor(
    readonly owner: Owner,
    readonly name: string,
    readonly config: string,
    readonly data: string,
  ) {}

  async start(): Promise<DaemonProcess> {
    this.daemon = await testDaemon(this.owner, ["--config", this.config, ...textsOnly.slice(0, 2)], this.data);
    return this.daemon;
  }

  get running(): DaemonProcess {
    if (this.daemon === undefined) throw new RangeError(`${this.name} was not started`);
    return this.daemon;
  }

  /** Kills the process. Its leases have ended then, as they do some time after a death. */
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
