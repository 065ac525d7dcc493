import type { Command } from "commander";
import { dataOption, print } from "./terminal/command-options.js";
import { callDaemon, isDaemonRunning } from "./connection/control-client.js";

/** Adds `trawl reload`. */
export function addReload(program: Command): void {
  program
    .command("reload")
    .description(
      "Make the running daemon reload its configuration file, and apply its lists of repositories and contexts.",
    )
    .addOption(dataOption())
    .option("--yes", "reload even if most of the repositories would be removed", false)
    .action(async ({ data, yes }: { data: string; yes: boolean }) => {
      const result = await callDaemon(data, {
        method: "POST",
        path: "/.api/reload",
        body: { mayRemoveMost: yes },
        progress: () => {},
      });
      const { repositories, contexts, needRestart } = result as {
        repositories: number;
        contexts: number;
        needRestart: readonly string[];
      };
      print(`reloaded: ${repositories} repositories, ${contexts} contexts`);
      if (needRestart.length > 0) print(`these options changed and need a restart: ${needRestart.join(", ")}`);
    });
}

/** Adds `trawl config`. */
export function addConfig(program: Command): void {
  const config = program.command("config").description("Validate configuration files.");
  config
    .command("check")
    .argument("<file>")
    .description("Validate a configuration file. If it is invalid, print a line for each error, and exit with code 2.")
    .action(async (file: string) => {
      const { resolveOptions } = await import("../daemon/config/config.js");
      const { repositories, contexts } = resolveOptions({ configFile: file, overrides: [], repositories: [] });
      print(`${file} is valid: ${repositories.length} repositories, ${contexts.length} contexts`);
    });
}

/** Adds `trawl explain`. */
export function addExplain(program: Command): void {
  program
    .command("explain")
    .description(
      "Show how a query is parsed and planned, what the index rules out, and how the first results are scored.",
    )
    .argument("<query...>")
    .addOption(dataOption())
    .option("-t, --type <type>", "pattern type: standard, keyword, literal or regexp", "standard")
    .action(async (words: string[], typed: { data: string; type: string }) => {
      const body = { query: words.join(" "), patternType: typed.type };
      print(
        String(await callDaemon(typed.data, { method: "POST", path: "/explain", body, progress: () => {} })).trimEnd(),
      );
    });
}

/** Adds `trawl backup` and `trawl restore`. */
export function addBackup(program: Command, exit: (code: number) => void): void {
  program
    .command("backup")
    .argument("<folder>")
    .addOption(dataOption())
    .description("Back up the data of the running daemon to a folder. Backups to the same folder are incremental.")
    .action(async (folder: string, { data }: { data: string }) => {
      const { backup } = await import("./run-backup.js");
      exit(await backup(folder, data, print));
    });
  program
    .command("restore")
    .argument("<folder>")
    .addOption(dataOption())
    .description("Create a data directory from a backup, before starting the daemon. The directory must be empty.")
    .action(async (folder: string, { data }: { data: string }) => {
      const { restoreBackup } = await import("./run-backup.js");
      await restoreBackup(folder, data, print);
    });
}

/** Adds `trawl check`. Exit code 1 means that faults remain; without `--repair`, that there are any faults. */
export function addCheck(program: Command, exit: (code: number) => void): void {
  program
    .command("check")
    .description(
      "Verify the bytes of every shard. If no daemon runs, also check that catalog, mirrors and shards are consistent.",
    )
    .addOption(dataOption())
    .option("--repair", "rebuild damaged shards from the mirrors; requires the running daemon", false)
    .action(async ({ data, repair }: { data: string; repair: boolean }) => {
      const progress = (line: unknown) => print(String(line));
      if (!repair && !(await isDaemonRunning(data))) {
        const { checkOffline } = await import("./check/offline-check.js");
        const { repositories, ...checked } = await checkOffline(data, print);
        print(`${checked.shards} shards and ${repositories} repositories checked, ${checked.faults} faults`);
        return exit(checked.faults === 0 ? 0 : 1);
      }
      const result = await callDaemon(data, { method: "POST", path: "/check", body: { repair }, progress });
      const { shards, faults } = result as CheckResult;
      print(`${shards} shards checked, ${faults} faults`);
      exit(faults === 0 ? 0 : 1);
    });
}

/** The result of `POST /check`, which follows a line of text for each fault. */
interface CheckResult {
  readonly shards: number;
  /** Faults that remain at the end of the check. */
  readonly faults: number;
}
