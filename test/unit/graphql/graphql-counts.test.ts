/** Counts that are larger than a GraphQL `Int`. */
import t from "tap";
import { SearchResultsSource } from "../../../src/graphql/sources/search-sources.js";

const large = 3_000_000_000;
const intMax = 2_147_483_647;

t.test("a count that exceeds an Int is the largest Int", async (t) => {
  const progress = {
    done: true,
    repositoriesCount: undefined,
    matchCount: large,
    durationMs: 1,
    skipped: [],
    trace: "",
    receipt: undefined,
    explain: undefined,
    duplicates: { places: 2, matchesInAllPlaces: large, complete: true },
  };
  const filter = { value: "", label: "Go", count: large, exhaustive: true, limitHit: false, kind: "lang" } as const;
  const source = new SearchResultsSource(
    {
      matches: [],
      filters: [filter],
      groups: undefined,
      progress,
      alert: undefined,
      error: undefined,
      end: undefined,
      isCut: false,
    },
    () => undefined,
  );
  t.equal(source.matchCount, intMax);
  t.equal(source.resultCount, intMax);
  t.equal(source.approximateResultCount, String(large), "a text has all digits");
  t.match(source.dynamicFilters, [{ count: intMax }]);
  t.match(source.languages, [{ totalLines: intMax }]);
  t.same(source.duplicates, { places: 2, matchesInAllPlaces: intMax, complete: true });
});
