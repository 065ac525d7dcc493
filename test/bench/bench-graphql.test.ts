import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { graphqlVersion, graphqlWays, operations, startGraphqlServer } from "../../native-bench/suites/graphql.js";
import { endAll } from "../../native-bench/system/processes.js";

t.test("the other servers return the configured data", async (t) => {
  t.teardown(endAll);
  const repositories = Array.from({ length: 30 }, (_, i) => ({
    id: `${i}`,
    name: `r${i}`,
    description: "",
    url: `/r${i}`,
    stars: i,
    isFork: false,
    isArchived: false,
    isPrivate: true,
  }));
  const dataFile = join(t.testdir(), "data.json");
  writeFileSync(dataFile, JSON.stringify({ repositories, currentUser: { username: "alice" } }));
  const wanted = [
    { repositories: { nodes: repositories.slice(0, 25) } },
    { repositories: { nodes: repositories } },
    { currentUser: { username: "alice" } },
  ];
  for (const way of graphqlWays) {
    const url = await startGraphqlServer(way, dataFile);
    t.match(graphqlVersion(way), /^\d+\.\d+\.\d+$/);
    for (const [i, { query }] of operations.entries()) {
      const response = await fetch(`${url}/.api/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
      t.same(await response.json(), { data: wanted[i] }, `${way}: ${query}`);
    }
  }
});
