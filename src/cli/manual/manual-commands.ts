import { spawnSync } from "node:child_process";
import type { Command } from "commander";
import { programVersion } from "../../daemon/parts/program.js";
import { resolveConnection, type TypedConnection } from "../connection/connection.js";
import { addChoiceArgument, addConnectionOptions, print } from "../terminal/command-options.js";
import type { Shell } from "./completions.js";

const shells: readonly Shell[] = ["bash", "zsh", "fish"];

const pageNames = ["trawl", "trawld", "trawl.jsonc"];

/** Adds `trawl completion` and `trawl manual`. */
export function addManual(program: Command): void {
  addChoiceArgument(program.command("completion"), "shell", shells)
    .description("Print a completion script. In bash: source <(trawl completion bash)")
    .action(async (shell: Shell) => {
      const { completions } = await import("./completions.js");
      process.stdout.write(completions[shell](program));
    });
  addConnectionOptions(program.command("complete").argument("[start]"))
    .description("Print some names of repositories that begin with this, for completion scripts.")
    .action(async (start: string | undefined, typed: TypedConnection) => {
      const { completeRepositories } = await import("./complete-repositories.js");
      for (const name of await completeRepositories(resolveConnection(typed), start ?? "")) print(name);
    });
  addChoiceArgument(program.command("manual"), "page", pageNames, "trawl")
    .description("Show a manual page. If the output is not a terminal, print its source for man.")
    .action(async (name: string) => showPage(program, name));
}

async function showPage(program: Command, name: string): Promise<void> {
  const { createPages } = await import("./manual-pages.js");
  const pages = createPages(program, programVersion());
  const [, text = ""] = [...pages].find(([file]) => file.slice(0, file.lastIndexOf(".")) === name) ?? [];
  if (process.stdout.isTTY && spawnSync("man", ["-l", "-"], { input: text, stdio: ["pipe", 1, 2] }).status === 0)
    return;
  process.stdout.write(text);
}
