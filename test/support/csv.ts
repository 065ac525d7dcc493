import assert from "node:assert/strict";

/** The rows of a table in CSV as RFC 4180 defines it: each has its values by the names of the columns. */
export function parseCsv(text: string): Record<string, string>[] {
  const [names = [], ...rows] = readLines(text);
  return rows.map((row) => {
    assert.equal(row.length, names.length, `${row}`);
    return Object.fromEntries(names.map((name, i) => [name, row[i] ?? ""]));
  });
}

function readLines(text: string): string[][] {
  const lines: string[][] = [];
  for (let line: string[] = [], at = 0; at < text.length; ) {
    const isQuoted = text[at] === '"';
    const [whole = ""] = (isQuoted ? /"(?:[^"]|"")*"/y : /[^",\r\n]*/y)[Symbol.match](text.slice(at)) ?? [];
    line.push(isQuoted ? whole.slice(1, -1).replaceAll('""', '"') : whole);
    at += whole.length;
    if (text[at] === ",") at++;
    else {
      assert.equal(text.slice(at, at + 2), "\r\n", `at ${at}`);
      at += 2;
      lines.push(line);
      line = [];
    }
  }
  return lines;
}
