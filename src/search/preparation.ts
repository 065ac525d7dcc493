import type { Repository } from "../model/repository.js";
import type { BasicQueryPlan, SearchPlan, TextPlan } from "../query/plan/plan.js";
import { analyseRegexp } from "../regexp/analysis/analyse.js";
import type { FindCondition, RepositorySelection, RevisionChoice } from "../protocol/search-options.js";
import { contributorFilters, PeopleTable, type PeopleOfCommit } from "../protocol/people-table.js";
import type { IndexLimits } from "../protocol/messages.js";
import type { CommitOfRepository, CommitQuestion } from "../protocol/read-messages.js";
import {
  commitKey,
  type CommitAttributeReader,
  type AttributeAnswers,
  type AttributeFailure,
  type KnownAttribute,
} from "./revisions/commit-attributes.js";
import { find, type FindContext } from "./repositories/find.js";
import { applyConditions, emptyFound } from "./repositories/repository-conditions.js";
import { keepRevisions, searchedChoices, type Resolution } from "./repositories/repository-resolver.js";

/** Bytes of what is known of people that one search carries. */
const peopleBytesMax = 128 * 1024 * 1024;

/** What finding out before a search needs. */
export interface PrepareContext extends FindContext {
  readonly commitAttributes: CommitAttributeReader;
  /** Which files have content that is searched: as in the index. */
  readonly limits: IndexLimits;
  /** When reading mirrors ends, as of `performance.now()`. */
  readonly deadlineMs: number;
}

/** What a search begins with. */
export interface Preparation {
  /** What the filters on repositories chose, by basic query. */
  readonly resolutions: readonly Resolution[];
  /** What of it is searched: less, where the search for people has shown that the rest has no results. */
  readonly selections: readonly RepositorySelection[];
  /** Memory of a `PeopleTable`; undefined when nobody asks for people. */
  readonly people: SharedArrayBuffer | undefined;
  readonly leftOut: readonly ExcludedRepository[];
}

/** A repository that is not searched, as something about it could not be found out. */
export interface ExcludedRepository {
  readonly repository: string;
  /** Follows its name, as in "there was not enough time". */
  readonly reason: string;
  readonly isLate: boolean;
}

export function needsPreparation(plan: SearchPlan): boolean {
  return (
    asksPeople(plan) ||
    plan.basicQueries.some(
      ({ repositories }) => repositories.conditions.length + repositories.committedAfter.length > 0,
    )
  );
}

/**
 * Finds out what the index alone does not say, or not at once: which repositories meet the conditions on what they
 * hold, then which meet those on their history, then who owns and who wrote the files that may be results. Each step
 * asks about what the one before has left.
 */
export async function prepare(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  context: PrepareContext,
): Promise<Preparation> {
  const leftOut = new ExcludedRepositories(resolutions);
  let left: readonly Resolution[] = await applyConditions(
    plan.basicQueries.map(({ repositories }) => repositories),
    resolutions,
    context,
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepWithFiles(basicQuery, left[i], leftOut, context)),
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepCommittedAfter(basicQuery, left[i], leftOut, context)),
  );
  if (!asksPeople(plan) || context.control.isStopped) {
    return {
      resolutions: left,
      selections: left.map(({ selection }) => selection),
      people: undefined,
      leftOut: leftOut.all,
    };
  }
  return { resolutions: left, ...(await preparePeople(plan, left, leftOut, context)), leftOut: leftOut.all };
}

function asksPeople(plan: SearchPlan): boolean {
  return plan.basicQueries.some((basicQuery) => asksOwners(plan, basicQuery) || asksContributors(basicQuery));
}

function asksOwners(plan: SearchPlan, { text, rules }: BasicQueryPlan): boolean {
  return (
    text !== undefined &&
    (plan.rules[rules].select === "file.owners" || text.people.some(({ kind }) => kind === "owner"))
  );
}

function asksContributors({ text }: BasicQueryPlan): boolean {
  return text?.people.some(({ kind }) => kind === "contributor") ?? false;
}

/** Of the commits that are not indexed those that meet the conditions, which only the mirrors can tell. */
async function keepWithFiles(
  { repositories: { conditions } }: BasicQueryPlan,
  resolution: Resolution,
  leftOut: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { file, negated } of conditions) {
    const unindexed = keepRevisions(left, (_, choice) => choice.unindexed !== undefined);
    if (unindexed.repositories.length === 0) return left;
    const path = file.pathFilters.length === 0 ? "" : file.pathFilters[0].source;
    const content = file.leaves.length === 0 ? "" : file.leaves[0].source;
    const facts = await ask({ kind: "has-file", path, content, limits: context.limits }, [unindexed], leftOut, context);
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      const fact = choice.unindexed === undefined || commit === undefined ? undefined : facts.get(commitKey(commit));
      return choice.unindexed === undefined || (fact !== undefined && fact.holds !== negated);
    });
  }
  return left;
}

/**
 * A history is as young as the commit that is searched: like `git log --since`, which looks no further than a commit
 * that is too old. So one date, which never changes, answers for every moment.
 */
async function keepCommittedAfter(
  { repositories: { committedAfter } }: BasicQueryPlan,
  resolution: Resolution,
  leftOut: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { unixSeconds, negated } of committedAfter) {
    const facts = await ask({ kind: "commit-date" }, [left], leftOut, context);
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      // A repository without a commit has none that is younger.
      if (commit === undefined) return negated;
      const fact = facts.get(commitKey(commit));
      return fact?.unixSeconds !== undefined && fact.unixSeconds > unixSeconds !== negated;
    });
  }
  return left;
}

/** Leaves of the choice what may have results, and finds out about the people of its commits. */
async function preparePeople(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  leftOut: ExcludedRepositories,
  context: PrepareContext,
): Promise<Pick<Preparation, "selections" | "people">> {
  const asking = plan.basicQueries.map((basicQuery) => asksOwners(plan, basicQuery) || asksContributors(basicQuery));
  const searched = resolutions
    .map((resolution, i) => ({
      file: plan.basicQueries[i].text,
      selection: resolution.selection,
      found: emptyFound(resolution),
    }))
    .filter(({ file }, i) => file !== undefined && asking[i]) as FindCondition[];
  const owning = searched.map(({ selection, found }) => ({
    file: codeOwnersFile,
    selection,
    found: new Int32Array(new SharedArrayBuffer(found.byteLength)),
  }));
  await find([...searched, ...owning], context);
  const foundOf = new Map(
    searched.map(({ selection, found }, i) => [selection, { results: found, owners: owning[i].found }]),
  );
  const withResults = resolutions.map((resolution, i) =>
    asking[i] ? keepFound(resolution, foundOf.get(resolution.selection)?.results) : resolution,
  );
  const withOwners = resolutions.flatMap((resolution, i) =>
    asksOwners(plan, plan.basicQueries[i])
      ? [keepFound(withResults[i], foundOf.get(resolution.selection)?.owners)]
      : [],
  );
  const owners = await ask({ kind: "code-owners" }, withOwners, leftOut, context);
  const filters = contributorFilters(plan).map(({ source, foldCase }) => ({ source, foldCase }));
  const written = withResults.filter((_, i) => asksContributors(plan.basicQueries[i]));
  const contributors =
    filters.length === 0
      ? new Map<string, KnownAttribute>()
      : await ask({ kind: "contributors", filters }, written, leftOut, context);
  const people = bound(
    collectPeople(
      withResults.filter((_, i) => asking[i]),
      owners,
      contributors,
    ),
    leftOut,
  );
  return {
    selections: withResults.map(
      (resolution, i) => (asking[i] ? keepRevisions(resolution, ({ id }) => !leftOut.has(id)) : resolution).selection,
    ),
    people: PeopleTable.of(people).memory,
  };
}

/** What is found in the index, and what the index does not know. */
function keepFound(resolution: Resolution, found: Int32Array | undefined): Resolution {
  return keepRevisions(
    resolution,
    ({ id }, { bit, unindexed }) =>
      unindexed !== undefined || (found !== undefined && bit >= 0 && ((found[id] >>> bit) & 1) === 1),
  );
}

function collectPeople(
  resolutions: readonly Resolution[],
  owners: ReadonlyMap<string, KnownAttribute>,
  contributors: ReadonlyMap<string, KnownAttribute>,
): PeopleOfCommit[] {
  return collectCommits(resolutions).map((commit) => {
    const key = commitKey(commit);
    return { ...commit, codeOwners: owners.get(key)?.bytes, contributors: contributors.get(key)?.bytes };
  });
}

/** As much as one search may carry; the repositories that come last are left out. */
function bound(people: readonly PeopleOfCommit[], leftOut: ExcludedRepositories): PeopleOfCommit[] {
  let byteCount = 0;
  return people.filter(({ repositoryId, codeOwners, contributors }) => {
    byteCount += (codeOwners?.length ?? 0) + (contributors?.length ?? 0);
    if (byteCount <= peopleBytesMax) return true;
    leftOut.note({
      repositoryId,
      reason: `with it, more than ${peopleBytesMax} bytes about people would be needed`,
      isLate: false,
    });
    return false;
  });
}

/** The answers about all commits of the resolutions; a repository without an answer is left out. */
async function ask(
  question: CommitQuestion,
  resolutions: readonly Resolution[],
  leftOut: ExcludedRepositories,
  { commitAttributes, deadlineMs, control, client }: PrepareContext,
): Promise<AttributeAnswers["facts"]> {
  const { facts, failures } = await commitAttributes.ask(question, collectCommits(resolutions), {
    deadlineMs,
    stop: control.memory,
    client,
  });
  for (const failure of failures) leftOut.note(failure);
  return facts;
}

class ExcludedRepositories {
  readonly #all = new Map<number, ExcludedRepository>();
  readonly #nameOf: ReadonlyMap<number, string>;

  constructor(resolutions: readonly Resolution[]) {
    this.#nameOf = new Map(resolutions.flatMap(({ repositories }) => repositories).map(({ id, name }) => [id, name]));
  }

  get all(): readonly ExcludedRepository[] {
    return [...this.#all.values()];
  }

  has(repositoryId: number): boolean {
    return this.#all.has(repositoryId);
  }

  /** The first reason counts. */
  note({ repositoryId, reason, isLate }: AttributeFailure): void {
    if (!this.has(repositoryId))
      this.#all.set(repositoryId, { repository: this.#nameOf.get(repositoryId) ?? "", reason, isLate });
  }
}

/** The commits that are searched, each once. */
function collectCommits(resolutions: readonly Resolution[]): readonly CommitOfRepository[] {
  const commits = new Map<string, CommitOfRepository>();
  for (const resolution of resolutions) {
    for (const repository of resolution.repositories) {
      for (const choice of searchedChoices(resolution, repository)) {
        const commit = commitAt(repository, choice);
        if (commit !== undefined) commits.set(commitKey(commit), commit);
      }
    }
  }
  return [...commits.values()];
}

function commitAt(
  { id, indexedBranches }: Repository,
  { bit, unindexed }: RevisionChoice,
): CommitOfRepository | undefined {
  const commit = unindexed?.commit ?? indexedBranches.find((branch) => branch.bit === bit)?.commit;
  return commit === undefined ? undefined : { repositoryId: id, commit };
}

const codeOwnersPath = String.raw`\A(?:(?:\.github|\.gitlab|docs)/)?CODEOWNERS\z`;

const codeOwnersFile: TextPlan = {
  content: true,
  path: true,
  pattern: undefined,
  leaves: [],
  people: [],
  pathFilters: [
    {
      negated: false,
      source: codeOwnersPath,
      foldCase: false,
      highlighted: false,
      label: "CODEOWNERS",
      analysis: analyseRegexp(codeOwnersPath, false),
    },
  ],
};
