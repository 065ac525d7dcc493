import { TrawlError } from "../../base/errors.js";
import { printCaret } from "./caret.js";
import { byteOffsetAt, type Span } from "./characters.js";

/** The query text does not parse or validate; includes the position. */
export class QueryError extends TrawlError {
  readonly query: string;
  /** The erroneous part of `query`, in UTF-8 bytes; `to` is exclusive and may equal `from`. */
  readonly from: number;
  readonly to: number;
  readonly #span: Span;

  constructor(message: string, query: string, span: Span) {
    super("bad-query", message);
    this.name = "QueryError";
    this.query = query;
    this.#span = span;
    this.from = byteOffsetAt(query, span.from);
    this.to = byteOffsetAt(query, span.to);
  }

  /** The title of the alert for the query. */
  get title(): string {
    return "Unable To Process Query";
  }

  /** The text of the alert below its title. */
  get description(): string {
    return this.message.charAt(0).toUpperCase() + this.message.slice(1);
  }

  /** The message above the query's line with a caret below the position. */
  printWithCaret(): string {
    return `${this.message}\n\n${printCaret(this.query, this.#span)}`;
  }
}

/**
 * The text ends where an operand or a closing parenthesis is expected. The parser then makes a second attempt that
 * treats parentheses as text, and reports this error only if that fails too.
 */
export class IncompleteError extends QueryError {
  constructor(message: string, query: string, span: Span) {
    super(message, query, span);
    this.name = "IncompleteError";
  }

  override get description(): string {
    if (!this.message.startsWith("expected operand")) return super.description;
    return "I'm having trouble understanding that query. Putting parentheses around the search pattern may help.";
  }
}

/** The query is valid, but requests something that is not implemented yet. */
export class UnsupportedError extends QueryError {
  constructor(message: string, query: string, span: Span) {
    super(message, query, span);
    this.name = "UnsupportedError";
  }

  override get title(): string {
    return "Not Supported Yet";
  }
}

/** A text after `@` or in `rev:` that is not a valid revision. */
export class RevisionSyntaxError extends QueryError {
  constructor(revision: string, query: string, span: Span) {
    super(
      `the revision "${shorten(revision)}" cannot be searched; use a branch, a tag, a commit, or one of these with ~N or ^N`,
      query,
      span,
    );
    this.name = "RevisionSyntaxError";
  }

  override get title(): string {
    return "Invalid revision syntax";
  }
}

/** A text as shown in messages. */
function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Runs `read`; an error without a position, from any parser of values, gets the given one. */
export function locateErrors<T>(query: string, span: Span, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-query" || error instanceof QueryError) throw error;
    throw new QueryError(error.message, query, span);
  }
}
