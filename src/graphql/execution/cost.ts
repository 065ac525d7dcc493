import { pageCountMax } from "../resolvers/connection-types.js";
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from "graphql";

/** What one request may ask for; 0 means no limit. */
export interface CostLimits {
  readonly aliases: number;
  readonly fields: number;
  readonly depth: number;
  readonly duplicateFields: number;
  readonly uniqueFields: number;
}

/** What a document asks for. */
export interface Cost extends CostLimits {
  /** Nesting including that of fragments, which `depth` does not count, as clients of this interface expect. */
  readonly expandedDepth: number;
  /** Fields as written, with those of a fragment once for each spread: the cost of validating and compiling. */
  readonly writtenFields: number;
  /** Characters of literal arguments of fields, once for each object that the field is resolved on. */
  readonly literalCharacters: number;
  /** How often each variable is an argument of a field, counted in the same way. */
  readonly variableUses: ReadonlyMap<string, number>;
}

/** A limit that a document exceeds. */
export interface Excess {
  readonly type: string;
  readonly limit: number;
  readonly actual: number;
}

/** Values of variables; those that set the length of a list count. */
export type Variables = Readonly<Record<string, unknown>>;

/** The limits that the cost exceeds, in their fixed order. */
export function findExcess(cost: Cost, limits: CostLimits): Excess[] {
  const rows = [
    { type: "alias count", limit: limits.aliases, actual: cost.aliases },
    { type: "field count", limit: limits.fields, actual: cost.fields },
    { type: "query depth", limit: limits.depth, actual: cost.depth },
    { type: "duplicate field count", limit: limits.duplicateFields, actual: cost.duplicateFields },
    { type: "unique field count", limit: limits.uniqueFields, actual: cost.uniqueFields },
  ];
  return rows
    .filter(({ limit, actual }) => limit > 0 && actual > limit)
    .map((row) => ({ ...row, actual: Math.min(row.actual, Number.MAX_SAFE_INTEGER) }));
}

/**
 * Computes what a document asks for, before it is validated. Returns undefined when a fragment is missing or recursive:
 * validation reports that, and such a document never runs.
 *
 * Each fragment is visited once, however often it is spread, so the time is linear in the document's length.
 */
export function computeCost(document: DocumentNode, variables: Variables): Cost | undefined {
  return new Estimate(document, variables).total();
}

/** Characters of all arguments of fields, including the contents of lists and objects. */
export function argumentCharacters({ literalCharacters, variableUses }: Cost, variables: Variables): number {
  let sum = literalCharacters;
  for (const [name, uses] of variableUses) sum += uses * countCharacters(variables[name]);
  return sum;
}

function countCharacters(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const key in value) sum += countCharacters((value as Readonly<Record<string, unknown>>)[key]);
  return sum;
}

/** Whether the cost depends on the values of variables. */
export function hasVariableCost(document: DocumentNode): boolean {
  return document.definitions.some(
    (definition) => "selectionSet" in definition && hasVariableLimit(definition.selectionSet),
  );
}

function hasVariableLimit({ selections }: SelectionSetNode): boolean {
  return selections.some((selection) => {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return false;
    if (selection.kind === Kind.FIELD && limitArguments(selection).some(({ value }) => value.kind === Kind.VARIABLE))
      return true;
    return selection.selectionSet !== undefined && hasVariableLimit(selection.selectionSet);
  });
}

class Estimate {
  readonly #operations: readonly OperationDefinitionNode[];
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  readonly #parts = new Map<string, Part>();
  readonly #open = new Set<string>();
  #isEstimable = true;
  #defaults: ReadonlyMap<string, number> = new Map();

  constructor(document: DocumentNode, variables: Variables) {
    this.#variables = variables;
    this.#operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
    this.#fragments = new Map(
      document.definitions.flatMap((definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
      ),
    );
  }

  total(): Cost | undefined {
    const cost = {
      aliases: 0,
      fields: 0,
      depth: 0,
      duplicateFields: 0,
      uniqueFields: 0,
      expandedDepth: 0,
      writtenFields: 0,
      literalCharacters: 0,
      variableUses: new Map<string, number>(),
    };
    const operations: Part[] = [];
    for (const operation of this.#operations) {
      this.#defaults = defaultValues(operation);
      const part = this.#visit(operation.selectionSet);
      cost.aliases += part.aliases;
      cost.fields += Math.max(1, part.fields + part.inlineFields);
      cost.writtenFields += part.writtenFields;
      operations.push(part);
      cost.depth = Math.max(cost.depth, part.depth);
      cost.expandedDepth = Math.max(cost.expandedDepth, part.expandedDepth);
      cost.duplicateFields = Math.max(cost.duplicateFields, duplicates(part));
      cost.uniqueFields += part.names.size;
    }
    this.#addArguments(cost, operations);
    let fragmentNames = 0;
    for (const name of this.#fragments.keys()) {
      const part = this.#fragment(name);
      fragmentNames += part.names.size;
      cost.duplicateFields = Math.max(cost.duplicateFields, duplicates(part));
    }
    cost.uniqueFields = Math.max(cost.uniqueFields, fragmentNames);
    return this.#isEstimable ? cost : undefined;
  }

  #visit(selectionSet: SelectionSetNode): Part {
    const part = emptyPart();
    this.#add(part, selectionSet, 1, 1);
    return part;
  }

  /** Adds a selection set at this depth, which is resolved on `multiplier` objects. */
  #add(part: Part, { selections }: SelectionSetNode, multiplier: number, depth: number): void {
    part.depth = Math.max(part.depth, depth);
    part.expandedDepth = Math.max(part.expandedDepth, depth);
    for (const selection of selections) {
      switch (selection.kind) {
        case Kind.FIELD:
          this.#addField(part, selection, multiplier, depth);
          break;
        case Kind.FRAGMENT_SPREAD:
          this.#addSpread(part, selection.name.value, multiplier, depth);
          break;
        case Kind.INLINE_FRAGMENT: {
          const before = { fields: part.fields, inlineFields: part.inlineFields };
          part.fields = 0;
          part.inlineFields = 0;
          this.#add(part, selection.selectionSet, multiplier, depth + 1);
          part.inlineFields = Math.max(before.inlineFields, part.fields + part.inlineFields);
          part.fields = before.fields;
        }
      }
    }
  }

  #addField(part: Part, field: FieldNode, multiplier: number, depth: number): void {
    const name = field.name.value;
    part.names.set(name, (part.names.get(name) ?? 0) + 1);
    part.writtenFields++;
    if (field.alias !== undefined) part.aliases++;
    if (!freeFields.has(name)) part.fields += multiplier;
    for (const { value } of field.arguments ?? []) addValue(part, value, multiplier);
    if (field.selectionSet !== undefined)
      this.#add(part, field.selectionSet, multiplier * this.#listLength(field), depth + 1);
  }

  #addSpread(part: Part, name: string, multiplier: number, depth: number): void {
    const spread = this.#fragment(name);
    part.aliases += spread.aliases;
    part.fields += (spread.fields + spread.inlineFields) * multiplier;
    part.writtenFields += spread.writtenFields;
    addTo(part.spreads, name, multiplier);
    part.expandedDepth = Math.max(part.expandedDepth, depth + spread.expandedDepth - 1);
  }

  /** Fragments are in `#parts` after those that they spread, so in reverse each one is counted before those. */
  #addArguments(
    cost: { literalCharacters: number; readonly variableUses: Map<string, number> },
    operations: readonly Part[],
  ): void {
    const counts = new Map<string, number>();
    const add = (part: Part, count: number): void => {
      // Counts may be infinite, and infinity times zero is NaN.
      if (count === 0) return;
      if (part.literalCharacters > 0) cost.literalCharacters += count * part.literalCharacters;
      for (const [name, uses] of part.variableUses) addTo(cost.variableUses, name, count * uses);
      for (const [name, uses] of part.spreads) addTo(counts, name, count * uses);
    };
    for (const part of operations) add(part, 1);
    for (const [name, part] of [...this.#parts].reverse()) add(part, counts.get(name) ?? 0);
  }

  #fragment(name: string): Part {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    if (fragment === undefined || this.#open.has(name)) {
      this.#isEstimable = false;
      return emptyPart();
    }
    this.#open.add(name);
    const part = this.#visit(fragment.selectionSet);
    this.#open.delete(name);
    this.#parts.set(name, part);
    return part;
  }

  /** The list length that `first` and `last` request. */
  #listLength(field: FieldNode): number {
    let length = 1;
    for (const { value } of limitArguments(field)) {
      const given =
        value.kind === Kind.INT
          ? Number(value.value)
          : value.kind === Kind.VARIABLE
            ? this.#variableValue(value.name.value)
            : 1;
      if (given > 0) length *= given;
    }
    return shortLists.has(field.name.value) ? Math.min(length, pageCountMax) : length;
  }

  #variableValue(variable: string): number {
    const value = this.#variables[variable];
    return typeof value === "number" ? value : (this.#defaults.get(variable) ?? 1);
  }
}

const freeFields = new Set(["nodes", "__typename"]);

/** Clients request all of these, with a `first` that no list can have; a page has at most `pageCountMax` items. */
const shortLists = new Set(["externalServices"]);

function limitArguments(field: FieldNode) {
  return (field.arguments ?? []).filter(({ name }) => name.value === "first" || name.value === "last");
}

function defaultValues(operation: OperationDefinitionNode): ReadonlyMap<string, number> {
  return new Map(
    (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
      defaultValue?.kind === Kind.INT ? [[variable.name.value, Number(defaultValue.value)] as const] : [],
    ),
  );
}

/** The cost of one operation or fragment, including the fragments that it spreads. */
interface Part {
  aliases: number;
  fields: number;
  /** Fields of the most expensive inline fragment: of several, one object matches one. */
  inlineFields: number;
  depth: number;
  expandedDepth: number;
  writtenFields: number;
  /** This and the following do not include spread fragments. `spreads` counts the objects of each spread. */
  literalCharacters: number;
  readonly variableUses: Map<string, number>;
  readonly spreads: Map<string, number>;
  /** How often each field name is written. */
  readonly names: Map<string, number>;
}

function emptyPart(): Part {
  return {
    aliases: 0,
    fields: 0,
    inlineFields: 0,
    depth: 0,
    expandedDepth: 0,
    writtenFields: 0,
    literalCharacters: 0,
    variableUses: new Map(),
    spreads: new Map(),
    names: new Map(),
  };
}

function addTo(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function addValue(to: Part, value: ValueNode, multiplier: number): void {
  switch (value.kind) {
    case Kind.VARIABLE:
      addTo(to.variableUses, value.name.value, multiplier);
      break;
    case Kind.LIST:
      for (const item of value.values) addValue(to, item, multiplier);
      break;
    case Kind.OBJECT:
      for (const field of value.fields) addValue(to, field.value, multiplier);
      break;
    default:
      to.literalCharacters +=
        multiplier * ("value" in value && typeof value.value === "string" ? value.value.length : 1);
  }
}

function duplicates({ names }: Part): number {
  let highest = 0;
  for (const count of names.values()) if (count > 1) highest = Math.max(highest, count);
  return highest;
}
