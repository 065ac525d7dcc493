import { GraphQLError, Kind, type DocumentNode, type SelectionSetNode } from "graphql";

/**
 * Documents with more are refused. Validation compares each fragment with each other one, which takes 10 ms for 64 of
 * them and 150 for 500; variables are as many as aliases may be by default.
 */
const fragmentsMax = 64;

const variablesMax = 500;

/** Of a document that asks for the schema more often: all of it takes 5 to 15 ms, and clients ask once. */
const schemaFieldsMax = 4;

/** Values in a tree, counted until there are more than `max`. */
export function countValues(value: unknown, max: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const key in value) {
    count += countValues((value as Readonly<Record<string, unknown>>)[key], max - count);
    if (count > max) return count;
  }
  return count;
}

/** Why a document within the limits is too dear to validate all the same. */
export function tooMuchToValidate({ definitions }: DocumentNode): GraphQLError | undefined {
  const fragmentCount = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).length;
  if (fragmentCount > fragmentsMax)
    return new GraphQLError(`the document has ${fragmentCount} fragments; more than ${fragmentsMax} are not supported`);
  const variableCount = definitions.reduce(
    (sum, definition) =>
      sum + (definition.kind === Kind.OPERATION_DEFINITION ? (definition.variableDefinitions ?? []).length : 0),
    0,
  );
  if (variableCount > variablesMax)
    return new GraphQLError(`the document has ${variableCount} variables; more than ${variablesMax} are not supported`);
  const schemaCount = definitions.reduce(
    (sum, definition) => sum + ("selectionSet" in definition ? countSchemaFields(definition.selectionSet) : 0),
    0,
  );
  if (schemaCount > schemaFieldsMax)
    return new GraphQLError(
      `the document requests __schema ${schemaCount} times; more than ${schemaFieldsMax} are not supported`,
    );
  return undefined;
}

/** Each gives a list of all types, whose length no argument bounds. */
function countSchemaFields({ selections }: SelectionSetNode): number {
  return selections.reduce((sum, selection) => {
    if (selection.kind === Kind.FIELD && selection.name.value === "__schema") return sum + 1;
    return selection.kind === Kind.FRAGMENT_SPREAD || selection.selectionSet === undefined
      ? sum
      : sum + countSchemaFields(selection.selectionSet);
  }, 0);
}
