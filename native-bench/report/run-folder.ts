import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { renderReport } from "./markdown.js";
import { renderPlot } from "./plot.js";
import type { Environment, RunReport, SuiteReport, Target } from "./run-report.js";

const runFile = "run.json";
const reportFile = "report.md";

/** A folder below `parent` that is not there yet: `DATE-MACHINE`, then the same with a number. */
export function newRunFolder(parent: string, run: Pick<RunReport, "date" | "environment">, suffix: string): string {
  const words = [run.date.slice(0, 10), machineSlug(run.environment.machine), suffix];
  const name = words.filter((word) => word !== "").join("-");
  let folder = join(parent, name);
  for (let n = 2; existsSync(folder); n++) folder = join(parent, `${name}-${n}`);
  return folder;
}

/** Writes `run.json`, the report and the plots. */
export function writeRun(folder: string, run: RunReport): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, runFile), jsonText(toFile(run)));
  // From the file, whose numbers are rounded, so that rendering it again gives the same plots.
  renderRun(folder, readRun(folder));
}

/** Writes the report and the plots again. */
export function renderRun(folder: string, run: RunReport): void {
  writeFileSync(join(folder, reportFile), renderReport(run));
  for (const plot of run.suites.flatMap(({ plots }) => plots))
    writeFileSync(join(folder, `${plot.name}.svg`), renderPlot(plot));
}

/** Throws `not-found` and `bad-request` with a message for the user. */
export function readRun(folder: string): RunReport {
  const file = join(folder, runFile);
  if (!isRunFolder(folder))
    throw new TrawlError("not-found", `${folder} is not the folder of a run: there is no ${runFile} in it`);
  let value: Partial<RunFile>;
  try {
    value = JSON.parse(readFileSync(file, "utf8")) as Partial<RunFile>;
  } catch (error) {
    throw new TrawlError("bad-request", `${file} is not JSON: ${errorMessage(error)}`);
  }
  if (!Array.isArray(value.parts) || typeof value.date !== "string" || value.environment?.machine === undefined)
    throw new TrawlError("bad-request", `${file} is not the record of a run: it lacks date, environment or parts`);
  return fromFile(value as RunFile);
}

/** The file's own keys are older than today's names; they stay, so that runs of any version can be compared. */
interface RunFile extends Omit<RunReport, "suites"> {
  readonly parts: readonly (Omit<SuiteReport, "suite" | "targets"> & {
    readonly part: string;
    readonly claims: readonly Target[];
  })[];
}

function toFile({ suites, ...run }: RunReport): RunFile {
  return { ...run, parts: suites.map(({ suite, targets, ...rest }) => ({ part: suite, ...rest, claims: targets })) };
}

function fromFile({ parts, ...run }: RunFile): RunReport {
  return { ...run, suites: parts.map(({ part, claims, ...rest }) => ({ suite: part, ...rest, targets: claims })) };
}

export function isRunFolder(folder: string): boolean {
  return statSync(join(folder, runFile), { throwIfNoEntry: false })?.isFile() ?? false;
}

/** `epyc-2core`: the kind of machine, without its name. */
export function machineSlug({ processor, cores }: Environment["machine"]): string {
  const words = processor
    .toLowerCase()
    .replace(/\((r|tm|c)\)|@.*$|\b\d+-core\b|\b(amd|intel|cpu|processor|with .*)\b/g, " ")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  return [...(words.length === 0 ? ["machine"] : words), `${cores}core`].join("-");
}

/** On one line, and with no more digits than were measured. */
function jsonText(run: RunFile): string {
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
  return `${JSON.stringify(run, rounded)}\n`;
}

/** Replaces each of these strings everywhere in a run: folders of this machine stay out of what is written. */
export function withReplaced(run: RunReport, replacements: ReadonlyMap<string, string>): RunReport {
  const longestFirst = [...replacements].filter(([from]) => from.length > 1).sort(([a], [b]) => b.length - a.length);
  const replace = (value: unknown): unknown => {
    if (typeof value === "string") return longestFirst.reduce((text, [from, to]) => text.replaceAll(from, to), value);
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replace(inner)]));
    return value;
  };
  return replace(run) as RunReport;
}
