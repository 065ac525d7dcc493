import type { Table } from "./run-report.js";

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
