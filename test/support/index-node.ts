/** A node of a fleet with a database, which can be ended and started again. */
import { type DaemonProcess, testDaemon, textsOnly } from "./daemon.js";
import type { Owner } from "./shared.js";

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

  async kill(): Promise<void> {
    await this.running.kill();
    this.daemon = undefined;
  }
}
