import type { Command } from "commander";
import { defaultCacheFolder, openCorpus, readManifest } from "./corpus.js";
import { corpora } from "./table.js";
import { terminalTable } from "../report/numbers.js";
import type { Table } from "../report/run-report.js";
import { table } from "../report/views.js";

const description = `Lists the corpora; makes those that are named, in $XDG_CACHE_HOME/trawl-bench (~/.cache/trawl-bench).
Where the variable BENCH_CORPUS names a repository, it replaces the Linux source.`;

/** `trawl-bench corpus [NAME...]`. */
export function addCorpusCommand(program: Command): void {
  program
    .command("corpus")
    .summary("lists the corpora, or makes those that are named")
    .description(description)
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

/** The corpora as listed, or with the actual figures where one was made. */
export function corpusTable(cacheFolder: string): Table {
  const rows = corpora.map((listed) => {
    const made = readManifest(listed.name, cacheFolder);
    return { listed, isMade: made !== undefined, actual: made ?? listed };
  });
  return table("Corpora", rows, [
    ["name", ({ listed }) => listed.name],
    ["files", ({ actual }) => actual.fileCount],
    ["MB", ({ actual }) => actual.textBytes / 1e6],
    ["checksum", ({ actual }) => actual.checksum],
    ["made", ({ isMade }) => (isMade ? "yes" : "no")],
    ["what", ({ listed }) => listed.what],
    ["command", ({ listed }) => `${listed.install ?? ""}bin/trawl-bench corpus ${listed.name}`],
  ]);
}
