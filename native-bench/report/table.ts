import type { Spread } from "../system/measure.js";
import { nameOf, type BenchQuery, type Target } from "../peers/queries.js";
import type { Difference } from "../peers/result-set.js";

/** One search, measured side by side. Times in milliseconds. */
export interface SearchRow {
  readonly query: BenchQuery;
  readonly matchedLines: number;
  /** Of our whole HTTP answer. */
  readonly answerBytes: number;
  readonly rg: Spread;
  readonly csearch: Spread;
  readonly trawl: Spread;
  readonly differences: { readonly rg: Difference; readonly csearch: Difference };
}

/** One measured number and what it is held to. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly better: "less" | "more";
  readonly must: number;
  readonly aim: number;
  /** What else belongs to the number; "" for nothing. */
  readonly note: string;
}

export interface JudgedSearch extends SearchRow {
  readonly name: string;
  /** Undefined where the result sets differ without a known cause: then there is nothing to compare. */
  readonly rgRatio: number | undefined;
  readonly csearchRatio: number | undefined;
  readonly missesMust: readonly string[];
  readonly missesAim: readonly string[];
}

export function judge(row: SearchRow, returnMs: number): JudgedSearch {
  const ratio = (peer: "rg" | "csearch"): number | undefined =>
    (row.differences[peer].unexplained > 0 ? undefined : row[peer].median / row.trawl.median);
  const ratios = { rgRatio: ratio("rg"), csearchRatio: ratio("csearch") };
  const misses = (target: Target): string[] => {
    const missed: string[] = [];
    if (target.rg !== undefined && !((ratios.rgRatio ?? 0) >= target.rg)) missed.push(`${target.rg}x rg`);
    if (target.csearch !== undefined && !((ratios.csearchRatio ?? 0) >= target.csearch)) missed.push(`${target.csearch}x csearch`);
    if (target.ms !== undefined && !(row.trawl.median <= target.ms)) missed.push(`${target.ms} ms`);
    if (target.timesReturn !== undefined && !(row.trawl.median <= target.timesReturn * returnMs)) missed.push(`${target.timesReturn}x return`);
    return missed;
  };
  return { ...row, name: nameOf(row.query), ...ratios, missesMust: misses(row.query.must), missesAim: misses(row.query.aim) };
}

export function searchTable(rows: readonly JudgedSearch[]): string {
  const head = ["query", "lines", "answer MB", "rg ms", "csearch ms", "trawl ms", "rg/trawl", "csearch/trawl", "must", "aim", ""];
  const body = rows.map((row) => [
    `\`${row.name.replaceAll("|", "\\|")}\``, grouped(row.matchedLines), short(row.answerBytes / 1e6), range(row.rg), range(row.csearch), range(row.trawl),
    ratioText(row.rgRatio), ratioText(row.csearchRatio), targetText(row.query.must), targetText(row.query.aim), verdict(row),
  ]);
  return table(head, body);
}

/** What the result sets do not share, a line for each search and peer where there is something to say. */
export function differenceLines(rows: readonly JudgedSearch[]): string[] {
  return rows.flatMap((row) => (["rg", "csearch"] as const).flatMap((peer) => {
    const { explained, unexplained, examples } = row.differences[peer];
    const causes = Object.entries(explained).map(([cause, count]) => `${grouped(count)} (${cause})`);
    if (unexplained > 0) causes.push(`${grouped(unexplained)} without a known cause, as in ${examples.join(", ")}`);
    return causes.length === 0 ? [] : [`${row.name}: lines that only ${peer} or only trawl finds: ${causes.join("; ")}`];
  }));
}

export function figureTable(figures: readonly Figure[]): string {
  const body = figures.map((figure) => [
    figure.what, `${short(figure.value)} ${figure.unit}`, limitText(figure, figure.must), limitText(figure, figure.aim),
    !meets(figure, figure.must) ? "MISSES MUST" : meets(figure, figure.aim) ? "meets aim" : "meets must", figure.note,
  ]);
  return table(["what", "measured", "must", "aim", "", "beside it"], body);
}

export function meets({ value, better }: Figure, limit: number): boolean {
  return better === "less" ? value <= limit : value >= limit;
}

export function short(value: number): string {
  return value >= 1000 ? grouped(Math.round(value)) : String(Number(value.toPrecision(value >= 100 ? 3 : 2)));
}

function limitText({ better, unit }: Figure, limit: number): string {
  return `${better === "less" ? "≤" : "≥"} ${limit} ${unit}`;
}

function verdict({ query, missesMust, missesAim }: JudgedSearch): string {
  if (missesMust.length > 0) return `MISSES ${missesMust.join(", ")}`;
  if (Object.keys(query.aim).length > 0 && missesAim.length === 0) return "meets aim";
  return Object.keys(query.must).length > 0 ? "meets must" : "";
}

function targetText({ rg, csearch, ms, timesReturn }: Target): string {
  const texts = [
    ms === undefined ? "" : `≤ ${ms} ms`, rg === undefined ? "" : `${rg}x rg`, csearch === undefined ? "" : `${csearch}x csearch`,
    timesReturn === undefined ? "" : `≤ ${timesReturn}x return`,
  ];
  return texts.filter((text) => text !== "").join(", ");
}

function range({ min, median, max }: Spread): string {
  return `${short(median)} (${short(min)}..${short(max)})`;
}

function ratioText(ratio: number | undefined): string {
  return ratio === undefined ? "differs" : `${short(ratio)}x`;
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** A Markdown table whose columns also line up in a terminal. */
function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...body.map((cells) => cells[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}
