import { durationText, grouped, markdownTable, short } from "./numbers.js";
import type { RunReport, SuiteReport, Table, Target } from "./run-report.js";
import { table } from "./views.js";
import { quietShareMax } from "../system/measure.js";

/** A run that did not measure the share in use was on a busy machine when the load average was above this. */
const quietLoadMax = 0.5;

/** The written report of a run: `report.md`, beside `run.json` and the plots. */
export function renderReport(run: RunReport): string {
  const targets = targetsTable(run.suites);
  const blocks = [
    `# Run of ${run.date.slice(0, 10)}`,
    `\`${run.command}\``,
    "Made from [run.json](run.json), which holds every measured value; `bin/trawl-bench report` writes it and the plots again. Compare ratios within one run; times of different machines do not compare.",
    interruptionText(run),
    ...environmentBlocks(run),
    "## Figures",
    targetsSummary(run.suites),
    targets.rows.length === 0 ? "" : markdownTable(targets),
    ...run.suites.flatMap(suiteBlocks),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function interruptionText({ notRun = [] }: RunReport): string {
  const names = notRun.map((name) => `\`${name}\``).join(", ");
  return names === "" ? "" : `**This run is not whole:** it was interrupted before ${names}.`;
}

function environmentBlocks({ date, environment: { machine, versions } }: RunReport): string[] {
  const { processor, cores, memoryBytes, kernel, loadBefore, busyBefore, pageCacheBytes } = machine;
  const rows: (readonly [what: string, value: string])[] = [
    ["begun", date],
    ["processor", `${processor}, ${cores} ${cores === 1 ? "core" : "cores"}`],
    ["memory", `${short(memoryBytes / 1e9)} GB`],
    ["kernel", kernel],
    ["load before", short(loadBefore)],
    ...(busyBefore === undefined ? [] : ([["in use before", `${short(busyBefore * 100)} %`]] as const)),
    ["page cache before", `${short(pageCacheBytes / 1e9)} GB`],
    ...Object.entries(versions),
  ];
  const environment = table("", rows, [
    ["what", ([what]) => what],
    ["value", ([, value]) => value],
  ]);
  const isBusy = busyBefore === undefined ? loadBefore > quietLoadMax : busyBefore > quietShareMax;
  const warning = isBusy ? "The machine was busy when the run began: trust the ratios, not the times." : "";
  return ["## Environment", markdownTable(environment), warning];
}

function suiteBlocks({ suite, title, seconds, notes, samples, tables, plots }: SuiteReport): string[] {
  const valueCount = samples.reduce((sum, { values }) => sum + values.length, 0);
  return [
    `## ${title}`,
    `Suite \`${suite}\`, ${durationText(seconds)}${valueCount === 0 ? "" : `, ${grouped(valueCount)} values`}.`,
    notes.map((note) => `- ${note.replaceAll("\n", "\n  ")}`).join("\n"),
    ...tables.flatMap(tableBlocks),
    plots.length === 0 ? "" : `Plots: ${plots.map(({ name, title }) => `\`${name}.svg\` (${title})`).join(", ")}.`,
  ];
}

function tableBlocks(table: Table): string[] {
  return [`### ${table.title}`, table.rows.length === 0 ? "Nothing." : markdownTable(table)];
}

type Verdict = "meets aim" | "meets must" | "MISSES MUST" | "misses aim" | "not measured" | "";

/** "" for a figure without limits. */
export function judge({ value, better, must, aim }: Target): Verdict {
  if (must === undefined && aim === undefined) return "";
  if (value === undefined || Number.isNaN(value)) return "not measured";
  const reaches = (limit: number): boolean => (better === "less" ? value <= limit : value >= limit);
  if (must !== undefined && !reaches(must)) return "MISSES MUST";
  if (aim !== undefined && reaches(aim)) return "meets aim";
  return must !== undefined ? "meets must" : "misses aim";
}

export function targetsTable(suites: readonly SuiteReport[]): Table {
  const toRow = (suite: string, target: Target): string[] => [
    suite,
    target.what,
    target.value === undefined ? "–" : withUnit(short(target.value), target.unit),
    limitText(target, target.must),
    limitText(target, target.aim),
    judge(target),
    target.note,
  ];
  return {
    title: "Figures and their targets",
    head: ["suite", "what", "measured", "must", "aim", "", "note"],
    rows: suites.flatMap(({ suite, targets }) => targets.map((target) => toRow(suite, target))),
  };
}

/** One sentence about all of them. */
export function targetsSummary(suites: readonly SuiteReport[]): string {
  const verdicts = suites.flatMap(({ targets }) => targets.map(judge)).filter((verdict) => verdict !== "");
  if (verdicts.length === 0) return "No figure of this run has a target.";
  const count = (...wanted: Verdict[]): number => verdicts.filter((verdict) => wanted.includes(verdict)).length;
  const [aims, musts] = [count("meets aim"), count("meets must", "misses aim")];
  const [misses, missing] = [count("MISSES MUST"), count("not measured")];
  return `Of ${grouped(verdicts.length)} figures with a target, ${aims} meet the aim, ${musts} the must, ${misses} miss it, ${missing} could not be measured.`;
}

function limitText({ better, unit }: Target, limit: number | undefined): string {
  return limit === undefined ? "" : withUnit(`${better === "less" ? "≤" : "≥"} ${limit}`, unit);
}

/** `3x` and `90%`, but `3 ms`. */
function withUnit(value: string, unit: string): string {
  return unit === "x" || unit === "%" ? `${value}${unit}` : `${value} ${unit}`;
}
