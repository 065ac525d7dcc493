import type { Command } from "commander";
import { grouped, short } from "../report/numbers.js";
import type { Table } from "../report/run-report.js";
import { terminalTable } from "../report/render-table.js";
import { defaultCacheFolder, madeCorpus, openCorpus } from "./corpus.js";
import { corpora } from "./table.js";

/** `trawl-bench corpus [NAME...]`. */
export function addCorpusCommand(program: Command): void {
  program
    .command("corpus")
    .summary("lists the corpora, or makes those that are named")
    .description(
      "Lists the corpora; makes those that are named, in $XDG_CACHE_HOME/trawl-bench (~/.cache/trawl-bench).\nWhere the variable BENCH_CORPUS names a repository, that one stands for the Linux source.",
    )
    .argument("[names...]", "which to make; `all` for all of them")
    .action(async (names: string[]) => {
      const context = { cacheFolder: defaultCacheFolder(), progress: (text: string) => console.log(text) };
      for (const name of names.includes("all") ? corpora.map((row) => row.name) : names) {
        const { path, checksum, note } = await openCorpus(name, context);
        console.log(`${name}: ${path}, ${checksum}${note === "" ? "" : `\n  ${note}`}`);
      }
      if (names.length === 0) console.log(terminalTable(corpusTable(context.cacheFolder)));
    });
}

/** What is listed, or where a corpus was made, what it is like there. */
export function corpusTable(folder: string): Table {
  const rows = corpora.map((definition) => {
    const made = madeCorpus(definition.name, folder);
    const { checksum, fileCount, textBytes } = made ?? definition;
    return [
      definition.name,
      grouped(fileCount),
      short(textBytes / 1e6),
      checksum,
      made === undefined ? "no" : "yes",
      definition.what,
      definition.command,
    ];
  });
  return { title: "Corpora", head: ["name", "files", "MB", "checksum", "made", "what", "command"], rows };
}
