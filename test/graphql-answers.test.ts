/** GraphQL over HTTP, on a running daemon and real repositories. */
import t from "tap";
import { testDaemon } from "./support/daemon.js";
import { GitFixture } from "./support/git-fixture.js";
import { ask } from "./support/graphql.js";

t.test("the first questions of clients", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  source.commit({ branch: "main", files: { "a.txt": "one\nneedle two\n" } });
  const daemon = await testDaemon(t);
  await daemon.add("example.org/a", source.path);

  t.strictSame(await ask(daemon.url, "{ currentUser { username } }"), { data: { currentUser: null } });
  t.match(await ask(daemon.url, "{ site { productVersion buildVersion } }"), { data: { site: { productVersion: /^\d+\.\d+\.\d+$/, buildVersion: /_\d{4}-\d\d-\d\d_/ } } });
  t.strictSame(await ask(daemon.url, "query ($query: String!) { search(query: $query) { results { matchCount limitHit results { ... on FileMatch { file { path content } lineMatches { preview lineNumber offsetAndLengths } } } } } }",
    { query: "ne+dle" }), {
    data: {
      search: {
        results: {
          matchCount: 1, limitHit: false,
          results: [{ file: { path: "a.txt", content: "one\nneedle two\n" }, lineMatches: [{ preview: "needle two", lineNumber: 1, offsetAndLengths: [[0, 6]] }] }],
        },
      },
    },
  });
});
