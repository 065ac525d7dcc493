import { toJson } from "../../base/text.js";
import { decodePath, escapeUrlPath } from "../../base/path-text.js";
import { shownSymbolKind } from "../../model/symbol-kind.js";
import type { RepositorySummary } from "../../protocol/repository-summaries.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import { digestKeyBytes, murmur, repositoryKey } from "../../native/kernel/result-digest.js";
import { increase, type Tally } from "../../protocol/result-batch.js";
import { unpackLanguage } from "../../shard/format.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { commitOfChoice } from "../match/searched-revisions.js";
import type { Rows } from "../match/rows.js";
import type { ContentGroup } from "./content-groups.js";
import { uninitializedBytes } from "../../base/bytes.js";
import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";

/** Fragments are rebuilt when paths with highlights have filled this many bytes. */
const fragmentBytesMax = 256 * 1024;

/** A range of the fragments. */
export interface FragmentSpan {
  readonly from: number;
  readonly to: number;
}

/** What all results of one repository and revision share; the span is that of `members` among the fragments. */
export interface ResultTemplate extends FragmentSpan {
  readonly summary: RepositorySummary;
  readonly typed: string;
  /** Repository id, "@" and the revision as typed. */
  readonly key: string;
  /** JSON members from `repositoryID` on, up to the rows or the language. */
  readonly members: Buffer;
  /** The key of the repository and commit in digests; empty if there is no digest. It precedes each head. */
  readonly digestKey: Uint8Array;
  /** The beginning of what marks of its results are a hash of; empty if there are none. */
  readonly markKey: Uint8Array;
  readonly commit: string;
  /** Highlights in a path followed by the members, by the highlights: `file:` finds the same ones in many paths. */
  readonly heads: Map<number, FragmentSpan>;
  /** How addresses of its files begin, as the inside of a JSON string; undefined before it was wanted. */
  link: FragmentSpan | undefined;
  /** Matches counted since the tally was last sent. */
  matchCount: number;
}

/**
 * The JSON that results of one shard have in common, encoded once as fragments that the kernel copies, and the counts
 * of matches by what they have in common: repository and revision, and language.
 */
export class ResultTemplates {
  readonly #fragments = new Fragments();
  readonly #hasDigest: boolean;
  readonly #idBase: number;
  /** Undefined unless results have marks. */
  readonly #secret: Uint8Array | undefined;
  /** The commits of what was counted since they were last taken, by the key of the template. */
  #commits = new Map<string, string>();
  /** By repository, then by revision as typed. */
  readonly #templates = new Map<RepositorySummary, Map<string, ResultTemplate>>();
  /** The template of the last result: most results of a shard are of one repository and revision. */
  #last: ResultTemplate | undefined;
  #endings: LanguageEndings | undefined;
  /** By language of the shard: matches counted since the tally was last sent. */
  #languageMatches: number[] = [];
  #reader: ShardReader | undefined;
  #kindStarts: Uint32Array | undefined;
  /** Endings with further members, by language and members: a content may have 100,000 documents. */
  readonly #groupEndings = new Map<string, FragmentSpan>();
  /** The member `debug` of results. */
  #debug: string | undefined;

  constructor(hasDigest: boolean, idBase: number, secret: Uint8Array | undefined) {
    this.#hasDigest = hasDigest;
    this.#idBase = idBase;
    this.#secret = secret;
  }

  /** The fragments of all spans. Valid until a template or a head is added. */
  get bytes(): Uint8Array {
    return this.#fragments.bytes;
  }

  /**
   * Further results are of this shard, and have this member `debug`. If it is another shard than before, all templates are
   * dropped, and the counts are added to `tally`: ranked documents are opened one by one, and many are of one shard.
   */
  open(reader: ShardReader, tally: Tally, debug: string | undefined): void {
    this.#debug = debug;
    if (reader !== this.#reader) this.#reopen(reader, tally);
  }

  #reopen(reader: ShardReader, tally: Tally): void {
    this.addCounts(tally);
    this.#reader = reader;
    this.#fragments.clear();
    this.#templates.clear();
    this.#groupEndings.clear();
    this.#kindStarts = undefined;
    this.#last = undefined;
    this.#endings = makeLanguageEndings(reader);
    // The first of the fragments.
    this.#fragments.add(this.#endings.bytes);
    this.#languageMatches = new Array<number>(this.#endings.names.length).fill(0);
  }

  /** Drops the fragments when there are too many. No result may be left that refers to them. */
  limitMemory(tally: Tally): void {
    if (this.#reader !== undefined && this.#fragments.length > fragmentBytesMax) this.#reopen(this.#reader, tally);
  }

  /** The template of a repository at a revision. */
  find(summary: RepositorySummary, revision: RevisionChoice): ResultTemplate {
    if (this.#last !== undefined && this.#last.summary === summary && this.#last.typed === revision.typed)
      return this.#last;
    this.#last = this.#templates.get(summary)?.get(revision.typed) ?? this.#add(summary, revision);
    return this.#last;
  }

  /** The members of a result with highlights in its path. */
  head(document: number, pathRows: Rows, template: ResultTemplate): FragmentSpan {
    const reader = this.#reader as ShardReader;
    const key = reader.isPlainPath(document) ? keyOfPathRows(pathRows) : undefined;
    const known = key === undefined ? undefined : template.heads.get(key);
    if (known !== undefined) return known;
    this.#fragments.add(template.digestKey);
    const from = this.#fragments.addAscii(pathMatches(reader.path(document), pathRows));
    this.#fragments.add(template.members);
    const head = { from, to: this.#fragments.length };
    if (key !== undefined) template.heads.set(key, head);
    return head;
  }

  /** How addresses of the template's files begin. */
  link(template: ResultTemplate): FragmentSpan {
    const { summary, typed } = template;
    const start = `/${escapeUrlPath(summary.name)}${typed === "" ? "" : `@${escapeUrlPath(typed)}`}/-/blob/`;
    template.link ??= this.#addText(toJson(start).slice(1, -1));
    return template.link;
  }

  /** The kinds of symbols of the shard as results have them: kind i is `[starts[i], starts[i + 1])` of the fragments. */
  kindStarts(kinds: readonly string[]): Uint32Array {
    if (this.#kindStarts === undefined) {
      const starts = kinds.map((kind) => this.#addText(shownSymbolKind(kind)).from);
      this.#kindStarts = Uint32Array.from([...starts, this.#fragments.length]);
    }
    return this.#kindStarts;
  }

  #addText(text: string): FragmentSpan {
    const from = this.#fragments.add(Buffer.from(text));
    return { from, to: this.#fragments.length };
  }

  /** How a result in the document's language ends, after the members of its group and `debug`, if it has them. */
  ending(document: number, group: ContentGroup | undefined): FragmentSpan {
    const language = unpackLanguage((this.#reader as ShardReader).documentInfo[document]);
    const [start, end] = this.endingStarts.subarray(language, language + 2);
    const path = this.#membersOfPath(document);
    if (this.#debug === undefined && group === undefined && path === "") return { from: start, to: end };
    const debug = this.#debug === undefined ? "" : `,"debug":${toJson(this.#debug)}`;
    const members = path + debug + membersOfGroup(group);
    const key = `${language}${members}`;
    const known = this.#groupEndings.get(key);
    if (known !== undefined) return known;
    const ending = this.bytes.slice(start, end);
    const from = this.#fragments.add(Buffer.from(members));
    this.#fragments.add(ending);
    const span = { from, to: this.#fragments.length };
    this.#groupEndings.set(key, span);
    return span;
  }

  /** What a client needs to name a file whose path is not UTF-8. */
  #membersOfPath(document: number): string {
    const reader = this.#reader as ShardReader;
    return reader.isUtf8Path(document)
      ? ""
      : `,"escapedPath":${toJson(escapeUrlPath(decodePath(reader.path(document))))}`;
  }

  /** How results in language i end is the range `[starts[i], starts[i + 1])` of the fragments. */
  get endingStarts(): Uint32Array {
    return (this.#endings as LanguageEndings).starts;
  }

  /** Counts matches of a document. */
  count(template: ResultTemplate, document: number, matchCount: number): void {
    template.matchCount += matchCount;
    this.#languageMatches[unpackLanguage((this.#reader as ShardReader).documentInfo[document])] += matchCount;
  }

  /** Counts matches of documents by their language. */
  countLanguages(matchCounts: Uint32Array): void {
    for (let language = 0; language < matchCounts.length; language++)
      this.#languageMatches[language] += matchCounts[language];
  }

  /** Moves the counts of repositories and languages into the tally. */
  addCounts(tally: Tally): void {
    for (const byRevision of this.#templates.values()) {
      for (const template of byRevision.values()) {
        if (template.matchCount > 0) {
          increase(tally.repositories, template.key, template.matchCount);
          if (this.#secret !== undefined) this.#commits.set(template.key, template.commit);
        }
        template.matchCount = 0;
      }
    }
    this.#languageMatches.forEach((matchCount, language) => {
      const name = this.#endings?.names[language] ?? "";
      if (matchCount > 0 && name !== "") increase(tally.languages, name, matchCount);
      this.#languageMatches[language] = 0;
    });
  }

  takeCommits(): ReadonlyMap<string, string> {
    const commits = this.#commits;
    this.#commits = new Map();
    return commits;
  }

  /** The hash of a mark: the first two words of it. */
  markHash(document: number, { markKey }: ResultTemplate): Uint32Array {
    return murmur(markKey, (this.#reader as ShardReader).path(document));
  }

  #add(summary: RepositorySummary, revision: RevisionChoice): ResultTemplate {
    const members = encodeMembers(summary, revision, this.#idBase);
    const commit = commitOfChoice(summary, revision);
    const digestKey = this.#hasDigest ? repositoryKey(summary.name, commit) : new Uint8Array(0);
    this.#fragments.add(digestKey);
    const from = this.#fragments.add(members);
    const template = {
      summary,
      typed: revision.typed,
      key: `${summary.id}@${revision.typed}`,
      members,
      digestKey,
      markKey: this.#markKey(summary.name, commit, revision.typed),
      commit,
      from,
      to: this.#fragments.length,
      heads: new Map<number, FragmentSpan>(),
      link: undefined,
      matchCount: 0,
    };
    const known = this.#templates.get(summary);
    if (known === undefined) this.#templates.set(summary, new Map([[revision.typed, template]]));
    else known.set(revision.typed, template);
    return template;
  }

  #markKey(repository: string, commit: string, typed: string): Uint8Array {
    if (this.#secret === undefined) return new Uint8Array(0);
    const kind = this.#reader instanceof SymbolView ? "symbols" : "texts";
    const hash = createHash("sha256")
      .update(this.#secret)
      .update(JSON.stringify([kind, repository, commit, typed]));
    return hash.digest().subarray(0, digestKeyBytes);
  }
}

function membersOfGroup(group: ContentGroup | undefined): string {
  if (group === undefined) return "";
  return `,"contentKey":"${group.key}"${group.isFirst ? "" : ',"duplicate":true'}`;
}

function encodeMembers(summary: RepositorySummary, revision: RevisionChoice, idBase: number): Buffer {
  const members = {
    repositoryID: idBase + summary.id,
    repository: summary.name,
    repoStars: summary.stars > 0 ? summary.stars : undefined,
    repoLastFetched: summary.lastFetched === "" ? undefined : summary.lastFetched,
    branches: [revision.typed],
    commit: commitOfChoice(summary, revision) || undefined,
  };
  return Buffer.from(`,${toJson(members).slice(1, -1)}`);
}

/** Concatenated byte strings in one growing buffer; a string is identified by its start and end. */
class Fragments {
  #buffer: Buffer = uninitializedBytes(4096);
  length = 0;

  /** The buffer: the strings are in its first `length` bytes. Valid until the next `add`. */
  get bytes(): Uint8Array {
    return this.#buffer;
  }

  /** Returns the start of the string; it ends at `length`. */
  add(string: Uint8Array): number {
    const from = this.#makeRoom(string.length);
    this.#buffer.set(string, from);
    return from;
  }

  /** Like `add`, for an ASCII text. */
  addAscii(text: string): number {
    const from = this.#makeRoom(text.length);
    this.#buffer.write(text, from, "latin1");
    return from;
  }

  #makeRoom(byteCount: number): number {
    const from = this.length;
    if (from + byteCount > this.#buffer.length) {
      const grown = uninitializedBytes(Math.max(this.#buffer.length * 2, from + byteCount));
      grown.set(this.#buffer.subarray(0, from));
      this.#buffer = grown;
    }
    this.length += byteCount;
    return from;
  }

  clear(): void {
    this.length = 0;
  }
}

/** The last part of match objects, for each language of a shard: part i is `bytes[starts[i], starts[i + 1])`. */
interface LanguageEndings {
  /** "" means unknown. */
  readonly names: readonly string[];
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
}

/** By reader, as long as it is in use: a search processes all shards, and most of them have few results to write. */
const known = new WeakMap<ShardReader, LanguageEndings>();

function makeLanguageEndings(reader: ShardReader): LanguageEndings {
  const tails = known.get(reader) ?? makeEndings(reader);
  known.set(reader, tails);
  return tails;
}

function makeEndings(reader: ShardReader): LanguageEndings {
  const names = reader.languages();
  const starts = [0];
  const parts = names.map((name) => Buffer.from(name === "" ? "}" : `,"language":${JSON.stringify(name)}}`));
  for (const part of parts) starts.push(starts[starts.length - 1] + part.length);
  return { names, bytes: Buffer.concat(parts), starts: Uint32Array.from(starts) };
}

/** Up to this path length, the JSON of locations is precomputed. */
const shortPathBytesMax = 256;

/** Locations in short ASCII paths, in which a column is an offset. */
const locations = Array.from({ length: shortPathBytesMax + 1 }, (_, offset) => locationJson(offset, offset));

/** Each byte of a short path as a range, followed by a comma: `file:.` has so many that their JSON is copied. */
const bytesJson = Array.from(
  { length: shortPathBytesMax },
  (_, offset) => `${rangeJson(locations[offset], locations[offset + 1])},`,
);
const allBytesJson = bytesJson.join("");
const byteStarts = [0];
for (const json of bytesJson) byteStarts.push(byteStarts[byteStarts.length - 1] + json.length);

/**
 * The member `pathMatches` of a result, in ASCII: ranges in its path; columns count code points, and a path is line 0.
 */
function pathMatches(path: Buffer, rows: Rows): string {
  return `,"pathMatches":[${isAscii(path) ? rangesInAscii(path.length, rows) : rangesIn(path, rows)}]`;
}

/**
 * A number for the ranges, equal only for equal ranges, if they are a single byte or all bytes of a plain path;
 * otherwise undefined. The JSON of such ranges depends on nothing else.
 */
function keyOfPathRows({ words, count }: Rows): number | undefined {
  if (count === 1) return words[0] * 2 ** 20 + words[1];
  return words[0] === 0 && isOfSingleBytes(words, count) ? -count : undefined;
}

function rangesInAscii(length: number, { words, count }: Rows): string {
  if (length <= shortPathBytesMax && isOfSingleBytes(words, count))
    return allBytesJson.slice(byteStarts[words[0]], byteStarts[words[0] + count] - 1);
  const locationAt = (offset: number): string => locations[offset] ?? locationJson(offset, offset);
  let json = "";
  for (let i = 0; i < count; i++)
    json += `${i === 0 ? "" : ","}${rangeJson(locationAt(words[i * 2]), locationAt(words[i * 2 + 1]))}`;
  return json;
}

/** Whether the ranges, one or more, are adjacent single bytes. */
function isOfSingleBytes(words: Uint32Array, count: number): boolean {
  for (let i = 0; i < count; i++)
    if (words[i * 2] !== words[0] + i || words[i * 2 + 1] !== words[0] + i + 1) return false;
  return true;
}

function rangesIn(path: Buffer, { words, count }: Rows): string {
  const locationAt = (offset: number): string => locationJson(offset, [...path.subarray(0, offset).toString()].length);
  return Array.from({ length: count }, (_, i) =>
    rangeJson(locationAt(words[i * 2]), locationAt(words[i * 2 + 1])),
  ).join(",");
}

function rangeJson(start: string, end: string): string {
  return `{"start":${start},"end":${end}}`;
}

function locationJson(offset: number, column: number): string {
  return `{"offset":${offset},"line":0,"column":${column}}`;
}
