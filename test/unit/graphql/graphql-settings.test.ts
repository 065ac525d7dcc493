/** Settings, organizations, teams and saved searches over GraphQL, for each kind of viewer; these and contexts last. */
import t from "tap";
import { GraphqlSite, idOf, type Asker } from "../../support/graphql-site.js";
import { ask } from "../../support/graphql.js";
import { restartSharedDaemon } from "../../support/shared-daemon.js";

const [notAuthenticated, notAdmin, notSelf] = [
  "not authenticated",
  "must be site admin",
  "must be authenticated as the authorized user or site admin",
];
const siteId = idOf("Site", "site");

const edit =
  "mutation ($s: ID!, $l: Int, $e: SettingsEdit!) { settingsMutation(input: { subject: $s, lastID: $l }) { editSettings(edit: $e) { empty { alwaysNil } } } }";
const overwrite =
  "mutation ($s: ID!, $l: Int, $c: String!) { settingsMutation(input: { subject: $s, lastID: $l }) { overwriteSettings(contents: $c) { empty { alwaysNil } } } }";
const latest =
  "query ($s: ID!) { settingsSubject(id: $s) { __typename latestSettings { id contents author { username } createdAt subject { id } } viewerCanAdminister settingsURL } }";

interface Latest {
  readonly settingsSubject: { readonly latestSettings: { readonly id: number; readonly contents: string } | null };
}

t.test("organizations, teams, settings and saved searches", async (t) => {
  const site = await GraphqlSite.start(t);
  const [annId, bobId] = [await site.userId("ann"), await site.userId("bob")];
  const {
    createOrganization: { id: coreId },
  } = await site.data<{ createOrganization: { id: string } }>(
    "admin",
    'mutation { createOrganization(name: "core", displayName: "The core") { id } }',
  );

  await t.test("the site", async (t) => {
    const configuration =
      "{ site { configuration { id effectiveContents validationMessages history { totalCount nodes { id } } } } }";
    t.match(await site.data("admin", configuration), {
      site: { configuration: { id: 1, effectiveContents: /"rateLimits"/, history: { totalCount: 0, nodes: [] } } },
    });
    t.equal(await site.refusal("ann", configuration), notAdmin);
    const write = 'mutation { updateSiteConfiguration(lastID: 1, input: "{}") }';
    t.match(await site.refusal("admin", write), /a file, which the operator edits/);
    t.equal(await site.refusal("ann", write), notAdmin);
    t.equal(await site.refusal("anonymous", write), notAuthenticated);
    t.match(
      await site.data(
        "admin",
        "{ site { externalServicesCounts { remoteExternalServicesCount } productSubscription { actualUserCount maximumAllowedUserCount } usageStatistics(days: 1) { daus { userCount } } } featureFlags { name } statusMessages { __typename } }",
      ),
      {
        site: {
          externalServicesCounts: { remoteExternalServicesCount: 1 },
          productSubscription: { actualUserCount: 3, maximumAllowedUserCount: null },
          usageStatistics: { daus: [] },
        },
        featureFlags: [],
        statusMessages: [{ __typename: "NoRepositoriesDetected" }],
      },
    );
    t.match(await site.data("ann", "{ site { productSubscription { actualUserCount } } }"), {
      site: { productSubscription: { actualUserCount: 0 } },
    });
  });

  await t.test("organizations", async (t) => {
    await site.data(
      "admin",
      'mutation ($o: ID!) { addUserToOrganization(organization: $o, username: "ann") { alwaysNil } }',
      { o: coreId },
    );
    const list =
      "query ($q: String) { organizations(first: 5, query: $q) { totalCount nodes { id name displayName members { nodes { id username } totalCount pageInfo { hasNextPage } } } } }";
    t.match(await site.data("admin", list), {
      organizations: {
        totalCount: 1,
        nodes: [
          {
            id: coreId,
            name: "core",
            displayName: "The core",
            members: { nodes: [{ username: "admin" }, { username: "ann" }], totalCount: 2 },
          },
        ],
      },
    });
    t.match(await site.data("admin", list, { q: "none" }), { organizations: { totalCount: 0, nodes: [] } });
    t.equal(await site.refusal("ann", list), notAdmin);
    const one = `query ($id: ID!) { organization(name: "CORE") { name viewerIsMember viewerCanAdminister settingsURL url members(last: 1) { nodes { username } pageInfo { startCursor hasPreviousPage } } }
      node(id: $id) { __typename } namespace(id: $id) { namespaceName } namespaceByName(name: "core") { __typename } ann: namespaceByName(name: "ann") { __typename url } }`;
    t.match(await site.data("ann", one, { id: coreId }), {
      organization: {
        name: "core",
        viewerIsMember: true,
        viewerCanAdminister: true,
        url: "/organizations/core",
        members: { nodes: [{ username: "ann" }], pageInfo: { startCursor: "1", hasPreviousPage: true } },
      },
      node: { __typename: "Org" },
      namespace: { namespaceName: "core" },
      namespaceByName: { __typename: "Org" },
      ann: { __typename: "User" },
    });
    for (const asker of ["bob", "anonymous", "admin as bob"] as const) {
      t.match(
        await site.data(asker, one, { id: coreId }),
        {
          organization: null,
          node: null,
          namespace: null,
          namespaceByName: null,
          ann: asker === "anonymous" ? null : { url: "/users/ann" },
        },
        `${asker} does not learn of it`,
      );
    }
    t.match(await site.data("bob", '{ user(username: "ann") { organizations { totalCount } } }'), {
      user: { organizations: { totalCount: 0 } },
    });
    t.match(
      await site.data(
        "ann",
        "{ currentUser { organizations { nodes { name } } organizationMemberships { nodes { organization { name } user { username } } } } }",
      ),
      {
        currentUser: {
          organizations: { nodes: [{ name: "core" }] },
          organizationMemberships: { nodes: [{ organization: { name: "core" }, user: { username: "ann" } }] },
        },
      },
    );

    const rows: readonly (readonly [mutation: string, bob: string, ann: string | undefined])[] = [
      ['createOrganization(name: "mine") { id }', notAdmin, notAdmin],
      [`deleteOrganization(organization: "${coreId}") { alwaysNil }`, notAdmin, notAdmin],
      [`addUserToOrganization(organization: "${coreId}", username: "bob") { alwaysNil }`, notAdmin, notAdmin],
      [`updateOrganization(id: "${coreId}", displayName: "Core") { displayName }`, notSelf, undefined],
      [`removeUserFromOrganization(user: "${annId}", organization: "${coreId}") { alwaysNil }`, notSelf, undefined],
    ];
    for (const [mutation, bob, ann] of rows) {
      t.equal(await site.refusal("anonymous", `mutation { ${mutation} }`), notAuthenticated, mutation);
      t.equal(await site.refusal("bob", `mutation { ${mutation} }`), bob, mutation);
      t.equal(await site.refusal("ann", `mutation { ${mutation} }`), ann ?? "", `a member: ${mutation}`);
    }
    t.equal(
      await site.refusal("bob", `mutation { updateOrganization(id: "${idOf("Org", 999)}") { id } }`),
      notSelf,
      "the same for one that is not there",
    );
    t.match(await site.refusal("admin", 'mutation { createOrganization(name: "bob") { id } }'), /already taken/);
    t.match(
      await site.refusal(
        "admin",
        `mutation { addUserToOrganization(organization: "${coreId}", username: "nobody") { alwaysNil } }`,
      ),
      /no user named/,
    );
    await site.data(
      "admin",
      'mutation ($o: ID!) { addUserToOrganization(organization: $o, username: "ann") { alwaysNil } }',
      { o: coreId },
    );
    await site.data("admin", "mutation ($o: ID!, $u: ID!) { removeUserFromOrg(orgID: $o, userID: $u) { alwaysNil } }", {
      o: coreId,
      u: await site.userId("admin"),
    });
    t.match(
      await site.refusal(
        "ann",
        "mutation ($o: ID!, $u: ID!) { removeUserFromOrg(orgID: $o, userID: $u) { alwaysNil } }",
        { o: coreId, u: annId },
      ),
      /only member/,
    );
    t.match(
      site.audited.filter(({ event }) => event === "member-removed"),
      [{ who: "ann" }, { who: "admin", organization: "core", user: "admin" }],
    );
  });

  await t.test("teams", async (t) => {
    const taken = 'mutation { createTeam(name: "Insiders") { name } }';
    await site.daemon.control("POST", "/.api/repositories", {
      repositories: [{ name: "host/plans", url: "/nonexistent", private: true, readers: ["insiders"] }],
    });
    t.equal(await site.refusal("bob", taken), "team name is already taken", "by the readers of a repository");
    type Made = Readonly<Record<"createTeam", { readonly id: string }>>;
    const { createTeam } = await site.data<Made>("bob", 'mutation { createTeam(name: "outsiders") { id } }');
    const rename = "mutation ($id: ID!, $n: String!) { updateTeam(id: $id, name: $n) { name } }";
    const renamed = (n: string) => site.refusal("bob", rename, { id: createTeam.id, n });
    t.equal(await renamed("insiders"), "team name is already taken", "nor by another name for one's own team");
    t.equal(await renamed("outsiders"), "");
    await site.data("bob", "mutation ($id: ID!) { deleteTeam(id: $id) { alwaysNil } }", { id: createTeam.id });
    await site.daemon.remove("host/plans");
    t.match(
      await site.data(
        "bob",
        'mutation { createTeam(name: "search", displayName: "Search") { id name displayName readonly url creator { username } viewerCanAdminister } }',
      ),
      {
        createTeam: {
          name: "search",
          displayName: "Search",
          readonly: false,
          url: "/teams/search",
          creator: { username: "bob" },
          viewerCanAdminister: true,
        },
      },
    );
    for (const taken of ["SEARCH", "ann", "core"])
      t.equal(
        await site.refusal("bob", "mutation ($n: String!) { createTeam(name: $n) { id } }", { n: taken }),
        "team name is already taken",
        taken,
      );
    t.match(
      await site.refusal("admin", 'mutation { createUser(username: "search") { user { id } } }'),
      /already taken/,
    );
    t.match(await site.refusal("bob", 'mutation { createTeam(name: "a b") { id } }'), /is not a valid name/);
    t.equal(await site.refusal("bob", 'mutation { createTeam(name: "ro", readonly: true) { id } }'), notAdmin);
    t.equal(await site.refusal("anonymous", 'mutation { createTeam(name: "x") { id } }'), notAuthenticated);
    await site.data("bob", 'mutation { createTeam(name: "indexing", parentTeamName: "search") { id } }');
    await site.data("admin", 'mutation { createTeam(name: "ro", readonly: true) { id } }');
    t.match(
      await site.data(
        "ann",
        '{ teams(first: 10) { nodes { name } totalCount } all: teams(includeChildTeams: true) { nodes { name } } found: teams(search: "INDEX") { nodes { name } } }',
      ),
      {
        teams: { nodes: [{ name: "ro" }, { name: "search" }], totalCount: 2 },
        all: { nodes: [{ name: "indexing" }, {}, {}] },
        found: { nodes: [{ name: "indexing" }] },
      },
    );
    const {
      team: { id: searchId },
    } = await site.data<{ team: { id: string } }>("ann", '{ team(name: "search") { id } }');
    t.match(
      await site.data(
        "ann",
        'query ($id: ID!) { teams(includeChildTeams: true, exceptAncestor: $id) { nodes { name } } node(id: $id) { ... on Team { childTeams { nodes { name parentTeam { name } } } } } none: team(name: "none") { id } }',
        { id: searchId },
      ),
      {
        teams: { nodes: [{ name: "ro" }] },
        node: { childTeams: { nodes: [{ name: "indexing", parentTeam: { name: "search" } }] } },
        none: null,
      },
    );
    t.match(
      await site.refusal("bob", 'mutation ($id: ID!) { updateTeam(id: $id, parentTeamName: "indexing") { id } }', {
        id: searchId,
      }),
      /its own ancestor/,
    );
    t.match(
      await site.refusal("bob", 'mutation { deleteTeam(name: "search") { alwaysNil } }'),
      /"indexing" is a child of this team/,
    );

    const add =
      "mutation ($t: String!, $m: [TeamMemberInput!]!, $s: Boolean) { addTeamMembers(teamName: $t, members: $m, skipUnmatchedMembers: $s) { members { totalCount nodes { ... on User { username } } } } }";
    t.match(
      await site.refusal("ann", add, { t: "search", m: [{ username: "ann" }] }),
      /member of the team or site admin/,
    );
    t.match(
      await site.refusal("bob", add, { t: "search", m: [{ username: "ann" }, { username: "nobody" }] }),
      /no user matches .*nobody/,
    );
    t.match(
      await site.data("bob", add, {
        t: "search",
        m: [{ username: "ann" }, { username: "nobody" }, { userID: annId }],
        s: true,
      }),
      { addTeamMembers: { members: { totalCount: 1, nodes: [{ username: "ann" }] } } },
    );
    t.match(
      await site.data("ann", add, { t: "search", m: [{ userID: bobId }] }),
      { addTeamMembers: { members: { totalCount: 2 } } },
      "a member adds others",
    );
    t.match(
      await site.data(
        "ann",
        '{ currentUser { teams { nodes { name } } } team(name: "search") { members(search: "BO") { nodes { id } totalCount } } }',
      ),
      {
        currentUser: { teams: { nodes: [{ name: "search" }] } },
        team: { members: { nodes: [{ id: bobId }], totalCount: 1 } },
      },
    );
    t.match(
      await site.data(
        "ann",
        'mutation { removeTeamMembers(teamName: "search", members: [{ username: "ann" }]) { members { totalCount } } }',
      ),
      { removeTeamMembers: { members: { totalCount: 1 } } },
    );
    t.match(
      await site.refusal("ann", 'mutation { setTeamMembers(teamName: "search", members: []) { id } }'),
      /member of the team/,
      "not any more",
    );
    t.match(
      await site.data(
        "bob",
        'mutation { setTeamMembers(teamName: "search", members: [{ username: "ann" }]) { members { nodes { id } } } }',
      ),
      { setTeamMembers: { members: { nodes: [{ id: annId }] } } },
    );
    for (const mutation of [
      'updateTeam(name: "ro", displayName: "x") { id }',
      'deleteTeam(name: "ro") { alwaysNil }',
      'addTeamMembers(teamName: "ro", members: []) { id }',
    ]) {
      t.match(await site.refusal("bob", `mutation { ${mutation} }`), /site admin/, mutation);
      t.equal(await site.refusal("anonymous", `mutation { ${mutation} }`), notAuthenticated, mutation);
    }
    t.equal(
      await site.refusal("bob", 'mutation { createTeam(name: "below", parentTeamName: "ro") { id } }'),
      notAdmin,
      "nor a part of a readonly one",
    );
    t.match(
      await site.data(
        "bob",
        'mutation { updateTeam(name: "indexing", makeRoot: true, displayName: "Ix") { parentTeam { id } displayName } }',
      ),
      { updateTeam: { parentTeam: null, displayName: "Ix" } },
    );
    t.same(await site.data("bob", 'mutation { deleteTeam(name: "indexing") { alwaysNil } }'), {
      deleteTeam: { alwaysNil: null },
    });
    t.match(await site.refusal("bob", "mutation { deleteTeam { alwaysNil } }"), /by id or by name/);
  });

  await t.test("settings", async (t) => {
    const read = async (asker: Asker, subject: string): Promise<Latest["settingsSubject"]["latestSettings"]> =>
      (await site.data<Latest>(asker, latest, { s: subject })).settingsSubject.latestSettings;
    const set = async (asker: Asker, subject: string, contents: string): Promise<void> => {
      await site.data(asker, overwrite, { s: subject, l: (await read(asker, subject))?.id ?? null, c: contents });
    };
    t.equal(await read("bob", bobId), null);
    await set(
      "admin",
      siteId,
      '{ // for all\n "a": 1, "b": 1, "search.scopes": [1], "experimentalFeatures": { "x": 1 } }',
    );
    await set("ann", coreId, '{"b": 2, "search.scopes": [2], "c": [1]}');
    await set("ann", annId, '{"c": [3], "experimentalFeatures": {"y": 2},}');
    const cascade =
      "{ viewerSettings { subjects { __typename } final merged { contents } } viewerConfiguration { merged { contents } } }";
    const final = async (asker: Asker): Promise<unknown> =>
      JSON.parse((await site.data<{ viewerSettings: { final: string } }>(asker, cascade)).viewerSettings.final);
    t.same(await final("anonymous"), { a: 1, b: 1, "search.scopes": [1], experimentalFeatures: { x: 1 } });
    t.same(await final("bob"), await final("anonymous"));
    t.same(await final("ann"), { a: 1, b: 2, "search.scopes": [1, 2], experimentalFeatures: { x: 1, y: 2 }, c: [3] });
    t.match(await site.data("ann", cascade), {
      viewerSettings: {
        subjects: [
          { __typename: "DefaultSettings" },
          { __typename: "Site" },
          { __typename: "Org" },
          { __typename: "User" },
        ],
        merged: { contents: /^\{/ },
      },
    });
    t.match(await site.data("bob", latest, { s: siteId }), {
      settingsSubject: {
        __typename: "Site",
        latestSettings: { contents: /for all/, author: { username: "admin" }, subject: { id: siteId } },
        viewerCanAdminister: false,
      },
    });
    t.match(await site.data("admin", latest, { s: annId }), {
      settingsSubject: {
        __typename: "User",
        latestSettings: { author: { username: "ann" } },
        viewerCanAdminister: true,
        settingsURL: "/users/ann/settings",
      },
    });

    for (const subject of [annId, coreId, idOf("Org", 999)]) {
      t.equal(await site.refusal("bob", latest, { s: subject }), notSelf);
      t.equal(await site.refusal("admin as bob", overwrite, { s: subject, c: "{}" }), notSelf);
      t.equal(await site.refusal("anonymous", overwrite, { s: subject, c: "{}" }), notAuthenticated);
    }
    t.equal(await site.refusal("bob", overwrite, { s: siteId, c: "{}" }), notAdmin);
    t.equal(await site.refusal("anonymous", overwrite, { s: siteId, c: "{}" }), notAuthenticated);
    t.match(await site.data("bob", '{ user(username: "ann") { latestSettings { id } } }'), {
      user: { latestSettings: null },
    });
    t.equal(await site.refusal("bob", '{ user(username: "ann") { settingsCascade { final } } }'), notSelf);
    t.match(await site.refusal("admin", overwrite, { s: idOf("Repository", 1), c: "{}" }), /does not have settings/);
    t.match(
      await site.refusal("admin", overwrite, { s: idOf("DefaultSettings", "singleton"), c: "{}" }),
      /does not have settings/,
    );

    const before = await read("ann", annId);
    const changes = await Promise.all(
      ['{"d": 1}', '{"d": 2}'].map((contents) => site.ask("ann", overwrite, { s: annId, l: before?.id, c: contents })),
    );
    const refused = changes.filter(({ errors }) => errors !== undefined);
    t.equal(refused.length, 1, "of two who edit the same text one is told");
    t.match(refused[0]?.errors, [{ message: /changed in the meantime: their last id is \d+, not \d+/ }]);
    t.match(await site.refusal("ann", overwrite, { s: annId, l: null, c: "{}" }), /changed in the meantime/);

    const editOwn = async (keyPath: readonly unknown[], rest: Readonly<Record<string, unknown>>): Promise<string> => {
      await site.data("ann", edit, { s: annId, l: (await read("ann", annId))?.id, e: { keyPath, ...rest } });
      return (await read("ann", annId))?.contents ?? "";
    };
    t.equal(
      await editOwn([], { value: '{\n  // mine\n  "a": [1, 2]\n}', valueIsJSONCEncodedString: true }),
      '{\n  // mine\n  "a": [1, 2]\n}',
      "an empty path is the whole text",
    );
    t.match(
      await editOwn([{ property: "b" }, { property: "c" }], { value: { deep: true } }),
      /\/\/ mine[^]*"b": \{[^]*"deep": true/,
    );
    t.match(
      await editOwn([{ property: "a" }, { index: 1 }], { value: "/* two */ 22", valueIsJSONCEncodedString: true }),
      /\/\* two \*\/ 22/,
    );
    t.match(await editOwn([{ property: "n" }], { value: null }), /"n": null/, "null is a value");
    t.notMatch(await editOwn([{ property: "b" }], {}), /"b"/, "without one it goes");
    t.match(await editOwn([{ property: "a" }, { index: 0 }], { value: "$& $1" }), /"\$& \$1"/);
    const own = (await read("ann", annId))?.id;
    for (const [e, message] of [
      [{ keyPath: [{ property: "a" }, { property: "b" }, { property: "c" }], value: 1 }, /./],
      [{ keyPath: [{}], value: 1 }, /property or a non-negative index/],
      [{ keyPath: [{ index: -1 }], value: 1 }, /property or a non-negative index/],
      [{ keyPath: [{ property: "x" }], value: "{", valueIsJSONCEncodedString: true }, /must be JSON/],
      [{ keyPath: [{ property: "x" }], value: 5, valueIsJSONCEncodedString: true }, /must be a string/],
      [{ keyPath: [], value: "[]", valueIsJSONCEncodedString: true }, /must be a JSON object/],
      [{ keyPath: [], value: 1 }, /must be a JSON object/],
    ] as const)
      t.match(await site.refusal("ann", edit, { s: annId, l: own, e }), message, JSON.stringify(e));
    for (const [contents, message] of [
      ["", /line 1, column 1/],
      ['{\n  "a": }', /at line 2, column 8/],
      ["[1]", /object/],
      [`{"a": "${"x".repeat(70_000)}"}`, /65536 bytes/],
      [`{"a": ${"[".repeat(5000)}${"]".repeat(5000)}}`, /levels deep/],
    ] as const) {
      t.match(await site.refusal("ann", overwrite, { s: annId, l: own, c: contents }), message, contents.slice(0, 20));
    }
    t.equal((await read("ann", annId))?.id, own, "what was refused changed nothing");
    t.match(
      await site.data(
        "ann",
        'mutation ($s: ID!, $l: Int) { configurationMutation(input: { subject: $s, lastID: $l }) { editConfiguration(edit: { keyPath: [{ property: "old" }], value: true }) { empty { alwaysNil } } } }',
        { s: annId, l: own },
      ),
      { configurationMutation: { editConfiguration: { empty: { alwaysNil: null } } } },
    );
    t.equal(((await final("ann")) as { old: unknown }).old, true);
    t.match(site.audited.slice(-1), [{ event: "settings-changed", who: "ann" }]);
  });

  await t.test("saved searches", async (t) => {
    const create =
      "mutation ($i: SavedSearchInput!) { createSavedSearch(input: $i) { id description query draft visibility owner { __typename namespaceName } createdBy { username } url viewerCanAdminister } }";
    const list =
      "query ($o: ID, $q: String, $a: Boolean) { savedSearches(first: 10, owner: $o, query: $q, viewerIsAffiliated: $a, orderBy: SAVED_SEARCH_DESCRIPTION) { nodes { description } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";
    const listed = async (
      asker: Asker,
      variables: Readonly<Record<string, unknown>> = {},
    ): Promise<readonly string[]> => {
      const data = await site.data<{ savedSearches: { nodes: { description: string }[] } }>(asker, list, variables);
      return data.savedSearches.nodes.map(({ description }) => description);
    };
    const input = { owner: bobId, description: "b mine", query: "needle" };
    t.match(await site.data("bob", create, { i: input }), {
      createSavedSearch: {
        description: "b mine",
        query: "needle",
        draft: false,
        visibility: "SECRET",
        owner: { __typename: "User", namespaceName: "bob" },
        createdBy: { username: "bob" },
        viewerCanAdminister: true,
      },
    });
    await site.data("ann", create, { i: { ...input, owner: coreId, description: "a ours" } });
    await site.data("admin", create, { i: { ...input, owner: annId, description: "c all", visibility: "PUBLIC" } });
    t.match(
      await site.data(
        "bob",
        'mutation ($u: ID!) { createSavedSearch(description: "old form", query: "x", notifyOwner: false, notifySlack: false, userID: $u) { id notify slackWebhookURL } }',
        { u: bobId },
      ),
      { createSavedSearch: { notify: false, slackWebhookURL: null } },
    );
    t.same(await listed("bob"), ["b mine", "c all", "old form"]);
    t.same(await listed("ann"), ["a ours", "c all"]);
    t.same(await listed("anonymous"), ["c all"]);
    t.same(await listed("admin"), ["a ours", "b mine", "c all", "old form"]);
    t.same(await listed("ann", { a: false }), []);
    t.same(await listed("bob", { o: bobId, q: "NEEDLE" }), ["b mine"]);
    t.same(await listed("bob", { o: coreId }), [], "who is no member learns nothing");
    t.match(
      await site.refusal("bob", '{ savedSearches(namespace: "x") { totalCount } }'),
      /you must provide a `first` or `last`/,
    );
    t.match(
      await site.data(
        "bob",
        "query ($n: ID!) { savedSearches(namespace: $n, last: 1) { nodes { description } pageInfo { startCursor hasPreviousPage hasNextPage } } }",
        { n: bobId },
      ),
      {
        savedSearches: {
          nodes: [{ description: "old form" }],
          pageInfo: { startCursor: "1", hasPreviousPage: true, hasNextPage: false },
        },
      },
    );

    const asList =
      "fragment F on SavedSearch { description } { savedSearches { ...F } again: savedSearches { query } }";
    t.same(
      await site.data("ann", asList),
      {
        savedSearches: [{ description: "a ours" }, { description: "c all" }],
        again: [{ query: "needle" }, { query: "needle" }],
      },
      "a list, for clients that select fields of a search",
    );
    t.same(await site.data("anonymous", asList), { savedSearches: [], again: [] }, "none is the viewer's");
    for (const query of [
      "{ savedSearches { nodes { id } } }",
      "{ savedSearches { __typename } }",
      "{ savedSearches { ...F } } fragment F on SavedSearchConnection { totalCount }",
    ])
      t.match(await site.refusal("bob", query), /`first` or `last`/, "the connection needs a length");

    for (const [asker, variables, message] of [
      ["anonymous", input, notAuthenticated],
      ["bob", { ...input, owner: annId }, notSelf],
      ["bob", { ...input, owner: coreId }, notSelf],
      ["bob", { ...input, visibility: "PUBLIC" }, notAdmin],
      ["bob", { ...input, description: " " }, "a saved search needs a description"],
      ["bob", { ...input, query: "x".repeat(10_001) }, "the query is longer than 10000 characters"],
    ] as const)
      t.equal(await site.refusal(asker, create, { i: variables }), message);

    const {
      savedSearches: {
        nodes: [{ id }],
      },
    } = await site.data<{ savedSearches: { nodes: [{ id: string }] } }>(
      "bob",
      '{ savedSearches(first: 1, query: "b mine") { nodes { id } } }',
    );
    const node =
      "query ($id: ID!) { node(id: $id) { __typename ... on SavedSearch { description query visibility owner { namespaceName } updatedBy { username } } } }";
    t.match(await site.data("bob", node, { id }), { node: { __typename: "SavedSearch", description: "b mine" } });
    t.match(await site.data("ann", node, { id }), { node: null });
    const update =
      'mutation ($id: ID!) { updateSavedSearch(id: $id, input: { description: "changed", query: "other", draft: true }) { id } }';
    const transfer = "mutation ($id: ID!, $o: ID!) { transferSavedSearchOwnership(id: $id, newOwner: $o) { id } }";
    const show = "mutation ($id: ID!) { changeSavedSearchVisibility(id: $id, newVisibility: PUBLIC) { visibility } }";
    const remove = "mutation ($id: ID!) { deleteSavedSearch(id: $id) { alwaysNil } }";
    for (const mutation of [update, transfer, remove]) {
      t.equal(await site.refusal("anonymous", mutation, { id, o: annId }), notAuthenticated);
      t.match(
        await site.refusal("ann", mutation, { id, o: annId }),
        /no such saved search/,
        "what one may not see, one may not find",
      );
    }
    t.equal(await site.refusal("bob", transfer, { id, o: coreId }), notSelf);
    t.equal(await site.refusal("bob", show, { id }), notAdmin);
    await site.data("bob", update, { id });
    await site.data("admin", show, { id });
    t.equal(await site.refusal("ann", update, { id }), notSelf, "everybody sees it, and its owner changes it");
    await site.data("admin", transfer, { id, o: coreId });
    t.match(await site.data("ann", node, { id }), {
      node: {
        description: "changed",
        query: "other",
        visibility: "PUBLIC",
        owner: { namespaceName: "core" },
        updatedBy: { username: "admin" },
      },
    });
    await site.data("ann", remove, { id });
    t.match(await site.data("ann", node, { id }), { node: null });
  });

  await t.test("what is gone takes along what is its own, and the rest outlives the process", async (t) => {
    await site.data("admin", "mutation ($u: ID!) { deleteUser(user: $u) { alwaysNil } }", { u: bobId });
    t.match(
      await site.data(
        "admin",
        '{ savedSearches(first: 9) { nodes { description } } team(name: "search") { creator { id } } }',
      ),
      { savedSearches: { nodes: [{ description: "a ours" }, { description: "c all" }] }, team: { creator: null } },
    );
    const { createSearchContext } = await site.data<{ createSearchContext: { id: string } }>(
      "ann",
      'mutation ($owner: ID!) { createSearchContext(searchContext: { name: "mine", description: "", public: false, query: "repo:added", namespace: $owner }, repositories: []) { id } }',
      { owner: annId },
    );
    await site.data(
      "ann",
      "mutation ($id: ID!, $user: ID!) { createSearchContextStar(searchContextID: $id, userID: $user) { alwaysNil } setDefaultSearchContext(searchContextID: $id, userID: $user) { alwaysNil } }",
      { id: createSearchContext.id, user: annId },
    );
    const all = `{ viewerSettings { final } team(name: "search") { members { totalCount } } savedSearches(first: 9) { totalCount }
      organization(name: "core") { members { totalCount } latestSettings { id } }
      searchContexts { nodes { spec query viewerHasStarred } } defaultSearchContext { spec } }`;
    const answer = await site.data("ann", all);
    t.match(answer, {
      searchContexts: {
        nodes: [{ spec: "global" }, { spec: "@ann/mine", query: "repo:added", viewerHasStarred: true }],
      },
      defaultSearchContext: { spec: "@ann/mine" },
    });
    const again = await restartSharedDaemon(site.daemon, "kill");
    t.same(((await ask(again.url, all, null, site.authorization("ann"))) as { data: unknown }).data, answer);
  });
});
