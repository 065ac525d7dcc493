import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";
import { RefSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { SearchSource } from "./search-sources.js";

/** A repository and branch in which a batch change would run. */
export class BatchWorkspace {
  readonly onlyFetchWorkspace = false;
  readonly ignored = false;
  readonly unsupported = false;
  readonly path = "";
  readonly searchResultPaths: readonly string[] = [];
  readonly repository: RepositorySource;
  readonly branch: RefSource;

  constructor(repository: RepositorySource, branch: RefSource) {
    this.repository = repository;
    this.branch = branch;
  }
}

/** Limit on the entries of `on`, each of which may be a search. */
const entriesMax = 100;

/**
 * The repositories that a batch spec chooses, as JSON, each with its branch: `src batch repositories` lists them. They
 * are whole repositories, whatever `workspaces` says, because batch changes themselves are not supported. Throws
 * `bad-request` for a spec that does not say which, and `not-found` for a repository or branch that does not exist.
 */
export async function resolveBatchWorkspaces(spec: string, context: RequestContext): Promise<BatchWorkspace[]> {
  const found = new Map<string, BatchWorkspace>();
  for (const entry of entriesIn(spec))
    for (const workspace of await resolveEntry(entry, context))
      found.set(`${workspace.repository.record.id} ${workspace.branch.name}`, workspace);
  return [...found.values()];
}

type Entry = Readonly<Record<string, unknown>>;

function entriesIn(spec: string): readonly Entry[] {
  const { on = [] } = parseObject(spec);
  if (!Array.isArray(on) || !on.every(isObject)) throw bad('"on" must be a list of objects');
  if (on.length > entriesMax) throw bad(`"on" has ${on.length} entries; at most ${entriesMax} are allowed`);
  return on;
}

function parseObject(text: string): Entry {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    throw bad(`it is not JSON: ${errorMessage(error)}`);
  }
  throw bad("it is not a JSON object");
}

async function resolveEntry(entry: Entry, context: RequestContext): Promise<readonly BatchWorkspace[]> {
  const { repositoriesMatchingQuery: query, repository: name, branch, branches = [] } = entry;
  if (typeof query === "string") {
    const repositories = await findMatching(query, context);
    // A repository without commits has nothing to change.
    return repositories.flatMap((repository) => {
      const head = defaultBranch(repository);
      return head === undefined ? [] : [new BatchWorkspace(repository, head)];
    });
  }
  if (typeof name !== "string") throw bad('an entry of "on" has a "repository" or "repositoriesMatchingQuery"');
  const record = await context.findRepository(name);
  if (record === undefined) throw new TrawlError("not-found", `repository ${JSON.stringify(name)} not found`);
  const repository = toRepositorySource(record);
  const names = typeof branch === "string" ? [branch] : branches;
  if (!Array.isArray(names) || !names.every((one) => typeof one === "string")) throw bad('"branches" must be names');
  if (names.length > entriesMax) throw bad(`an entry has at most ${entriesMax} branches`);
  if (names.length === 0) {
    const head = defaultBranch(repository);
    if (head === undefined) throw new TrawlError("not-found", `repository ${JSON.stringify(name)} has no commits yet`);
    return [new BatchWorkspace(repository, head)];
  }
  const found: BatchWorkspace[] = [];
  for (const one of names) found.push(new BatchWorkspace(repository, await findBranch(repository, one, context)));
  return found;
}

async function findMatching(query: string, context: RequestContext): Promise<readonly RepositorySource[]> {
  const has = (field: string): boolean => query.toLowerCase().includes(field);
  const whole = `${query}${has("select:") ? "" : " select:repo"}${has("count:") ? "" : " count:all"}`;
  const search = new SearchSource({
    query: whole,
    version: "V3",
    patternType: undefined,
    receipt: "none",
    near: false,
  });
  const { repositories, alert } = await search.results(context);
  if (repositories.length === 0 && alert !== null)
    throw bad(`repositoriesMatchingQuery: ${alert.title}: ${alert.description ?? ""}`);
  return repositories;
}

async function findBranch(repository: RepositorySource, name: string, { git }: RequestContext): Promise<RefSource> {
  const commit = repository.cloned ? await git.resolve(repository, `refs/heads/${name}`) : null;
  if (commit !== null) return toBranch(repository, name, commit);
  throw new TrawlError(
    "not-found",
    `repository ${JSON.stringify(repository.name)} has no branch ${JSON.stringify(name)}`,
  );
}

/** Undefined for an empty repository, and before the first fetch. */
function defaultBranch(repository: RepositorySource): RefSource | undefined {
  const { defaultBranch: name, indexedBranches } = repository.record;
  const branch = indexedBranches.find((indexed) => indexed.name === name);
  return branch === undefined ? undefined : toBranch(repository, name, branch.commit);
}

function toBranch(repository: RepositorySource, name: string, commit: string): RefSource {
  return new RefSource(repository, {
    name: `refs/heads/${name}`,
    oid: commit,
    type: "commit",
    commit,
    unixSeconds: 0,
  });
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-request", `the batch spec cannot be used: ${message}`);
}
