import { claimsSummary, claimsTable } from "./claims.js";
import { durationText, grouped, short } from "./numbers.js";
import { markdownTable } from "./render-table.js";
import { quietShareMax } from "../system/quiet.js";
import type { PartRecord, Plot, RunRecord, Table } from "./record.js";

/**
 * Above this load of the last minute others are at work on the machine, as far as a run tells that has not looked
 * closer.
 */
const quietLoadMax = 0.5;

/** The report of a run: `report.md`, beside `run.json` and the pictures. */
export function renderReport(record: RunRecord): string {
  const blocks = [
    `# Run of ${record.date.slice(0, 10)}`,
    `\`${record.command}\``,
    "Made from [run.json](run.json), which holds every measured value. Ratios of one run mean something; times of different machines do not.",
    interruptionText(record),
    ...environmentBlocks(record),
    "## Figures",
    ...claimsBlocks(record.parts),
    ...record.parts.flatMap(partBlocks),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function interruptionText({ notRun = [] }: RunRecord): string {
  return notRun.length === 0
    ? ""
    : `**This run is not whole:** it was interrupted before ${notRun.map((name) => `\`${name}\``).join(", ")}.`;
}

function environmentBlocks({ date, environment: { machine, versions } }: RunRecord): string[] {
  const { processor, cores, memoryBytes, kernel, loadBefore, busyBefore, pageCacheBytes } = machine;
  const rows = [
    ["begun", date],
    ["processor", `${processor}, ${cores} ${cores === 1 ? "core" : "cores"}`],
    ["memory", `${short(memoryBytes / 1e9)} GB`],
    ["kernel", kernel],
    ["load before", short(loadBefore)],
    ...(busyBefore === undefined ? [] : [["in use before", `${short(busyBefore * 100)} %`]]),
    ["page cache before", `${short(pageCacheBytes / 1e9)} GB`],
    ...Object.entries(versions),
  ];
  const busy = (busyBefore === undefined ? loadBefore > quietLoadMax : busyBefore > quietShareMax)
    ? "The machine was busy when the run began: look at the ratios, not at the times."
    : "";
  return ["## Environment", markdownTable({ title: "", head: ["what", "value"], rows }), busy];
}

function claimsBlocks(parts: readonly PartRecord[]): string[] {
  const table = claimsTable(parts);
  return [claimsSummary(parts), table.rows.length === 0 ? "" : markdownTable(table)];
}

function partBlocks({ part, title, seconds, notes, samples, tables, plots }: PartRecord): string[] {
  const valueCount = samples.reduce((sum, { values }) => sum + values.length, 0);
  return [
    `## ${title}`,
    `Part \`${part}\`, ${durationText(seconds)}${valueCount === 0 ? "" : `, ${grouped(valueCount)} values`}.`,
    notes.map((note) => `- ${note.replaceAll("\n", "\n  ")}`).join("\n"),
    ...tables.flatMap(tableBlocks),
    ...plots.map(plotBlock),
  ];
}

function tableBlocks(table: Table): string[] {
  return [`### ${table.title}`, table.rows.length === 0 ? "Nothing." : markdownTable(table)];
}

function plotBlock({ name, title }: Plot): string {
  return `![${title.replaceAll(/[[\]]/g, "")}](${name}.svg)`;
}
