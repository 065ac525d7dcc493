import type { CodeLine } from "./code-lines.js";
import type { FileAt, LineSpan, TokenLines } from "../../ui/token-reader.js";
import type { StreamMatch } from "../../../model/stream-events.js";

/** What a person has changed on a result; it is kept while the result is out of sight. */
export interface ResultState {
  isFolded?: boolean;
  /** Whether all matches of the file are shown. */
  isWhole?: boolean;
}

/** What the views of results share. */
export interface ResultContext {
  /** The state of the result with this key. */
  state(key: string): ResultState;
  /** Asks for the tokens of lines. `take` is called once for each span, unless the file cannot be highlighted. */
  highlight(file: FileAt, spans: readonly LineSpan[], take: (index: number, lines: TokenLines) => void): void;
  /** Reads lines of the file around a chunk; fewer than asked at the ends of the file. */
  readLines(match: StreamMatch, span: LineSpan): Promise<readonly CodeLine[]>;
}
