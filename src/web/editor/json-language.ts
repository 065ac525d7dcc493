import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { linter, type Diagnostic } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { parseTree, printParseErrorCode, type ParseError } from "jsonc-parser";

interface JsonState {
  isInComment: boolean;
}

const parser: StreamParser<JsonState> = {
  name: "json",
  startState: () => ({ isInComment: false }),
  token: (stream, state) => {
    if (state.isInComment || stream.match("/*")) {
      state.isInComment = !stream.skipTo("*/");
      if (state.isInComment) stream.skipToEnd();
      else stream.match("*/");
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.eat('"') !== undefined) {
      for (let next = stream.next(); next !== undefined && next !== '"'; next = stream.next())
        if (next === "\\") stream.next();
      return stream.match(/^\s*:/, false) ? "propertyName" : "string";
    }
    if (stream.match(/[-\d][\d.eE+-]*/)) return "number";
    if (stream.match(/[A-Za-z]+/)) return "atom";
    stream.next();
    return null;
  },
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["{", "[", '"'] },
  },
};

/** JSON with comments, in colours. */
export const jsonLanguage: Extension = StreamLanguage.define(parser);

/** Marks what is no JSON with comments and trailing commas. An empty text is accepted. */
export const jsonLint: Extension = linter(({ state }) => findJsonProblems(state.doc.toString()));

/** The syntax errors of a text; its places count UTF-16 units. */
export function findJsonProblems(text: string): Diagnostic[] {
  if (text.trim() === "") return [];
  const errors: ParseError[] = [];
  parseTree(text, errors, { allowTrailingComma: true });
  return errors.map(({ error, offset, length }) => {
    const from = Math.min(offset, text.length);
    const to = Math.min(from + Math.max(length, 1), text.length);
    return { from, to, severity: "error", message: jsonMessage(printParseErrorCode(error)) };
  });
}

/** "CloseBraceExpected" as "close brace expected". */
function jsonMessage(code: string): string {
  return code.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? "" : " "}${letter.toLowerCase()}`);
}
