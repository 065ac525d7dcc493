import { spawnSync } from "node:child_process";
import type { Command } from "commander";
import { TrawlError } from "../../base/errors.js";
import { programVersion } from "../../daemon/parts/program.js";

/** Adds `trawl completion` and `trawl manual`. */
export function addManual(program: Command): void {
  program
    .command("completion")
    .argument("<shell>", "bash, zsh or fish")
    .description("Print a completion script. In bash: source <(trawl completion bash)")
    .action(async (shell: string) => {
      const { completions } = await import("./completions.js");
      if (!Object.hasOwn(completions, shell))
        throw new TrawlError("bad-request", `there is no completion for ${shell}; write bash, zsh or fish`);
      process.stdout.write(completions[shell as keyof typeof completions](program));
    });
  program
    .command("manual")
    .argument("[page]", "trawl, trawld or trawl.jsonc", "trawl")
    .description("Show a manual page. If the output is not a terminal, print its source for man.")
    .action(async (name: string) => showPage(program, name));
}

async function showPage(program: Command, name: string): Promise<void> {
  const { createPages } = await import("./pages.js");
  const pages = createPages(program, programVersion());
  const [, text] = [...pages].find(([file]) => file.slice(0, file.lastIndexOf(".")) === name) ?? [];
  if (text === undefined)
    throw new TrawlError("not-found", `there is no page named ${name}; write trawl, trawld or trawl.jsonc`);
  if (process.stdout.isTTY && spawnSync("man", ["-l", "-"], { input: text, stdio: ["pipe", 1, 2] }).status === 0)
    return;
  process.stdout.write(text);
}
