/** A document at one of its revisions, given by the revision's index in the list that is searched. */
export interface ResultPosition {
  readonly document: number;
  readonly revision: number;
}

/** True if the position precedes that of the document and revision. */
export function isBefore(position: ResultPosition, document: number, revision: number): boolean {
  return position.document < document || (position.document === document && position.revision < revision);
}
