import type { Command } from "commander";
import { readRun, renderRun } from "../report/run-folder.js";

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description("Writes the report and the plots of a run again.")
    .argument("<run>", "the folder of a run")
    .action((folder: string) => {
      renderRun(folder, readRun(folder));
      console.log(`Written: ${folder}/report.md`);
    });
}
