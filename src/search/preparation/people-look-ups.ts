import type { BasicQueryPlan, SearchPlan, TextPlan } from "../../query/plan/plan.js";
import { analyseRegexp } from "../../regexp/analysis/analyse.js";
import type { FindCondition } from "../../protocol/search-options.js";
import { contributorFilters, PeopleTable, type PeopleOfCommit } from "../../protocol/people-table.js";
import type { KnownAttribute } from "../revisions/commit-attributes.js";
import { find } from "../repositories/find.js";
import { emptyResults } from "../repositories/repository-conditions.js";
import { keepRevisions, type Resolution } from "../repositories/repository-resolver.js";
import {
  type OwnersLookup,
  type PrepareContext,
  type Preparation,
  keepFound,
  ask,
  type ExcludedRepositories,
} from "./preparation-context.js";
import { collectCommits, commitKey } from "../repositories/searched-commits.js";

/** Limit on the data about people in one search. */
const peopleBytesMax = 128 * 1024 * 1024;

export function asksPeople(plan: SearchPlan): boolean {
  return plan.basicQueries.some((basicQuery) => asksOwners(plan, basicQuery) || asksContributors(basicQuery));
}

function asksOwners(plan: SearchPlan, { text, optionsIndex }: BasicQueryPlan): boolean {
  return (
    text !== undefined &&
    (plan.resultOptions[optionsIndex].select === "file.owners" || text.people.some(({ kind }) => kind === "owner"))
  );
}

function asksContributors({ text }: BasicQueryPlan): boolean {
  return text?.people.some(({ kind }) => kind === "contributor") ?? false;
}

/** Reduces the choice to what may have results, and looks up the people of its commits. */
export async function preparePeople(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  excluded: ExcludedRepositories,
  context: PrepareContext,
): Promise<Pick<Preparation, "selections" | "people">> {
  const asking = plan.basicQueries.map((basicQuery) => asksOwners(plan, basicQuery) || asksContributors(basicQuery));
  const searched = resolutions
    .map((resolution, i) => ({
      file: plan.basicQueries[i].text,
      selection: resolution.selection,
      found: emptyResults(resolution, 1)[0],
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
  const owners = await ask({ kind: "code-owners" }, withOwners, excluded, context);
  const filters = contributorFilters(plan).map(({ source, foldCase }) => ({ source, foldCase }));
  const written = withResults.filter((_, i) => asksContributors(plan.basicQueries[i]));
  const contributors =
    filters.length === 0
      ? new Map<string, KnownAttribute>()
      : await ask({ kind: "contributors", filters }, written, excluded, context);
  const people = bound(
    collectPeople(
      withResults.filter((_, i) => asking[i]),
      owners,
      contributors,
      context.ownersOf,
    ),
    excluded,
  );
  return {
    selections: withResults.map(
      (resolution, i) => (asking[i] ? keepRevisions(resolution, ({ id }) => !excluded.has(id)) : resolution).selection,
    ),
    people: PeopleTable.of(people).memory,
  };
}

function collectPeople(
  resolutions: readonly Resolution[],
  owners: ReadonlyMap<string, KnownAttribute>,
  contributors: ReadonlyMap<string, KnownAttribute>,
  ownersOf: OwnersLookup,
): PeopleOfCommit[] {
  return collectCommits(resolutions).map((commit) => {
    const key = commitKey(commit);
    const own = owners.get(key)?.bytes;
    const set = own === undefined ? ownersOf(commit.repositoryId) : undefined;
    return {
      ...commit,
      codeOwners: own ?? set?.bytes,
      ownersVersion: set?.version ?? 0,
      contributors: contributors.get(key)?.bytes,
    };
  });
}

/** Keeps as much as one search may use; the last repositories are excluded. */
function bound(people: readonly PeopleOfCommit[], excluded: ExcludedRepositories): PeopleOfCommit[] {
  let byteCount = 0;
  return people.filter(({ repositoryId, codeOwners, contributors }) => {
    byteCount += (codeOwners?.length ?? 0) + (contributors?.length ?? 0);
    if (byteCount <= peopleBytesMax) return true;
    excluded.note({
      repositoryId,
      reason: `with it, data about people would exceed ${peopleBytesMax} bytes`,
      isLate: false,
    });
    return false;
  });
}

const codeOwnersPath = String.raw`\A(?:(?:\.github|\.gitlab|docs)/)?CODEOWNERS\z`;

const codeOwnersFile: TextPlan = {
  symbols: undefined,
  content: true,
  path: true,
  pattern: undefined,
  leaves: [],
  people: [],
  fileFilters: [
    {
      kind: "path",
      negated: false,
      source: codeOwnersPath,
      foldCase: false,
      highlighted: false,
      label: "CODEOWNERS",
      analysis: analyseRegexp(codeOwnersPath, false),
    },
  ],
};
