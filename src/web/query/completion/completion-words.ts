import { fieldNames } from "../../../query/fields/fields.js";
import { isNegatable, type CompletionPlace } from "./completion-place.js";
import { fieldHelp, fieldValues } from "./field-help.js";

/** A proposal for the text at the cursor. */
export interface Completion {
  readonly label: string;
  readonly note: string;
  /** What replaces the part of the query that was typed. */
  readonly insert: string;
}

export const proposedMax = 8;

/** Proposals that need no request. */
export function proposeAtOnce(place: CompletionPlace): readonly Completion[] {
  const prefix = place.prefix.toLowerCase();
  if (place.kind === "value")
    return (fieldValues[place.field] ?? [])
      .filter((value) => value.startsWith(prefix) && value !== prefix)
      .map((value) => ({ label: value, note: "", insert: `${value} ` }));
  return fieldNames
    .filter((name) => name.startsWith(prefix) && (place.negation === "" || isNegatable(name)))
    .flatMap((name) => {
      const note = fieldHelp[name];
      return note === undefined ? [] : [{ label: `${place.negation}${name}:`, note, insert: `${name}:` }];
    })
    .slice(0, proposedMax);
}
