import { filterHelp } from "virtual:query-help";
import { fieldAt, type FieldName } from "../../query/syntax/fields.js";

/** What a filter does, as docs/query-syntax.md says. */
export interface FilterHelp {
  /** As they are typed, with the colon: `lang:`, `l:`; or a predicate, `file:has.owner(…)`. */
  readonly names: readonly string[];
  readonly takes: string;
  readonly examples: readonly string[];
  readonly finds: string;
  readonly isNegatable: boolean;
}

export const allFilterHelp: readonly FilterHelp[] = filterHelp;

/** The field that a row is about. */
export function helpField({ names: [name = ""] }: FilterHelp): FieldName | undefined {
  return fieldAt(name, 0)?.name;
}

/** What the field itself does, and its predicates. */
export function findHelp(field: FieldName): readonly FilterHelp[] {
  return filterHelp.filter((help) => helpField(help) === field);
}
