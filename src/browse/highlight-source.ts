/** A file as table rows. */
export class HighlightSource {
  readonly aborted: boolean;
  readonly lsif = "";
  readonly #rows: string;

  constructor(rows: string, aborted: boolean) {
    this.#rows = rows;
    this.aborted = aborted;
  }

  get html(): string {
    return tableOfRows(this.#rows);
  }

  /** Code contains no tags except spans, so a row begins at each `<tr>`. */
  rows(): string[] {
    return this.#rows
      .split(rowStart)
      .slice(1)
      .map((row) => rowStart + row);
  }
}

const rowStart = "<tr>";

export function tableOfRows(rows: string): string {
  return `<table><tbody>${rows}</tbody></table>`;
}
