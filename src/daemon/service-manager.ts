import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { callEvery, type PendingCall } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { sendDatagram } from "../native/socket/socket.js";

/** Environment variables through which systemd tells a service how to contact it. */
const variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

/**
 * How much longer startup may take after requesting an extension: opening the stores of 10,000 repositories takes a
 * second.
 */
const startMs = 120_000;

/** Limit on such work. */
const blockedMs = 120_000;

/**
 * Notifies systemd of the daemon's status, using the protocol of sd_notify(3): `Type=notify` and `WatchdogSec=` of the
 * unit. Does nothing if the daemon was not started by systemd. A message that cannot be sent is logged, once per
 * reason.
 *
 * The watchdog is notified from the main thread's event loop, so a blocked loop is detected, and systemd restarts the
 * daemon.
 */
export class ServiceManager {
  readonly #address: string;
  readonly #watchdogMs: number;
  readonly #log: Log;
  readonly #send: SendNotice;
  readonly #kept: Map<string, number>;
  readonly #logged = new Set<string>();
  #watchdog: PendingCall | undefined;
  #reloads = 0;

  constructor(
    address: string,
    watchdogMs: number,
    log: Log,
    send: SendNotice = sendNotice,
    kept: ReadonlyMap<string, number> = new Map(),
  ) {
    this.#address = address;
    this.#watchdogMs = watchdogMs;
    this.#log = log;
    this.#send = send;
    this.#kept = new Map(kept);
  }

  /**
   * The manager named by the environment, from which the variables are removed: neither threads nor children may send
   * notifications on our behalf.
   */
  static fromEnvironment(log: Log, environment: NodeJS.ProcessEnv = process.env): ServiceManager {
    const [address = "", period = "", pid = ""] = variables.map((name) => environment[name]);
    for (const name of variables) delete environment[name];
    const isForUs = pid === "" || pid === String(process.pid);
    const watchdogMs = isForUs && Number(period) > 0 ? Number(period) / 1000 : 0;
    return new ServiceManager(address, watchdogMs, log, sendNotice, keptDescriptors(environment));
  }

  /**
   * The descriptor stored under this name before a restart; undefined if there is none. Descriptors stored under other
   * names are closed, here and by systemd: they belong to an earlier configuration.
   */
  takeBack(name: string): number | undefined {
    const descriptor = this.#kept.get(name);
    this.#kept.delete(name);
    for (const [other, unused] of this.#kept) {
      this.#drop(other);
      closeSync(unused);
    }
    this.#kept.clear();
    return descriptor;
  }

  /**
   * Passes a descriptor to systemd to store: it outlives this process, and is passed to the next process of this
   * service.
   */
  keep(name: string, descriptor: number): void {
    this.#tell(["FDSTORE=1", `FDNAME=${name}`], descriptor);
  }

  /** Discards a stored descriptor that turned out to be useless. */
  discard(name: string, descriptor: number): void {
    this.#drop(name);
    closeSync(descriptor);
  }

  #drop(name: string): void {
    this.#tell(["FDSTOREREMOVE=1", `FDNAME=${name}`]);
  }

  /** Reports the progress of a long startup, and extends its timeout. */
  starting(status: string): void {
    this.#tell([`EXTEND_TIMEOUT_USEC=${startMs * 1000}`, `STATUS=${status}`]);
  }

  ready(status: string): void {
    this.#tell(["READY=1", `STATUS=${status}`]);
    if (this.#watchdogMs > 0) this.#watchdog ??= callEvery(this.#watchdogMs / 2, () => this.#tell(["WATCHDOG=1"]));
  }

  /** Reloads may overlap: the daemon is ready again when the last one has ended. */
  async reload(work: () => Promise<void>): Promise<void> {
    if (this.#reloads++ === 0) this.#tell(["RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`]);
    try {
      await work();
    } finally {
      if (--this.#reloads === 0) this.#tell(["READY=1"]);
    }
  }

  /** For work that blocks the event loop for longer than the watchdog allows, such as a snapshot of the heap. */
  async whileBlocked(work: () => Promise<void>): Promise<void> {
    const setWatchdog = (periodMs: number): void => {
      if (this.#watchdogMs > 0) this.#tell([`WATCHDOG_USEC=${periodMs * 1000}`, "WATCHDOG=1"]);
    };
    setWatchdog(Math.max(this.#watchdogMs, blockedMs));
    try {
      await work();
    } finally {
      setWatchdog(this.#watchdogMs);
    }
  }

  /** The watchdog is notified until the process exits. */
  stopping(): void {
    this.#tell(["STOPPING=1", "STATUS=Stopping"]);
  }

  #tell(lines: readonly string[], descriptor?: number): void {
    if (this.#address === "") return;
    const error = this.#send(this.#address, lines.join("\n"), descriptor);
    if (error === "" || this.#logged.has(error)) return;
    this.#logged.add(error);
    this.#log.warn({ socket: this.#address }, `systemd cannot be notified of the daemon's status: ${error}`);
  }
}

/** Environment variables of sd_listen_fds(3), and the number of the first descriptor. */
const listenVariables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] as const;
const firstDescriptor = 3;

/** The descriptors that systemd has passed to this process, by name; the variables are removed from the environment. */
function keptDescriptors(environment: NodeJS.ProcessEnv): ReadonlyMap<string, number> {
  const [pid, count = "0", names = ""] = listenVariables.map((name) => environment[name]);
  for (const name of listenVariables) delete environment[name];
  if (pid !== String(process.pid)) return new Map();
  const entries = names
    .split(":")
    .slice(0, Number(count))
    .map((name, i) => [name, firstDescriptor + i] as const);
  return new Map(entries);
}

/** Returns the error; "" if there is none. */
type SendNotice = (address: string, message: string, descriptor: number | undefined) => string;

function sendNotice(address: string, message: string, descriptor: number | undefined): string {
  const outcome = sendDatagram(address, message, descriptor);
  if (outcome === "sent") return "";
  if (outcome !== "no-addon") return outcome.error;
  return descriptor === undefined ? startNotifier(address, message) : "";
}

/** systemd's command-line program for notifications; the unit has to accept messages from it. */
function startNotifier(address: string, message: string): string {
  const without = 'build the addon with "make build"';
  try {
    const child = spawn("systemd-notify", ["--no-block", ...message.split("\n")], {
      env: { PATH: process.env["PATH"], NOTIFY_SOCKET: address },
      stdio: "ignore",
    });
    child.on("error", () => undefined);
    child.unref();
    return child.pid === undefined ? `systemd-notify is not installed; ${without}` : "";
  } catch (error) {
    return `${errorMessage(error)}; ${without}`;
  }
}
