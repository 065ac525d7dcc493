import {
  type DefinitionNode,
  type DocumentNode,
  execute,
  type ExecutionResult,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  KnownFragmentNamesRule,
  NoFragmentCyclesRule,
  OperationTypeNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  validate,
} from "graphql";
import { type CompiledQuery, compileQuery, isCompiledQuery } from "graphql-jit";
import { BoundedMap } from "../../base/bounded-map.js";
import type { RequestContext } from "../../browse/request-context.js";
import {
  argumentCharacters,
  computeCost,
  type Cost,
  type CostLimits,
  findExcess,
  hasVariableCost,
  type Variables,
} from "./cost.js";
import { mergeFields } from "./merge-fields.js";

/**
 * Longer documents are refused. The longest document of a known client has several hundred tokens; a batch of 500
 * aliases has six to ten thousand, which take 5 ms to parse and 15 ms to validate.
 */
const tokensMax = 10_000;

const charactersMax = 256 << 10;

/** Requests with more values in their variables are refused: validating 100,000 values takes 100 ms. */
const variableValuesMax = 10_000;

/**
 * Limit on the total characters of all field arguments. Parsing an id of a megabyte takes 3 ms, and a variable may be
 * passed to 500 fields.
 */
const argumentCharactersMax = 4 << 20;

/** Number of cached responses about the schema itself: a complete one takes 15 to 50 ms, and never changes. */
const keptSchemaAnswersMax = 16;

/** Limits on cached documents: their total length, and their number. */
const keptCharactersMax = 8 << 20;

const keptCountMax = 1000;

/**
 * Larger operations are not compiled: that takes 0.1 to 0.2 ms per field, too much main-thread time for one request.
 */
const compiledFieldsMax = 100;

/** Validation stops after this many errors. */
const validationErrorsMax = 20;

/** An operation that can be executed, or why it cannot. */
export type Prepared =
  | {
      readonly kind: "run";
      readonly isMutation: boolean;
      readonly run: (context: RequestContext, variables: Variables) => Promise<ExecutionResult> | ExecutionResult;
    }
  | { readonly kind: "refused"; readonly status: number; readonly errors: readonly GraphQLError[] };

/**
 * Parses texts into operations, and caches them.
 *
 * A document is parsed and validated once. Its first use is executed by graphql-js; from the second use on it is
 * compiled by graphql-jit, which is ten times as fast for large responses and costs as much as several executions.
 * Limits are checked between parsing and validating, because validation is the step that an excessive document makes
 * expensive.
 */
export class Operations {
  readonly #schema: GraphQLSchema;
  readonly #limits: CostLimits;
  /** URL of the documentation of the limits. */
  readonly #limitsUrl: () => string;
  readonly #kept = new BoundedMap<string, Operation>(keptCharactersMax, (operation) => operation.weight);
  readonly #schemaAnswers = new BoundedMap<Operation, ExecutionResult>(keptSchemaAnswersMax, () => 1);

  constructor(schema: GraphQLSchema, limits: CostLimits, limitsUrl: () => string) {
    this.#schema = schema;
    this.#limits = limits;
    this.#limitsUrl = limitsUrl;
  }

  prepare(text: string, operationName: string | undefined, variables: Variables): Prepared {
    try {
      return this.#prepare(text, operationName, variables);
    } catch (error) {
      // The parser and the validation rules recurse for each level of nesting, of fields or of fragments.
      if (error instanceof RangeError) return refused("Syntax Error: the document is nested too deeply.");
      throw error;
    }
  }

  #prepare(text: string, operationName: string | undefined, variables: Variables): Prepared {
    if (text.length > charactersMax)
      return refused(`Syntax Error: the document has more than ${charactersMax} characters.`);
    if (countValues(variables, variableValuesMax) > variableValuesMax)
      return refused(`the variables contain more than ${variableValuesMax} values`);
    // No valid document contains a zero character.
    const key = operationName === undefined ? text : `${operationName}\0${text}`;
    let operation = this.#kept.get(key);
    if (operation === undefined) {
      const read = readDocument(text);
      if (read instanceof GraphQLError) return { kind: "refused", status: 200, errors: [read] };
      operation = new Operation(this.#schema, text, read, operationName, this.#schemaAnswers);
      this.#kept.set(key, operation);
    }
    const cost = operation.cost(variables);
    const errors = this.#excesses(cost);
    if (errors.length > 0) return { kind: "refused", status: 400, errors };
    if (cost !== undefined && argumentCharacters(cost, variables) > argumentCharactersMax) {
      return refused(
        `the arguments of all fields have more than ${argumentCharactersMax} characters in total; use long values in fewer fields`,
      );
    }
    return operation.prepare(this.#limits.depth);
  }

  #excesses(cost: Cost | undefined): GraphQLError[] {
    if (cost === undefined) return [];
    return findExcess(cost, this.#limits).map(
      (excess) =>
        new GraphQLError(`Query exceeds maximum ${excess.type} limit`, {
          extensions: { code: "ErrQueryComplexityLimitExceeded", ...excess, docs_url: this.#limitsUrl() },
        }),
    );
  }
}

function readDocument(text: string): DocumentNode | GraphQLError {
  try {
    return replaceSavedSearchLists(parse(text, { maxTokens: tokensMax }));
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

function refused(message: string): Prepared {
  return { kind: "refused", status: 200, errors: [new GraphQLError(message)] };
}

class Operation {
  readonly #schema: GraphQLSchema;
  /** As written, until it has been found to be within the limits; then without repetitions. */
  #document: DocumentNode;
  readonly #schemaAnswers: BoundedMap<Operation, ExecutionResult>;
  readonly #isAboutSchema: boolean;
  readonly #name: string | undefined;
  readonly weight: number;
  /** The cost, if it does not depend on variables. */
  readonly #fixedCost: Cost | undefined;
  readonly #hasVariableCost: boolean;
  /** Code generated by graphql-jit assigns fields by their aliases, which does not work for `__proto__`. */
  readonly #isCompilable: boolean;
  #prepared: Prepared | undefined;
  #useCount = 0;
  #compiled: CompiledQuery | undefined;

  constructor(
    schema: GraphQLSchema,
    text: string,
    document: DocumentNode,
    name: string | undefined,
    schemaAnswers: BoundedMap<Operation, ExecutionResult>,
  ) {
    this.#schema = schema;
    this.#schemaAnswers = schemaAnswers;
    this.#isAboutSchema = isAboutSchema(document);
    this.#isCompilable = !text.includes("__proto__");
    this.#document = document;
    this.#name = name;
    this.weight = Math.max(text.length, keptCharactersMax / keptCountMax);
    this.#hasVariableCost = hasVariableCost(document);
    this.#fixedCost = computeCost(document, {});
  }

  cost(variables: Variables): Cost | undefined {
    return this.#hasVariableCost ? computeCost(this.#document, variables) : this.#fixedCost;
  }

  prepare(depthMax: number): Prepared {
    this.#prepared ??= this.#validate(depthMax);
    return this.#prepared;
  }

  #validate(depthMax: number): Prepared {
    const errors = this.#errors(depthMax);
    if (errors.length > 0) return { kind: "refused", status: 200, errors };
    const fieldsOfItem = this.#fixedCost?.writtenFields ?? 1;
    return {
      kind: "run",
      isMutation: isMutation(this.#document, this.#name),
      run: (context, variables) => {
        context.fieldsOfItem = fieldsOfItem;
        return this.#run(context, variables);
      },
    };
  }

  #errors(depthMax: number): readonly GraphQLError[] {
    const cost = this.#fixedCost;
    // Without a cost, the document has not been compared with the limits, so the expensive rules must not run.
    if (cost === undefined)
      return validate(this.#schema, this.#document, [KnownFragmentNamesRule, NoFragmentCyclesRule], {
        maxErrors: validationErrorsMax,
      });
    if (depthMax > 0 && cost.expandedDepth > depthMax) {
      return [new GraphQLError(`Query has depth ${cost.expandedDepth} that exceeds max depth ${depthMax}`)];
    }
    const choice = chooseOperation(this.#document, this.#name) ?? tooMuchToValidate(this.#document);
    if (choice !== undefined) return [choice];
    this.#document = mergeFields(this.#document);
    return validate(this.#schema, this.#document, undefined, { maxErrors: validationErrorsMax });
  }

  #run(context: RequestContext, variables: Variables): Promise<ExecutionResult> | ExecutionResult {
    const known = this.#schemaAnswers.get(this);
    if (known !== undefined) return known;
    const result = this.#execute(context, variables);
    if (this.#isAboutSchema && !(result instanceof Promise)) this.#schemaAnswers.set(this, result);
    return result;
  }

  #execute(context: RequestContext, variables: Variables): Promise<ExecutionResult> | ExecutionResult {
    this.#useCount++;
    if (this.#useCount === 2 && this.#isCompilable && (this.#fixedCost?.writtenFields ?? Infinity) <= compiledFieldsMax)
      this.#compiled = this.#compile();
    if (this.#compiled !== undefined) return this.#compiled.query(undefined, context, variables);
    return execute({
      schema: this.#schema,
      document: this.#document,
      operationName: this.#name,
      contextValue: context,
      variableValues: variables,
    });
  }

  #compile(): CompiledQuery | undefined {
    const compiled = compileQuery(this.#schema, this.#document, this.#name, { disablingCapturingStackErrors: true });
    return isCompiledQuery(compiled) ? compiled : undefined;
  }
}

function isMutation({ definitions }: DocumentNode, name: string | undefined): boolean {
  return definitions.some(
    (definition) =>
      definition.kind === Kind.OPERATION_DEFINITION &&
      definition.operation === OperationTypeNode.MUTATION &&
      (name === undefined || definition.name?.value === name),
  );
}

/** Whether every response is the same: only the schema is requested, and no variable affects it. */
function isAboutSchema({ definitions }: DocumentNode): boolean {
  return definitions.every(
    (definition) =>
      definition.kind !== Kind.OPERATION_DEFINITION ||
      ((definition.variableDefinitions ?? []).length === 0 &&
        definition.selectionSet.selections.every(
          (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith("__"),
        )),
  );
}

/** Why no operation can be chosen, in the messages that clients of this interface know. */
function chooseOperation(document: DocumentNode, name: string | undefined): GraphQLError | undefined {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  if (operations.length === 0) return new GraphQLError("no operations in query document");
  if (name === undefined) {
    return operations.length === 1
      ? undefined
      : new GraphQLError("more than one operation in query document and no operation name given");
  }
  return operations.some((operation) => operation.name?.value === name)
    ? undefined
    : new GraphQLError(`no operation with name ${JSON.stringify(name)}`);
}

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
function countValues(value: unknown, max: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const key in value) {
    count += countValues((value as Readonly<Record<string, unknown>>)[key], max - count);
    if (count > max) return count;
  }
  return count;
}

/** Why a document within the limits is nevertheless too expensive to validate. */
function tooMuchToValidate({ definitions }: DocumentNode): GraphQLError | undefined {
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

/** Fields of the connection that `savedSearches` returns; `__typename` alone does not tell what is wanted. */
const connectionFields: ReadonlySet<string> = new Set(["nodes", "totalCount", "pageInfo", "__typename"]);

/**
 * Lets `savedSearches` also be requested as a list, as VS Code's extension does: in the schema that it was written for, the
 * field has no arguments and returns the searches themselves. Such a field is replaced by `savedSearchList`, under the name
 * that the client expects. A request of the connection is left as it is, because it selects other fields.
 */
function replaceSavedSearchLists(document: DocumentNode): DocumentNode {
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
