import type { BlobSource } from "../../browse/git-sources.js";
import type { SymbolMatch } from "../../model/stream-events.js";
import type { ShownSymbolKind } from "../../model/symbol-kind.js";

/** A symbol of a file. */
export class SymbolSource {
  readonly name: string;
  readonly containerName: string | null;
  readonly kind: ShownSymbolKind;
  readonly language: string;
  readonly fileLocal = false;
  readonly #file: BlobSource;
  /** The part of its URL after the question mark, such as `L2:17-2:25`, or `L2` if its column is not known. */
  readonly #place: string;
  readonly #line: number;

  constructor(file: BlobSource, language: string, { name, containerName, kind, line, url }: SymbolMatch) {
    this.name = name;
    this.containerName = containerName === "" ? null : containerName;
    this.kind = kind;
    this.language = language;
    this.#file = file;
    this.#place = url.slice(url.lastIndexOf("?") + 1);
    this.#line = line;
  }

  get url(): string {
    return `${this.#file.url}?${this.#place}`;
  }

  get canonicalURL(): string {
    return `${this.#file.canonicalURL}?${this.#place}`;
  }

  get location() {
    const [, from, to] = /^L\d+:(\d+)-\d+:(\d+)$/.exec(this.#place) ?? [];
    const position = (column: string | undefined) => ({
      line: this.#line - 1,
      character: column === undefined ? 0 : Number(column) - 1,
    });
    return {
      resource: this.#file,
      range: { start: position(from), end: position(to) },
      url: this.url,
      canonicalURL: this.canonicalURL,
    };
  }
}
