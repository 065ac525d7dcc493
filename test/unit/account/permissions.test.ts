/** A repository that a viewer cannot see does not exist: every response equals that of a store without it. */
import { makePart } from "../../support/search-parts.js";
import t from "tap";
import { hasBit } from "../../../src/base/bits.js";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import { VisibleTables } from "../../../src/catalog/visible-tables.js";
import type { Repository } from "../../../src/model/repository.js";
import { anonymous, type Viewer } from "../../../src/model/viewer.js";
import { choosePatternType } from "../../../src/query/syntax/parse.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { chooseAlert } from "../../../src/search/report/alerts.js";
import { resolveRepositories, type Resolution } from "../../../src/search/repositories/repository-resolver.js";
import { testRepository } from "../../support/engine.js";
import { randomFrom } from "../../support/random.js";

const userCount = 200;
const repositoryCount = 500;
const organizationCount = 20;

const random = randomFrom(42);
const oneOf = <T>(items: readonly T[]): T => items[random(items.length)];
const chance = (percent: number): boolean => random(100) < percent;

const organizations = Array.from({ length: organizationCount }, (_, i) => `org${i}`);
const users: readonly Viewer[] = Array.from({ length: userCount }, (_, i) => ({
  userId: i + 1,
  name: `user${i}`,
  isSiteAdmin: i === 0,
  sudoBy: undefined,
  isSignedIn: false,
  readerNames: [`user${i}`, ...organizations.filter(() => chance(10))].sort(),
}));

const repositories: readonly Repository[] = Array.from({ length: repositoryCount }, (_, i) =>
  testRepository(i + 1, `host/${oneOf(["a", "b", "c"])}/r${i}`, {
    private: chance(60),
    fork: chance(15),
    archived: chance(10),
    stars: random(5),
    topics: chance(20) ? ["secret"] : [],
    readers: Array.from({ length: random(6) }, () =>
      chance(30) ? oneOf(organizations).toUpperCase() : oneOf(users).name,
    ),
    generation: chance(90) ? 1 : 0,
    lastError: chance(5) ? "unreachable" : "",
  }),
);

/** The rule, formulated differently from the code. */
function maySee(viewer: Viewer, repository: Repository): boolean {
  if (viewer.isSiteAdmin || !repository.private) return true;
  return viewer.readerNames.some((name) => repository.readers.map((reader) => reader.toLowerCase()).includes(name));
}

const queries = [
  "x",
  "repo:a/ x",
  "repo:^host/a/r1$ x",
  "repo:^host/b/r7$",
  "repo:r1.*@nope x",
  "-repo:a x",
  "fork:yes archived:yes x",
  "fork:only x",
  "archived:only",
  "visibility:private type:repo",
  "visibility:public x",
  "repo:has.topic(secret) x",
  "repo:r12 or repo:r34 fork:yes",
  "repo:^nothing$ x",
  "repo:a rev:v1 x",
];
const plans = queries.map((query) => ({
  query,
  plan: planQuery(query, choosePatternType(query, "V3", ""), new Map()),
}));

/** Everything that a search reveals about repositories, in one text. */
function told(table: RepositoryTable): string {
  return plans
    .map(({ query, plan }) => {
      const resolutions = plan.basicQueries.map((alternative) => resolveRepositories(table, alternative.repositories));
      const alert = chooseAlert({
        queryText: query,
        plan,
        part: makePart(plan, resolutions, table.count),
        unownedResults: 0,
        hasResults: false,
        timedOutAfterMs: undefined,
      });
      return JSON.stringify([query, alert, ...resolutions.map((resolution) => shownResolution(resolution, table))]);
    })
    .join("\n");
}

function shownResolution(
  { tableId, selection, repositories: chosen, ...resolution }: Resolution,
  table: RepositoryTable,
) {
  const { repositoryIds, revisions } = selection;
  // A store without other repositories may be searched as a whole, a store with hidden repositories never.
  const searched =
    repositoryIds === undefined
      ? table.isWhole
        ? table.values().map(({ id }) => id)
        : ["everything"]
      : repositories.map(({ id }) => id).filter((id) => hasBit(repositoryIds, id));
  return {
    ...resolution,
    chosen: chosen.map(({ name }) => name),
    searched: [...searched].sort(),
    revisions: [...(revisions ?? [])],
  };
}

t.test(`${userCount} users and an anonymous viewer × ${repositoryCount} repositories`, async (t) => {
  const tables = new VisibleTables(() => repositories);
  const counts = new Set<number>();
  for (const viewer of [anonymous, ...users]) {
    const visible = repositories.filter((repository) => maySee(viewer, repository));
    counts.add(visible.length);
    const table = tables.of(viewer);
    const [got, want] = [told(table), told(RepositoryTable.of(visible, true, undefined))];
    if (got !== want) t.equal(got, want, viewer.name);
    for (const { id, name } of repositories) {
      const isThere = visible.some((repository) => repository.id === id);
      if ((table.byId(id) !== undefined) !== isThere || (table.byName(name) !== undefined) !== isThere)
        t.fail(`${viewer.name}: ${name}`);
    }
  }
  t.ok(counts.size > 30, `the users see ${counts.size} different numbers of repositories`);
});

t.test("the next search sees a change", async (t) => {
  const records = new Map([1, 2].map((id) => [id, testRepository(id, `r${id}`, { private: id === 2 })]));
  const tables = new VisibleTables(() => records.values());
  const ann: Viewer = { ...anonymous, userId: 1, name: "ann", readerNames: ["ann"] };
  const seen = (): readonly string[] =>
    tables
      .of(ann)
      .values()
      .map(({ name }) => name)
      .sort();
  const change = (id: number, fields: Partial<Repository>): void => {
    const changed = { ...records.get(id)!, ...fields };
    records.set(id, changed);
    tables.replace(changed);
  };
  t.same(seen(), ["r1"]);
  change(2, { readers: ["Ann"] });
  t.same(seen(), ["r1", "r2"]);
  t.ok(tables.of(ann).isWhole, "who sees all of it searches as fast as a site admin");
  change(2, { readers: ["eve"] });
  t.same(seen(), ["r1"]);
  change(1, { private: true });
  t.same(seen(), []);
  change(2, { private: false });
  t.same(seen(), ["r2"]);
  change(2, { lastFetched: "2030-01-01T00:00:00Z" });
  t.equal(tables.of(ann).byName("r2")?.lastFetched, "2030-01-01T00:00:00Z", "and so is a newer record");
});

t.test("tables of viewers are cached within a limit, and rebuilt on demand", async (t) => {
  const tables = new VisibleTables(() => repositories);
  const first = tables.of(users[1]);
  t.equal(tables.of(users[1]), first);
  for (let i = 0; i < 300; i++) tables.of({ ...anonymous, readerNames: [`other${i}`] });
  const again = tables.of(users[1]);
  t.not(again, first);
  t.same(again.values(), first.values());
});
