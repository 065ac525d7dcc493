import { lowerBoundBy } from "../../../base/sorted-search.js";
import { withoutReordering } from "../../../base/text.js";
import { callAfter, painted, type PendingCall } from "../../ui/delay.js";
import { blameSwitch, type LineRange } from "./line-range.js";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { cutLine } from "../../ui/text-range.js";
import { element } from "../../ui/element.js";
import { graphql } from "../../api/graphql.js";
import { type Signature, signatureFields } from "../commits/commit-line.js";
import { parseHtml } from "../../ui/parse-html.js";

/** What the reader does. */
export interface FileViewEvents {
  /** A click on a line number selects other lines, or none. */
  readonly select: (range: LineRange | undefined) => void;
  /** A name was double-clicked. */
  readonly choose: (name: string) => void;
}

/** How long lines are made at a time, between which the browser paints and answers. */
const sliceMs = 8;

/** At the top of the window, the bars of the page and of the file cover lines. */
const coveredPixels = 110;

/**
 * The lines of a file in the document. All of them get there, so that the browser's own find sees the whole file: those in
 * view at once, the others after they were painted. The browser lays out only chunks that are in view
 * (`content-visibility` in file.css), and only those are highlighted.
 */
export class FileView {
  readonly lineCount: number;
  readonly #host: HTMLElement;
  readonly #text: readonly string[];
  /** The elements of the lines that were made; holes for those that were not. */
  readonly #lines: (HTMLElement | undefined)[] = [];
  readonly #chunks: HTMLElement[] = [];
  readonly #events: FileViewEvents;
  readonly #observer: IntersectionObserver;
  readonly #seen = new Set<number>();
  /** The button in the first selected line. */
  #menu: HTMLElement | undefined;
  /** Whether what it opens is in the page, and whether it was asked for before. */
  #hasMenu = false;
  #isMenuWanted = false;
  /** Lines below the bars that something else covers. */
  coveredLines = 0;
  /** Called when copies of lines have colours. */
  whenHighlighted: () => void = () => undefined;
  #highlighting: Highlighting = [];
  #blame: BlameNotes | undefined;
  #selected: LineRange | undefined;
  #rest: PendingCall | undefined;
  #isClosed = false;

  constructor(host: HTMLElement, text: string, events: FileViewEvents) {
    this.#host = host;
    this.#events = events;
    const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    this.#text = lines;
    this.lineCount = text === "" ? 0 : lines.length;
    this.#observer = new IntersectionObserver((seen) => this.#see(seen), { rootMargin: "600px" });
    const all = document.createDocumentFragment();
    for (let from = 0; from < this.lineCount; from += chunkLineCount) {
      const chunk = document.createElement("div");
      chunk.className = "chunk";
      chunk.style.setProperty("--lines", String(Math.min(chunkLineCount, this.lineCount - from)));
      this.#chunks.push(chunk);
      all.append(chunk);
    }
    this.#makeLines(0);
    const gutter = String(this.lineCount).length;
    host.style.setProperty("--gutter", `${gutter + 2}ch`);
    host.replaceChildren(all);
    host.addEventListener("click", this.#click);
    host.addEventListener("dblclick", this.#choose);
    for (const chunk of this.#chunks) this.#observer.observe(chunk);
    void painted().then(() => this.#makeRest(1));
  }

  close(): void {
    this.#isClosed = true;
    this.#rest?.cancel();
    this.#observer.disconnect();
    this.#host.removeEventListener("click", this.#click);
    this.#host.removeEventListener("dblclick", this.#choose);
  }

  highlight(highlighting: Highlighting): void {
    this.#highlighting = highlighting;
    for (const chunk of this.#seen) this.#highlightChunk(chunk);
    this.whenHighlighted();
  }

  select(range: LineRange | undefined): void {
    for (const line of this.#linesOf(this.#selected)) line.classList.remove("selected");
    this.#selected = range;
    this.#menu?.remove();
    this.#menu = undefined;
    const lines = this.#linesOf(range);
    for (const line of lines) line.classList.add("selected");
    if (range !== undefined && lines[0] !== undefined) this.#menu = menuButton(range);
    if (this.#hasMenu && this.#menu !== undefined) lines[0]?.prepend(this.#menu);
  }

  /** What can be done with lines is in the page: the button that opens it is shown. */
  showMenuButton(): void {
    if (this.#hasMenu) return;
    this.#hasMenu = true;
    this.select(this.#selected);
    if (this.#isMenuWanted) this.openMenu();
  }

  /** Opens what can be done with the selected lines, as soon as that is in the page. */
  openMenu(): void {
    if (this.#hasMenu) this.#menu?.click();
    else this.#isMenuWanted = this.#selected !== undefined;
  }

  /** The text of lines as the file has it. */
  textOfLines({ from, to }: LineRange): string {
    return this.#text.slice(from - 1, to).join("\n");
  }

  scrollTo(line: number): void {
    this.#makeLinesOf({ from: line, to: line });
    this.#lines[line - 1]?.scrollIntoView({ block: "center" });
  }

  /** Scrolls to the line if it is not in sight. */
  reveal(line: number): void {
    this.#makeLinesOf({ from: line, to: line });
    const { top = 0, bottom = 0 } = this.#lines[line - 1]?.getBoundingClientRect() ?? {};
    const covered = coveredPixels + this.coveredLines * (bottom - top);
    if (top < covered || bottom > window.innerHeight) this.scrollTo(line);
  }

  /** The number of the first line below the bars at the top of the window, which end at `edge`. */
  topLine(edge = coveredPixels): number {
    const first = Math.max(0, countAbove(this.#chunks, edge) - 1) * chunkLineCount;
    return first + Math.max(1, countAbove(this.#lines.slice(first, first + chunkLineCount), edge));
  }

  /** What a line shows, once more. */
  copyOfLine(line: number): DocumentFragment {
    this.#makeLinesOf({ from: line, to: line });
    const chunk = Math.floor((line - 1) / chunkLineCount);
    // One that was seen has its colours.
    if (!this.#seen.has(chunk)) this.#highlightChunk(chunk);
    const copy = document.createDocumentFragment();
    for (const child of this.#lines[line - 1]?.querySelector("code")?.childNodes ?? [])
      copy.append(child.cloneNode(true));
    return copy;
  }

  /** Shows before the first line of each hunk the commit, and what was there before it; undefined hides all. */
  showBlame(hunks: readonly BlameHunk[] | undefined, place: Pick<PagePath, "name">): void {
    for (const shown of this.#host.querySelectorAll(".blame")) shown.remove();
    // Not every line was made: this leaves out the others.
    this.#lines.forEach((line) => {
      delete line?.dataset["age"];
    });
    this.#host.classList.toggle("with-blame", hunks !== undefined);
    this.#blame = hunks && { chunks: hunksByChunk(hunks), ages: agesOfDates(hunks), place };
    for (const chunk of this.#seen) this.#blameChunk(chunk);
  }

  /** A chunk gets its notes when it is seen: a large file has too many to make them all at once. */
  #blameChunk(chunk: number): void {
    if (this.#blame === undefined) return;
    const { chunks, ages, place } = this.#blame;
    const first = chunk * chunkLineCount;
    for (const hunk of chunks.get(chunk) ?? []) {
      const age = String(ages.get(hunk.author.date) ?? 0);
      const from = hunk.startLine - 1;
      if (from >= first) this.#lines[from]?.prepend(blameNote(hunk, place));
      const to = Math.min(hunk.endLine - 1, first + chunkLineCount);
      for (const line of this.#lines.slice(Math.max(first, from), to)) if (line) line.dataset["age"] = age;
    }
  }

  /** Makes the lines of the chunks from this one on, a few at a time. */
  #makeRest(from: number): void {
    if (from >= this.#chunks.length || this.#isClosed) return;
    this.#rest = callAfter(0, () => {
      const endMs = performance.now() + sliceMs;
      let at = from;
      do this.#makeLines(at++);
      while (at < this.#chunks.length && performance.now() < endMs);
      this.#makeRest(at);
    });
  }

  #makeLinesOf(range: LineRange): void {
    const last = Math.min(range.to, this.lineCount) - 1;
    for (let at = Math.floor((range.from - 1) / chunkLineCount); at * chunkLineCount <= last; at++) this.#makeLines(at);
  }

  /** Makes the lines of a chunk. Idempotent. */
  #makeLines(at: number): void {
    const chunk = this.#chunks[at];
    const from = at * chunkLineCount;
    if (chunk === undefined || this.#lines[from] !== undefined) return;
    this.#text.slice(from, from + chunkLineCount).forEach((text, i) => {
      const line = document.createElement("div");
      line.className = "line";
      line.dataset["line"] = String(from + i + 1);
      const code = document.createElement("code");
      code.textContent = withoutReordering(cutLine(text));
      line.append(code);
      this.#lines[from + i] = line;
      chunk.append(line);
    });
  }

  #linesOf(range: LineRange | undefined): readonly HTMLElement[] {
    if (range === undefined) return [];
    this.#makeLinesOf(range);
    return this.#lines.slice(range.from - 1, range.to).filter((line) => line !== undefined);
  }

  #see(seen: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of seen) {
      const chunk = this.#chunks.indexOf(target as HTMLElement);
      if (!isIntersecting || this.#seen.has(chunk)) continue;
      this.#seen.add(chunk);
      this.#makeLines(chunk);
      this.#highlightChunk(chunk);
      this.#blameChunk(chunk);
    }
  }

  #highlightChunk(chunk: number): void {
    const rows = this.#highlighting[chunk];
    if (rows === undefined) return;
    const first = chunk * chunkLineCount;
    parseRows(rows).forEach((code, i) => {
      const shown = this.#lines[first + i]?.querySelector("code");
      // What was cut stays cut, and text that differs from the file's is not shown.
      if (shown?.textContent?.trimEnd() !== code.textContent?.trimEnd()) return;
      shown?.replaceChildren(code);
    });
  }

  /** A click on a number selects the line, with Shift all lines from the selected one to it. */
  readonly #click = (event: MouseEvent): void => {
    if (!(event.target instanceof HTMLElement) || !event.target.classList.contains("line")) return;
    const line = Number(event.target.dataset["line"]);
    const from = event.shiftKey ? (this.#selected?.from ?? line) : line;
    const range = { from: Math.min(from, line), to: Math.max(from, line) };
    const isSame = this.#selected?.from === range.from && this.#selected.to === range.to;
    this.#events.select(isSame ? undefined : range);
  };

  readonly #choose = (): void => {
    const text = String(window.getSelection()).trim();
    this.#events.choose(/^[\p{L}\p{N}_]{2,200}$/u.test(text) ? text : "");
  };
}

/** The element that the button in a selected line opens. */
export const lineMenuId = "line-menu";

function menuButton({ from, to }: LineRange): HTMLElement {
  const label = from === to ? `What can be done with line ${from}` : `What can be done with lines ${from} to ${to}`;
  const attributes = { type: "button", class: "line-menu-button", popovertarget: lineMenuId, "aria-label": label };
  return element("button", { ...attributes, title: `${label} (m)` }, "⋯");
}

/** How many of them, which follow each other, begin above the end of the bars. Those that were not made do not. */
function countAbove(elements: readonly (HTMLElement | undefined)[], edge: number): number {
  return lowerBoundBy(
    elements.length,
    (at) => (elements[at]?.getBoundingClientRect().top ?? Number.POSITIVE_INFINITY) <= edge,
  );
}

/** How many colours of ages there are in file.css. */
const ageCount = 8;

/** What blame shows, for the chunks that are not seen yet. */
interface BlameNotes {
  readonly chunks: ReadonlyMap<number, readonly BlameHunk[]>;
  readonly ages: ReadonlyMap<string, number>;
  readonly place: Pick<PagePath, "name">;
}

/** The hunks that have lines of each chunk. */
function hunksByChunk(hunks: readonly BlameHunk[]): ReadonlyMap<number, readonly BlameHunk[]> {
  const chunks = new Map<number, BlameHunk[]>();
  for (const hunk of hunks) {
    const last = Math.floor((hunk.endLine - 2) / chunkLineCount);
    for (let at = Math.floor((hunk.startLine - 1) / chunkLineCount); at <= last; at++) {
      const known = chunks.get(at);
      if (known === undefined) chunks.set(at, [hunk]);
      else known.push(hunk);
    }
  }
  return chunks;
}

/** The age of each date among those of a file: 0 is the newest. Steps are of equal numbers of commits, not of time. */
function agesOfDates(hunks: readonly BlameHunk[]): ReadonlyMap<string, number> {
  const dates = [...new Set(hunks.map(({ author }) => author.date))].sort().reverse();
  return new Map(dates.map((date, at) => [date, Math.floor((at / dates.length) * ageCount)]));
}

function blameNote(
  { message, author, commit, previousRev, previousFilename }: BlameHunk,
  place: Pick<PagePath, "name">,
): HTMLElement {
  const [subject = ""] = message.split("\n");
  const name = author.person.displayName;
  const about = {
    class: "blame-commit",
    href: commit.canonicalURL,
    title: `${commit.abbreviatedOID} ${name}: ${subject}`,
  };
  const note = element(
    "span",
    { class: "blame" },
    element("a", about, `${author.date.slice(0, 10)} ${subject || name}`),
  );
  if (previousRev !== null) {
    const href = `${pageUrl({ name: place.name, revision: previousRev }, "blob", previousFilename ?? "")}?${blameSwitch}`;
    const label = `The file before commit ${commit.abbreviatedOID}`;
    note.append(element("a", { class: "blame-before", href, title: label, "aria-label": label }, "↶"));
  } else {
    const label = `Commit ${commit.abbreviatedOID} added the file`;
    note.append(element("span", { class: "blame-before soft", role: "img", title: label, "aria-label": label }, "∗"));
  }
  return note;
}

/** Lines from one commit; `startLine` is 1-based and `endLine` exclusive. */
export interface BlameHunk {
  readonly startLine: number;
  readonly endLine: number;
  readonly message: string;
  readonly author: Signature;
  /** The file before the commit; null if the commit added it. */
  readonly previousRev: string | null;
  readonly previousFilename: string | null;
  readonly commit: { readonly abbreviatedOID: string; readonly canonicalURL: string };
}

const blameQuery = `query FileBlame($name: String!, $revision: String!, $path: String!, $endLine: Int!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) {
        blame(startLine: 1, endLine: $endLine) {
          startLine endLine message previousRev previousFilename author ${signatureFields}
          commit { abbreviatedOID canonicalURL }
        }
      }
    }
  }
}`;

/** The commit that changed each line last. */
export async function readBlame({ name, revision, path }: PagePath, lineCount: number): Promise<readonly BlameHunk[]> {
  const variables = { name, revision, path, endLine: Math.max(1, lineCount) };
  const { repository } = await graphql("FileBlame", blameQuery, variables);
  return repository?.commit?.blob?.blame ?? [];
}

/**
 * Lines that are laid out and highlighted together, when one of them is seen. The first ones are what the first frame of a
 * file takes: with 200 of them, their layout took twice as long.
 */
const chunkLineCount = 100;

const highlightQuery = `query FileHighlighting($name: String!, $revision: String!, $path: String!, $ranges: [HighlightLineRange!]!) {
  repository(name: $name) {
    commit(rev: $revision) { blob(path: $path) { highlight(disableTimeout: true) { aborted lineRanges(ranges: $ranges) } } }
  }
}`;

/** Rows of highlighted code by chunk; empty if the file is not highlighted. */
export type Highlighting = readonly (readonly string[])[];

export async function readHighlighting(
  { name, revision, path }: PagePath,
  lineCount: number,
  signal: AbortSignal,
): Promise<Highlighting> {
  const ranges = Array.from({ length: Math.ceil(lineCount / chunkLineCount) }, (_, chunk) => ({
    startLine: chunk * chunkLineCount,
    endLine: Math.min(lineCount, (chunk + 1) * chunkLineCount),
  }));
  const variables = { name, revision, path, ranges };
  const answer = await graphql("FileHighlighting", highlightQuery, variables, signal);
  const highlighted = answer.repository?.commit?.blob?.highlight ?? undefined;
  return highlighted === undefined || highlighted.aborted ? [] : highlighted.lineRanges;
}

/** The code of each row, as nodes of this document: spans with the classes of tokens, and text. */
function parseRows(rows: readonly string[]): readonly DocumentFragment[] {
  const parsed = parseHtml(`<table>${rows.join("")}</table>`);
  return [...parsed.querySelectorAll("tr")].map((row) => {
    const made = document.createDocumentFragment();
    const code = row.cells.item(row.cells.length - 1);
    if (code !== null) copyTokens(code, made);
    return made;
  });
}

function copyTokens(from: Node, to: Node): void {
  for (const child of from.childNodes) {
    if (child instanceof Element) {
      const { className } = child;
      const span = document.createElement("span");
      if (/^hljs[\w -]*$/.test(className)) span.className = className;
      copyTokens(child, span);
      to.appendChild(span);
    } else if (child.nodeType === Node.TEXT_NODE) {
      to.appendChild(document.createTextNode(withoutReordering(child.nodeValue ?? "")));
    }
  }
}
