import { Kind, type DocumentNode, type FieldNode, type FragmentDefinitionNode, type OperationDefinitionNode, type SelectionSetNode } from "graphql";

/** What one request may ask for; 0 lets everything through. */
export interface CostLimits {
  readonly aliases: number;
  readonly fields: number;
  readonly depth: number;
  readonly duplicateFields: number;
  readonly uniqueFields: number;
}

/** What a document asks for. */
export interface Cost extends CostLimits {
  /** Nesting with fragments followed, which `depth` leaves out as clients of this interface know it. */
  readonly expandedDepth: number;
  /** Fields as written, those of a fragment once for each spread: what validating and compiling takes. */
  readonly writtenFields: number;
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
export function excessOf(cost: Cost, limits: CostLimits): Excess[] {
  const rows = [
    { type: "alias count", limit: limits.aliases, actual: cost.aliases },
    { type: "field count", limit: limits.fields, actual: cost.fields },
    { type: "query depth", limit: limits.depth, actual: cost.depth },
    { type: "duplicate field count", limit: limits.duplicateFields, actual: cost.duplicateFields },
    { type: "unique field count", limit: limits.uniqueFields, actual: cost.uniqueFields },
  ];
  return rows.filter(({ limit, actual }) => limit > 0 && actual > limit)
    .map((row) => ({ ...row, actual: Math.min(row.actual, Number.MAX_SAFE_INTEGER) }));
}

/**
 * Works out what a document asks for, before it is validated. Undefined when a fragment is missing or leads to itself:
 * validation says so, and such a document never runs.
 *
 * Each fragment is looked at once, however often it is spread, so the time is in proportion to the document's length.
 */
export function costOf(document: DocumentNode, variables: Variables): Cost | undefined {
  return new Estimate(document, variables).total();
}

/** Whether the cost depends on the values of variables. */
export function hasVariableCost(document: DocumentNode): boolean {
  return document.definitions.some((definition) => "selectionSet" in definition && hasVariableLimit(definition.selectionSet));
}

function hasVariableLimit({ selections }: SelectionSetNode): boolean {
  return selections.some((selection) => {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return false;
    if (selection.kind === Kind.FIELD && limitArguments(selection).some(({ value }) => value.kind === Kind.VARIABLE)) return true;
    return selection.selectionSet !== undefined && hasVariableLimit(selection.selectionSet);
  });
}

/** What one operation or fragment holds, with all that it spreads. */
interface Part {
  aliases: number;
  fields: number;
  /** The dearest inline fragment: of several, one object takes one. */
  inlineFields: number;
  depth: number;
  expandedDepth: number;
  writtenFields: number;
  /** How often each name is written here, without what is spread. */
  readonly names: Map<string, number>;
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
    this.#fragments = new Map(document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : []));
  }

  total(): Cost | undefined {
    const cost = { aliases: 0, fields: 0, depth: 0, duplicateFields: 0, uniqueFields: 0, expandedDepth: 0, writtenFields: 0 };
    for (const operation of this.#operations) {
      this.#defaults = defaultsOf(operation);
      const part = this.#visit(operation.selectionSet);
      cost.aliases += part.aliases;
      cost.fields += Math.max(1, part.fields + part.inlineFields);
      cost.writtenFields += part.writtenFields;
      cost.depth = Math.max(cost.depth, part.depth);
      cost.expandedDepth = Math.max(cost.expandedDepth, part.expandedDepth);
      cost.duplicateFields = Math.max(cost.duplicateFields, duplicates(part));
      cost.uniqueFields += part.names.size;
    }
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
    const part: Part = { aliases: 0, fields: 0, inlineFields: 0, depth: 0, expandedDepth: 0, writtenFields: 0, names: new Map() };
    this.#add(part, selectionSet, 1, 1);
    return part;
  }

  /** `depth` is that of the selection set; `multiplier` how many objects it is asked of. Returns its own fields. */
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
    if (field.selectionSet !== undefined) this.#add(part, field.selectionSet, multiplier * this.#lengthOf(field), depth + 1);
  }

  #addSpread(part: Part, name: string, multiplier: number, depth: number): void {
    const spread = this.#fragment(name);
    part.aliases += spread.aliases;
    part.fields += (spread.fields + spread.inlineFields) * multiplier;
    part.writtenFields += spread.writtenFields;
    part.expandedDepth = Math.max(part.expandedDepth, depth + spread.expandedDepth - 1);
  }

  #fragment(name: string): Part {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    if (fragment === undefined || this.#open.has(name)) {
      this.#isEstimable = false;
      return { aliases: 0, fields: 0, inlineFields: 0, depth: 0, expandedDepth: 0, writtenFields: 0, names: new Map() };
    }
    this.#open.add(name);
    const part = this.#visit(fragment.selectionSet);
    this.#open.delete(name);
    this.#parts.set(name, part);
    return part;
  }

  /** The length that `first` and `last` ask for. */
  #lengthOf(field: FieldNode): number {
    let length = 1;
    for (const { value } of limitArguments(field)) {
      const given = value.kind === Kind.INT ? Number(value.value) : value.kind === Kind.VARIABLE ? this.#valueOf(value.name.value) : 1;
      if (given > 0) length *= given;
    }
    return length;
  }

  #valueOf(variable: string): number {
    const value = this.#variables[variable];
    return typeof value === "number" ? value : (this.#defaults.get(variable) ?? 1);
  }
}

const freeFields = new Set(["nodes", "__typename"]);

function limitArguments(field: FieldNode) {
  return (field.arguments ?? []).filter(({ name }) => name.value === "first" || name.value === "last");
}

function defaultsOf(operation: OperationDefinitionNode): ReadonlyMap<string, number> {
  return new Map((operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue?.kind === Kind.INT ? [[variable.name.value, Number(defaultValue.value)] as const] : []));
}

function duplicates({ names }: Part): number {
  let highest = 0;
  for (const count of names.values()) if (count > 1) highest = Math.max(highest, count);
  return highest;
}
