import type { Command } from "commander";
import { addChoice, addConnectionOptions } from "../command-options.js";
import { resolveConnection, type TypedConnection } from "../connection/connection.js";

/** Options as commander parses them. */
interface TypedDiff extends TypedConnection {
  readonly json: boolean;
  readonly watch: boolean;
  readonly save?: string;
  readonly type?: string;
}

/** Adds `trawl diff-results`. */
export function addDiffResults(program: Command, exit: (code: number) => void): void {
  const command = program
    .command("diff-results")
    .description("Print the matches of a search that came, went or moved since an earlier one.")
    .argument(
      "<receipt>",
      "the receipt of the earlier search: a file with its JSON, its id or its url; - for standard input",
    )
    .argument("<query...>", "the query; words are joined with spaces");
  addConnectionOptions(command);
  addChoice(command, "-t, --type <type>", "pattern type", ["standard", "keyword", "literal", "regexp"])
    .option("--json", "one JSON object for each change", false)
    .option("--save <file>", "write the new receipt to this file; it may be the one that was read")
    .option("--watch", "go on, and print changes when they are indexed, until Ctrl-C", false)
    .action(async (receipt: string, words: string[], typed: TypedDiff) => {
      const { diffResults } = await import("./diff-results.js");
      const stop = new AbortController();
      const onInterrupt = () => stop.abort();
      process.once("SIGINT", onInterrupt);
      const code = await diffResults({
        receipt,
        query: words.join(" "),
        connection: resolveConnection(typed),
        isJson: typed.json,
        isWatch: typed.watch,
        save: typed.save,
        patternType: typed.type,
        signal: stop.signal,
      });
      process.removeListener("SIGINT", onInterrupt);
      exit(code);
    });
}
