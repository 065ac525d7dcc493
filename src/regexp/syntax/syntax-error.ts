import { TrawlError } from "../../base/errors.js";

/** A regexp that does not parse. The message is that of Go's regexp package, if it has one. */
export class RegexpSyntaxError extends TrawlError {
  /** Offset of the error in the source, in bytes of its UTF-8 form. */
  readonly byteOffset: number;

  constructor(reason: string, excerpt: string, byteOffset: number) {
    super("bad-query", `error parsing regexp: ${reason}: \`${excerpt}\``);
    this.name = "RegexpSyntaxError";
    this.byteOffset = byteOffset;
  }
}

/** The source to which an error refers; positions in it are JavaScript string indexes. */
export class SourceText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The error about `text[from, to)`; positions are in UTF-16 code units. */
  error(reason: string, from: number, to: number): RegexpSyntaxError {
    return new RegexpSyntaxError(reason, this.text.slice(from, to), this.#byteOffset(from));
  }

  /** The error about the source as a whole, at one position in it. */
  errorAt(reason: string, at: number): RegexpSyntaxError {
    return new RegexpSyntaxError(reason, this.text, this.#byteOffset(at));
  }

  #byteOffset(at: number): number {
    return Buffer.byteLength(this.text.slice(0, at));
  }
}
