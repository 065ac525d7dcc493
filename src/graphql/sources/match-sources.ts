import { BlobSource, CommitSource, ObjectSource, RevisionSource } from "../../browse/git-sources.js";
import { fencedMarkdown, linksMarkdown } from "../../browse/markdown.js";
import type { RepositorySource } from "../../browse/repository-source.js";
import {
  type ChunkMatch,
  pathOfMatch,
  type StreamLocation,
  type StreamMatch,
  type StreamRange,
  type SymbolMatch,
} from "../../model/stream-events.js";
import type { ShownSymbolKind } from "../../model/symbol-kind.js";

/** A file with matches. */
export class FileMatchSource {
  readonly __typename = "FileMatch";
  readonly file: BlobSource;
  readonly revSpec: RevisionSource | null;
  readonly symbols: SymbolSource[] = [];
  readonly limitHit = false;
  /** Further files with the same content and matches. */
  readonly places: BlobSource[] = [];
  readonly #match: StreamMatch;
  readonly #chunks: ChunkMatch[];

  constructor(repository: RepositorySource, revision: string, match: StreamMatch) {
    const oid = match.commit ?? "";
    this.file = new BlobSource(new CommitSource(repository, oid, revision), pathOfMatch(match), undefined, undefined);
    this.revSpec =
      revision === "" ? null : new RevisionSource(revision, new ObjectSource(repository, oid, true, revision));
    this.#match = match;
    this.#chunks = [...(match.chunkMatches ?? [])];
    this.#addSymbols(match);
  }

  add(match: StreamMatch): void {
    this.#chunks.push(...(match.chunkMatches ?? []));
    this.#addSymbols(match);
  }

  #addSymbols({ symbols, language }: StreamMatch): void {
    for (const symbol of symbols ?? []) this.symbols.push(new SymbolSource(this.file, language ?? "", symbol));
  }

  get repository(): RepositorySource {
    return this.file.repository;
  }

  get chunkMatches() {
    return this.#chunks.map(({ content, contentStart, ranges, contentTruncated }) => ({
      content,
      contentStart: toPosition(contentStart),
      ranges: ranges.map(toRange),
      contentTruncated: contentTruncated ?? false,
    }));
  }

  get lineMatches() {
    return this.#chunks.flatMap(linesOfChunk);
  }

  get pathMatches() {
    return (this.#match.pathMatches ?? []).map(toRange);
  }
}

function toPosition({ line, column }: StreamLocation) {
  return { line, character: column };
}

function toRange({ start, end }: StreamRange) {
  return { start: toPosition(start), end: toPosition(end) };
}

interface LineMatch {
  readonly preview: string;
  readonly lineNumber: number;
  readonly offsetAndLengths: [number, number][];
  /** Whether the line is longer than its preview. */
  readonly limitHit: boolean;
}

/** One entry for each line with a match. A match that spans lines has a piece on each; empty pieces are omitted. */
function linesOfChunk({ content, contentStart, ranges, lineStart }: ChunkMatch): LineMatch[] {
  const lines = content.split("\n").map(
    (preview, at): LineMatch => ({
      preview,
      lineNumber: contentStart.line + at,
      offsetAndLengths: [],
      limitHit: lineStart !== undefined,
    }),
  );
  for (const { start, end } of ranges) {
    for (let line = start.line; line <= end.line; line++) {
      const entry = lines[line - contentStart.line];
      if (entry === undefined) break;
      // Of a part of a line, offsets count from the start of the part.
      const from = line === start.line ? start.column - contentStart.column : 0;
      const to = line === end.line ? end.column - contentStart.column : codePointCount(entry.preview);
      if (to > from) entry.offsetAndLengths.push([from, to - from]);
    }
  }
  return lines.filter(({ offsetAndLengths }) => offsetAndLengths.length > 0);
}

function codePointCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** A commit whose message or changes match. */
export class CommitMatchSource {
  readonly __typename = "CommitSearchResult";
  readonly commit: CommitSource;
  readonly refs: readonly never[] = [];
  readonly sourceRefs: readonly never[] = [];
  readonly #match: StreamMatch;

  constructor(repository: RepositorySource, match: StreamMatch) {
    this.commit = new CommitSource(repository, match.oid ?? "", undefined);
    this.#match = match;
  }

  get label() {
    return linksMarkdown(this.#match.label ?? "");
  }

  get detail() {
    return linksMarkdown(this.#match.detail ?? "");
  }

  get url(): string {
    return this.#match.url ?? this.commit.canonicalURL;
  }

  get matches() {
    return [{ url: this.url, body: fencedMarkdown(this.#match.content ?? ""), highlights: this.#highlights }];
  }

  get messagePreview() {
    return this.#isDiff ? null : this.#preview;
  }

  get diffPreview() {
    return this.#isDiff ? this.#preview : null;
  }

  get contentTruncated(): boolean {
    return this.#match.contentTruncated === true;
  }

  /** Without the fence, which is line 0 of the content. */
  get #preview() {
    return { value: this.#text, highlights: this.#highlights.map((range) => ({ ...range, line: range.line - 1 })) };
  }

  get #isDiff(): boolean {
    return this.#match.content?.startsWith("```diff") === true;
  }

  /** The content without its fence. */
  get #text(): string {
    return (this.#match.content ?? "").split("\n").slice(1, -1).join("\n");
  }

  get #highlights() {
    return (this.#match.ranges ?? []).map(([line, character, length]) => ({ line, character, length }));
  }
}

/** A symbol of a file. */
export class SymbolSource {
  readonly file: BlobSource;
  readonly language: string;
  readonly fileLocal = false;
  readonly #symbol: SymbolMatch;
  /** The part of its URL after the question mark, such as `L2:17-2:25`, or `L2` if its column is not known. */
  readonly #place: string;

  constructor(file: BlobSource, language: string, symbol: SymbolMatch) {
    this.file = file;
    this.language = language;
    this.#symbol = symbol;
    this.#place = symbol.url.slice(symbol.url.lastIndexOf("?") + 1);
  }

  /** The same symbol of the same file, as a field of another commit object. */
  in(file: BlobSource): SymbolSource {
    return new SymbolSource(file, this.language, this.#symbol);
  }

  get name(): string {
    return this.#symbol.name;
  }

  get containerName(): string | null {
    return this.#symbol.containerName === "" ? null : this.#symbol.containerName;
  }

  get kind(): ShownSymbolKind {
    return this.#symbol.kind;
  }

  /** From 1. */
  get line(): number {
    return this.#symbol.line;
  }

  get url(): string {
    return `${this.file.url}?${this.#place}`;
  }

  get canonicalURL(): string {
    return `${this.file.canonicalURL}?${this.#place}`;
  }

  get location() {
    const [, from, to] = /^L\d+:(\d+)-\d+:(\d+)$/.exec(this.#place) ?? [];
    const position = (column: string | undefined) => ({
      line: this.line - 1,
      character: column === undefined ? 0 : Number(column) - 1,
    });
    return {
      resource: this.file,
      range: { start: position(from), end: position(to) },
      url: this.url,
      canonicalURL: this.canonicalURL,
    };
  }
}
