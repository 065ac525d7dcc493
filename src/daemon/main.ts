import { join } from "node:path";
import { isatty } from "node:tty";
import { collectAlone, keepCompiledCode } from "../base/collector.js";
import { sleep } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import { createLog, type Log } from "../base/log.js";
import { ControlServer } from "../http/server/control-server.js";
import { findListener } from "../native/socket/socket.js";
import { CatalogSnapshots } from "../store/catalog-snapshots.js";
import { controlHandlers } from "./control.js";
import type { Daemon } from "./daemon.js";
import { prepareData, recoverStores } from "./data-directory.js";
import type { ResolvedOptions } from "./config/options.js";
import { ServiceManager } from "./service-manager.js";
import { readWebhookSecrets } from "./config/webhook-secrets.js";

/** After the stop command, the process exits within this time. */
const exitMs = 9_000;

/**
 * Runs the daemon until SIGTERM or SIGINT, or until the terminal in which it runs is closed; resolves with the exit code.
 * Otherwise SIGHUP reloads the configuration: its lists of repositories and contexts take effect; changes to other options
 * are logged and require a restart.
 */
export async function runDaemon(options: ResolvedOptions): Promise<number> {
  const log = createLog(options.log.level, options.log.format);
  const manager = ServiceManager.fromEnvironment(log);
  const secrets = readWebhookSecrets(options.webhooks.secrets, true);
  prepareData(options.data);
  // The control socket is the lock on the data directory: nothing in it is accessed before the lock is held.
  let daemon: Daemon | undefined;
  const control = new ControlServer(
    controlHandlers(() => {
      if (daemon === undefined) throw new TrawlError("overloaded", "the daemon is starting; try again in a moment");
      return daemon;
    }, manager),
    log,
  );
  await control.listen(options.data);
  const snapshots = new CatalogSnapshots(join(options.data, "catalog-snapshots"));
  // A process that reads that the daemon is listening may send a signal immediately.
  const isTerminalClosed = terminalWatch();
  const stopped = stopSignal(isTerminalClosed);
  manager.starting("Checking the stores");
  // Another process checks the stores, while this one loads most of its code.
  const [code] = await Promise.all([import("./daemon.js"), recoverStores(options.data, snapshots, log)]);
  // Not before: with other flags, Node compiles each module of its own that is loaded, which takes a tenth of the start.
  collectAlone();
  keepCompiledCode();
  manager.starting("Opening the catalog");
  const started = new code.Daemon(options, secrets, control, snapshots, log);
  await started.load();
  daemon = started;
  manager.starting("Reading the configured repositories");
  const url = await openPort(started, manager, options.listen);
  process.on("SIGHUP", () => {
    if (!isTerminalClosed()) void manager.reload(() => reload(started));
  });
  process.stdout.write(`trawld: listening on ${url}\n`);
  manager.ready(`Listening on ${url}`);
  const lost = await Promise.race([stopped, started.storeLost]);
  manager.stopping();
  const exitCode = lost === undefined ? await stop(started, log) : await stopAfterLoss(started, lost, log);
  if (isTerminalClosed()) endByHangup();
  return exitCode;
}

/**
 * While the daemon is being restarted, clients wait at a socket that the service manager keeps open; none is refused.
 */
async function openPort(daemon: Daemon, manager: ServiceManager, listen: string): Promise<string> {
  const socketName = `listen-${listen.replaceAll(":", "_")}`;
  const { url, port } = await daemon.start(manager.takeBack(socketName));
  const listener = findListener(port);
  if (listener !== undefined) manager.keep(socketName, listener);
  return url;
}

/** The daemon logs errors in the configuration. */
async function reload(daemon: Daemon): Promise<void> {
  await daemon.reload(false).catch(() => undefined);
}

async function stop(daemon: Daemon, log: Log): Promise<number> {
  log.info("stopping");
  if (!(await stopsInTime(daemon)))
    log.warn(`the daemon exits although some of its work has not ended within ${exitMs / 1000} s`);
  return 0;
}

async function stopAfterLoss(daemon: Daemon, reason: string, log: Log): Promise<number> {
  log.error(
    { reason },
    "the disk failed while a store was being written: the daemon exits, and checks the store at the next start",
  );
  await stopsInTime(daemon).catch(() => false);
  return 1;
}

/**
 * Stops the daemon; resolves with false if that takes longer than `exitMs`. LMDB never completes a write that it could
 * not start: without the timer, Node would find nothing to wait for and exit with code 13.
 */
function stopsInTime(daemon: Daemon): Promise<boolean> {
  return Promise.race([daemon.stop().then(() => true), sleep(exitMs).then(() => false)]);
}

function stopSignal(isTerminalClosed: () => boolean): Promise<undefined> {
  return new Promise((resolve) => {
    process.once("SIGTERM", () => resolve(undefined));
    process.once("SIGINT", () => resolve(undefined));
    process.on("SIGHUP", () => {
      if (isTerminalClosed()) resolve(undefined);
    });
  });
}

/**
 * Whether the terminal to which the daemon writes has been closed. The system sends SIGHUP then, which means something
 * else to a service, and somebody who closes a terminal expects that what runs in it ends.
 */
function terminalWatch(): () => boolean {
  const terminals = [1, 2].filter((descriptor) => isatty(descriptor));
  return () => terminals.length > 0 && !terminals.some((descriptor) => isatty(descriptor));
}

/** As any program in a terminal does. Otherwise Node restores the settings of the terminal, and crashes without one. */
function endByHangup(): void {
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}
