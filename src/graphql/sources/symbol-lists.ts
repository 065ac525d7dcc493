import { quote } from "../../query/syntax/quote.js";
import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import { BlobSource, type CommitSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ShownSymbolKind } from "../../model/symbol-kind.js";
import type { ListedSymbols } from "../../protocol/git-messages.js";
import { SearchSource, type SearchResultsSource } from "./search-sources.js";
import { SymbolSource } from "./match-sources.js";

/** The symbols of a commit or directory that are listed: to list more of them is to search. */
const listedSymbolsMax = 10_000;

export interface SymbolFilter {
  /** A regexp for names, regardless of case. */
  readonly query?: string | null | undefined;
  /** Regexps for paths: all of the first must match, and none of the second. */
  readonly includePatterns?: readonly string[] | null | undefined;
  readonly excludePatterns?: readonly string[] | null | undefined;
  readonly kinds?: readonly ShownSymbolKind[] | null | undefined;
}

/** Symbols of the files of a commit below a folder ("" for all), by path and line; at most `listedSymbolsMax`. */
export async function findSymbols(
  commit: CommitSource,
  folder: string,
  { query, includePatterns, excludePatterns, kinds }: SymbolFilter,
  context: RequestContext,
): Promise<SymbolSource[]> {
  const words = [
    ...(folder === "" ? [] : [`file:${quote(`^${escapeRegexp(folder)}/`)}`]),
    ...(includePatterns ?? []).map((pattern) => `file:${quote(pattern)}`),
    ...(excludePatterns ?? []).map((pattern) => `-file:${quote(pattern)}`),
    ...(query === undefined || query === null || query === "" ? [] : [`content:${quote(query)}`]),
  ];
  const found = await searchSymbols([`repo:${quote(commitPattern(commit))}`, ...words], listedSymbolsMax, context);
  const wanted = new Set(kinds ?? []);
  return found
    .filter(({ kind }) => wanted.size === 0 || wanted.has(kind))
    .map((symbol) => symbol.in(new BlobSource(commit, symbol.file.path, undefined, undefined)));
}

/** The symbols that a query finds, by path and line. Throws `bad-request` if the query is refused. */
export async function searchSymbols(
  words: readonly string[],
  countMax: number,
  context: RequestContext,
): Promise<SymbolSource[]> {
  const text = `context:global type:symbol fork:yes archived:yes count:${countMax} ${words.join(" ")}`;
  const results = await runSearch(text, context);
  return results.results
    .flatMap((result) => (result.__typename === "FileMatch" ? result.symbols : []))
    .sort((a, b) => compare(a.file.path, b.file.path) || a.line - b.line);
}

/** The results of a query with regexps. Throws `bad-request` if it is refused. */
export async function runSearch(
  query: string,
  context: RequestContext,
  lineBytesMax?: number,
): Promise<SearchResultsSource> {
  const given = {
    query,
    version: "V3",
    patternType: "regexp",
    receipt: "none",
    near: false,
    ...(lineBytesMax === undefined ? {} : { lineBytesMax }),
  } as const;
  const results = await new SearchSource(given).results(context);
  if (results.results.length === 0 && results.alert !== null && results.skipped.length === 0)
    throw new TrawlError("bad-request", results.alert.description ?? results.alert.title);
  return results;
}

/** `^NAME$@OID`: the search knows the commits that are indexed. */
export function commitPattern({ repository, oid }: CommitSource): string {
  return `^${escapeRegexp(repository.name)}$@${oid}`;
}

/** A page of the symbols of one file, which are extracted if they are not known. */
export async function listSymbols(
  file: BlobSource,
  { query, kinds }: SymbolFilter,
  skipCount: number,
  countMax: number,
  { git }: RequestContext,
): Promise<Omit<ListedSymbols, "symbols"> & { readonly symbols: readonly SymbolSource[] }> {
  const entry = file.entry ?? (await git.entry(file.commit, file.path));
  if (entry?.kind !== "file") return { symbols: [], totalCount: 0, language: "", lack: "" };
  const listed = await git.run({
    kind: "list-symbols",
    repositoryId: file.repository.record.id,
    commit: file.commit.oid,
    oid: entry.oid,
    path: file.path,
    query: query ?? "",
    kinds: kinds ?? [],
    skipCount,
    countMax,
  });
  // The configuration or the file is the reason, which the client is told.
  if (listed.lack !== "")
    throw new TrawlError("not-implemented", `symbols of ${file.path} cannot be extracted: ${listed.lack}`);
  return { ...listed, symbols: listed.symbols.map((symbol) => new SymbolSource(file, listed.language, symbol)) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
