import type { Table } from "./run-report.js";
import type { Spread } from "../system/measure.js";

/** A number in short: grouped from 1000 on, with two or three significant digits below. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size >= 1000 ? grouped(Math.round(value)) : String(Number(value.toPrecision(size >= 100 ? 3 : 2)));
}

export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** For the ticks of an axis, where 10,000,000 is too wide. */
export function compact(value: number): string {
  return Math.abs(value) < 10_000 ? String(Number(value.toPrecision(4))) : compactFormat.format(value);
}

const compactFormat = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

/** `MEDIAN (MIN..MAX)`; of one value, that. */
export function spreadText({ min, median, max, count }: Spread): string {
  return count === 1 ? short(median) : `${short(median)} (${short(min)}..${short(max)})`;
}

/** `3 min 20 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** As Markdown whose columns also line up when it is read as text. */
export function markdownTable(table: Table): string {
  const { head, rows } = { head: table.head.map(markdownCell), rows: table.rows.map((row) => row.map(markdownCell)) };
  const columns = measureColumns({ ...table, head, rows });
  const line = (cells: readonly string[]): string => `| ${padded(cells, columns).join(" | ")} |`;
  const rule = columns.map(({ width, isNumeric }) => (isNumeric ? `${"-".repeat(width - 1)}:` : "-".repeat(width)));
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

/** For a terminal: the title, the head, a rule, the rows. */
export function terminalTable(table: Table): string {
  const columns = measureColumns(table);
  const line = (cells: readonly string[]): string => padded(cells, columns).join("  ").trimEnd();
  const rule = "─".repeat(columns.reduce((sum, { width }) => sum + width + 2, -2));
  return [table.title, rule, line(table.head), rule, ...table.rows.map(line)].join("\n");
}

interface Column {
  readonly width: number;
  readonly isNumeric: boolean;
}

const widthMin = 3;

function measureColumns({ head, rows }: Table): Column[] {
  return head.map((title, i) => {
    const cells = rows.map((row) => row[i] ?? "");
    const filled = cells.filter((cell) => cell !== "");
    const isNumeric = i > 0 && filled.length > 0 && filled.every((cell) => /^([-–]$|[-−≤≥<>~]? ?\d)/.test(cell));
    return { width: Math.max(widthMin, title.length, ...cells.map((cell) => cell.length)), isNumeric };
  });
}

function padded(cells: readonly string[], columns: readonly Column[]): string[] {
  return columns.map(({ width, isNumeric }, i) =>
    isNumeric ? (cells[i] ?? "").padStart(width) : (cells[i] ?? "").padEnd(width),
  );
}

function markdownCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
