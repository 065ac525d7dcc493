import type { Rows } from "../match/rows.js";

/** Values of `select:` that replace a document by something else. */
const documentSelects = ["repo", "file.directory", "file.owners"] as const;

export type DocumentSelect = (typeof documentSelects)[number];

export function isDocumentSelect(select: string | undefined): select is DocumentSelect {
  return documentSelects.some((known) => known === select);
}

/** The number of content rows that a `select:` of parts of a document leaves; undefined if nothing of it is left. */
export function selectRowCount(select: string | undefined, rowCount: number, pathRows: Rows): number | undefined {
  switch (select) {
    case "content":
      pathRows.clear();
      return rowCount === 0 ? undefined : rowCount;
    case "file":
    case "file.path":
      pathRows.clear();
      return 0;
    default:
      return rowCount;
  }
}
