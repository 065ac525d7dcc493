import { TrawlError } from "../../base/errors.js";
import { lineBytesUnlimited } from "../../model/search-request.js";
import type { RequestContext } from "../../browse/request-context.js";
import { BlobSource, CommitSource, ObjectSource, RevisionSource } from "../../browse/git-sources.js";
import { fencedMarkdown, linksMarkdown } from "../../browse/markdown.js";
import { toRepositorySource, RepositorySource } from "../../browse/repository-source.js";
import { SearchCollector, type Collected, type StreamChunk, type StreamMatch } from "./search-collector.js";

/** Matches after which a search stops when its query has no `count:`. */
const defaultCount = 30;

/** Results of at most so many repositories' names are looked up in the lists of what was not searched. */
const listedRepositoriesMax = 1000;

export interface SearchArguments {
  readonly query: string;
  readonly version: "V1" | "V2" | "V3";
  readonly patternType: string | undefined;
}

/** A search that runs when something of it is first asked for, and once. */
export class SearchSource {
  readonly #arguments: SearchArguments;
  #results: Promise<SearchResultsSource> | undefined;

  constructor(given: SearchArguments) {
    this.#arguments = given;
  }

  results(context: RequestContext): Promise<SearchResultsSource> {
    this.#results ??= context.searches.run(() => this.#run(context));
    return this.#results;
  }

  async #run(context: RequestContext): Promise<SearchResultsSource> {
    if (context.isCancelled) throw new TrawlError("cancelled", "the search was not begun, as its client has left");
    const { query, version, patternType } = this.#arguments;
    const { searcher } = context.services;
    const refusal = searcher.admit(context.client);
    if (refusal !== undefined) throw new TrawlError("overloaded", refusal.message);
    const collector = new SearchCollector((byteCount) => context.searches.takeBytes(byteCount));
    const forget = context.onCancel(() => collector.end());
    const request = {
      query,
      version,
      patternType: patternType === undefined ? "" : patternType === "nls" ? "keyword" : patternType,
      display: undefined,
      chunkMatches: true,
      contextLines: 0,
      lineBytesMax: lineBytesUnlimited,
      defaultCount,
      viewer: context.viewer,
      client: context.client,
    };
    searcher.run(request, collector, (end) => collector.recordEnd(end));
    const collected = await collector.collected();
    forget();
    if (context.isCancelled) throw new TrawlError("cancelled", "the search was stopped, as its client has left");
    if (collected.error !== undefined) throw new TrawlError("bad-request", collected.error);
    return new SearchResultsSource(collected, (id) => {
      const record = context.repositories.byId(id);
      return record === undefined ? undefined : toRepositorySource(record);
    });
  }
}

type RepositoryLookup = (id: number) => RepositorySource | undefined;

/** What a search found. */
export class SearchResultsSource {
  readonly indexUnavailable = false;
  readonly sparkline: readonly number[] = [];
  readonly results: readonly (FileMatchSource | CommitMatchSource | RepositorySource)[];
  readonly repositories: readonly RepositorySource[];
  readonly #collected: Collected;

  constructor(collected: Collected, repositoryOf: RepositoryLookup) {
    this.#collected = collected;
    this.results = groupResults(collected.matches, repositoryOf);
    const ids = [...new Set(collected.matches.map((match) => match.repositoryID))].sort((a, b) => a - b);
    this.repositories = ids.flatMap((id) => repositoryOf(id) ?? []);
  }

  get matchCount(): number {
    return this.#collected.progress?.matchCount ?? 0;
  }

  get resultCount(): number {
    return this.matchCount;
  }

  get approximateResultCount(): string {
    const { end } = this.#collected;
    const mayBeMore =
      this.limitHit ||
      (end !== undefined && (end.notSearched.cloning.length > 0 || end.notSearched.timedOut.length > 0));
    return `${this.matchCount}${mayBeMore ? "+" : ""}`;
  }

  get limitHit(): boolean {
    return this.#collected.isCut || this.skipped.some(({ reason }) => reason === "shard-match-limit");
  }

  get repositoriesCount(): number {
    return this.repositories.length;
  }

  get elapsedMilliseconds(): number {
    return this.#collected.progress?.durationMs ?? 0;
  }

  get alert() {
    const { alert } = this.#collected;
    if (alert === undefined) return null;
    const proposedQueries =
      alert.proposedQueries?.map(({ description, query }) => ({
        description: description ?? null,
        query,
        annotations: null,
      })) ?? null;
    return { title: alert.title, description: alert.description ?? null, kind: null, proposedQueries };
  }

  get dynamicFilters() {
    return this.#collected.filters.map(({ value, label, count, limitHit, kind }) => ({
      value,
      label,
      count,
      limitHit,
      kind,
    }));
  }

  get skipped() {
    return (this.#collected.progress?.skipped ?? []).map(({ reason, title, message, severity, suggested }) => ({
      reason,
      title,
      message,
      severity,
      suggested: suggested ?? null,
    }));
  }

  /** Names of repositories that were not, or not wholly, searched. */
  notSearched(why: "cloning" | "missing" | "timedOut"): readonly string[] {
    return (this.#collected.end?.notSearched[why] ?? []).slice(0, listedRepositoriesMax);
  }

  /** Lines that match, by language. */
  get languages() {
    return this.#collected.filters.flatMap(({ kind, label, count }) =>
      kind === "lang" ? [{ name: label, totalBytes: 0, totalLines: count }] : [],
    );
  }
}

function groupResults(
  matches: readonly StreamMatch[],
  repositoryOf: RepositoryLookup,
): (FileMatchSource | CommitMatchSource | RepositorySource)[] {
  const results: (FileMatchSource | CommitMatchSource | RepositorySource)[] = [];
  const fileOf = new Map<string, FileMatchSource>();
  for (const match of matches) {
    const repository = repositoryOf(match.repositoryID);
    // It was removed while the search ran.
    if (repository === undefined) continue;
    const revision = match.branches?.[0] ?? "";
    if (match.type === "repo")
      results.push(new RepositorySource(repository.record, revision === "" ? undefined : revision));
    else if (match.type === "commit") results.push(new CommitMatchSource(repository, match));
    // The schema has no results for owners.
    else if (match.path !== undefined) {
      // A file whose matches need much JSON comes as several match objects.
      const key = `${match.repositoryID}@${revision}:${match.path}`;
      const known = fileOf.get(key);
      if (known !== undefined) {
        known.add(match);
        continue;
      }
      const file = new FileMatchSource(repository, revision, match);
      fileOf.set(key, file);
      results.push(file);
    }
  }
  return results;
}

/** A file with matches. */
export class FileMatchSource {
  readonly __typename = "FileMatch";
  readonly file: BlobSource;
  readonly revSpec: RevisionSource | null;
  readonly symbols: readonly never[] = [];
  readonly limitHit = false;
  readonly #match: StreamMatch;
  readonly #chunks: StreamChunk[];

  constructor(repository: RepositorySource, revision: string, match: StreamMatch) {
    const oid = match.commit ?? "";
    this.file = new BlobSource(new CommitSource(repository, oid, revision), match.path ?? "", undefined, undefined);
    this.revSpec =
      revision === "" ? null : new RevisionSource(revision, new ObjectSource(repository, oid, true, revision));
    this.#match = match;
    this.#chunks = [...(match.chunkMatches ?? [])];
  }

  add(match: StreamMatch): void {
    this.#chunks.push(...(match.chunkMatches ?? []));
  }

  get repository(): RepositorySource {
    return this.file.repository;
  }

  get chunkMatches() {
    return this.#chunks.map(({ content, contentStart, ranges, contentTruncated }) => ({
      content,
      contentStart: toPosition(contentStart),
      ranges: ranges.map(toRange),
      contentTruncated: contentTruncated ?? false,
    }));
  }

  get lineMatches() {
    return this.#chunks.flatMap(linesOfChunk);
  }

  get pathMatches() {
    return (this.#match.pathMatches ?? []).map(toRange);
  }
}

function toPosition({ line, column }: { readonly line: number; readonly column: number }) {
  return { line, character: column };
}

function toRange({ start, end }: StreamChunk["ranges"][number]) {
  return { start: toPosition(start), end: toPosition(end) };
}

interface LineMatch {
  readonly preview: string;
  readonly lineNumber: number;
  readonly offsetAndLengths: [number, number][];
  readonly limitHit: false;
}

/**
 * One entry for each line with a match; a match over several lines has a piece on each, and empty pieces are left out.
 */
function linesOfChunk({ content, contentStart, ranges }: StreamChunk): LineMatch[] {
  const lines = content.split("\n").map(
    (preview, at): LineMatch => ({
      preview,
      lineNumber: contentStart.line + at,
      offsetAndLengths: [],
      limitHit: false,
    }),
  );
  for (const { start, end } of ranges) {
    for (let line = start.line; line <= end.line; line++) {
      const entry = lines[line - contentStart.line];
      if (entry === undefined) break;
      const from = line === start.line ? start.column : 0;
      const to = line === end.line ? end.column : codePointCount(entry.preview);
      if (to > from) entry.offsetAndLengths.push([from, to - from]);
    }
  }
  return lines.filter(({ offsetAndLengths }) => offsetAndLengths.length > 0);
}

function codePointCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** A commit whose message or changes match. */
export class CommitMatchSource {
  readonly __typename = "CommitSearchResult";
  readonly commit: CommitSource;
  readonly refs: readonly never[] = [];
  readonly sourceRefs: readonly never[] = [];
  readonly #match: StreamMatch;

  constructor(repository: RepositorySource, match: StreamMatch) {
    this.commit = new CommitSource(repository, match.oid ?? "", undefined);
    this.#match = match;
  }

  get label() {
    return linksMarkdown(this.#match.label ?? "");
  }

  get detail() {
    return linksMarkdown(this.#match.detail ?? "");
  }

  get url(): string {
    return this.#match.url ?? this.commit.canonicalURL;
  }

  get matches() {
    return [{ url: this.url, body: fencedMarkdown(this.#match.content ?? ""), highlights: this.#highlights }];
  }

  get messagePreview() {
    return this.#isDiff ? null : { value: this.#text, highlights: this.#highlights };
  }

  get diffPreview() {
    return this.#isDiff ? { value: this.#text, highlights: this.#highlights } : null;
  }

  get #isDiff(): boolean {
    return this.#match.content?.startsWith("```diff") === true;
  }

  /** Without the fence. */
  get #text(): string {
    return (this.#match.content ?? "").split("\n").slice(1, -1).join("\n");
  }

  get #highlights() {
    return (this.#match.ranges ?? []).map(([line, character, length]) => ({ line, character, length }));
  }
}
