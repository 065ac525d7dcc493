import { TrawlError } from "../../base/errors.js";

/** An argument of a tool. */
export type Field =
  | { readonly kind: "text"; readonly isRequired: boolean; readonly description: string }
  | { readonly kind: "texts"; readonly countMax: number; readonly isRequired: boolean; readonly description: string }
  | {
      readonly kind: "integer";
      readonly min: number;
      readonly max: number;
      /** Undefined if there is none. */
      readonly default: number | undefined;
      readonly description: string;
    }
  | { readonly kind: "boolean"; readonly default: boolean; readonly description: string };

export type Fields = Readonly<Record<string, Field>>;

/** The checked arguments: "" and an empty list for those that are not given. */
export type Arguments<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

type ValueOf<F extends Field> = F extends { kind: "text" }
  ? string
  : F extends { kind: "texts" }
    ? readonly string[]
    : F extends { kind: "boolean" }
      ? boolean
      : F extends { default: number }
        ? number
        : number | undefined;

/** Limit on the text of all arguments of a call, in UTF-16 units. A query of this length is planned in 20 ms. */
const textLengthMax = 8_192;

/** Shown of a value that is wrong. */
const shownLength = 60;

type SchemaMember = Readonly<Record<string, string | number | boolean | { readonly type: string }>>;

/** The JSON Schema of the arguments. */
export function argumentSchema(fields: Fields) {
  const properties: Record<string, SchemaMember> = {};
  for (const [name, field] of Object.entries(fields)) properties[name] = fieldSchema(field);
  const required = Object.keys(fields).filter((name) => {
    const field = fields[name];
    return "isRequired" in field && field.isRequired;
  });
  return { type: "object" as const, properties, required, additionalProperties: false };
}

function fieldSchema(field: Field): SchemaMember {
  const { description } = field;
  switch (field.kind) {
    case "text":
      return { type: "string", maxLength: textLengthMax, description };
    case "texts":
      return { type: "array", items: { type: "string" }, maxItems: field.countMax, description };
    case "integer": {
      const { min, max, default: value } = field;
      return {
        type: "integer",
        minimum: min,
        maximum: max,
        ...(value === undefined ? {} : { default: value }),
        description,
      };
    }
    case "boolean":
      return { type: "boolean", default: field.default, description };
  }
}

/** Checks the arguments of a call. Throws `bad-request`, which names the argument and what is allowed. */
export function readArguments<F extends Fields>(fields: F, given: Readonly<Record<string, unknown>>): Arguments<F> {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined)
    throw new TrawlError(
      "bad-request",
      `there is no argument ${show(unknown)}; the arguments are ${Object.keys(fields).join(", ")}`,
    );
  const values: Record<string, unknown> = {};
  let length = 0;
  for (const [name, field] of Object.entries(fields)) {
    const value = readField(name, field, given[name] ?? undefined);
    length += typeof value === "string" ? value.length : Array.isArray(value) ? totalLength(value) : 0;
    values[name] = value;
  }
  if (length > textLengthMax)
    throw new TrawlError("bad-request", `the arguments have ${length} characters, more than ${textLengthMax}`);
  return values as Arguments<F>;
}

function readField(name: string, field: Field, value: unknown): unknown {
  switch (field.kind) {
    case "text":
      if (value === undefined) return field.isRequired ? lacks(name) : "";
      if (typeof value !== "string") return wrong(name, "must be a string", value);
      return field.isRequired && value.trim() === ""
        ? wrong(name, "must not be empty", value)
        : withoutNul(name, value);
    case "texts":
      return readTexts(name, field, value);
    case "integer": {
      if (value === undefined) return field.default;
      const { min, max } = field;
      const isGood = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
      return isGood ? value : wrong(name, `must be a whole number from ${min} to ${max}`, value);
    }
    case "boolean":
      if (value === undefined) return field.default;
      return typeof value === "boolean" ? value : wrong(name, "must be true or false", value);
  }
}

function readTexts(name: string, { countMax, isRequired }: Field & { kind: "texts" }, value: unknown): string[] {
  if (value === undefined) return isRequired ? lacks(name) : [];
  // Models often send a single string where a list is asked for.
  const texts: unknown[] =
    typeof value === "string"
      ? [value]
      : Array.isArray(value)
        ? value
        : wrong(name, "must be a list of strings", value);
  if (texts.length > countMax) return wrong(name, `must have at most ${countMax} strings`, `${texts.length} strings`);
  const isGood = texts.every((text): text is string => typeof text === "string" && text.trim() !== "");
  if (!isGood || (isRequired && texts.length === 0))
    return wrong(name, "must be a list of strings that are not empty", value);
  return texts.map((text) => withoutNul(name, text));
}

/** No query, path or revision contains it, and git takes it for the end. */
function withoutNul(name: string, text: string): string {
  return text.includes("\0") ? wrong(name, "must not contain U+0000", text) : text;
}

function totalLength(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function lacks(name: string): never {
  throw new TrawlError("bad-request", `the argument ${name} is missing`);
}

function wrong(name: string, allowed: string, value: unknown): never {
  throw new TrawlError("bad-request", `${name} ${allowed}, not ${show(value)}`);
}

function show(value: unknown): string {
  const text =
    typeof value === "object" && value !== null
      ? Array.isArray(value)
        ? "a list"
        : "an object"
      : JSON.stringify(value);
  return text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
}
