import { GraphQLError, Kind, type DocumentNode, type SelectionSetNode } from "graphql";

/**
 * Documents with more are refused. Validation compares each pair of fragments, which takes 10 ms for 64 fragments and
 * 150 ms for 500; variables are limited to the default number of aliases.
 */
const fragmentsMax = 64;

const variablesMax = 500;

/**
 * Documents that request the schema more often are refused: a complete one takes 5 to 15 ms, and clients request it
 * once.
 */
const schemaFieldsMax = 4;

/** Number of values in a tree; stops counting above `max`. */
export function countValues(value: unknown, max: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const key in value) {
    count += countValues((value as Readonly<Record<string, unknown>>)[key], max - count);
    if (count > max) return count;
  }
  return count;
}

/** Why a document within the limits is nevertheless too expensive to validate. */
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

/** Each returns a list of all types, whose length is not limited by an argument. */
function countSchemaFields({ selections }: SelectionSetNode): number {
  return selections.reduce((sum, selection) => {
    if (selection.kind === Kind.FIELD && selection.name.value === "__schema") return sum + 1;
    return selection.kind === Kind.FRAGMENT_SPREAD || selection.selectionSet === undefined
      ? sum
      : sum + countSchemaFields(selection.selectionSet);
  }, 0);
}
