/** The services that repositories come from, what an operator should look at, and fields that old clients request. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import { GraphqlSite, idOf } from "../../support/graphql-site.js";
import { until } from "../../support/waiting.js";

interface Job {
  readonly state: string;
  readonly reposSynced: number;
  readonly reposAdded: number;
  readonly reposUnmodified: number;
  readonly failureMessage: string | null;
}

interface Service {
  readonly id: string;
  readonly kind: string;
  readonly displayName: string;
  readonly config: string;
  readonly repoCount: number;
  readonly lastSyncError: string | null;
  readonly syncJobs: { readonly nodes: readonly Job[]; readonly totalCount: number };
}

const serviceFields = `id kind displayName config repoCount lastSyncAt nextSyncAt lastSyncError
  syncJobs(first: 5) { nodes { id state startedAt finishedAt failureMessage reposSynced reposAdded reposUnmodified } totalCount }`;

t.test("connections are external services", async (t) => {
  const root = t.testdir();
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.txt": "alpha\n" } });
  const [list, secret] = [join(root, "list"), join(root, "secret")];
  writeFileSync(secret, "s", { mode: 0o600 });
  writeFileSync(list, `one ${fixture.path}\ntwo ${fixture.path}\n`);
  const connections = [
    { name: "all", kind: "list", url: list, prefix: "l/" },
    { name: "gone", kind: "folder", url: join(root, "none"), credential: `file:${secret}` },
  ];
  const repositories = [{ name: "own", url: fixture.path }];
  const site = await GraphqlSite.start(t, { connections, repositories });
  const services = async (): Promise<readonly Service[]> =>
    (
      await site.data<{ externalServices: { nodes: readonly Service[] } }>(
        "admin",
        `{ externalServices(first: 10) { nodes { ${serviceFields} } totalCount } }`,
      )
    ).externalServices.nodes;
  const ended = ({ syncJobs }: Service): boolean => ["COMPLETED", "FAILED"].includes(syncJobs.nodes[0]?.state ?? "");
  await until("both were listed", async () => (await services()).slice(1).every(ended));
  await until("all were fetched", async () => (await site.daemon.search("alpha")).found.length === 3);

  // `src extsvc edit -name` requests all of them this way.
  const everything =
    "query ($first: Int) { externalServices(first: $first) { nodes { id kind displayName config createdAt updatedAt } totalCount pageInfo { hasNextPage } } }";
  t.match(await site.data("admin", everything, { first: 99_999 }), { externalServices: { totalCount: 3 } });
  const [own, all, gone] = await services();
  t.match(own, { kind: "OTHER", displayName: "Configured repositories", repoCount: 1, syncJobs: { totalCount: 0 } });
  t.match(all, { kind: "OTHER", displayName: "all", repoCount: 2, lastSyncError: null, syncJobs: { totalCount: 1 } });
  t.match(all?.syncJobs.nodes, [{ state: "COMPLETED", reposSynced: 2, reposAdded: 2, failureMessage: null }]);
  t.match(gone, { kind: "LOCALGIT", repoCount: 0, lastSyncError: /cannot be read/ });
  t.match(gone?.syncJobs.nodes, [{ state: "FAILED", reposSynced: 0, failureMessage: /cannot be read/ }]);
  t.match(JSON.parse(gone?.config ?? ""), { url: join(root, "none"), credential: "REDACTED" });

  await t.test("of a repository, and its repositories", async (t) => {
    const ofRepository =
      "query ($name: String!) { repository(name: $name) { id externalServices(first: 5) { nodes { displayName } } } }";
    for (const [name, displayName] of [
      ["l/one", "all"],
      ["own", "Configured repositories"],
    ] as const) {
      const { repository } = await site.data<{ repository: { id: string } }>("admin", ofRepository, { name });
      t.match(repository, { externalServices: { nodes: [{ displayName }] } });
      const byRepository =
        "query ($id: ID!) { externalServices(first: 5, repo: $id) { nodes { displayName } totalCount } }";
      t.match(await site.data("admin", byRepository, { id: repository.id }), {
        externalServices: { nodes: [{ displayName }], totalCount: 1 },
      });
    }
    const byService = "query ($id: ID!) { repositories(first: 5, externalService: $id) { nodes { name } totalCount } }";
    t.same(await site.data("admin", byService, { id: all?.id }), {
      repositories: { nodes: [{ name: "l/one" }, { name: "l/two" }], totalCount: 2 },
    });
    t.match(await site.data("admin", byService, { id: own?.id }), { repositories: { nodes: [{ name: "own" }] } });
    t.match(await site.data("admin", byService, { id: idOf("ExternalService", "no") }), {
      repositories: { totalCount: 0 },
    });
    t.match(await site.refusal("admin", byService, { id: idOf("User", 1) }), /not of an ExternalService/);
    t.equal(await site.refusal("ann", byService, { id: all?.id }), "must be site admin");
    t.match(
      await site.data("admin", "query ($id: ID!) { node(id: $id) { ... on ExternalService { displayName } } }", {
        id: all?.id,
      }),
      {
        node: { displayName: "all" },
      },
    );
    t.equal(
      await site.refusal("ann", "query ($id: ID!) { node(id: $id) { id } }", { id: all?.id }),
      "must be site admin",
    );
  });

  await t.test("a connection is listed again", async (t) => {
    const sync = "mutation ($id: ID!) { syncExternalService(id: $id) { alwaysNil } }";
    t.equal(await site.refusal("ann", sync, { id: all?.id }), "must be site admin");
    t.match(await site.refusal("admin", sync, { id: idOf("ExternalService", "no") }), /no such external service/);
    await site.data("admin", sync, { id: all?.id });
    await until("there is a second attempt", async () => (await services())[1]?.syncJobs.totalCount === 2);
    await until("it has ended", async () => ended((await services())[1] as Service));
    t.match((await services())[1]?.syncJobs.nodes[0], { state: "COMPLETED", reposAdded: 0, reposUnmodified: 2 });
    t.match(
      site.audited.filter(({ event }) => event === "repository-ordered"),
      [{ connection: "all" }],
    );
  });

  await t.test("what an operator should look at", async (t) => {
    const alerts =
      "query ($days: Int) { site { monitoringStatistics(days: $days) { alerts { timestamp name serviceName owner average } } } }";
    const found = { serviceName: "connections", name: /^warning: connections: gone: .*cannot be read/, average: 1 };
    for (const days of [null, 1])
      t.match(await site.data("admin", alerts, { days }), { site: { monitoringStatistics: { alerts: [found] } } });
    t.match(await site.data("admin", alerts, { days: 0 }), { site: { monitoringStatistics: { alerts: [] } } });
    t.equal(await site.refusal("ann", alerts), "must be site admin");
    t.match(
      await site.data(
        "admin",
        "{ site { externalServicesCounts { remoteExternalServicesCount localExternalServicesCount } } }",
      ),
      {
        site: { externalServicesCounts: { remoteExternalServicesCount: 2, localExternalServicesCount: 1 } },
      },
    );
  });

  await t.test("what there cannot be", async (t) => {
    const jobs =
      "{ permissionsSyncJobs(first: 10, state: FAILED) { nodes { id subject { ... on User { username } } } totalCount pageInfo { hasNextPage } } }";
    t.match(await site.data("admin", jobs), { permissionsSyncJobs: { nodes: [], totalCount: 0 } });
    t.equal(await site.refusal("ann", jobs), "must be site admin");
    t.match(
      await site.refusal(
        "admin",
        'mutation { excludeRepoFromExternalServices(externalServices: ["x"], repo: "y") { alwaysNil } }',
      ),
      /configuration file/,
    );
    const rest = `{
      site { productSubscription { license { isValid } } }
      currentUser { eventLogs(first: 5) { nodes { name } totalCount } }
      repository(name: "own") {
        changelist(cid: "1") { cid }
        commit(rev: "") {
          perforceChangelist { cid canonicalURL }
          tree { entries { path history(first: 1) { nodes { commit { subject } path } } } }
          blob(path: "a.txt") { ...GitBlobFields }
        }
      }
    }
    fragment GitBlobFields on CodeIntelGitBlob { path content repository { name } commit { oid } }`;
    // The first response comes from graphql-js, the second from the compiled operation.
    for (const _ of ["first", "second"])
      t.match(await site.data("admin", rest), {
        site: { productSubscription: { license: null } },
        currentUser: { eventLogs: { nodes: [], totalCount: 0 } },
        repository: {
          changelist: null,
          commit: {
            perforceChangelist: null,
            tree: { entries: [{ path: "a.txt", history: { nodes: [{ path: "a.txt" }] } }] },
            blob: { path: "a.txt", content: "alpha\n", repository: { name: "own" }, commit: { oid: /^[0-9a-f]{40}$/ } },
          },
        },
      });
  });

  await t.test("settings as old clients request them", async (t) => {
    const { currentUser } = await site.data<{ currentUser: { id: string } }>("ann", "{ currentUser { id } }");
    const edit = `mutation ($subject: ID!, $edit: ConfigurationEdit!) {
      configurationMutation(input: { subject: $subject }) { editConfiguration(edit: $edit) { empty { alwaysNil } } }
    }`;
    await site.data("ann", edit, { subject: currentUser.id, edit: { keyPath: [{ property: "a" }], value: 1 } });
    const cascade = `{
      viewerConfiguration { ...Cascade }
      currentUser { configurationCascade { ...Cascade } }
      site { configurationCascade { ...Cascade } }
    }
    fragment Cascade on ConfigurationCascade { subjects { id latestSettings { contents } } merged { contents messages } }`;
    const merged = { contents: '{"a":1}', messages: [] };
    for (const _ of ["first", "second"])
      t.match(await site.data("ann", cascade), {
        viewerConfiguration: { merged },
        currentUser: { configurationCascade: { merged } },
        site: { configurationCascade: { merged: { contents: "{}" } } },
      });
    t.match(
      await site.refusal(
        "bob",
        "query ($id: ID!) { node(id: $id) { ... on User { configurationCascade { merged { contents } } } } }",
        { id: currentUser.id },
      ),
      /must be authenticated as the authorized user/,
    );
  });
});
