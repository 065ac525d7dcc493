import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import type { MatchChange, MatchPlace } from "../../model/match-change.js";
import type { LineMatch, StreamMatch } from "../../model/stream-events.js";
import {
  type ComparedMatches,
  type ComparedRevision,
  type CompareMatches,
  parseSideName,
} from "../../protocol/read-messages.js";
import type { ReadContext } from "./context.js";

/** A piece is complete with this many characters. */
const pieceLengthMin = 64 * 1024;

/** Matches on both sides of one revision. */
interface Sides {
  readonly before: PlacedMatch[];
  readonly after: PlacedMatch[];
}

/** Compares the matches of each revision, and encodes what changed, in the order of the revisions. */
export function answerCompareMatches(
  { matches, revisions, isPartial }: CompareMatches,
  { stop }: Pick<ReadContext, "stop">,
): ComparedMatches {
  const sides = new Map(revisions.map(({ side }): [number, Sides] => [side, { before: [], after: [] }]));
  for (const bytes of matches) {
    if (stop()) throw new TrawlError("cancelled", "the search was stopped");
    for (const match of JSON.parse(Buffer.from(bytes).toString()) as StreamMatch[]) {
      const { side, isNew } = parseSideName(match.branches?.[0] ?? "");
      const known = sides.get(side);
      assert(known !== undefined || isPartial, "a match is of a revision that is compared");
      if (known === undefined) continue;
      const found = isNew ? known.after : known.before;
      for (const placed of placedMatches(match)) found.push(placed);
    }
  }
  const counts = { came: 0, went: 0, moved: 0 };
  const pieces: Uint8Array[] = [];
  let text = "";
  for (const revision of revisions) {
    if (stop()) throw new TrawlError("cancelled", "the search was stopped");
    const { before, after } = sides.get(revision.side) ?? { before: [], after: [] };
    for (const pair of pairMatches(before, after)) {
      const change = describe(pair, revision);
      counts[change.change]++;
      text += `${text === "" ? "" : ","}${JSON.stringify(change)}`;
      if (text.length < pieceLengthMin) continue;
      pieces.push(Buffer.from(text));
      text = "";
    }
  }
  if (text !== "") pieces.push(Buffer.from(text));
  return { pieces, ...counts };
}

function describe({ before, after }: MatchPair, compared: ComparedRevision): MatchChange {
  const match = (after ?? before) as PlacedMatch;
  return {
    change: before === undefined ? "came" : after === undefined ? "went" : "moved",
    ...match.content,
    repository: compared.repository,
    repositoryID: compared.repositoryId,
    revision: compared.revision,
    ...place(match),
    ...(before === undefined || after === undefined ? {} : { from: place(before) }),
  };
}

function place({ commit, path, lineNumber }: PlacedMatch): MatchPlace {
  return lineNumber < 0 ? { commit, path } : { commit, path, lineNumber };
}

type Content = Pick<MatchChange, "type" | "line" | "offsetAndLengths" | "symbol">;

/** One match of a file, at one of the compared commits. */
interface PlacedMatch {
  readonly commit: string;
  readonly path: string;
  /** -1 for a path. */
  readonly lineNumber: number;
  /** Equal for matches with the same content. */
  readonly key: string;
  readonly content: Content;
}

/** The matches of one match object. */
function placedMatches({ type, commit = "", path = "", lineMatches, symbols }: StreamMatch): PlacedMatch[] {
  if (type === "content" && lineMatches !== undefined)
    return lineMatches.map((line) => ({ commit, path, lineNumber: line.lineNumber, ...lineContent(line) }));
  if (type === "symbol" && symbols !== undefined)
    return symbols.map(({ name, containerName, kind, line }) => ({
      commit,
      path,
      lineNumber: line - 1,
      key: JSON.stringify([name, containerName, kind]),
      content: { type: "symbol", symbol: { name, containerName, kind } },
    }));
  // The content of a path is its name, so it cannot move.
  return [{ commit, path, lineNumber: -1, key: `path ${path}`, content: { type: "path" } }];
}

function lineContent({ line, offsetAndLengths }: LineMatch): Pick<PlacedMatch, "key" | "content"> {
  return {
    key: `${JSON.stringify(offsetAndLengths)} ${line}`,
    content: { type: "content", line, offsetAndLengths },
  };
}

/** A match with what became of it: `before` or `after` is undefined if it came or went. */
interface MatchPair {
  readonly before: PlacedMatch | undefined;
  readonly after: PlacedMatch | undefined;
}

/**
 * What differs between two sets of matches. Matches with the same content at the same place cancel out. Of the others,
 * those with the same content are paired: first within a file, then across files, each in the order of their places; a
 * pair has moved. What is left came or went. The result is in the order of places, those that went last.
 *
 * Matches of files that are the same on both sides may be left out: since places that are on both sides cancel out
 * first, and a place belongs to one file, such files contribute nothing.
 */
function pairMatches(before: readonly PlacedMatch[], after: readonly PlacedMatch[]): MatchPair[] {
  const { earlier, later } = withoutEqual(before, after);
  const pairs: MatchPair[] = [];
  const unpaired = pair(earlier, later, ({ path, key }) => `${path}\0${key}`, pairs);
  const { left, right } = pair(unpaired.left, unpaired.right, ({ key }) => key, pairs);
  const newer = [...pairs, ...right.map((match) => ({ before: undefined, after: match }))];
  newer.sort((a, b) => byPlace(a.after as PlacedMatch, b.after as PlacedMatch));
  return [...newer, ...left.map((match) => ({ before: match, after: undefined }))];
}

function withoutEqual(before: readonly PlacedMatch[], after: readonly PlacedMatch[]) {
  const idOf = ({ path, lineNumber, key }: PlacedMatch): string => `${path}\0${lineNumber}\0${key}`;
  const left = new Map<string, PlacedMatch[]>();
  for (const match of before) addTo(left, idOf(match), match);
  const later = after.filter((match) => left.get(idOf(match))?.pop() === undefined);
  return { earlier: [...left.values()].flat().sort(byPlace), later: later.sort(byPlace) };
}

/** Pairs matches with the same key, in order; returns the others, in order. */
function pair(
  before: readonly PlacedMatch[],
  after: readonly PlacedMatch[],
  keyOf: (match: PlacedMatch) => string,
  pairs: MatchPair[],
): { left: PlacedMatch[]; right: PlacedMatch[] } {
  const waiting = new Map<string, PlacedMatch[]>();
  for (const match of after) addTo(waiting, keyOf(match), match);
  for (const matches of waiting.values()) matches.reverse();
  const paired = new Set<PlacedMatch>();
  const left = before.filter((match) => {
    const other = waiting.get(keyOf(match))?.pop();
    if (other === undefined) return true;
    paired.add(other);
    pairs.push({ before: match, after: other });
    return false;
  });
  return { left, right: after.filter((match) => !paired.has(match)) };
}

function addTo(map: Map<string, PlacedMatch[]>, key: string, match: PlacedMatch): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [match]);
  else known.push(match);
}

/** By path, then by line, then by content, so that the order does not depend on that of the matches. */
function byPlace(a: PlacedMatch, b: PlacedMatch): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  if (a.lineNumber !== b.lineNumber) return a.lineNumber - b.lineNumber;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
