import type { BlobSource } from "../../browse/git-sources.js";
import type { SymbolMatch } from "../../model/stream-events.js";
import type { ShownSymbolKind } from "../../model/symbol-kind.js";

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
