/** Values of `select:` that replace a document by something else. */
const documentSelects = ["repo", "file.directory", "file.owners"] as const;

export type DocumentSelect = (typeof documentSelects)[number];

export function isDocumentSelect(select: string | undefined): select is DocumentSelect {
  return documentSelects.some((known) => known === select);
}
