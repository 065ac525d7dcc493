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
  const parameters = new URLSearchParams(url.search);
  if (by === undefined) parameters.delete(groupName);
  else parameters.set(groupName, by);
  return `${url.pathname}?${parameters}`;
}

/** By what to count first, as the filters of the results suggest. All can be counted by repository. */
export function tellingGroup(filters: readonly Filter[]): GroupKind {
  if (filters.some(({ kind }) => kind === "author")) return "author";
  const isOne = filters.filter(({ kind }) => kind === "repo").length === 1;
  return isOne && filters.some(({ value }) => /^type:(?:file|symbol|path)$/.test(value)) ? "path" : "repository";
}

/** What remains of an address if nothing is shown besides the results: equal for one search. */
export function addressOfSearch(url: URL): string {
  return addressWithGroup(url, undefined);
}
