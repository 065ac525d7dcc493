import { TrawlError } from "../../base/errors.js";
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

/** Code points of a long line shown on each side of the position. */
const contextPoints = 60;

/**
 * The line of the query that contains the start of the span, with carets below the span:
 *
 *     1:8 | repo:a or
 *         |        ^^
 *
 * Line and column are 1-based, columns in code points. White space of any kind is printed as one space, so that the
 * carets are aligned; a long line is truncated on both sides.
 */
export function printCaret(query: string, span: Span): string {
  const lineStart = query.lastIndexOf("\n", span.from - 1) + 1;
  const newline = query.indexOf("\n", span.from);
  const lineEnd = newline === -1 ? query.length : newline;
  const points = [...query.slice(lineStart, lineEnd)].map((point) => (/\s/u.test(point) ? " " : point));
  const column = [...query.slice(lineStart, span.from)].length;
  const width = Math.max(1, [...query.slice(span.from, Math.min(span.to, lineEnd))].length);

  const from = Math.max(0, column - contextPoints);
  const to = Math.min(points.length, column + contextPoints);
  const before = from > 0 ? "…" : "";
  const after = to < points.length ? "…" : "";
  const carets = "^".repeat(Math.min(width, Math.max(1, to - column)));

  const label = `${lineNumberAt(query, span.from)}:${column + 1}`;
  const shown = `${label} | ${before}${points.slice(from, to).join("")}${after}`.trimEnd();
  return `${shown}\n${" ".repeat(label.length)} | ${" ".repeat(before.length + column - from)}${carets}`;
}

function lineNumberAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
