import { isObject } from "../../../../base/is-object.js";

/** A Jupyter notebook, as far as it is shown: texts and images of whoever wrote it, of any size and shape. */
export interface Notebook {
  readonly language: string;
  readonly cells: readonly NotebookCell[];
  /** Cells that are too many to show. */
  readonly cellsLeft: number;
}

export interface NotebookCell {
  readonly kind: "code" | "markdown" | "raw";
  readonly text: string;
  /** As the notebook counts its runs; undefined for a cell that was not run. */
  readonly count: number | undefined;
  readonly outputs: readonly NotebookOutput[];
}

export type NotebookOutput =
  | { readonly kind: "text" | "error" | "html" | "markdown"; readonly text: string; readonly isCut: boolean }
  /** `data` is base64, except for SVG, which is text. */
  | { readonly kind: "image"; readonly type: string; readonly data: string }
  /** What is not shown. */
  | { readonly kind: "other"; readonly what: string };

export const cellsMax = 500;
const outputsMax = 100;
const textLengthMax = 20_000;
const allTextLengthMax = 2_000_000;
const imageLengthMax = 8_000_000;

/** Reads the text of a notebook. Throws an `Error` that says what is wrong with it. */
export function readNotebook(text: string): Notebook {
  const whole = readObject(parse(text), "It");
  const cells = whole["cells"] ?? readObject(list(whole["worksheets"])[0] ?? {}, "Its worksheet")["cells"];
  if (!Array.isArray(cells)) throw new SyntaxError("It has no list of cells.");
  return {
    language: languageOfNotebook(whole),
    cells: withinBudget(cells.slice(0, cellsMax).map(readCell)),
    cellsLeft: Math.max(0, cells.length - cellsMax),
  };
}

/** What is printed in all cells together has a limit, too. */
function withinBudget(cells: readonly NotebookCell[]): readonly NotebookCell[] {
  let left = allTextLengthMax;
  return cells.map((cell) => ({
    ...cell,
    outputs: cell.outputs.map((output) => {
      const length = output.kind === "image" || output.kind === "other" ? 0 : output.text.length;
      left -= length;
      return length > 0 && left < 0 ? { kind: "other", what: "Output beyond what a page shows" } : output;
    }),
  }));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`It is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Members = Readonly<Record<string, unknown>>;

function readObject(value: unknown, what: string): Members {
  if (!isObject(value)) throw new SyntaxError(`${what} is not an object.`);
  return value;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The members of an object; none of anything else. */
function members(value: unknown): Members {
  return isObject(value) ? value : {};
}

/** A text, which notebooks also have as a list of lines. */
function textFrom(value: unknown): string {
  if (typeof value === "string") return value;
  return list(value)
    .filter((line) => typeof line === "string")
    .join("");
}

function languageOfNotebook(whole: Members): string {
  const { language_info: info, kernelspec } = members(whole["metadata"]);
  const named = members(info)["name"] ?? members(kernelspec)["language"];
  return typeof named === "string" && /^[\w+#.-]{1,40}$/.test(named) ? named : "python";
}

function readCell(cell: unknown): NotebookCell {
  const found = members(cell);
  const { cell_type: type, source, input, outputs, execution_count, prompt_number } = found;
  const count = execution_count ?? prompt_number;
  // Before version 4, headings were cells of their own.
  const level = Math.min(6, Math.max(1, Number(found["level"]) || 1));
  return {
    kind: type === "code" ? "code" : type === "markdown" || type === "heading" ? "markdown" : "raw",
    text: (type === "heading" ? `${"#".repeat(level)} ` : "") + textFrom(source ?? input),
    count: typeof count === "number" ? count : undefined,
    outputs: type === "code" ? readOutputs(list(outputs)) : [],
  };
}

function readOutputs(outputs: readonly unknown[]): readonly NotebookOutput[] {
  const shown = outputs.slice(0, outputsMax).map(readOutput);
  const left = outputs.length - shown.length;
  return left > 0 ? [...shown, { kind: "other", what: `${left} more outputs` }] : shown;
}

const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** One output, in the form that says the most and can be shown. */
function readOutput(output: unknown): NotebookOutput {
  const found = members(output);
  const type = found["output_type"];
  if (type === "stream") return cutText("text", textFrom(found["text"]));
  if (type === "error" || type === "pyerr") return cutText("error", errorText(found));
  // Before version 4, the forms were members of the output.
  const data = { ...oldForms(found), ...members(found["data"]) };
  for (const image of imageTypes) {
    const base64 = textFrom(data[image]).replace(/\s+/g, "");
    if (base64 !== "") return imageOutput(image, base64);
  }
  const svg = textFrom(data["image/svg+xml"]);
  if (svg !== "") return imageOutput("image/svg+xml", svg);
  for (const [kind, name] of [
    ["html", "text/html"],
    ["markdown", "text/markdown"],
    ["text", "text/plain"],
    ["text", "text/latex"],
    ["text", "application/json"],
  ] as const) {
    const form = data[name];
    const text = name === "application/json" && form !== undefined ? JSON.stringify(form) : textFrom(form);
    if (text !== "") return cutText(kind, text);
  }
  const names = Object.entries(data)
    .flatMap(([name, form]) => (form === undefined ? [] : [name]))
    .slice(0, 5);
  return { kind: "other", what: names.length === 0 ? "An empty output" : `Output of type ${names.join(", ")}` };
}

function oldForms(found: Members): Members {
  return {
    "image/png": found["png"],
    "image/jpeg": found["jpeg"],
    "image/svg+xml": found["svg"],
    "text/html": found["html"],
    "text/plain": found["text"],
  };
}

function imageOutput(type: string, data: string): NotebookOutput {
  return data.length > imageLengthMax
    ? { kind: "other", what: "An image that is too large to show" }
    : { kind: "image", type, data };
}

function cutText(kind: "text" | "error" | "html" | "markdown", text: string): NotebookOutput {
  const plain = kind === "html" || kind === "markdown" ? text : withoutColours(text);
  const isCut = plain.length > textLengthMax;
  // A part of markup is other markup.
  if (isCut && kind === "html") return { kind: "other", what: "A page that is too long to show" };
  return { kind, text: plain.slice(0, textLengthMax), isCut };
}

function errorText({ ename, evalue, traceback }: Members): string {
  const lines = list(traceback).filter((line) => typeof line === "string");
  return lines.length > 0 ? lines.join("\n") : `${textFrom(ename)}: ${textFrom(evalue)}`;
}

/** Without the sequences by which a terminal colours text. */
function withoutColours(text: string): string {
  return text.replace(/\u001b\[[\d;]*[A-Za-z]/g, "");
}

export const rowsMax = 1_000;
const columnsMax = 60;
const cellLengthMax = 300;
const tableLengthMax = 512 << 10;

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
type ParseRows = (
  text: string,
  options: { readonly delimiter: string; readonly preview: number; readonly skipEmptyLines: boolean },
) => {
  readonly data: unknown[];
  readonly errors: readonly { readonly message: string; readonly row?: number }[];
};

/** Reads the first rows of the first part, so that a large file is as quick as a small one. */
export function readTable(text: string, path: string, parse: ParseRows): Table {
  const end = text.length > tableLengthMax ? text.lastIndexOf("\n", tableLengthMax) : text.length;
  const part = text.slice(0, end > 0 ? end : tableLengthMax);
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

export const bytesPerLine = 16;

/** Bytes as `hexdump -C` prints them: offset, hexadecimal, and what is ASCII. */
export function hexLines(bytes: Uint8Array, offset: number): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    const part = [...bytes.subarray(at, at + bytesPerLine)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0"));
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    const columns = `${hex.slice(0, 8).join(" ")}  ${hex.slice(8).join(" ")}`;
    lines.push(`${(offset + at).toString(16).padStart(8, "0")}  ${columns.padEnd(3 * bytesPerLine)}  ${text}`);
  }
  return lines.join("\n");
}
