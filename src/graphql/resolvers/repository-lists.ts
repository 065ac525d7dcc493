import { errorMessage, TrawlError } from "../../base/errors.js";
import { filterInSteps, mapInSteps, sortInSteps } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Repository } from "../../model/repository.js";
import { compileRegexp } from "../../regexp/match/matcher.js";
import { pageCountMax } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ObjectTypes } from "./schema-types.js";
import { comesFrom } from "../sources/external-service-source.js";

/** As for a `repo:` filter: compiling a longer regular expression takes the main thread more than 10 ms. */
const queryCharactersMax = 8_192;

type PageArguments = Partial<ObjectTypes["Query"]["repositories"]["args"]>;

/** A page of repositories, and its position among all requested ones. */
export interface RepositoryPage {
  readonly records: readonly Repository[];
  readonly totalCount: number;
  readonly pageInfo: RepositoryPageInfo;
}

/** Cursors are created when they are requested. */
class RepositoryPageInfo {
  readonly #records: readonly Repository[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;

  constructor(records: readonly Repository[], hasNextPage: boolean, hasPreviousPage: boolean) {
    this.#records = records;
    this.hasNextPage = hasNextPage;
    this.hasPreviousPage = hasPreviousPage;
  }

  get startCursor(): string | null {
    return this.#records.length === 0 ? null : encodeCursor(this.#records[0]);
  }

  get endCursor(): string | null {
    return this.#records.length === 0 ? null : encodeCursor(this.#records[this.#records.length - 1]);
  }
}

/**
 * The page requested by the arguments. Rejects with `bad-request` if they specify no length, or an invalid cursor.
 * Fields of a request that differ only in the page share the work.
 */
export async function repositoryPage(
  table: RepositoryTable,
  args: PageArguments,
  context: RequestContext,
): Promise<RepositoryPage> {
  const length = pageLength(args);
  const wanted = needsWork(args) ? await sharedRows(table, args, context) : table.rowsByName();
  const [start, end] = bounds(table, wanted, args, length);
  const records = wanted.slice(start, end).map((row) => table.at(row));
  await context.yieldAfter(records.length);
  return {
    records,
    totalCount: wanted.length,
    pageInfo: new RepositoryPageInfo(records, end < wanted.length, start > 0),
  };
}

/** False for a page of all repositories by name, which the table has in memory. */
function needsWork({
  names,
  query,
  externalService,
  cloneStatus,
  cloned,
  notCloned,
  indexed,
  notIndexed,
  failedFetch,
  corrupted,
  orderBy,
  descending,
}: PageArguments): boolean {
  const isChosen =
    [names, query, cloneStatus, externalService].some((given) => given !== undefined && given !== null) ||
    [cloned, notCloned, indexed, notIndexed].includes(false) ||
    failedFetch === true ||
    corrupted === true;
  return isChosen || descending === true || comparisons[orderBy ?? "REPOSITORY_NAME"] !== undefined;
}

function sharedRows(
  table: RepositoryTable,
  { first: _, last: __, after: ___, before: ____, ...args }: PageArguments,
  context: RequestContext,
): Promise<readonly number[]> {
  const { work } = context;
  const isFromService = serviceTest(args, context);
  return work.once(work.cacheKey(`repositories of ${table.id}`, args), args.names?.length ?? table.count, () =>
    wantedRows(table, args, isFromService),
  );
}

function serviceTest({ externalService }: PageArguments, context: RequestContext): Test | undefined {
  if (externalService === undefined || externalService === null) return undefined;
  context.requireSiteAdmin();
  return comesFrom(externalService, context);
}

function pageLength({ first, last, names }: PageArguments): number {
  const length = first ?? last;
  if (length === undefined || length === null) {
    if (names !== undefined && names !== null) return pageCountMax;
    throw new TrawlError("bad-request", "you must provide a `first` or `last` value to properly paginate");
  }
  if (length < 0) throw new TrawlError("bad-request", `first or last: ${length} is negative`);
  return Math.min(length, pageCountMax);
}

/**
 * Start and end (exclusive). If the repository of a cursor no longer exists, the page starts at the beginning, or ends
 * at the end.
 */
function bounds(
  table: RepositoryTable,
  wanted: readonly number[],
  { first, after, before }: PageArguments,
  length: number,
): [start: number, end: number] {
  const lowest = after === undefined || after === null ? 0 : indexOfCursor(table, wanted, after) + 1;
  const highest = before === undefined || before === null ? wanted.length : indexOfCursor(table, wanted, before);
  const upper = highest < 0 ? wanted.length : highest;
  if (first !== undefined && first !== null) return [lowest, Math.max(lowest, Math.min(upper, lowest + length))];
  return [Math.max(lowest, upper - length), Math.max(lowest, upper)];
}

/** -1 if its repository is not among the requested ones, or no longer exists. */
function indexOfCursor(table: RepositoryTable, wanted: readonly number[], cursor: string): number {
  const text = Buffer.from(cursor, "base64").toString();
  if (!/^\d{1,15}$/.test(text))
    throw new TrawlError(
      "bad-request",
      `${JSON.stringify(cursor.slice(0, 100))} is not a cursor; use one from a pageInfo`,
    );
  const row = table.findRow(Number(text));
  return row === undefined ? -1 : wanted.indexOf(row);
}

function encodeCursor({ id }: Repository): string {
  return Buffer.from(String(id)).toString("base64");
}

/** Rows of the table, so that only records that are tested or returned are read. */
function* wantedRows(
  table: RepositoryTable,
  args: PageArguments,
  isFromService: Test | undefined,
): Generator<void, readonly number[]> {
  const { names } = args;
  const all = names === undefined || names === null ? table.rowsByName() : yield* namedRows(table, names);
  const tests = [...compileTests(args), ...(isFromService === undefined ? [] : [isFromService])];
  const wanted =
    tests.length === 0 ? all : yield* filterInSteps(all, (row) => tests.every((test) => test(table.at(row))));
  return yield* ordered(table, wanted, args);
}

function* namedRows(table: RepositoryTable, names: readonly string[]): Generator<void, readonly number[]> {
  const rows = yield* mapInSteps([...new Set(names)], (name) => table.findRowByName(name));
  return rows.filter((row) => row !== undefined);
}

type Test = (repository: Repository) => boolean;

function compileTests(args: PageArguments): Test[] {
  const { query, cloneStatus, cloned, notCloned, indexed, notIndexed, failedFetch, corrupted } = args;
  const isCloned: Test = ({ lastFetched }) => lastFetched !== "";
  const isIndexed: Test = ({ generation }) => generation > 0;
  const tests: (Test | undefined | false | null)[] = [
    query !== undefined && query !== null && query !== "" && nameTest(query),
    cloned === false && ((repository) => !isCloned(repository)),
    notCloned === false && isCloned,
    indexed === false && ((repository) => !isIndexed(repository)),
    notIndexed === false && isIndexed,
    failedFetch === true && (({ lastError }) => lastError !== ""),
    corrupted === true && (() => false),
    cloneStatus && ((repository) => currentCloneStatus(repository) === cloneStatus),
  ];
  return tests.filter((test): test is Test => typeof test === "function");
}

function currentCloneStatus({ lastFetched, lastError }: Repository) {
  if (lastFetched !== "") return "CLONED";
  return lastError === "" ? "CLONING" : "NOT_CLONED";
}

/** A text that is not a regular expression is matched as part of a name. Throws `bad-request` for a very long one. */
function nameTest(query: string): Test {
  if (query.length > queryCharactersMax)
    throw new TrawlError(
      "bad-request",
      `query: more than ${queryCharactersMax} characters; use a shorter regular expression, or give names`,
    );
  const text = query.toLowerCase();
  const holdsText: Test = ({ name }) => name.toLowerCase().includes(text);
  // A regular expression takes 6 ms for 10,000 names.
  if (/^[\w/-]*$/.test(query)) return holdsText;
  try {
    const matcher = compileRegexp(query, true);
    return ({ name }) => matcher.test(Buffer.from(name));
  } catch (error) {
    if (!(error instanceof TrawlError)) throw new TrawlError("internal", errorMessage(error), { cause: error });
    return holdsText;
  }
}

function* ordered(
  table: RepositoryTable,
  rows: readonly number[],
  { orderBy, descending }: PageArguments,
): Generator<void, readonly number[]> {
  const compare = comparisons[orderBy ?? "REPOSITORY_NAME"];
  // Rows are already ordered by name.
  const sorted = compare === undefined ? rows : yield* sortInSteps(rows, (a, b) => compare(table.at(a), table.at(b)));
  return descending === true ? [...sorted].reverse() : sorted;
}

const comparisons: Readonly<Record<string, (a: Repository, b: Repository) => number>> = {
  REPO_CREATED_AT: (a, b) => a.id - b.id,
  REPOSITORY_CREATED_AT: (a, b) => a.id - b.id,
  SIZE: (a, b) => a.contentBytes - b.contentBytes || a.id - b.id,
};
