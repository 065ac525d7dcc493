import RE2 from "re2";
import { detectLanguage } from "../../src/indexer/detect-language.js";
import type { FileFilter, Leaf, SearchPlan, TextNode, TextPlan } from "../../src/query/plan/plan.js";
import type { MatchObject } from "./engine.js";

/** A document for the oracle. */
export interface NaiveDocument {
  readonly path: string;
  readonly content: Buffer;
}

type Range = readonly [number, number];

/**
 * The oracle: matches every pattern against every document with RE2 over the whole text, without an index, a kernel or
 * an optimization. Returns one line per result, sorted: `path [start-end …] path:[start-end …]`.
 */
export function naiveSearch(plan: SearchPlan, documents: readonly NaiveDocument[]): string[] {
  const lines: string[] = [];
  for (const document of documents) {
    const found = plan.basicQueries.flatMap((alternative) =>
      alternative.text === undefined ? [] : (searchDocument(alternative.text, document) ?? []),
    );
    if (found.length > 0)
      lines.push(
        resultLine(
          document.path,
          found.flatMap((one) => one.content),
          found.flatMap((one) => one.path),
        ),
      );
  }
  return lines.sort();
}

/** The engine's results in the format of the oracle. Merges results with the same path in several match objects. */
export function engineLines(matches: readonly MatchObject[]): string[] {
  const byPath = new Map<string, { content: Range[]; path: Range[] }>();
  for (const match of matches) {
    const entry = byPath.get(match.path) ?? { content: [], path: [] };
    byPath.set(match.path, entry);
    for (const chunk of match.chunkMatches ?? [])
      for (const range of chunk.ranges) entry.content.push([range.start.offset, range.end.offset]);
    entry.path = (match.pathMatches ?? []).map((range) => [range.start.offset, range.end.offset]);
  }
  return [...byPath].map(([path, entry]) => resultLine(path, entry.content, entry.path)).sort();
}

interface Found {
  readonly content: readonly Range[];
  readonly path: readonly Range[];
  /** False if only empty matches satisfy the pattern: they are conditions, and no results. */
  readonly isResult: boolean;
}

function searchDocument(text: TextPlan, document: NaiveDocument): Found[] | undefined {
  const path = Buffer.from(document.path);
  const language = detectLanguage(document.path, document.content)?.name;
  const passes = (filter: FileFilter): boolean =>
    filter.kind === "language" ? language === filter.language : hasMatch(filter.source, filter.foldCase, path);
  if (!text.fileFilters.every((filter) => passes(filter) !== filter.negated)) return undefined;
  const filterRanges = text.fileFilters.flatMap((filter) =>
    filter.kind === "path" && filter.highlighted && !filter.negated ? ranges(filter.source, filter.foldCase, path) : [],
  );
  if (text.pattern === undefined) return [{ content: [], path: filterRanges, isResult: true }];
  const found = evaluate(text.pattern, text, document);
  return found?.isResult === true ? [found, { content: [], path: filterRanges, isResult: true }] : undefined;
}

function evaluate(node: TextNode, text: TextPlan, document: NaiveDocument): Found | undefined {
  switch (node.kind) {
    case "leaf":
      return evaluateLeaf(text.leaves[node.leaf], document);
    case "not":
      return evaluate(node.child, text, document) === undefined ? { content: [], path: [], isResult: true } : undefined;
    case "and": {
      const found = node.children.map((child) => evaluate(child, text, document));
      return found.every((one) => one !== undefined) ? join(found as Found[]) : undefined;
    }
    case "or": {
      const found = node.children.flatMap((child) => evaluate(child, text, document) ?? []);
      return found.length > 0 ? join(found) : undefined;
    }
  }
}

function evaluateLeaf(leaf: Leaf, document: NaiveDocument): Found | undefined {
  const sources = leaf.either.length > 0 ? leaf.either : [leaf.source];
  const content = leaf.inContent
    ? sources.flatMap((source) => textRanges(source, leaf.foldCase, document.content))
    : [];
  const path = leaf.inPath
    ? sources.flatMap((source) => ranges(source, leaf.foldCase, Buffer.from(document.path)))
    : [];
  const pathHolds = leaf.inPath && hasMatch(leaf.source, leaf.foldCase, Buffer.from(document.path));
  const isResult = !leaf.highlighted || content.length > 0 || pathHolds;
  const holds = isResult && leaf.highlighted;
  return holds || content.length > 0 || (leaf.inContent && hasEmptyMatch(leaf, document.content)) || pathHolds
    ? { content: leaf.highlighted ? content : [], path, isResult }
    : undefined;
}

function join(found: readonly Found[]): Found {
  return {
    content: found.flatMap((one) => one.content),
    path: found.flatMap((one) => one.path),
    isResult: found.some((one) => one.isResult),
  };
}

export function hasMatch(source: string, foldCase: boolean, text: Buffer): boolean {
  return new RE2(source, foldCase ? "umi" : "um").test(text);
}

/** All leftmost nonempty matches, without those that consist of newlines which the regexp does not name. */
export function ranges(source: string, foldCase: boolean, text: Buffer): Range[] {
  return reportedRanges(new RE2(source, foldCase ? "umgi" : "umg"), text);
}

/** The same for a global expression. */
export function reportedRanges(regexp: RE2, text: Buffer): Range[] {
  const found = findRanges(regexp, text);
  if (/\\n|\n|\(\?s/.test(regexp.source)) return found;
  return found.filter(([start, end]) => text.subarray(start, end).some((byte) => byte !== 10));
}

/** The same in the text of a file: `$` also matches before CRLF. */
function textRanges(source: string, foldCase: boolean, text: Buffer): Range[] {
  return withoutReturns(source, text, (bytes) => ranges(source, foldCase, bytes));
}

/**
 * What is found in a text, for a regexp with `$` without the CR of each CRLF. A range ends before the CR that follows
 * it, and begins before the CR of a newline that it begins with.
 */
export function withoutReturns(source: string, text: Buffer, find: (text: Buffer) => Range[]): Range[] {
  if (!source.includes("$") || source.includes("\\r")) return find(text);
  const kept: number[] = [];
  text.forEach((byte, at) => {
    if (byte !== 13 || (at + 1 < text.length && text[at + 1] !== 10)) kept.push(at);
  });
  const place = (at: number): number => (at === 0 ? 0 : kept[at - 1] + 1);
  return find(Buffer.from(kept.map((at) => text[at]))).map(([start, end]) => [place(start), place(end)]);
}

/** Whether a leaf matches the empty text in a line. */
function hasEmptyMatch({ source, foldCase }: Leaf, text: Buffer): boolean {
  const lines = text.toString("latin1").split("\n");
  if (lines.at(-1) === "") lines.pop();
  const isCut = source.includes("$") && !source.includes("\\r");
  return lines.some((line) =>
    hasMatch(source, foldCase, Buffer.from(isCut ? line.replace(/\r$/, "") : line, "latin1")),
  );
}

/** All leftmost nonempty matches. */
function findRanges(regexp: RE2, text: Buffer): Range[] {
  const found: Range[] = [];
  let at = 0;
  while (at <= text.length) {
    regexp.lastIndex = at;
    const match = regexp.exec(text);
    if (match === null) break;
    const start = match.index ?? 0;
    const end = start + match[0].length;
    if (end > start) found.push([start, end]);
    at = end > start ? end : nextCharacter(text, end);
  }
  return found;
}

function nextCharacter(text: Buffer, at: number): number {
  let next = at + 1;
  while (next < text.length && (text[next] & 0xc0) === 0x80) next++;
  return next;
}

function resultLine(path: string, content: readonly Range[], pathRanges: readonly Range[]): string {
  return `${path} [${disjoint(content)}] path:[${disjoint(pathRanges)}]`;
}

/** Sorts by start, longer matches first, and drops matches that overlap an earlier one. */
function disjoint(all: readonly Range[]): string {
  const kept: string[] = [];
  let last = -1;
  for (const [start, end] of [...all].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (start < last) continue;
    kept.push(`${start}-${end}`);
    last = end;
  }
  return kept.join(" ");
}
