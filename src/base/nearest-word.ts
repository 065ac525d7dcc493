/** The word that was probably meant: the one with the fewest changed letters, if they are few for its length. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  if (typed === "") return undefined;
  let nearest: string | undefined;
  const editsMax = typed.length < 4 ? 1 : Math.max(2, Math.floor(typed.length / 4));
  let fewest = editsMax + 1;
  for (const word of words) {
    const edits = editDistance(typed.toLowerCase(), word.toLowerCase());
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = word;
  }
  return nearest;
}

/** Number of insertions, deletions and replacements that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
