import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { renderReport } from "./markdown.js";
import { renderPlot } from "./plot.js";
import type { Environment, RunRecord } from "./record.js";

const recordFile = "run.json";
const reportFile = "report.md";

/** A folder below `parent` that is not there yet: `DATE-MACHINE`, then the same with a number. */
export function newRunFolder(parent: string, record: Pick<RunRecord, "date" | "environment">, suffix: string): string {
  const name = [record.date.slice(0, 10), machineSlug(record.environment.machine), suffix]
    .filter((part) => part !== "")
    .join("-");
  let folder = join(parent, name);
  for (let n = 2; existsSync(folder); n++) folder = join(parent, `${name}-${n}`);
  return folder;
}

/** Writes the record, its report and its pictures. */
export function writeRun(folder: string, record: RunRecord): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, recordFile), jsonOf(record));
  renderRun(folder, record);
}

/** Writes what is made from a record again. */
export function renderRun(folder: string, record: RunRecord): void {
  writeFileSync(join(folder, reportFile), renderReport(record));
  for (const plot of record.parts.flatMap(({ plots }) => plots))
    writeFileSync(join(folder, `${plot.name}.svg`), renderPlot(plot));
}

/** Throws `not-found` and `bad-request` in words that a person understands. */
export function readRun(folder: string): RunRecord {
  const file = join(folder, recordFile);
  if (!isRunFolder(folder))
    throw new TrawlError("not-found", `${folder} is not the folder of a run: there is no ${recordFile} in it`);
  let value: Partial<RunRecord>;
  try {
    value = JSON.parse(readFileSync(file, "utf8")) as Partial<RunRecord>;
  } catch (error) {
    throw new TrawlError("bad-request", `${file} is not JSON: ${errorMessage(error)}`);
  }
  if (!Array.isArray(value.parts) || typeof value.date !== "string" || value.environment?.machine === undefined) {
    throw new TrawlError("bad-request", `${file} is not the record of a run: it lacks date, environment or parts`);
  }
  return value as RunRecord;
}

export function isRunFolder(folder: string): boolean {
  return statSync(join(folder, recordFile), { throwIfNoEntry: false })?.isFile() ?? false;
}

/** `epyc-2core`: says what was measured on, and not whose machine it is. */
export function machineSlug({ processor, cores }: Environment["machine"]): string {
  const words = processor
    .toLowerCase()
    .replace(/\((r|tm|c)\)|@.*$|\b\d+-core\b|\b(amd|intel|cpu|processor|with .*)\b/g, " ")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  return [...(words.length === 0 ? ["machine"] : words), `${cores}core`].join("-");
}

/** A series of numbers on one line, and digits that were measured. */
function jsonOf(record: RunRecord): string {
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
  const text = JSON.stringify(record, rounded, 1);
  const series = /\[\s+(?:(?:-?[\d.]+(?:e[+-]?\d+)?|null),?\s+)+\]/g;
  const points = /\{\s+"x": [^{}]*\}/g;
  const onOneLine = (match: string): string => match.replace(/\s+/g, " ");
  return `${text.replace(series, onOneLine).replace(points, onOneLine)}\n`;
}

/**
 * The record with each of these strings, wherever it stands, in place of another: folders of this machine stay out of
 * it.
 */
export function withReplaced(record: RunRecord, replacements: ReadonlyMap<string, string>): RunRecord {
  const longestFirst = [...replacements].filter(([from]) => from.length > 1).sort(([a], [b]) => b.length - a.length);
  const replace = (value: unknown): unknown => {
    if (typeof value === "string") return longestFirst.reduce((text, [from, to]) => text.replaceAll(from, to), value);
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replace(inner)]));
    return value;
  };
  return replace(record) as RunRecord;
}
