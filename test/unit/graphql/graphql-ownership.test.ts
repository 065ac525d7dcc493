/** Code owners: of a file of the repository, and set by a site admin. */
import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import { GraphqlSite, idOf } from "../../support/graphql-site.js";
import { repositoryIds } from "../../support/graphql.js";

const fields = "fragment CodeownersFileFields on CodeownersIngestedFile { contents repository { name } }";
const change = (field: string): string => `mutation ($repoName: String!, $content: String!) {
  ${field}(input: { repoName: $repoName, fileContents: $content }) { ...CodeownersFileFields }
} ${fields}`;
const remove =
  "mutation ($repoName: String!) { deleteCodeownersFiles(repositories: [{ repoName: $repoName }]) { alwaysNil } }";

interface Owned {
  readonly repository: {
    readonly commit: {
      readonly blob: { readonly ownership: { readonly nodes: readonly unknown[]; readonly totalOwners: number } };
    };
  };
}

t.test("code owners", async (t) => {
  const site = await GraphqlSite.start(t);
  const [without, withFile] = [GitFixture.create(), GitFixture.create()];
  t.teardown(() => [without, withFile].forEach((fixture) => fixture.remove()));
  without.commit({ branch: "main", files: { "web/a.txt": "alpha\n", "lib/b.txt": "alpha\n" } });
  withFile.commit({
    branch: "main",
    files: { "a.txt": "alpha\n", ".github/CODEOWNERS": "# the owners\n\n*.txt @ann ben@acme.test @core\n" },
  });
  await site.daemon.add("acme/without", without.path);
  await site.daemon.add("acme/with", withFile.path);

  const found = async (query: string): Promise<readonly string[]> => (await site.daemon.search(query)).found.toSorted();
  const ownership = async (asker: "anonymous" | "bob", name: string, path: string): Promise<unknown> => {
    const query = `query ($name: String!, $path: String!) { repository(name: $name) { commit(rev: "") { blob(path: $path) {
      ownership(first: 10) {
        nodes {
          owner { __typename ... on Person { displayName email user { username } } ... on Team { name } }
          reasons { ... on CodeownersFileEntry { title description ruleLineMatch codeownersFile { path } } }
        }
        totalCount totalOwners
      }
    } } } }`;
    return (await site.data<Owned>(asker, query, { name, path })).repository.commit.blob.ownership;
  };

  await t.test("of a file of the repository", async (t) => {
    await site.data("ann", 'mutation { createTeam(name: "core") { name } }');
    const reasons = [{ description: /\*\.txt$/, ruleLineMatch: 3, codeownersFile: { path: ".github/CODEOWNERS" } }];
    const ben = { owner: { displayName: "ben@acme.test", email: "ben@acme.test", user: null }, reasons };
    for (const _ of ["first", "second"])
      t.match(await ownership("bob", "acme/with", "a.txt"), {
        nodes: [
          { owner: { __typename: "Person", displayName: "ann", user: { username: "ann" } }, reasons },
          ben,
          { owner: { __typename: "Team", name: "core" }, reasons },
        ],
        totalOwners: 3,
      });
    t.match(
      await ownership("anonymous", "acme/with", "a.txt"),
      { nodes: [{ owner: { displayName: "ann", user: null } }, ben, { owner: { displayName: "core", user: null } }] },
      "anonymous viewers do not learn who has an account",
    );
    t.match(await ownership("bob", "acme/with", ".github/CODEOWNERS"), { nodes: [], totalOwners: 0 });
  });

  await t.test("the accounts of authors, by a verified address", async (t) => {
    const query = `{ repository(name: "acme/with") {
      commit(rev: "") { author { person { name user { username } } } committer { person { user { username } } } }
      contributors(first: 1) { nodes { person { user { username } } } }
    } }`;
    const authors = (asker: "anonymous" | "bob", user: unknown): Promise<void> =>
      site.data(asker, query).then((data) => {
        t.same(data, {
          repository: {
            commit: { author: { person: { name: "Fixture", user } }, committer: { person: { user } } },
            contributors: { nodes: [{ person: { user } }] },
          },
        });
      });
    await authors("bob", null);
    await site.data(
      "admin",
      'mutation { createUser(username: "fay", email: "fixture@example.org") { user { username } } }',
    );
    await authors("bob", { username: "fay" });
    await authors("anonymous", null);
  });

  await t.test("set for a repository that has no file", async (t) => {
    const [repoName, content] = ["acme/without", "lib @ann\nweb/ web@acme.test\n"];
    for (const [field, name, message] of [
      ["addCodeownersFile", "acme/no", /^repo not found: acme\/no$/],
      ["updateCodeownersFile", repoName, /^could not update codeowners file: codeowners file not found: /],
    ] as const)
      t.match(await site.refusal("admin", change(field), { repoName: name, content }), message);
    t.equal(await site.refusal("bob", change("addCodeownersFile"), { repoName, content }), "must be site admin");
    t.same(await found("file:has.owner(ann) alpha"), ["acme/with:a.txt:1"]);

    const added = { contents: content, repository: { name: repoName } };
    t.same(await site.data("admin", change("addCodeownersFile"), { repoName, content }), { addCodeownersFile: added });
    t.equal(
      await site.refusal("admin", change("addCodeownersFile"), { repoName, content }),
      "codeowners file has already been ingested for this repository",
    );
    t.same(await found("file:has.owner(ann) alpha"), ["acme/with:a.txt:1", "acme/without:lib/b.txt:1"]);
    t.same(await found("file:has.owner(web@acme.test) alpha"), ["acme/without:web/a.txt:1"]);
    const set = "query ($name: String!) { repository(name: $name) { ingestedCodeowners { id createdAt contents } } }";
    t.match(await site.data("bob", set, { name: repoName }), {
      repository: { ingestedCodeowners: { contents: content } },
    });
    t.match(await site.data("bob", set, { name: "acme/with" }), { repository: { ingestedCodeowners: null } });
    t.match(await ownership("bob", repoName, "lib/b.txt"), {
      nodes: [{ owner: { user: { username: "ann" } }, reasons: [{ ruleLineMatch: 1, codeownersFile: null }] }],
    });

    // The text of a search's commits is kept by commit: a change applies to the same commit.
    const other = "lib @bob\n";
    await site.data("admin", change("updateCodeownersFile"), { repoName, content: other });
    t.same(await found("file:has.owner(ann) alpha"), ["acme/with:a.txt:1"]);
    t.same(await found("file:has.owner(bob) alpha"), ["acme/without:lib/b.txt:1"]);
    t.match(await ownership("bob", repoName, "lib/b.txt"), { nodes: [{ owner: { user: { username: "bob" } } }] });
    const all = "{ codeownersIngestedFiles(first: 5) { nodes { contents repository { name } } totalCount } }";
    t.same(await site.data("admin", all), {
      codeownersIngestedFiles: { nodes: [{ contents: other, repository: { name: repoName } }], totalCount: 1 },
    });
    t.equal(await site.refusal("bob", all), "must be site admin");
  });

  await t.test("a file of the repository takes precedence", async (t) => {
    await site.data("admin", change("addCodeownersFile"), { repoName: "acme/with", content: "* @bob\n" });
    t.same(await found("file:has.owner(bob) alpha"), ["acme/without:lib/b.txt:1"]);
    t.match(await ownership("bob", "acme/with", "a.txt"), { totalOwners: 3 });
    const stream = await fetch(`${site.daemon.url}/.api/search/stream?q=file:^lib/+alpha+select:file.owners`);
    t.match(await stream.text(), /"type":"person","handle":"bob"/);
  });

  await t.test("not seen without the repository, and removed", async (t) => {
    const repository = await repositoryIds(site.daemon.url, "acme/without");
    const hide = `mutation { setRepositoryPermissionsUnrestricted(repositories: ["${repository.id}"], unrestricted: false) { alwaysNil } }`;
    await site.data("admin", hide);
    const node = "query ($id: ID!) { node(id: $id) { ... on CodeownersIngestedFile { repository { name } } } }";
    const id = idOf("CodeownersIngestedFile", repository.number);
    t.match(await site.data("bob", node, { id }), { node: null });
    t.match(await site.data("admin", node, { id }), { node: { repository: { name: "acme/without" } } });
    t.equal(await site.refusal("bob", remove, { repoName: "acme/without" }), "must be site admin");
    await site.data("admin", remove, { repoName: "acme/without" });
    t.match(await site.refusal("admin", remove, { repoName: "acme/without" }), /^codeowners file not found: /);
    t.match(await site.data("admin", node, { id }), { node: null });
    t.equal(site.audited.filter(({ event, outcome }) => event === "owners-changed" && outcome === undefined).length, 4);
  });
});
