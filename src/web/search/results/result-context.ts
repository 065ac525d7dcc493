import type { CodeLine } from "./code-lines.js";
import type { Token } from "../../ui/text-range.js";
import type { StreamMatch } from "../../../model/stream-events.js";

/** What a person has changed on a result; it is kept while the result is out of sight. */
export interface ResultState {
  isFolded?: boolean;
  /** Whether all matches of the file are shown. */
  isWhole?: boolean;
}

/** Lines of a file: `to` is exclusive, both are 0-based. */
export interface LineSpan {
  readonly from: number;
  readonly to: number;
}

/** What the views of results share. */
export interface ResultContext {
  /** The state of the result with this key. */
  state(key: string): ResultState;
  /** Asks for the tokens of lines. `take` is called once for each span, unless the file cannot be highlighted. */
  highlight(match: StreamMatch, spans: readonly LineSpan[], take: (index: number, lines: TokenLines) => void): void;
  /** Reads lines of the file around a chunk; fewer than asked at the ends of the file. */
  readLines(match: StreamMatch, span: LineSpan): Promise<readonly CodeLine[]>;
}

/** The tokens of consecutive lines, with the text that they were made from. */
export type TokenLines = readonly { readonly text: string; readonly tokens: readonly Token[] }[];
