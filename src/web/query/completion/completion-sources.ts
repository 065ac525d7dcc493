import { escapeRegexp } from "../../../base/text.js";
import type { StreamMatch, SymbolMatch } from "../../../model/stream-events.js";
import { scan } from "../../../query/syntax/scan.js";
import { readEvents } from "../../api/event-stream.js";
import { graphql } from "../../api/graphql.js";
import { type Completion, type CompletionPlace, proposedMax } from "./completion-words.js";

/** A shorter word would match nearly every symbol. */
const symbolPrefixMin = 3;

/** Symbols from which the proposed ones are chosen: a file may have many before the one whose name is the word. */
const symbolCount = 200;

/** Proposals that come from the server, or from a list that is loaded. `text` is the whole query. */
export async function proposeLater(
  place: CompletionPlace,
  text: string,
  signal: AbortSignal,
): Promise<readonly Completion[]> {
  if (place.kind === "word") return place.prefix.length < symbolPrefixMin ? [] : proposeSymbols(place, text, signal);
  switch (place.field) {
    case "repo":
      return place.prefix.includes("@")
        ? proposeRevisionsAfterName(place.prefix, signal)
        : proposeRepositories(place.prefix, signal);
    case "rev":
      return proposeRevisions(repositoryNamed(text), place.prefix, "", signal);
    case "file":
      return proposeFiles(place.prefix, text, signal);
    case "lang":
      return proposeLanguages(place.prefix);
    case "context":
      return proposeContexts(place.prefix, signal);
    default:
      return [];
  }
}

async function proposeRepositories(prefix: string, signal: AbortSignal): Promise<readonly Completion[]> {
  const query = `query CompleteRepository($query: String!) {
    repositories(first: ${proposedMax}, query: $query) { nodes { name } } }`;
  const { repositories } = await graphql("CompleteRepository", query, { query: unescaped(prefix) }, signal);
  return (repositories?.nodes ?? []).map(({ name }) => ({
    label: name,
    note: "repository",
    insert: `^${escapeRegexp(name)}$ `,
  }));
}

/** Of `NAME@REVISION` and `NAME@REVISION:REVISION`, the last revision is proposed. */
function proposeRevisionsAfterName(prefix: string, signal: AbortSignal): Promise<readonly Completion[]> {
  const at = prefix.indexOf("@");
  const from = Math.max(at, prefix.lastIndexOf(":")) + 1;
  return proposeRevisions(prefix.slice(0, at), prefix.slice(from), prefix.slice(0, from), signal);
}

/** Repositories whose branches and tags are proposed together. */
const refRepositoryCount = 3;

/** Branches and tags, those with the newest commits first, of repositories with this name, which is a regular expression. */
async function proposeRevisions(
  name: string,
  part: string,
  before: string,
  signal: AbortSignal,
): Promise<readonly Completion[]> {
  if (name === "") return [];
  const query = `query CompleteRevision($name: String!, $part: String!) {
    repositories(first: ${refRepositoryCount}, query: $name) {
      nodes { name gitRefs(first: ${proposedMax}, query: $part, orderBy: AUTHORED_OR_COMMITTED_AT) { nodes { abbrevName } } }
    } }`;
  const { repositories } = await graphql("CompleteRevision", query, { name, part }, signal);
  const found = new Map<string, string>();
  for (const { name: repository, gitRefs } of repositories?.nodes ?? [])
    for (const { abbrevName } of gitRefs?.nodes ?? []) if (!found.has(abbrevName)) found.set(abbrevName, repository);
  return [...found].slice(0, proposedMax).map(([ref, repository]) => ({
    label: ref,
    note: repository,
    insert: `${before}${ref} `,
  }));
}

/** The repository that a query names, without its revision; "" for none. */
function repositoryNamed(text: string): string {
  const token = scan(text, "standard", false).find((one) => one.kind === "field" && one.name === "repo");
  return token?.kind === "field" ? (token.value.split("@", 1)[0] ?? "") : "";
}

async function proposeContexts(prefix: string, signal: AbortSignal): Promise<readonly Completion[]> {
  const query = `query CompleteContext($query: String!) {
    searchContexts(first: ${proposedMax}, query: $query) { nodes { spec description } } }`;
  const { searchContexts } = await graphql("CompleteContext", query, { query: prefix }, signal);
  return searchContexts.nodes.map(({ spec, description }) => ({ label: spec, note: description, insert: `${spec} ` }));
}

/** The names of all languages, which is the first column of the table; it is a file of its own, loaded at the first use. */
async function readLanguageNames(): Promise<readonly string[]> {
  const { default: table } = await import("../../../model/languages.tsv?raw");
  return table
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split("\t", 1)[0] ?? "");
}

async function proposeLanguages(prefix: string): Promise<readonly Completion[]> {
  const languageNames = await readLanguageNames();
  const wanted = prefix.toLowerCase();
  const starts = languageNames.filter((name) => name.toLowerCase().startsWith(wanted));
  const others = languageNames.filter((name) => !starts.includes(name) && name.toLowerCase().includes(wanted));
  return [...starts, ...others].slice(0, proposedMax).map((name) => {
    const value = name.includes(" ") ? `"${name.toLowerCase()}"` : name.toLowerCase();
    return { label: name, note: "language", insert: `${value} ` };
  });
}

async function proposeFiles(prefix: string, text: string, signal: AbortSignal): Promise<readonly Completion[]> {
  const found = await firstMatches(`${repositoryFilters(text)} type:path file:${prefix}`, proposedMax, signal);
  return found.flatMap(({ path, repository = "" }) =>
    path === undefined ? [] : [{ label: path, note: repository, insert: `^${escapeRegexp(path)}$ ` }],
  );
}

async function proposeSymbols(
  place: CompletionPlace,
  text: string,
  signal: AbortSignal,
): Promise<readonly Completion[]> {
  const symbols = await findSymbols(place.prefix, repositoryFilters(text), signal);
  const names = new Set<string>();
  return symbols
    .filter(({ name }) => !names.has(name) && names.add(name))
    .slice(0, proposedMax)
    .map(({ name, kind, path }) => ({
      label: name,
      note: `${kind.toLowerCase()} · ${path}`,
      insert: `${name} `,
    }));
}

/** A symbol with the place where it is defined. */
export interface FoundSymbol extends SymbolMatch {
  readonly path: string;
  readonly repository: string;
}

/** Symbols whose names have this part, those first that are it or begin with it; `filters` are of a query. */
export async function findSymbols(part: string, filters: string, signal: AbortSignal): Promise<readonly FoundSymbol[]> {
  const found = await firstMatches(`${filters} type:symbol ${part}`, symbolCount, signal);
  // Files come in the order of their best symbols; those of a file in the order of its lines.
  const rank = ({ name }: SymbolMatch): number => nameRank(name.toLowerCase(), part.toLowerCase());
  return found
    .flatMap(({ symbols = [], path = "", repository = "" }) =>
      symbols.map((symbol) => ({ ...symbol, path, repository })),
    )
    .sort((a, b) => rank(a) - rank(b));
}

/** The whole name, the start of one, or some part. */
function nameRank(name: string, prefix: string): number {
  return name === prefix ? 0 : name.startsWith(prefix) ? 1 : 2;
}

/** The results of a small search. What is typed next ends it, so its limit is for a daemon that is very busy. */
async function firstMatches(query: string, countMax: number, signal: AbortSignal): Promise<readonly StreamMatch[]> {
  const found: StreamMatch[] = [];
  const parameters = new URLSearchParams({ q: `${query} count:${countMax} timeout:10s`, t: "literal", near: "0" });
  await readEvents(`/search/stream?${parameters}`, signal, (name, data) => {
    if (name === "matches") found.push(...(JSON.parse(data) as StreamMatch[]));
    return undefined;
  });
  return found;
}

/** The filters that also narrow what is proposed. */
function repositoryFilters(text: string): string {
  return scan(text, "standard", false)
    .filter((token) => token.kind === "field" && (token.name === "repo" || token.name === "context"))
    .map(({ span }) => text.slice(span.from, span.to))
    .join(" ");
}

/** A regular expression as someone types it, as the part of a name that it probably means. */
function unescaped(prefix: string): string {
  return prefix.replace(/[\^$\\]/g, "");
}
