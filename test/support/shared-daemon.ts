/** The daemon that test files share which run in one process, and how it is made to look as if it had just started. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { dataDirectory, testDaemon, type DaemonProcess } from "./daemon.js";
import { ask } from "./graphql.js";
import { removeFolder } from "./remove-folder.js";
import { shared, type Owner } from "./shared.js";

/** What a reload applies, so that tests can have their own. */
export interface Configuration {
  readonly repositories?: readonly object[];
  readonly contexts?: readonly object[];
  readonly connections?: readonly object[];
  readonly identityProviders?: readonly object[];
}

interface Site {
  readonly config: string;
  readonly start: () => Promise<DaemonProcess>;
  daemon: DaemonProcess;
}

/** The text of the configuration file of a daemon that no test has configured. */
const unconfigured = "{}";

/** By the options of the command line. */
const sites = new Map<string, () => Promise<Site>>();

/** It starts with this configuration, since a reload starts a thread. */
const siteWith = (options: readonly string[], configuration: string) =>
  shared(async (owner): Promise<Site> => {
    const folder = mkdtempSync(join(tmpdir(), "trawl-"));
    owner.teardown(() => removeFolder(folder));
    const config = join(folder, "trawl.jsonc");
    writeFileSync(config, configuration);
    const data = dataDirectory(owner);
    const start = () => testDaemon(owner, ["--config", config, ...options], data);
    return { config, start, daemon: await start() };
  });

/**
 * A daemon with this configuration, for tests that do not damage it; all that ask for the same options share it. What the test
 * adds is removed at its end: only the log, the audit log, the metrics and the numbers in ids go on, and the site admin
 * `admin` may exist from the start.
 */
export async function sharedDaemon(
  t: Owner,
  configuration: Configuration = {},
  options: readonly string[] = [],
): Promise<DaemonProcess> {
  const key = options.join(" ");
  const text = JSON.stringify(configuration);
  const isFirst = !sites.has(key);
  const site = sites.get(key) ?? siteWith(options, text);
  sites.set(key, site);
  const { daemon } = await site();
  t.teardown(async () => {
    const { daemon: last, config } = await site();
    // In a file that runs alone and has restarted it, it ends first.
    if (last.hasExited) return;
    // A reload starts a thread.
    if (readFileSync(config, "utf8") !== unconfigured) await configure(last, {});
    await clearDaemon(last, { name: "admin" });
  });
  if (!isFirst && text !== unconfigured) await configure(daemon, configuration);
  return daemon;
}

/** Stops or kills a shared daemon, and starts it again with its data and configuration, at another address. */
export async function restartSharedDaemon(daemon: DaemonProcess, how: "stop" | "kill"): Promise<DaemonProcess> {
  const site = await siteFor(daemon);
  await daemon[how]();
  site.daemon = await site.start();
  return site.daemon;
}

/** Sets the configuration of a shared daemon, and reloads it. */
export async function configure(daemon: DaemonProcess, configuration: Configuration): Promise<void> {
  writeFileSync((await siteFor(daemon)).config, JSON.stringify(configuration));
  await daemon.control("POST", "/.api/reload", { mayRemoveMost: true });
}

async function siteFor(daemon: DaemonProcess): Promise<Site> {
  for (const site of sites.values()) {
    const made = await site();
    if (made.daemon === daemon) return made;
  }
  throw new TrawlError("internal", "the daemon is not shared");
}

/** Removes all repositories, users and what belongs to them, and adds this site admin. */
export async function clearDaemon(
  daemon: DaemonProcess,
  admin: { readonly name: string; readonly password?: string },
): Promise<void> {
  for (const { name } of await daemon.list()) await daemon.remove(name);
  await daemon.control("POST", "/.api/users", { name: interim, isSiteAdmin: true });
  const authorization = `token ${await daemon.addToken(interim)}`;
  const answer = async (document: string): Promise<unknown> => {
    const { data, errors } = (await ask(daemon.url, document, null, authorization)) as Answer;
    if (errors !== undefined) throw new TrawlError("internal", `${document}: ${JSON.stringify(errors)}`);
    return data;
  };
  const { teams } = (await answer("{ teams(first: 100, includeChildTeams: true) { nodes { id } } }")) as Teams;
  for (const { id } of teams.nodes) await answer(`mutation { deleteTeam(id: "${id}") { alwaysNil } }`);
  for (const path of ["/.api/organizations", "/.api/users"])
    for (const { name } of (await daemon.control("GET", path)) as readonly { readonly name: string }[])
      if (name !== interim) await daemon.control("DELETE", `${path}/${encodeURIComponent(name)}`);
  // The contexts of users and organizations have gone with them.
  const { site, searchContexts } = (await answer(
    "{ site { id latestSettings { id } } searchContexts(first: 100) { nodes { id autoDefined } } }",
  )) as Left;
  for (const { id, autoDefined } of searchContexts.nodes)
    if (!autoDefined) await answer(`mutation { deleteSearchContext(id: "${id}") { alwaysNil } }`);
  if (site.latestSettings !== null)
    await answer(
      `mutation { settingsMutation(input: { subject: "${site.id}", lastID: ${site.latestSettings.id} }) { overwriteSettings(contents: "{}") { empty { alwaysNil } } } }`,
    );
  await daemon.control("POST", "/.api/users", { ...admin, isSiteAdmin: true });
  await daemon.control("DELETE", `/.api/users/${interim}`);
}

/** Who removes the others. */
const interim = "interim-admin";

interface Answer {
  readonly data?: unknown;
  readonly errors?: unknown;
}

interface Teams {
  readonly teams: { readonly nodes: readonly { readonly id: string }[] };
}

interface Left {
  readonly searchContexts: { readonly nodes: readonly { readonly id: string; readonly autoDefined: boolean }[] };
  readonly site: { readonly id: string; readonly latestSettings: { readonly id: number } | null };
}
