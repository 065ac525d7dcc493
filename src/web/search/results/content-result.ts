import type { StreamMatch } from "../../../model/stream-events.js";
import { button, element } from "../../ui/element.js";
import type { Token } from "../../ui/text-range.js";
import { lineRow, linesOfChunk, type CodeLine } from "./code-lines.js";
import { fileUrl } from "./file-url.js";
import type { ResultContext, TokenLines } from "./result-context.js";
import { resultFrame, titleOfFile } from "./result-frame.js";

/** Matching lines of one file that are shown at first, and with each further step. */
const linesShownMax = 8;
const linesStep = 200;

/** Longer chunks are shown in parts. */
const partLinesMax = 24;

/** Lines that a click adds above or below a chunk. */
const linesAdded = 10;

/** A file with matches in its text. */
export function contentResult(match: StreamMatch, key: string, context: ResultContext): HTMLElement {
  const chunks = (match.chunkMatches ?? []).flatMap((chunk) => splitChunk(linesOfChunk(chunk)));
  const count = (match.chunkMatches ?? []).reduce((sum, { ranges }) => sum + ranges.length, 0);
  const body = element("div", { class: "chunks" });
  const state = context.state(key);
  showChunks(match, chunks, state.isWhole === true ? Infinity : linesShownMax, body, context, () => {
    state.isWhole = true;
  });
  const language = match.language === undefined ? "" : `${match.language} · `;
  return resultFrame({
    title: titleOfFile(match),
    label: match.path ?? "",
    note: `${language}${count.toLocaleString("en")} ${count === 1 ? "match" : "matches"}`,
    body,
    fold: { state },
  });
}

/** Neighbouring matches make one chunk, which can be as long as the file. */
function splitChunk(lines: readonly CodeLine[]): readonly (readonly CodeLine[])[] {
  const parts: (readonly CodeLine[])[] = [];
  for (let at = 0; at < lines.length; at += partLinesMax) parts.push(lines.slice(at, at + partLinesMax));
  return parts;
}

/** Shows chunks until that number of lines match, and a button for the next ones. */
function showChunks(
  match: StreamMatch,
  chunks: readonly (readonly CodeLine[])[],
  linesMax: number,
  body: HTMLElement,
  context: ResultContext,
  onMore: () => void,
): void {
  let shownLines = 0;
  let shown = 0;
  const limit = Math.min(linesMax, linesStep);
  while (shown < chunks.length && (shownLines < limit || shown === 0))
    shownLines += matchingLines(chunks[shown++] ?? []);
  const views = chunks.slice(0, shown).map((lines) => new ChunkView(match, lines, context));
  body.append(...views.map(({ element: made }) => made));
  const spans = views.map(({ span }) => span);
  context.highlight(match, spans, (index, lines) => views[index]?.colour(lines));
  const rest = chunks.slice(shown);
  if (rest.length === 0) return;
  const restLines = rest.reduce((sum, lines) => sum + matchingLines(lines), 0);
  const more = button("more", `${restLines.toLocaleString("en")} more matching lines`, () => {
    more.remove();
    onMore();
    showChunks(match, rest, linesStep, body, context, onMore);
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
  readonly #rows = element("div", { class: "rows" });
  #lines: readonly CodeLine[];

  constructor(match: StreamMatch, lines: readonly CodeLine[], context: ResultContext) {
    this.#match = match;
    this.#context = context;
    this.#lines = lines;
    this.element = element("div", { class: "chunk" }, this.#moreButton(-1), this.#rows, this.#moreButton(1));
    this.#rows.append(...lines.map((line) => lineRow(line, fileUrl(match), [])));
  }

  get span(): { readonly from: number; readonly to: number } {
    const from = this.#lines[0]?.number ?? 0;
    return { from, to: from + this.#lines.length };
  }

  /** Shows the tokens of the lines, as far as the file still has the same text. */
  colour(tokenLines: TokenLines): void {
    const url = fileUrl(this.#match);
    this.#lines.forEach((line, at) => {
      const known = tokenLines[at];
      const row = this.#rows.children[at];
      if (known === undefined || row === undefined || known.tokens.length === 0) return;
      if (known.text !== line.text) return;
      row.replaceWith(lineRow(line, url, known.tokens as readonly Token[]));
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
      this.#rows.replaceChildren(...this.#lines.map((line) => lineRow(line, fileUrl(this.#match), [])));
      this.#context.highlight(this.#match, [this.span], (_, lines) => this.colour(lines));
    } catch (error) {
      pressed.title = error instanceof Error ? error.message : String(error);
      pressed.classList.add("failed");
    }
    pressed.disabled = false;
  }
}
