import { Kind, type ValueNode } from "graphql";

/** The cost of one operation or fragment, including the fragments that it spreads. */
export interface Part {
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

export function emptyPart(): Part {
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

export function addTo(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

export function addValue(to: Part, value: ValueNode, multiplier: number): void {
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

export function duplicates({ names }: Part): number {
  let highest = 0;
  for (const count of names.values()) if (count > 1) highest = Math.max(highest, count);
  return highest;
}
