import { homedir } from "node:os";
import { join } from "node:path";
import { errorMessage } from "../../src/base/errors.js";
import { defaultCacheFolder } from "../corpus/corpus.js";
import type { Part, PartContext } from "../parts/part.js";
import { claimsSummary, claimsTable, verdictOf } from "../report/claims.js";
import { durationText } from "../report/numbers.js";
import type { PartRecord, RunRecord } from "../report/record.js";
import { terminalTable } from "../report/render-table.js";
import { newRunFolder, withReplaced, writeRun } from "../report/run-folder.js";
import { readEnvironment } from "../system/environment.js";
import { checkoutFolder, makeWorkFolder } from "../system/folders.js";
import { endAll } from "../system/processes.js";
import { waitForQuiet } from "../system/quiet.js";
import { Progress } from "./progress.js";

export interface RunSettings {
  /** As a person would type it again, without folders of this machine. */
  readonly command: string;
  readonly isQuick: boolean;
  readonly rounds: number;
  /** The folder to write; undefined for `native-bench/runs/DATE-MACHINE`, with `suffix` behind it. */
  readonly out: string | undefined;
  readonly suffix: string;
  /** A machine that is busy is waited for so long. */
  readonly quietLimitMs: number;
  /** Versions of the peers, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/**
 * Runs the parts one after the other. The run is written after each, so that an interrupted one keeps what it has. A
 * part that fails is noted and the others go on; returns the names of those.
 */
export async function runParts(parts: readonly Part[], settings: RunSettings): Promise<readonly string[]> {
  const cacheFolder = defaultCacheFolder();
  const busyBefore = await waitForQuiet(settings.quietLimitMs, console.log);
  const head = {
    date: new Date().toISOString(),
    command: settings.command,
    environment: await readEnvironment(settings.versions, busyBefore),
  };
  const workFolder = makeWorkFolder(cacheFolder);
  const context = { isQuick: settings.isQuick, rounds: settings.rounds, workFolder, cacheFolder };
  const records: PartRecord[] = [];
  const failed: string[] = [];
  const estimates = parts.map((part) => ({
    name: part.name,
    estimateSeconds: part.estimateSeconds({ ...context, progress: () => {} }),
  }));
  const progress = new Progress(process.stdout, estimates);
  const folder = settings.out ?? newRunFolder(join(checkoutFolder, "native-bench", "runs"), head, settings.suffix);
  for (const part of parts) {
    progress.begin(part.title);
    const { record, isFailed } = await runPart(part, { ...context, progress: (text) => progress.say(text) });
    const seconds = progress.end();
    records.push({ ...record, seconds });
    if (isFailed) failed.push(part.name);
    writeRun(folder, withReplaced(runOf(head, records, parts), foldersOf(context)));
    for (const text of [...record.tables.map(terminalTable), ...record.notes]) progress.line(`\n${text}`);
    progress.line(`\n${part.name}: ${isFailed ? "FAILED after" : "done in"} ${durationText(seconds)}\n`);
  }
  progress.close();
  printEnd(records, folder, failed);
  return failed;
}

/** The run as far as it has come. */
function runOf(head: Omit<RunRecord, "parts">, records: readonly PartRecord[], parts: readonly Part[]): RunRecord {
  const notRun = parts.slice(records.length).map(({ name }) => name);
  return { ...head, parts: records, ...(notRun.length === 0 ? {} : { notRun }) };
}

async function runPart(
  part: Part,
  context: PartContext,
): Promise<{ readonly record: PartRecord; readonly isFailed: boolean }> {
  try {
    return { record: await part.measure(context), isFailed: false };
  } catch (error) {
    const notes = [`This part failed: ${errorMessage(error)}`];
    return {
      record: { part: part.name, title: part.title, seconds: 0, notes, samples: [], tables: [], plots: [], claims: [] },
      isFailed: true,
    };
  } finally {
    await endAll();
  }
}

/** What stands for folders of this machine in what is written. */
function foldersOf({
  workFolder,
  cacheFolder,
}: Pick<PartContext, "workFolder" | "cacheFolder">): ReadonlyMap<string, string> {
  return new Map([
    [workFolder, "$WORK"],
    [cacheFolder, "$CACHE"],
    [checkoutFolder, "$CHECKOUT"],
    [homedir(), "$HOME"],
  ]);
}

function printEnd(parts: readonly PartRecord[], folder: string, failed: readonly string[]): void {
  if (parts.some(({ claims }) => claims.some((claim) => verdictOf(claim) !== ""))) {
    console.log(`${terminalTable(claimsTable(parts))}\n\n${claimsSummary(parts)}`);
  }
  if (failed.length > 0) console.log(`${failed.length} of ${parts.length} parts failed: ${failed.join(", ")}`);
  console.log(`The report is ${join(folder, "report.md")}`);
}
