export const rowsMax = 1_000;
const columnsMax = 60;
const cellLengthMax = 300;
const textLengthMax = 512 << 10;

/** The first rows of a file of values. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Whether the file has more rows. */
  readonly isCut: boolean;
  readonly columnsLeft: number;
  /** What is wrong with the file, if something is. */
  readonly problem: string | undefined;
}

/** The part of Papa Parse that is used. */
export type ParseRows = (
  text: string,
  options: { readonly delimiter: string; readonly preview: number; readonly skipEmptyLines: boolean },
) => {
  readonly data: unknown[];
  readonly errors: readonly { readonly message: string; readonly row?: number }[];
};

/** Reads the first rows of the first part, so that a large file is as quick as a small one. */
export function readTable(text: string, path: string, parse: ParseRows): Table {
  const end = text.length > textLengthMax ? text.lastIndexOf("\n", textLengthMax) : text.length;
  const part = text.slice(0, end > 0 ? end : textLengthMax);
  const { data, errors } = parse(part, {
    // "" is found by the parser, among commas, semicolons, tabs and others.
    delimiter: /\.tsv$/i.test(path) ? "\t" : "",
    // With the head, and one to know whether there are more.
    preview: rowsMax + 2,
    skipEmptyLines: true,
  });
  const whole = data.slice(0, rowsMax + 1).map((row) => (Array.isArray(row) ? (row as readonly unknown[]) : []));
  const [head = [], ...rows] = whole.map((row) => row.slice(0, columnsMax).map(cellText));
  const columns = whole.reduce((most, row) => Math.max(most, row.length), 0);
  const shown = Math.min(columns, columnsMax);
  // A file of one column has no delimiter that could be found.
  const first = errors.find(({ message }) => !message.startsWith("Unable to auto-detect"));
  return {
    head: Array.from({ length: shown }, (_, at) => head[at] ?? ""),
    rows,
    isCut: data.length > whole.length || part.length < text.length,
    columnsLeft: columns - shown,
    problem: first && `${first.row === undefined ? "" : `Row ${first.row + 1}: `}${first.message}.`,
  };
}

function cellText(value: unknown): string {
  const text = String(value);
  return text.length > cellLengthMax ? `${text.slice(0, cellLengthMax)}…` : text;
}
