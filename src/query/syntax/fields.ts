/** The kind of value after a field's colon. `values.ts` and `validate.ts` parse each kind. */
export type ValueKind =
  | "boolean"
  | "context"
  | "count"
  | "date"
  | "duration"
  | "language"
  | "pattern"
  | "refused"
  | "regexp"
  | "repository"
  | "revisions"
  | "select"
  | "text"
  | "yes-no-only";

export interface Field {
  readonly aliases: readonly string[];
  readonly value: ValueKind;
  /** A basic query may contain it only once. */
  readonly once: boolean;
  /** `-name:value` and `NOT name:value` are allowed. */
  readonly negatable: boolean;
  /** If false, the field is parsed and validated, but a query that uses it is rejected as not implemented yet. */
  readonly built: boolean;
  /** Names that, followed by a parenthesis, make the value a predicate. */
  readonly predicates: readonly string[];
}

/** The table of fields. A word with a colon whose name is not in the table is a pattern. */
const table = {
  repo: field("repository", {
    aliases: ["r"],
    negatable: true,
    predicates: [
      "has.path",
      "contains.path",
      "has.content",
      "contains.content",
      "has.file",
      "contains.file",
      "contains",
      "has.commit.after",
      "contains.commit.after",
      "has.description",
      "has.topic",
      "has.meta",
      "has",
      "has.key",
      "has.tag",
    ],
  }),
  file: field("regexp", {
    aliases: ["f", "path"],
    negatable: true,
    predicates: ["has.content", "contains.content", "has.owner", "has.contributor"],
  }),
  lang: field("language", { aliases: ["language", "l"], negatable: true }),
  type: field("text", {}),
  case: field("boolean", { once: true }),
  fork: field("yes-no-only", { once: true }),
  archived: field("yes-no-only", { once: true }),
  index: field("yes-no-only", { once: true }),
  visibility: field("text", { once: true }),
  rev: field("revisions", { aliases: ["revision"], once: true, predicates: ["at.time"] }),
  content: field("pattern", { negatable: true }),
  select: field("select", { once: true }),
  count: field("count", { once: true }),
  timeout: field("duration", { once: true }),
  patterntype: field("text", { once: true }),
  context: field("context", { once: true }),
  author: field("regexp", { negatable: true }),
  committer: field("regexp", { negatable: true }),
  before: field("date", { aliases: ["until"] }),
  after: field("date", { aliases: ["since"] }),
  message: field("regexp", { aliases: ["m", "msg"], negatable: true }),
  repohasfile: field("regexp", { negatable: true }),
  repohascommitafter: field("date", { once: true }),
  rule: field("text", { once: true, built: false }),
  /** Formerly a group of repositories: parsed as a field so that an old query is rejected instead of misinterpreted. */
  g: field("refused", {}),
} as const;

export type FieldName = keyof typeof table;

export const fields: Readonly<Record<FieldName, Field>> = table;

export const fieldNames = Object.keys(table) as readonly FieldName[];

function field(value: ValueKind, traits: Partial<Field>): Field {
  return { aliases: [], value, once: false, negatable: false, built: true, predicates: [], ...traits };
}

const byTypedName: ReadonlyMap<string, FieldName> = new Map(
  fieldNames.flatMap((name) => [name, ...fields[name].aliases].map((typed) => [typed, name] as const)),
);

const fieldStart = /(-?)([A-Za-z]+):/y;

export interface FieldStart {
  readonly name: FieldName;
  /** The name as typed, without the minus. */
  readonly typed: string;
  readonly negated: boolean;
  /** Index of the first character after the colon. */
  readonly valueFrom: number;
}

/** The field whose name starts at this index of the text; undefined if there is none. */
export function fieldAt(text: string, index: number): FieldStart | undefined {
  fieldStart.lastIndex = index;
  const found = fieldStart.exec(text);
  if (found === null) return undefined;
  const [whole, minus, typed] = found as unknown as [string, string, string];
  const name = byTypedName.get(typed.toLowerCase());
  if (name === undefined) return undefined;
  return { name, typed, negated: minus === "-", valueFrom: index + whole.length };
}
