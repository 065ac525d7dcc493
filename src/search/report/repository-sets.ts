import type { Repository } from "../../model/repository.js";
import type { Resolution } from "../repositories/repository-resolver.js";

/** The union of the repositories of all resolutions. Alternatives with the same choice share their lists. */
export function repositoriesOfAll(resolutions: readonly Resolution[]): readonly Repository[] {
  const [first = [], ...others] = new Set(resolutions.map(({ repositories }) => repositories));
  if (others.length === 0) return first;
  const seen: Uint8Array[] = [];
  const all: Repository[] = [];
  for (const list of [first, ...others]) {
    for (const repository of list) if (markNew(seen, repository.id)) all.push(repository);
  }
  return all;
}

/** The number of distinct ids in the lists, each of which contains no duplicates. */
export function countIds(lists: readonly (readonly number[])[]): number {
  const [first = [], ...others] = new Set(lists);
  if (others.length === 0) return first.length;
  const seen: Uint8Array[] = [];
  let count = 0;
  for (const list of [first, ...others]) for (const id of list) if (markNew(seen, id)) count++;
  return count;
}

/** Marks by id, in pages: a `Set` of numbers takes ten times as long, and there may be millions of ids. */
const pageBits = 12;

/** Returns false if the id is already marked. */
function markNew(pages: Uint8Array[], id: number): boolean {
  const page = (pages[id >>> pageBits] ??= new Uint8Array(1 << pageBits));
  const at = id & (page.length - 1);
  if (page[at] === 1) return false;
  page[at] = 1;
  return true;
}

export function namesIn(lists: readonly (readonly string[])[]): readonly string[] {
  if (lists.every(({ length }) => length === 0)) return [];
  const names = new Set<string>();
  for (const list of new Set(lists)) for (const name of list) names.add(name);
  return [...names];
}

export function withMore(names: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? names : [...new Set([...names, ...more])];
}
