import type { ChunkMatch, StreamMatch } from "../../../model/stream-events.js";
import { button, element } from "../../ui/element.js";
import { matchingTokens } from "../../ui/text-range.js";
import { lineRow, linesOfChunk, type CodeLine } from "./code-lines.js";
import { fileOfMatch, fileUrl, resultFrame, titleOfFile } from "./result-frame.js";
import type { ResultContext } from "./result-context.js";
import type { TokenLines } from "../../ui/token-reader.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";

/** Matching lines of one file that are shown at first, and with each further step. */
const linesShownMax = 8;
const linesStep = 200;

/** Longer chunks are shown in parts. */
const partLinesMax = 24;

/** Lines that a click adds above or below a chunk. */
const linesAdded = 10;

/** A file with matches in its text. */
export function contentResult(match: StreamMatch, key: string, context: ResultContext): HTMLElement {
  const chunks = match.chunkMatches ?? [];
  const count = chunks.reduce((sum, { ranges }) => sum + ranges.length, 0);
  const lineCount = chunks.reduce((sum, { ranges }) => sum + countMatchingLines(ranges), 0);
  const body = element("div", { class: "chunks" });
  const state = context.state(key);
  const parts = { next: splitChunks(chunks), lineCount };
  showChunks(match, parts, state.isWhole === true ? Infinity : linesShownMax, body, context, () => {
    state.isWhole = true;
  });
  const language = match.language === undefined ? "" : `${match.language} · `;
  return resultFrame({
    title: titleOfFile(match),
    label: match.path ?? "",
    note: `${language}${formatAmount(count, "match", "matches")}`,
    body,
    fold: { state },
    preview: `${fileUrl(match)}?L${(chunks[0]?.ranges[0]?.start.line ?? 0) + 1}`,
  });
}

/** Lines of a file, read from its chunks only when they are shown: there may be many thousands. */
interface Parts {
  readonly next: Iterator<readonly CodeLine[], undefined>;
  /** Matching lines of the parts that are still to come. */
  readonly lineCount: number;
}

/** Neighbouring matches make one chunk, which can be as long as the file. */
function* splitChunks(chunks: readonly ChunkMatch[]): Generator<readonly CodeLine[], undefined> {
  for (const chunk of chunks) {
    const lines = linesOfChunk(chunk);
    for (let at = 0; at < lines.length; at += partLinesMax) yield lines.slice(at, at + partLinesMax);
  }
}

/** The lines that sorted ranges touch. */
function countMatchingLines(ranges: ChunkMatch["ranges"]): number {
  let count = 0;
  let next = 0;
  for (const { start, end } of ranges) {
    count += Math.max(0, end.line + 1 - Math.max(start.line, next));
    next = Math.max(next, end.line + 1);
  }
  return count;
}

/** Shows parts until that number of lines match, and a button for the next ones. */
function showChunks(
  match: StreamMatch,
  parts: Parts,
  linesMax: number,
  body: HTMLElement,
  context: ResultContext,
  onMore: () => void,
): void {
  let shownLines = 0;
  const limit = Math.min(linesMax, linesStep);
  const views: ChunkView[] = [];
  while (shownLines < limit) {
    const lines = parts.next.next().value;
    if (lines === undefined) break;
    shownLines += matchingLines(lines);
    views.push(new ChunkView(match, lines, context));
  }
  body.append(...views.map(({ element: made }) => made));
  const spans = views.map(({ span }) => span);
  context.highlight(fileOfMatch(match), spans, (index, lines) => views[index]?.colour(lines));
  const lineCount = parts.lineCount - shownLines;
  if (lineCount <= 0) return;
  const more = button("more", `${formatCount(lineCount)} more matching lines`, () => {
    more.remove();
    onMore();
    showChunks(match, { ...parts, lineCount }, linesStep, body, context, onMore);
  });
  body.append(more);
  if (linesMax === Infinity) more.click();
}

function matchingLines(lines: readonly CodeLine[]): number {
  return lines.filter(({ marks }) => marks.length > 0).length;
}

/** Consecutive lines, which grow when a person asks for more of their context. */
class ChunkView {
  readonly element: HTMLElement;
  readonly #match: StreamMatch;
  readonly #context: ResultContext;
  readonly #rows = element("div", { class: "lines" });
  readonly #url: string;
  #lines: readonly CodeLine[];

  constructor(match: StreamMatch, lines: readonly CodeLine[], context: ResultContext) {
    this.#match = match;
    this.#context = context;
    this.#lines = lines;
    this.element = element("div", { class: "chunk" }, this.#moreButton(-1), this.#rows, this.#moreButton(1));
    this.#url = fileUrl(match);
    this.#rows.append(...lines.map((line) => lineRow(line, this.#url, [])));
  }

  get span(): { readonly from: number; readonly to: number } {
    const from = this.#lines[0]?.number ?? 0;
    return { from, to: from + this.#lines.length };
  }

  /** Shows the tokens of the lines, as far as the file still has the same text. */
  colour(tokenLines: TokenLines): void {
    this.#lines.forEach((line, at) => {
      const known = tokenLines[at];
      const row = this.#rows.children[at];
      const tokens = matchingTokens(known, line.text);
      if (tokens.length > 0) row?.replaceWith(lineRow(line, this.#url, tokens));
    });
  }

  #moreButton(direction: -1 | 1): HTMLElement {
    const label = direction < 0 ? "Show lines above" : "Show lines below";
    const made = button("context-button", direction < 0 ? "↑" : "↓", () => void this.#grow(direction, made));
    made.setAttribute("aria-label", label);
    made.title = label;
    if (direction < 0 && this.span.from === 0) made.hidden = true;
    return made;
  }

  async #grow(direction: -1 | 1, pressed: HTMLButtonElement): Promise<void> {
    const { from, to } = this.span;
    const wanted =
      direction < 0 ? { from: Math.max(0, from - linesAdded), to: from } : { from: to, to: to + linesAdded };
    pressed.disabled = true;
    try {
      const added = await this.#context.readLines(this.#match, wanted);
      this.#lines = direction < 0 ? [...added, ...this.#lines] : [...this.#lines, ...added];
      pressed.hidden = added.length < linesAdded || this.span.from === 0;
      this.#rows.replaceChildren(...this.#lines.map((line) => lineRow(line, this.#url, [])));
      this.#context.highlight(fileOfMatch(this.#match), [this.span], (_, lines) => this.colour(lines));
    } catch (error) {
      pressed.title = error instanceof Error ? error.message : String(error);
      pressed.classList.add("failed");
    }
    pressed.disabled = false;
  }
}
