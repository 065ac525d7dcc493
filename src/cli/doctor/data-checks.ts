import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../../base/errors.js";
import { requireReadable } from "../../daemon/parts/data-version.js";
import type { ConnectionStatus } from "../../codehost/connections.js";
import type { ResolvedOptions } from "../../daemon/config/options.js";
import type { RepositoryStatus } from "../../model/repository-status.js";
import { callDaemon, isDaemonRunning } from "../connection/control-client.js";
import { bad, type Finding, good, warning } from "./checks.js";

/** Magic numbers of file systems on which memory maps and locks of several processes are not reliable. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x65735546, "FUSE"],
  [0x01021997, "9P"],
]);

const freeBytesMin = 2 * 2 ** 30;

/** Reads the configuration file. The options are undefined if it is invalid. */
export async function checkConfiguration(
  file: string | undefined,
): Promise<{ readonly finding: Finding; readonly options: ResolvedOptions | undefined }> {
  const { resolveOptions } = await import("../../daemon/config/config.js");
  try {
    const options = resolveOptions({ configFile: file, overrides: [], repositories: [] });
    const text =
      file === undefined
        ? "no file; the defaults apply"
        : `${file} is valid: ${options.repositories.length} repositories`;
    return { finding: good("configuration", text), options };
  } catch (error) {
    return { finding: bad("configuration", errorMessage(error), "Correct the file."), options: undefined };
  }
}

/** The private keys of GitHub Apps, with which nothing is asked of the host. */
export async function checkAppKeys({ connections }: Pick<ResolvedOptions, "connections">): Promise<readonly Finding[]> {
  const { signAsApp } = await import("../../codehost/github-app/app-key.js");
  const findings: Finding[] = [];
  for (const { name, app, appKey } of connections) {
    if (app === "") continue;
    try {
      await signAsApp(app, appKey, `connection ${name}`);
      findings.push(good("app key", `connection ${name}: the key of the app ${app} can be used`));
    } catch (error) {
      findings.push(
        bad(
          "app key",
          errorMessage(error),
          "Put the PEM file that GitHub gives where appKey says, readable by the user of the daemon.",
        ),
      );
    }
  }
  return findings;
}

/** The data directory, and the daemon that uses it. */
export async function checkData(data: string): Promise<readonly Finding[]> {
  if (!existsSync(data)) {
    const remedy = "The daemon creates it at its first start; with --data or TRAWL_DATA, another one is looked at.";
    return [warning("data", `${data} does not exist`, remedy)];
  }
  return [checkAccess(data), checkVersion(data), checkFileSystem(data), ...(await checkDaemon(data))];
}

function checkAccess(data: string): Finding {
  try {
    accessSync(data, constants.R_OK | constants.W_OK | constants.X_OK);
    return good("data", `${data} can be written`);
  } catch {
    return warning("data", `${data} cannot be written by this user`, "Run this as the user of the daemon.");
  }
}

function checkVersion(data: string): Finding {
  if (!existsSync(join(data, "version"))) return warning("data version", "no data yet", "Start the daemon.");
  try {
    const { isOlder } = requireReadable(data);
    return good("data version", isOlder ? "older; the next start upgrades it" : "supported");
  } catch (error) {
    return bad("data version", errorMessage(error), "See docs/data.md.");
  }
}

function checkFileSystem(data: string): Finding {
  const { type, bavail, bsize } = statfsSync(data);
  const network = networkFileSystems.get(type);
  const free = `${((bavail * bsize) / 2 ** 30).toFixed(1)} GiB free`;
  if (network !== undefined)
    return bad("disk", `${network}, ${free}`, "Use a local file system: memory maps of others may lose data.");
  if (bavail * bsize >= freeBytesMin) return good("disk", free);
  return warning("disk", free, "Below the reserve, nothing is fetched or indexed: free some space.");
}

async function checkDaemon(data: string): Promise<readonly Finding[]> {
  if (!(await isDaemonRunning(data)))
    return [
      warning("daemon", "is not running with this data", "Start it with `trawl serve` or `systemctl start trawld`."),
    ];
  try {
    const call = { method: "GET", path: "/.api/repos", body: undefined, progress: () => undefined } as const;
    const repositories = (await callDaemon(data, call)) as RepositoryStatus[];
    const connections = (await callDaemon(data, { ...call, path: "/.api/connections" })) as ConnectionStatus[];
    return [good("daemon", "is running"), checkRepositories(repositories), ...checkConnections(connections)];
  } catch (error) {
    return [warning("daemon", errorMessage(error), "Run this as the user of the daemon.")];
  }
}

function checkConnections(connections: readonly ConnectionStatus[]): readonly Finding[] {
  if (connections.length === 0) return [];
  const failed = connections.filter(({ error, permissions }) => error !== "" || (permissions?.error ?? "") !== "");
  const [first] = failed;
  if (first === undefined) return [good("connections", `${connections.length} connections to code hosts`)];
  const text = `${connections.length} connections to code hosts, ${failed.length} with an error: ${first.name}: ${first.error || first.permissions?.error}`;
  return [
    warning("connections", text, "`trawl connection list` shows the errors; `trawl connection sync NAME` tries again."),
  ];
}

function checkRepositories(repositories: readonly RepositoryStatus[]): Finding {
  const failed = repositories.filter(({ error }) => error !== "");
  const text = `${repositories.length} repositories, ${failed.length} with an error`;
  if (repositories.length === 0)
    return warning("repositories", "there are none", "Add one with `trawl repo add NAME URL`.");
  if (failed.length === 0) return good("repositories", text);
  const [first] = failed;
  return warning("repositories", `${text}, such as ${first?.name}`, "`trawl repo list` shows the errors.");
}
