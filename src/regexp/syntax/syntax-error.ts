import { TrawlError } from "../../base/errors.js";

/** A regexp that does not parse. The message is the one that Go's regexp package gives, where there is one. */
export class RegexpSyntaxError extends TrawlError {
  /** Where in the source the error lies, in bytes of its UTF-8 form. */
  readonly byteOffset: number;

  constructor(reason: string, excerpt: string, byteOffset: number) {
    super("bad-query", `error parsing regexp: ${reason}: \`${excerpt}\``);
    this.name = "RegexpSyntaxError";
    this.byteOffset = byteOffset;
  }
}

/** The source that an error is about, with the places in it counted as JavaScript does. */
export class SourceText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The error about `text[from, to)`; places are UTF-16 units. */
  error(reason: string, from: number, to: number): RegexpSyntaxError {
    return new RegexpSyntaxError(reason, this.text.slice(from, to), this.#byteOffset(from));
  }

  /** The error about the source as a whole, at one place of it. */
  errorAt(reason: string, at: number): RegexpSyntaxError {
    return new RegexpSyntaxError(reason, this.text, this.#byteOffset(at));
  }

  #byteOffset(at: number): number {
    return Buffer.byteLength(this.text.slice(0, at));
  }
}
