/** All pages of a history together are the history, and later pages do not start git again. */
import { execFileSync } from "node:child_process";
import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import { ask } from "../../support/graphql.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

interface Page {
  readonly nodes: readonly { readonly oid: string; readonly message: string }[];
  readonly pageInfo: { readonly endCursor: string | null; readonly hasNextPage: boolean };
}

const daemon = await sharedDaemon(t);

for (const format of ["sha1", "sha256"] as const) {
  t.test(`pages of a history, ${format}`, async (t) => {
    const source = GitFixture.create("bare", format);
    t.teardown(() => source.remove());
    for (let i = 0; i < 25; i++) {
      const files = { [i % 3 === 0 ? "a b/x.txt" : "y.txt"]: `${i}\n` };
      source.commit({ branch: "main", files, message: `Change ${i}` });
    }
    const name = `host/${format}`;
    await daemon.add(name, source.path);
    const pages = async (options: string): Promise<string[]> => {
      const oids: string[] = [];
      for (let cursor = ""; oids.length < 100; ) {
        const answer = (await ask(
          daemon.url,
          `{ repository(name: "${name}") { commit(rev: "main") { ancestors(first: 4, afterCursor: "${cursor}" ${options}) {
            nodes { oid message } pageInfo { endCursor hasNextPage } } } } }`,
        )) as { data: { repository: { commit: { ancestors: Page } } } };
        const { nodes, pageInfo } = answer.data.repository.commit.ancestors;
        oids.push(...nodes.map(({ oid }) => oid));
        t.ok(nodes.every(({ message }) => message.startsWith("Change ")));
        if (!pageInfo.hasNextPage) break;
        cursor = pageInfo.endCursor ?? "";
      }
      return oids;
    };
    const log = (...args: string[]): string[] =>
      execFileSync("git", ["-C", source.path, "log", "--format=%H", ...args], { encoding: "utf8" })
        .split("\n")
        .slice(0, -1);
    for (let i = 0; i < 2; i++) {
      t.same(await pages(""), log("main"));
      t.same(await pages('path: "a b/x.txt"'), log("main", "--", "a b/x.txt"));
      t.same(await pages('query: "change 1"'), log("main", "-i", "--grep=change 1"));
      t.same(await pages('after: "2000-01-01"'), log("main"));
    }
    source.commit({ branch: "main", files: { "y.txt": "new\n" }, message: "Change all" });
    await daemon.sync(name);
    t.same(await pages(""), log("main"), "after a new commit");
  });
}
