import { Kind, type DefinitionNode, type DocumentNode, type FieldNode, type SelectionNode } from "graphql";

/** Fields of the connection that `savedSearches` returns; `__typename` alone does not tell what is wanted. */
const connectionFields: ReadonlySet<string> = new Set(["nodes", "totalCount", "pageInfo", "__typename"]);

/**
 * Lets `savedSearches` also be requested as a list, as VS Code's extension does: in the schema that it was written for, the
 * field has no arguments and returns the searches themselves. Such a field is replaced by `savedSearchList`, under the name
 * that the client expects. A request of the connection is left as it is, because it selects other fields.
 */
export function replaceSavedSearchLists(document: DocumentNode): DocumentNode {
  const definitions = document.definitions.map((definition) => replaceIn(definition, document));
  return definitions.every((definition, at) => definition === document.definitions[at])
    ? document
    : { ...document, definitions };
}

function replaceIn(definition: DefinitionNode, document: DocumentNode): DefinitionNode {
  const isRoot =
    definition.kind === Kind.OPERATION_DEFINITION ||
    (definition.kind === Kind.FRAGMENT_DEFINITION && definition.typeCondition.name.value === "Query");
  if (!isRoot || !definition.selectionSet.selections.some((selection) => isList(selection, document)))
    return definition;
  const selections = definition.selectionSet.selections.map((selection) =>
    isList(selection, document) ? renamed(selection) : selection,
  );
  return { ...definition, selectionSet: { ...definition.selectionSet, selections } };
}

function isList(selection: SelectionNode, document: DocumentNode): selection is FieldNode {
  if (selection.kind !== Kind.FIELD || selection.name.value !== "savedSearches") return false;
  if ((selection.arguments ?? []).length > 0) return false;
  return (selection.selectionSet?.selections ?? []).some((inner) => isOfSearch(inner, document));
}

/** Whether what is selected is a field of a saved search, or a fragment on one. */
function isOfSearch(selection: SelectionNode, { definitions }: DocumentNode): boolean {
  if (selection.kind === Kind.FIELD) return !connectionFields.has(selection.name.value);
  if (selection.kind === Kind.INLINE_FRAGMENT) return selection.typeCondition?.name.value === "SavedSearch";
  return definitions.some(
    (definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION &&
      definition.name.value === selection.name.value &&
      definition.typeCondition.name.value === "SavedSearch",
  );
}

function renamed(field: FieldNode): FieldNode {
  return { ...field, alias: field.alias ?? field.name, name: { kind: Kind.NAME, value: "savedSearchList" } };
}
