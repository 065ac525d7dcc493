import { existsSync } from "node:fs";
import type { Command } from "commander";
import { addConnectionOptions, dataOption } from "../terminal/command-options.js";
import { clientConfigPath } from "../connection/client-config.js";
import type { TypedConnection } from "../connection/connection.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { colour, createStyle } from "../search/terminal-style.js";
import { visibleLines } from "../terminal/output.js";
import type { Finding } from "./checks.js";

interface TypedDoctor extends TypedConnection {
  readonly data: string;
  readonly config?: string;
  readonly json: boolean;
}

const packagedConfig = "/etc/trawl/trawl.jsonc";

/** Adds `trawl doctor`. */
export function addDoctor(program: Command, exit: (code: number) => void): void {
  const command = program
    .command("doctor")
    .description("Check what is missing or wrong on this host, and say what to do. Exit code 1 if something is wrong.")
    .addOption(dataOption())
    .option("--config <file>", `configuration file of the daemon; the default is ${packagedConfig}, if it exists`)
    .option("--json", "print one JSON object per check", false);
  addConnectionOptions(command).action(async (typed: TypedDoctor) => {
    const findings = await examine(typed);
    const style = createStyle(process.stdout.isTTY === true && !process.env["NO_COLOR"], undefined);
    for (const finding of findings)
      process.stdout.write(typed.json ? `${JSON.stringify(finding)}\n` : printFinding(finding, style.paint));
    exit(findings.some(({ state }) => state === "bad") ? exitCodes.noMatches : exitCodes.matches);
  });
}

async function examine(typed: TypedDoctor): Promise<readonly Finding[]> {
  const [{ checkClient, checkHost, checkTokenFile }, { checkAppKeys, checkConfiguration, checkData }] =
    await Promise.all([import("./checks.js"), import("./data-checks.js")]);
  const file = typed.config ?? (existsSync(packagedConfig) ? packagedConfig : undefined);
  const { finding, options } = await checkConfiguration(file);
  const host = await checkHost(options?.index.ctagsCommand ?? "ctags");
  return [
    ...host,
    finding,
    ...(options === undefined ? [] : await checkAppKeys(options)),
    ...(await checkData(typed.data)),
    ...(await checkClient(typed)),
    ...checkTokenFile(clientConfigPath()),
  ];
}

const stateColours = { good: colour.added, warning: colour.commit, bad: colour.problem } as const;

function printFinding({ name, state, text, remedy }: Finding, paint: (code: string, text: string) => string): string {
  const lines = visibleLines(text).split("\n");
  const margin = " ".repeat(26);
  const shown = lines.join(`\n${margin}`);
  const advice = remedy === undefined ? "" : `${margin}${paint(colour.aside, "→")} ${remedy}\n`;
  return `${paint(stateColours[state], state.padEnd(9))} ${name.padEnd(15)} ${shown}\n${advice}`;
}
