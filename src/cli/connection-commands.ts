import type { Command } from "commander";
import type { ConnectionStatus } from "../codehost/connections.js";
import type { PermissionSummary } from "../codehost/readers/host-permissions.js";
import { dataOption, print } from "./terminal/command-options.js";
import { callDaemon, suggestName } from "./connection/control-client.js";
import { visible } from "./terminal/output.js";

/** Adds `trawl connection`. */
export function addConnection(program: Command): void {
  const connection = program
    .command("connection")
    .description("List the connections to code hosts that are in the configuration, and read their repositories now.");
  connection
    .command("list")
    .addOption(dataOption())
    .description("List the connections with their state and last error.")
    .option("--json", "print one JSON object per connection", false)
    .action(async ({ data, json }: { data: string; json: boolean }) => {
      const call = { method: "GET", path: "/.api/connections", body: undefined, progress: () => {} } as const;
      for (const status of (await callDaemon(data, call)) as ConnectionStatus[])
        print(json ? JSON.stringify(status) : printStatus(status));
    });
  connection
    .command("sync")
    .argument("<name>")
    .addOption(dataOption())
    .description("Read the list of repositories of a connection now, and apply it.")
    .option("--yes", "apply it even if most of the repositories would be removed", false)
    .action(async (name: string, { data, yes }: { data: string; yes: boolean }) => {
      const path = `/.api/connections/${encodeURIComponent(name)}/sync`;
      const call = { method: "POST", path, body: { mayRemoveMost: yes }, progress: () => {} } as const;
      const list = { method: "GET", path: "/.api/connections", body: undefined, progress: () => {} } as const;
      const status = await suggestName(
        name,
        () => callDaemon(data, list),
        () => callDaemon(data, call),
      );
      print(printStatus(status as ConnectionStatus));
    });
}

function describePermissions({ repositoryCount, closedCount, error }: PermissionSummary): string[] {
  const closed = closedCount === 0 ? "" : `, ${closedCount} closed to all but site admins`;
  const told = `the host decides who reads ${repositoryCount} of them${closed}`;
  return error === "" ? [told] : [told, `error of permissions: ${error}`];
}

function printStatus(status: ConnectionStatus): string {
  const { name, kind, url, repositoryCount, missingCount, lastListed, error, warnings } = status;
  const listed = lastListed === "" ? "not listed yet" : `listed ${lastListed}`;
  const fields = [name, kind, url, `${repositoryCount} repositories`, listed];
  if (status.permissions !== undefined) fields.push(...describePermissions(status.permissions));
  if (missingCount > 0) fields.push(`${missingCount} no longer listed`);
  if (error !== "") fields.push(`error: ${error}`);
  return [fields.join("  "), ...warnings.map((warning) => `  warning: ${warning}`)].map(visible).join("\n");
}
