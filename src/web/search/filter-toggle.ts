/** Filters are added to the end of a query, and found again as a whole word of it. */

export function hasFilter(text: string, filter: string): boolean {
  return indexOfFilter(text, filter) >= 0;
}

/** The query without the filter if it has it, and with it otherwise. */
export function toggleFilter(text: string, filter: string): string {
  const at = indexOfFilter(text, filter);
  if (at < 0) return `${text.trimEnd()} ${filter}`;
  return `${text.slice(0, at).trimEnd()} ${text.slice(at + filter.length).trimStart()}`.trim();
}

function indexOfFilter(text: string, filter: string): number {
  for (let at = text.indexOf(filter); at >= 0; at = text.indexOf(filter, at + 1)) {
    const after = text.charAt(at + filter.length);
    if ((at === 0 || text.charAt(at - 1) === " ") && (after === "" || after === " ")) return at;
  }
  return -1;
}
