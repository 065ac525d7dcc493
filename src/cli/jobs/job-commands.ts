import type { Command } from "commander";
import { addChoice, addConnectionOptions, wholeNumber } from "../terminal/command-options.js";
import { resolveConnection, type TypedConnection } from "../connection/connection.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { Output } from "../terminal/output.js";
import type { JobCommands } from "./run-job.js";

interface TypedJob extends TypedConnection {
  readonly json: boolean;
  readonly wait: boolean;
  readonly limit: number;
}

interface TypedResults extends TypedJob {
  readonly format: (typeof exportFormats)[number];
}

const exportFormats = ["jsonl", "csv", "parquet"] as const;

/** The largest number of jobs that one list shows. */
const listMax = 10_000;

type Action = (jobs: JobCommands, typed: TypedJob) => Promise<boolean>;

/** Adds `trawl job`. */
export function addJob(program: Command, exit: (code: number) => void): void {
  const job = program
    .command("job")
    .description("Exhaustive searches that run in the background: create, list, read and remove search jobs.");
  const run = async (typed: TypedJob, action: Action): Promise<void> => {
    const { JobCommands } = await import("./run-job.js");
    const output = new Output(process.stdout);
    const isComplete = await action(new JobCommands(resolveConnection(typed), output, process.stderr), typed);
    await output.finish();
    exit(isComplete ? exitCodes.matches : exitCodes.incomplete);
  };
  const add = (name: string, description: string): Command =>
    addConnectionOptions(job.command(name)).description(description);
  const addForJob = (name: string, description: string, action: (jobs: JobCommands, id: string) => Promise<boolean>) =>
    add(name, description)
      .argument("<id>", "the number of the job, or its id")
      .action((id: string, typed: TypedJob) => run(typed, (jobs) => action(jobs, id)));

  add("create", "Create a search job, and print its number. `count:` and `timeout:` in the query have no effect.")
    .argument("<query...>", "the query; several words are joined by blanks")
    .option("--wait", "return when the job has ended", false)
    .action((words: string[], typed: TypedJob) => run(typed, (jobs) => jobs.create(words.join(" "), typed.wait)));
  add("list", "List the search jobs that you may see, the newest first.")
    .option("--limit <n>", "number of jobs", wholeNumber(1, listMax), 10)
    .option("--json", "print one JSON object per job", false)
    .action((typed: TypedJob) => run(typed, (jobs) => jobs.list(typed.limit, typed.json)));
  addForJob("get", "Show a search job as JSON.", (jobs, id) => jobs.get(id));
  addForJob("wait", "Return when a search job has ended.", (jobs, id) => jobs.wait(id));
  const results = add("results", "Print the results that are stored so far.").argument(
    "<id>",
    "the number of the job, or its id",
  );
  addChoice(results, "--format <format>", "match objects, or rows of a table", exportFormats, {
    value: "jsonl",
  }).action((id: string, typed: TypedResults) => run(typed, (jobs) => jobs.download(id, typed.format)));
  addForJob("logs", "Print the log: as CSV, one line for each repository.", (jobs, id) => jobs.download(id, "log"));
  addForJob("cancel", "Stop a search job. Its results so far stay.", (jobs, id) => jobs.cancel(id));
  addForJob("retry", "Search again the repositories that could not be searched completely.", (jobs, id) =>
    jobs.retry(id),
  );
  addForJob("restart", "Create a new job with the query of this one, and print its number.", (jobs, id) =>
    jobs.restart(id),
  );
  addForJob("delete", "Delete a search job and its results.", (jobs, id) => jobs.delete(id));
}
