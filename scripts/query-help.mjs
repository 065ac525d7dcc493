// What each filter of the query language does, from the table in docs/query-syntax.md, for the web pages.

/** The rows of the tables below `## Filters`: `src/web/query/query-help.ts` reads them. */
export function describeFilters(text) {
  const section = text.split("\n## ").find((part) => part.startsWith("Filters\n")) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) => {
    // The table of predicates has no examples besides the predicates themselves.
    const [filter, ...cells] = row.slice(2, -2).split(" | ");
    const [takes, example, finds] = cells.length === 1 ? ["", "", cells[0]] : cells;
    // A row may be about several fields, each with its aliases; those of one predicate stay together.
    const parts = filter.includes("(") ? [filter] : filter.split(", ");
    return parts.map((part) => ({
      names: quoted(part),
      takes: plain(takes),
      examples: quoted(example),
      finds: plain(finds),
      isNegatable: filter.includes("✓"),
    }));
  });
}

function quoted(text) {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, part]) => part);
}

/** Without links and backticks. */
function plain(text) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/`([^`]*)`/g, "$1");
}
