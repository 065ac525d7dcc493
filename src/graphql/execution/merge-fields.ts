import {
  Kind,
  print,
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";

/**
 * Merges fields that are written several times in the same selection set, joining their selections: GraphQL defines the
 * result of both to be the same. Validation compares each pair of fields with the same name, so 500 of them take 60 to
 * 100 ms unmerged, and less than one merged.
 *
 * Fields are merged only if name, alias, arguments and directives are the same, so invalid documents remain invalid. Of
 * fields that conflict under one response name, because they are different fields or have different arguments, two are
 * kept: these suffice for the document to be refused, and 500 of them would be compared pairwise.
 */
export function mergeFields(document: DocumentNode): DocumentNode {
  return { ...document, definitions: document.definitions.map(mergeDefinition) };
}

function mergeDefinition(definition: DefinitionNode): DefinitionNode {
  if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION) return definition;
  return { ...definition, selectionSet: mergeSelectionSet(definition.selectionSet) };
}

function mergeSelectionSet(selectionSet: SelectionSetNode): SelectionSetNode {
  const counts = new Map<string, number>();
  for (const selection of selectionSet.selections) {
    if (selection.kind === Kind.FIELD)
      counts.set(responseName(selection), (counts.get(responseName(selection)) ?? 0) + 1);
  }
  const groups = new Map<string, FieldNode[]>();
  const callsOf = new Map<string, Set<string>>();
  const merged: (SelectionNode | FieldNode[])[] = [];
  for (const selection of selectionSet.selections) {
    if (selection.kind !== Kind.FIELD || counts.get(responseName(selection)) === 1) {
      merged.push(selection);
      continue;
    }
    const calls = callsOf.get(responseName(selection)) ?? new Set();
    callsOf.set(responseName(selection), calls.add(printCall(selection)));
    if (calls.size > callsMax) {
      calls.delete(printCall(selection));
      continue;
    }
    const key = fieldKey(selection);
    const group = groups.get(key);
    if (group !== undefined) group.push(selection);
    else {
      const fields = [selection];
      groups.set(key, fields);
      merged.push(fields);
    }
  }
  return { ...selectionSet, selections: merged.map((item) => mergeSelection(Array.isArray(item) ? join(item) : item)) };
}

function mergeSelection(selection: SelectionNode): SelectionNode {
  if (selection.kind === Kind.FRAGMENT_SPREAD || selection.selectionSet === undefined) return selection;
  return { ...selection, selectionSet: mergeSelectionSet(selection.selectionSet) };
}

/** Two different ones are an error that validation detects. */
const callsMax = 2;

/** Identifies a field with its arguments, in any order. One response name must have only one. */
function printCall({ name, arguments: given }: FieldNode): string {
  return [name.value, ...(given ?? []).map((argument) => print(argument)).sort()].join("\0");
}

/** A field that lacks a selection where the other has one remains an error: it is treated as a different field. */
function fieldKey({ name, alias, arguments: given, directives, selectionSet }: FieldNode): string {
  const parts = [...(given ?? []), ...(directives ?? [])].map((node) => print(node));
  return [alias?.value ?? "", name.value, selectionSet === undefined ? "" : "{", ...parts].join("\0");
}

function responseName({ name, alias }: FieldNode): string {
  return alias?.value ?? name.value;
}

function join(fields: readonly FieldNode[]): FieldNode {
  const [first] = fields;
  if (first.selectionSet === undefined) return first;
  return {
    ...first,
    selectionSet: {
      ...first.selectionSet,
      selections: fields.flatMap(({ selectionSet }) => selectionSet?.selections ?? []),
    },
  };
}
