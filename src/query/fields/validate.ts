import { nearestWord } from "../../base/text.js";
import { TrawlError } from "../../base/errors.js";
import { resultAtOnce } from "../../base/yielding.js";
import { type Language, languageByName, languageNames } from "../../model/language.js";
import type { Analyses } from "./analyses.js";
import { collectLeaves, type FieldNode } from "../syntax/ast.js";
import type { BasicQuery } from "../syntax/basic.js";
import type { Span } from "../syntax/characters.js";
import { checkPlainValue } from "./check-value.js";
import { type FieldName, fields } from "../syntax/fields.js";
import { queryLimits } from "../syntax/limits.js";
import { checkPredicate } from "./predicates.js";
import { locateErrors, QueryError, RevisionSyntaxError, UnsupportedError } from "../syntax/query-error.js";
import { isRevision, isRevisionGlob, readBoolean, readYesNoOnly, splitRepository, splitRevisions } from "./values.js";
import { isPredicate } from "./repository-predicates.js";

/**
 * Rejects what the grammar accepts but no search can execute. Checks one basic query after another, in the order that
 * determines which of several errors the user sees: fields from left to right, regexps, revisions, fields that require
 * a type.
 */
export class Validator {
  readonly #text: string;
  readonly #analyses: Analyses;
  readonly #nowMs: number;
  /** Fields whose value is known to be valid; basic queries share fields. */
  readonly #checked = new Set<FieldNode>();

  constructor(text: string, analyses: Analyses, nowMs: number) {
    this.#text = text;
    this.#analyses = analyses;
    this.#nowMs = nowMs;
  }

  /** Throws a `QueryError` at the position of the first error. */
  check(query: BasicQuery): void {
    resultAtOnce(this.checkInSteps(query));
  }

  /** Like `check`, in steps. */
  *checkInSteps(query: BasicQuery): Generator<undefined, void> {
    yield* this.#checkFields(query);
    yield* this.#checkPatterns(query);
    this.#checkRevisions(query);
    this.#checkRevisionSyntax(query);
    this.#checkSymbolType(query);
    this.#checkCommitFields(query);
    this.#checkIndexedGlobs(query);
    this.#checkRevisionKinds(query);
  }

  *#checkFields(query: BasicQuery): Generator<undefined, void> {
    const seen = new Set<FieldName>();
    for (const field of query.fields) {
      locateErrors(this.#text, field.span, () => this.#checkField(field, seen.has(field.name)));
      seen.add(field.name);
      yield;
    }
  }

  #checkField(field: FieldNode, again: boolean): void {
    const { name, negated } = field;
    if (!this.#checked.has(field)) checkPredicate(field, this.#nowMs);
    if (again && fields[name].once) throw bad(`field "${name}" may not be used more than once`);
    if (this.#checked.has(field)) return;
    if (negated && !fields[name].negatable) throw bad(`field "${name}" does not support negation`);
    if (field.predicate === undefined) this.#checkValue(field);
    this.#checked.add(field);
  }

  #checkValue({ name, value, span }: FieldNode): void {
    checkPlainValue(name, value, this.#nowMs);
    switch (fields[name].value) {
      case "language":
        readLanguage(value);
        return;
      case "regexp":
        this.#analyses.regexp(value, true, span);
        return;
      case "repository":
        if (value.length > queryLimits.repositoryFilterLengthMax)
          throw bad(`a repo: filter is longer than ${queryLimits.repositoryFilterLengthMax} characters; write several`);
        this.#analyses.regexp(splitRepository(value).source, true, span);
        return;
      case "refused":
        throw bad(`unrecognized field "${name}"`);
      default:
    }
  }

  *#checkPatterns(query: BasicQuery): Generator<undefined, void> {
    if (query.pattern === undefined) return;
    const foldCase = !isCaseSensitive(query);
    for (const leaf of collectLeaves(query.pattern)) {
      if (leaf.kind === "pattern") this.#analyses.pattern(leaf, foldCase);
      yield;
    }
  }

  #checkRevisions(query: BasicQuery): void {
    const revision = findField(query, "rev");
    if (revision === undefined) return;
    const repositories = query.fields.filter(({ name, negated }) => name === "repo" && !negated);
    const withRevision = repositories.find(({ value, predicate }) => predicate === undefined && value.includes("@"));
    if (withRevision !== undefined) throw this.#error(bothRevisions, withRevision.span);
    if (repositories.length === 0) throw this.#error(revisionWithoutRepository, revision.span);
    if (repositories.every(({ value }) => value === "")) throw this.#error(revisionOfNothing, revision.span);
  }

  #checkRevisionSyntax(query: BasicQuery): void {
    for (const field of query.fields) {
      const wrong = readRevisions(field).find((revision) => !isRevision(revision));
      if (wrong !== undefined) throw new RevisionSyntaxError(wrong, this.#text, field.span);
    }
  }

  #checkSymbolType(query: BasicQuery): void {
    const field = findField(query, "repohasfile");
    if (!hasType(query, "symbol")) return;
    if (field !== undefined) throw this.#error(symbolWithFile, field.span);
    const leaves = query.pattern === undefined ? [] : collectLeaves(query.pattern);
    const negated = leaves.find((leaf) => leaf.kind === "pattern" && leaf.negated);
    if (negated !== undefined) throw this.#error("symbol search does not support negation.", negated.span);
  }

  #checkCommitFields(query: BasicQuery): void {
    if (hasType(query, "commit") || hasType(query, "diff")) return;
    const last = query.fields.findLast(({ name }) => commitFields.has(name));
    if (last === undefined) return;
    const message = `your query contains the field '${last.name}', which requires type:commit or type:diff in the query`;
    throw this.#error(message, last.span);
  }

  #checkIndexedGlobs(query: BasicQuery): void {
    const index = findField(query, "index");
    if (index === undefined || readYesNoOnly("index", index.value) !== "only" || searchesOnlyHistory(query)) return;
    if (query.fields.some(hasRevisionGlob)) throw this.#error(indexedGlob, index.span);
  }

  /** Only a search of history can exclude the history of a revision. An exclusion is a glob over full ref names. */
  #checkRevisionKinds(query: BasicQuery): void {
    for (const field of query.fields) {
      for (const revision of readRevisions(field)) {
        const isOfHistory = hasType(query, "commit") || hasType(query, "diff");
        if (revision.startsWith("^") && !isOfHistory)
          throw this.#error(
            `the revision "${revision}" excludes history, which requires type:commit or type:diff in the query`,
            field.span,
          );
        if (revision.startsWith("*!") && !revision.startsWith("*!refs/"))
          throw this.#error(`the revision "${revision}" must begin with *!refs/, as in *!refs/heads/old*`, field.span);
      }
    }
  }

  #error(message: string, span: Span): QueryError {
    return new QueryError(message, this.#text, span);
  }
}

const commitFields: ReadonlySet<FieldName> = new Set(["author", "before", "after", "message"]);

const bothRevisions =
  "invalid syntax. You specified both @ and rev: for a repo: filter and I don't know how to interpret this. " +
  "Remove either @ or rev: and try again";

const revisionWithoutRepository =
  "invalid syntax. The query contains `rev:` without `repo:`. Add a `repo:` filter and try again";

const revisionOfNothing =
  "invalid syntax. The query contains `rev:` but `repo:` is empty. Add a non-empty `repo:` filter and try again";

const symbolWithFile = "repohasfile is not compatible for type:symbol";

const indexedGlob = "invalid index:only (revisions with glob pattern cannot be resolved for indexed searches)";

export function findField(query: BasicQuery, wanted: FieldName): FieldNode | undefined {
  return query.fields.find(({ name }) => name === wanted);
}

function hasType(query: BasicQuery, type: string): boolean {
  return query.fields.some(({ name, value }) => name === "type" && value === type);
}

/** Whether it has types, and all of them are commits or diffs. */
export function searchesOnlyHistory({ fields }: BasicQuery): boolean {
  const types = fields.filter(({ name }) => name === "type");
  return types.length > 0 && types.every(({ value }) => value === "commit" || value === "diff");
}

/** Expects a query with validated fields. */
export function isCaseSensitive(query: BasicQuery): boolean {
  const field = findField(query, "case");
  return field !== undefined && readBoolean(field.value);
}

export function readLanguage(value: string): Language {
  const language = languageByName(value);
  if (language === undefined) throw bad(`unknown language: "${value}"${suggestLanguage(value)}`);
  return language;
}

/** Comparing longer values with every name would take too long. */
const suggestedLengthMax = 32;

function suggestLanguage(value: string): string {
  const nearest = value.length > suggestedLengthMax ? undefined : nearestWord(value, languageNames());
  return nearest === undefined ? "" : `. Did you mean ${nearest.toLowerCase()}?`;
}

/** Revisions of a `repo:` or `rev:` field as typed; none for any other field. */
export function readRevisions({ name, value, negated, predicate }: FieldNode): readonly string[] {
  if (predicate !== undefined || negated) return [];
  if (name === "rev") return splitRevisions(value);
  return name === "repo" ? splitRepository(value).revisions : [];
}

function hasRevisionGlob(field: FieldNode): boolean {
  return readRevisions(field).some(isRevisionGlob);
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-query", message);
}

const unbuiltTypes: ReadonlySet<string> = new Set(["codeowners"]);
const builtSelects: ReadonlySet<string> = new Set([
  "repo",
  "content",
  "file",
  "file.path",
  "file.directory",
  "file.owners",
  "commit",
  "commit.diff",
  "commit.diff.added",
  "commit.diff.removed",
]);
const builtPredicates: ReadonlySet<string> = new Set([
  "file:has.content",
  "file:contains.content",
  "repo:has.path",
  "repo:contains.path",
  "repo:has.content",
  "repo:contains.content",
  "repo:has.file",
  "repo:contains.file",
  "repo:contains",
  "repo:has.commit.after",
  "repo:contains.commit.after",
  "file:has.owner",
  "file:has.contributor",
  "rev:at.time",
]);

/** Throws `UnsupportedError` if a valid query requests something that is not implemented yet. */
export function refuseUnbuilt(text: string, query: BasicQuery): void {
  const isOfHistory = query.fields.some(({ name, value }) => name === "type" && historyTypes.has(value));
  for (const field of query.fields) {
    const what = unbuiltPart(field) ?? (isOfHistory ? unbuiltForHistory(field) : undefined);
    if (what !== undefined) {
      throw new UnsupportedError(
        `The filter ${what} is recognized but not implemented yet. Remove it to search without it.`,
        text,
        field.span,
      );
    }
  }
}

const historyTypes: ReadonlySet<string> = new Set(["commit", "diff"]);

/** Predicates on the text, the owners and the authors of a file do not apply to the files of commits. */
function unbuiltForHistory({ name, predicate }: FieldNode): string | undefined {
  return name === "file" && predicate !== undefined
    ? `file:${predicate.name}(...) with type:commit or type:diff`
    : undefined;
}

/** The part of the field that is not implemented, approximately as the user typed it. */
function unbuiltPart(field: FieldNode): string | undefined {
  const { name, value, predicate } = field;
  if (isPredicate(field)) return undefined;
  if (predicate !== undefined)
    return builtPredicates.has(`${name}:${predicate.name}`) ? undefined : `${name}:${predicate.name}(...)`;
  if (!fields[name].built) return `${name}:`;
  if (name === "type" && unbuiltTypes.has(value)) return `type:${value}`;
  if (name === "select" && !builtSelects.has(value) && !/^symbol(\.|$)/.test(value)) return `select:${value}`;
  return undefined;
}
