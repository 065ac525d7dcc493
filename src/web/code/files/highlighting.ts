import type { PagePath } from "../../../model/page-path.js";
import { graphql } from "../../api/graphql.js";
import { parseHtml } from "../../ui/parse-html.js";

/**
 * Lines that are laid out and highlighted together, when one of them is seen. The first ones are what the first frame of a
 * file takes: with 200 of them, their layout took twice as long.
 */
export const chunkLineCount = 100;

const highlightQuery = `query FileHighlighting($name: String!, $revision: String!, $path: String!, $ranges: [HighlightLineRange!]!) {
  repository(name: $name) {
    commit(rev: $revision) { blob(path: $path) { highlight(disableTimeout: true) { aborted lineRanges(ranges: $ranges) } } }
  }
}`;

/** Rows of highlighted code by chunk; empty if the file is not highlighted. */
export type Highlighting = readonly (readonly string[])[];

export async function readHighlighting(
  { name, revision, path }: PagePath,
  lineCount: number,
  signal: AbortSignal,
): Promise<Highlighting> {
  const ranges = Array.from({ length: Math.ceil(lineCount / chunkLineCount) }, (_, chunk) => ({
    startLine: chunk * chunkLineCount,
    endLine: Math.min(lineCount, (chunk + 1) * chunkLineCount),
  }));
  const variables = { name, revision, path, ranges };
  const answer = await graphql("FileHighlighting", highlightQuery, variables, signal);
  const highlighted = answer.repository?.commit?.blob?.highlight ?? undefined;
  return highlighted === undefined || highlighted.aborted ? [] : highlighted.lineRanges;
}

/** The code of each row, as nodes of this document: spans with the classes of tokens, and text. */
export function parseRows(rows: readonly string[]): readonly DocumentFragment[] {
  const parsed = parseHtml(`<table>${rows.join("")}</table>`);
  return [...parsed.querySelectorAll("tr")].map((row) => {
    const made = document.createDocumentFragment();
    const code = row.cells.item(row.cells.length - 1);
    if (code !== null) copyTokens(code, made);
    return made;
  });
}

function copyTokens(from: Node, to: Node): void {
  for (const child of from.childNodes) {
    if (child instanceof Element) {
      const { className } = child;
      const span = document.createElement("span");
      if (/^hljs[\w -]*$/.test(className)) span.className = className;
      copyTokens(child, span);
      to.appendChild(span);
    } else if (child.nodeType === Node.TEXT_NODE) {
      to.appendChild(document.createTextNode(child.nodeValue ?? ""));
    }
  }
}
