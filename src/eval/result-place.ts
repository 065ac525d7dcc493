/** One document at one of its revisions, by the revision's place in the list that is searched. */
export interface ResultPlace {
  readonly document: number;
  readonly revision: number;
}

/** True when the place comes before that of the document and revision. */
export function isBefore(place: ResultPlace, document: number, revision: number): boolean {
  return place.document < document || (place.document === document && place.revision < revision);
}
