import type { ChunkMatch, StreamRange } from "../../../model/stream-events.js";
import { element } from "../../ui/element.js";
import { markedText, unitIndex, type TextRange, type Token } from "../../ui/text-range.js";

/** A line of a file. */
export interface CodeLine {
  /** 0-based. */
  readonly number: number;
  readonly text: string;
  readonly marks: readonly TextRange[];
  readonly isCut: boolean;
}

/** The lines of a chunk with their matches. */
export function linesOfChunk({ content, contentStart, ranges, contentTruncated }: ChunkMatch): readonly CodeLine[] {
  return content.split("\n").map((text, at) => {
    const number = contentStart.line + at;
    return {
      number,
      text,
      marks: marksOfLine(text, number, ranges),
      isCut: contentTruncated === true && text.length > 900,
    };
  });
}

/** The matches on a line, which may begin before it or end after it. */
function marksOfLine(text: string, number: number, ranges: readonly StreamRange[]): readonly TextRange[] {
  return ranges
    .filter(({ start, end }) => start.line <= number && end.line >= number)
    .map(({ start, end }) => ({
      from: start.line < number ? 0 : unitIndex(text, start.column),
      to: end.line > number ? text.length : unitIndex(text, end.column),
    }));
}

/** A row: the number of the line, as a link to it, and its text. */
export function lineRow(line: CodeLine, fileUrl: string, tokens: readonly Token[]): HTMLElement {
  const number = String(line.number + 1);
  const isMatch = line.marks.length > 0;
  return element(
    "div",
    { class: isMatch ? "line match" : "line", "data-line": line.number },
    element("a", { class: "line-number", href: `${fileUrl}?L${number}`, "aria-label": `Line ${number}` }, number),
    lineCode(line, tokens),
  );
}

function lineCode(line: CodeLine, tokens: readonly Token[]): HTMLElement {
  const code = element("code", {});
  code.append(markedText(line.text, line.marks, tokens));
  if (line.isCut) code.append(element("span", { class: "cut", title: "The line is longer" }, "…"));
  return code;
}
