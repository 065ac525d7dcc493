import { type GroupKind, groupKinds } from "../../model/result-groups.js";
import type { Filter } from "../../model/stream-events.js";

/** What the search page shows besides the results is in its address, next to the query. */
const groupName = "group";

/** By what the matches are counted; undefined if they are not. */
export function groupOfAddress(url: URL): GroupKind | undefined {
  const given = url.searchParams.get(groupName);
  return groupKinds.find((kind) => kind === given);
}

/** The same search, with its matches counted by this, or not. */
export function addressWithGroup(url: URL, by: GroupKind | undefined): string {
  return addressWith(url, [groupName], by === undefined ? [] : [[groupName, by]]);
}

/** By what to count first, as the filters of the results suggest. All can be counted by repository. */
export function tellingGroup(filters: readonly Filter[]): GroupKind {
  if (filters.some(({ kind }) => kind === "author")) return "author";
  const isOne = filters.filter(({ kind }) => kind === "repo").length === 1;
  return isOne && filters.some(({ value }) => /^type:(?:file|symbol|path)$/.test(value)) ? "path" : "repository";
}

/** What is shown of the state that was searched: what it is, how the results differ from those of a receipt, or from now on. */
export type CoverageView =
  | { readonly kind: "receipt" }
  | { readonly kind: "changes"; readonly since: string }
  | { readonly kind: "watch" };

const coverageNames = ["receipt", "since", "watch"] as const;

/** The names are those of the parameters of the stream. */
export function coverageOfAddress(url: URL): CoverageView | undefined {
  const since = url.searchParams.get("since") ?? "";
  if (url.searchParams.get("watch") === "1") return { kind: "watch" };
  if (since !== "") return { kind: "changes", since };
  return url.searchParams.get("receipt") === "1" ? { kind: "receipt" } : undefined;
}

/** The same search, with this shown of the state that was searched, or nothing. */
export function addressWithCoverage(url: URL, view: CoverageView | undefined): string {
  return addressWith(url, coverageNames, view === undefined ? [] : [coverageParameter(view)]);
}

function coverageParameter(view: CoverageView): readonly [name: string, value: string] {
  return view.kind === "changes" ? ["since", view.since] : [view.kind, "1"];
}

const previewName = "preview";

/** The address of a file that is shown beside the results; undefined for none. */
export function previewOfAddress(url: URL): string | undefined {
  const given = url.searchParams.get(previewName) ?? "";
  return isOwnPath(given, url) ? given : undefined;
}

/** The same search, with this file beside the results, or none. */
export function addressWithPreview(url: URL, href: string | undefined): string {
  return addressWith(url, [previewName], href === undefined ? [] : [[previewName, href]]);
}

/** What remains of an address if nothing is shown besides the results: equal for one search. */
export function addressOfSearch(url: URL): string {
  return addressWith(url, [groupName, ...coverageNames, previewName], []);
}

function addressWith(
  url: URL,
  without: readonly string[],
  added: readonly (readonly [name: string, value: string])[],
): string {
  const parameters = new URLSearchParams(url.search);
  for (const name of without) parameters.delete(name);
  for (const [name, value] of added) parameters.set(name, value);
  return `${url.pathname}?${parameters}`;
}

/**
 * Whether it is a path of this site as browsers understand it. They leave out tabs and newlines, and take a backslash for a
 * slash, so `/\t/host` is another site: only the URL that it becomes tells.
 */
export function isOwnPath(given: string, site: URL): boolean {
  return given.startsWith("/") && URL.canParse(given, site) && new URL(given, site).origin === site.origin;
}
