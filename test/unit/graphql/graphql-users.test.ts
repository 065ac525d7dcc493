/** Users, e-mail addresses, passwords and access tokens over GraphQL, for each kind of viewer. */
import t from "tap";
import { GraphqlSite, idOf, type Asker } from "../../support/graphql-site.js";
import { ask } from "../../support/graphql.js";
import { until } from "../../support/waiting.js";

const [notAuthenticated, notAdmin, notSelf] = [
  "not authenticated",
  "must be site admin",
  "must be authenticated as the authorized user or site admin",
];

t.test("users", async (t) => {
  const site = await GraphqlSite.start(t);
  const [annId, bobId, adminId] = [await site.userId("ann"), await site.userId("bob"), await site.userId("admin")];

  await t.test("lists", async (t) => {
    const users =
      "query ($first: Int, $after: String, $query: String) { users(first: $first, after: $after, query: $query) { nodes { username } totalCount pageInfo { endCursor hasNextPage } } }";
    t.match(await site.data("admin", users), {
      users: {
        nodes: [{ username: "admin" }, { username: "ann" }, { username: "bob" }],
        totalCount: 3,
        pageInfo: { hasNextPage: false },
      },
    });
    t.match(await site.data("admin", users, { first: 1, after: "1" }), {
      users: { nodes: [{ username: "ann" }], pageInfo: { endCursor: "2", hasNextPage: true } },
    });
    t.match(await site.data("admin", users, { query: "AN" }), {
      users: { nodes: [{ username: "ann" }], totalCount: 1 },
    });
    t.match(await site.data("admin", '{ users(tag: "x", activePeriod: TODAY) { nodes { username } } }'), {
      users: { nodes: [{ username: "admin" }] },
    });
    t.match(await site.data("admin", '{ users(inactiveSince: "2001-01-01T00:00:00Z") { nodes { username } } }'), {
      users: { nodes: [{ username: "ann" }, { username: "bob" }] },
    });
    t.equal(await site.refusal("ann", users), notAdmin);
    t.equal(await site.refusal("anonymous", users), notAuthenticated);
    t.equal(await site.refusal("admin as bob", users), notAdmin, "a site admin as bob may what bob may");

    const pruned =
      "{ site { users(siteAdmin: false) { totalCount nodes(limit: 1, offset: 0, orderBy: USERNAME, descending: true) { id username email siteAdmin lastActiveAt deletedAt } } } }";
    t.match(await site.data("admin", pruned), {
      site: { users: { totalCount: 2, nodes: [{ id: bobId, username: "bob", lastActiveAt: null, deletedAt: null }] } },
    });
    t.match(
      await site.data(
        "admin",
        '{ site { users(lastActiveAt: { gte: "2020-01-01T00:00:00Z" }, query: "adm") { totalCount } } }',
      ),
      { site: { users: { totalCount: 1 } } },
    );
    t.match(
      await site.data(
        "admin",
        "{ site { users(lastActiveAt: { empty: false }) { totalCount } none: users(deletedAt: { empty: false }) { totalCount } } }",
      ),
      { site: { none: { totalCount: 0 } } },
    );
    t.equal(await site.refusal("ann", pruned), notAdmin);
    t.match(await site.refusal("admin", "{ site { users { nodes(limit: -1) { id } } } }"), /negative/);
    t.match(await site.refusal("admin", '{ users(inactiveSince: "soon") { totalCount } }'), /not a date/);
  });

  await t.test("what others see", async (t) => {
    await site.data(
      "admin",
      'mutation ($u: ID!) { addUserEmail(user: $u, email: "ann@example.org") { alwaysNil } setUserEmailVerified(user: $u, email: "ann@example.org", verified: true) { alwaysNil } }',
      { u: annId },
    );
    const fields = `{ user(username: "ann") { username email emails { email verified isPrimary } primaryEmail { email } viewerCanAdminister latestSettings { id } usageStatistics { lastActiveTime }
      organizationMemberships { totalCount } externalAccounts { totalCount } teams { totalCount } tags scimControlled codyProEnabled viewerCanChangeUsername } }`;
    const seen = {
      emails: [{ email: "ann@example.org", verified: true, isPrimary: true }],
      primaryEmail: { email: "ann@example.org" },
      email: "ann@example.org",
      viewerCanAdminister: true,
    };
    for (const asker of ["admin", "ann"] as const) t.match(await site.data(asker, fields), { user: seen }, asker);
    t.same(await site.data("anonymous", fields), { user: null }, "whether there is an account");
    for (const asker of ["bob", "admin as bob"] as const) {
      t.match(
        await site.data(asker, fields),
        { user: { emails: [], primaryEmail: null, email: "", viewerCanAdminister: false } },
        asker,
      );
    }
    t.match(await site.data("bob", '{ user(email: "ANN@example.org") { username } }'), { user: { username: "ann" } });
    await site.data("ann", 'mutation ($u: ID!) { addUserEmail(user: $u, email: "other@example.org") { alwaysNil } }', {
      u: annId,
    });
    t.match(
      await site.data("bob", '{ user(email: "other@example.org") { username } }'),
      { user: null },
      "an address that nobody verified finds nobody",
    );
    t.match(
      await site.refusal(
        "ann",
        'mutation ($u: ID!) { setUserEmailPrimary(user: $u, email: "other@example.org") { alwaysNil } }',
        { u: annId },
      ),
      /not verified/,
    );
    t.match(
      await site.refusal("ann", 'mutation ($u: ID!) { addUserEmail(user: $u, email: "no address") { alwaysNil } }', {
        u: annId,
      }),
      /./,
    );
    await site.data(
      "ann",
      'mutation ($u: ID!) { removeUserEmail(user: $u, email: "other@example.org") { alwaysNil } }',
      { u: annId },
    );
    t.match(await site.data("ann", "{ currentUser { id emails { email } } }"), {
      currentUser: { id: annId, emails: [{ email: "ann@example.org" }] },
    });
    t.match(await site.data("admin as bob", "{ currentUser { username } }"), { currentUser: { username: "bob" } });
  });

  await t.test("who may change what", async (t) => {
    const rows: readonly (readonly [
      mutation: string,
      Readonly<Record<"anonymous" | "bob" | "admin as bob", string>>,
    ])[] = [
      [
        'createUser(username: "eve") { user { id } }',
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `deleteUser(user: "${annId}") { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `deleteUsers(users: ["${annId}"]) { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `recoverUsers(userIDs: ["${annId}"]) { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `updateUser(user: "${annId}", displayName: "x") { id }`,
        { anonymous: notAuthenticated, bob: notSelf, "admin as bob": notSelf },
      ],
      [
        `setUserIsSiteAdmin(userID: "${bobId}", siteAdmin: true) { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `setTag(node: "${annId}", tag: "x", present: true) { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `addUserEmail(user: "${annId}", email: "x@example.org") { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notSelf, "admin as bob": notSelf },
      ],
      [
        `removeUserEmail(user: "${annId}", email: "ann@example.org") { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notSelf, "admin as bob": notSelf },
      ],
      [
        `setUserEmailPrimary(user: "${annId}", email: "ann@example.org") { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notSelf, "admin as bob": notSelf },
      ],
      [
        `setUserEmailVerified(user: "${bobId}", email: "x@example.org", verified: true) { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `randomizeUserPassword(user: "${annId}") { resetPasswordURL }`,
        { anonymous: notAuthenticated, bob: notAdmin, "admin as bob": notAdmin },
      ],
      [
        `invalidateSessionsByID(userID: "${annId}") { alwaysNil }`,
        { anonymous: notAuthenticated, bob: notSelf, "admin as bob": notSelf },
      ],
      [
        `createAccessToken(user: "${annId}", scopes: ["user:all"], note: "") { id }`,
        {
          anonymous: notAuthenticated,
          bob: `must be authenticated as user with id ${numberOf(annId)}`,
          "admin as bob": `must be authenticated as user with id ${numberOf(annId)}`,
        },
      ],
    ];
    for (const [mutation, refusals] of rows) {
      for (const [asker, expected] of Object.entries(refusals))
        t.equal(await site.refusal(asker as Asker, `mutation { ${mutation} }`), expected, `${asker}: ${mutation}`);
    }
    for (const mutation of ['updatePassword(oldPassword: "a", newPassword: "b")', 'createPassword(newPassword: "b")']) {
      t.equal(await site.refusal("anonymous", `mutation { ${mutation} { alwaysNil } }`), notAuthenticated, mutation);
    }
    t.match(await site.data("admin", "{ users { totalCount } }"), { users: { totalCount: 3 } }, "nothing came of any");
    t.match(await site.data("ann", "{ currentUser { displayName } }"), { currentUser: { displayName: null } });
  });

  await t.test("users come, change and go", async (t) => {
    const created = await site.data(
      "admin",
      'mutation { createUser(username: "eve", email: "eve@example.org") { resetPasswordURL user { id username emails { email verified } siteAdmin } } }',
    );
    t.match(created, {
      createUser: {
        resetPasswordURL: /^http.*\/password-reset\?code=/,
        user: { username: "eve", emails: [{ email: "eve@example.org", verified: true }], siteAdmin: false },
      },
    });
    for (const [name, message] of [
      ["EVE", /already taken/],
      ["a b", /is not a valid name/],
      ["", /is not a valid name/],
      ["x".repeat(256), /is not a valid name/],
    ] as const) {
      t.match(
        await site.refusal("admin", "mutation ($n: String!) { createUser(username: $n) { user { id } } }", { n: name }),
        message,
        name.slice(0, 10),
      );
    }
    const eveId = await site.userId("eve");
    t.match(
      await site.data("admin", 'mutation ($u: ID!) { updateUser(user: $u, displayName: "Eve") { displayName } }', {
        u: eveId,
      }),
      { updateUser: { displayName: "Eve" } },
    );
    t.match(
      await site.refusal("admin", 'mutation ($u: ID!) { updateUser(user: $u, username: "other") { id } }', {
        u: eveId,
      }),
      /user names cannot be changed/,
    );
    t.match(
      await site.refusal("admin", "mutation ($u: ID!, $d: String) { updateUser(user: $u, displayName: $d) { id } }", {
        u: eveId,
        d: "x".repeat(256),
      }),
      /longer than 255/,
    );
    t.equal(
      await site.refusal(
        "admin",
        "mutation ($u: ID!) { setUserIsSiteAdmin(userID: $u, siteAdmin: false) { alwaysNil } }",
        { u: adminId },
      ),
      "refusing to set current user site admin status",
    );
    const promote = "mutation ($u: ID!) { setUserIsSiteAdmin(userID: $u, siteAdmin: true) { alwaysNil } }";
    const { createAccessToken: derived } = (await site.data(
      "admin",
      'mutation ($u: ID!) { createAccessToken(user: $u, scopes: ["user:all"], note: "derived") { token } }',
      { u: adminId },
    )) as { createAccessToken: { token: string } };
    t.match(
      await site.refusal({ authorization: `token ${derived.token}` }, promote, { u: eveId }),
      /a site admin cannot be made with a token that a program received, that acts as another user, or that another token made/,
      "who would outlast the token",
    );
    t.match(await site.data("admin", '{ user(username: "eve") { siteAdmin } }'), { user: { siteAdmin: false } });
    await site.data("admin", "mutation ($t: String!) { deleteAccessToken(byToken: $t) { alwaysNil } }", {
      t: derived.token,
    });
    await site.data("admin", promote, { u: eveId });
    t.match(await site.data("admin", '{ user(username: "eve") { siteAdmin } }'), { user: { siteAdmin: true } });
    t.equal(
      await site.refusal("admin", "mutation ($u: ID!) { deleteUser(user: $u) { alwaysNil } }", { u: adminId }),
      "unable to delete current user",
    );
    t.equal(
      await site.refusal("admin", "mutation { deleteUsers(users: []) { alwaysNil } }"),
      "must specify at least one user ID",
    );
    t.match(
      await site.refusal("admin", "mutation ($u: [ID!]!) { deleteUsers(users: $u) { alwaysNil } }", {
        u: [eveId, idOf("User", 999)],
      }),
      /no such user/,
    );
    t.match(
      await site.refusal("admin", "mutation ($u: ID!) { deleteUser(user: $u) { alwaysNil } }", { u: idOf("Org", 1) }),
      /is the id of a Org/,
    );
    t.match(
      await site.data("admin", '{ user(username: "eve") { id } }'),
      { user: { id: eveId } },
      "nobody was deleted in vain",
    );
    t.same(
      await site.data("admin", "mutation ($u: ID!) { deleteUser(user: $u, hard: true) { alwaysNil } }", { u: eveId }),
      { deleteUser: { alwaysNil: null } },
    );
    t.match(
      await site.data("admin", 'query ($u: ID!) { user(username: "eve") { id } node(id: $u) { id } }', { u: eveId }),
      { user: null, node: null },
    );
    t.match(site.audited.slice(-1), [{ event: "user-deleted", who: "admin", user: "eve" }]);
  });

  await t.test("passwords", async (t) => {
    const change =
      "mutation ($o: String!, $n: String!) { updatePassword(oldPassword: $o, newPassword: $n) { alwaysNil } }";
    const create = "mutation ($n: String!) { createPassword(newPassword: $n) { alwaysNil } }";
    const randomize = "mutation ($u: ID!) { randomizeUserPassword(user: $u) { resetPasswordURL emailSent } }";
    const byToken = /cannot be changed with an access token: sign in/;
    for (const asker of ["bob", "admin as bob"] as const) {
      t.match(await site.refusal(asker, create, { n: "correct horse battery" }), byToken, asker);
      t.match(await site.refusal(asker, change, { o: "correct horse", n: "correct horse battery" }), byToken, asker);
    }
    t.match(await site.refusal("admin", randomize, { u: bobId }), byToken);
    const [first, second, third] = ["correct horse battery", "another long password", "a third long password"];
    await site.daemon.control("POST", "/.api/users/bob/password", { password: first });
    await site.daemon.control("POST", "/.api/users/admin/password", { password: first });
    const bob = await site.signIn("bob", first);
    t.match(await site.refusal(bob, create, { n: second }), /already a password/);
    t.match(await site.refusal(bob, change, { o: first, n: "short" }), /too short/);
    // As aliases of one request, guesses are counted one by one.
    const guesses = Array.from(
      { length: 8 },
      (_, i) => `g${i}: updatePassword(oldPassword: "wrong", newPassword: $n) { alwaysNil }`,
    );
    const { errors = [] } = await site.ask(bob, `mutation ($n: String!) { ${guesses.join(" ")} }`, { n: second });
    t.same(
      errors.map(({ message }) => message.replace(/\d+ s/, "N s")),
      [
        ...Array<string>(5).fill("wrong old password"),
        ...Array<string>(3).fill("too many wrong passwords: try again in N s"),
      ],
    );
    t.match(await site.refusal(bob, change, { o: first, n: second }), /too many/, "nor the right one");
    await until("the refusals are recorded", () =>
      site.audited.some(({ event, user }) => event === "sign-in-refused" && user === "bob"),
    );
    const admin = await site.signIn("admin", first);
    await site.data(admin, change, { o: first, n: third });
    t.match((await site.ask(admin, "{ currentUser { username } }")).data, { currentUser: null }, "sessions end");
    const randomized = await site.data(await site.signIn("admin", third), randomize, { u: bobId });
    t.match(randomized, { randomizeUserPassword: { resetPasswordURL: /code=[0-9a-f]{64}/, emailSent: false } });
    const { status } = await fetch(`${site.daemon.url}/.api/search/stream?q=x`, {
      headers: { authorization: site.authorization("bob")! },
    });
    t.equal(status, 401, "access tokens end with a reset");
    await site.renewToken("bob");
    await site.data("bob", "mutation ($u: ID!) { invalidateSessionsByID(userID: $u) { alwaysNil } }", { u: bobId });
    t.match(site.audited.slice(-1), [{ event: "sessions-ended", who: "bob", user: "bob" }]);
    t.notMatch(JSON.stringify(site.audited), /correct horse|long password/);
  });

  await t.test("access tokens", async (t) => {
    const create =
      "mutation ($u: ID!, $s: [String!]!, $n: String!, $d: Int) { createAccessToken(user: $u, scopes: $s, note: $n, durationSeconds: $d) { id token } }";
    const make = async (asker: Asker, user: string, rest: Readonly<Record<string, unknown>> = {}) => {
      const answer = await site.data<{ createAccessToken: { id: string; token: string } }>(asker, create, {
        u: user,
        s: ["user:all"],
        n: "for a test",
        ...rest,
      });
      return answer.createAccessToken;
    };
    const [first, second] = [await make("bob", bobId, { d: 3600 }), await make("admin as bob", bobId)];
    t.match(first.token, /^sgp_local_[0-9a-f]{40}$/);
    t.match(await ask(site.daemon.url, "{ currentUser { username } }", null, `token ${first.token}`), {
      data: { currentUser: { username: "bob" } },
    });
    const own =
      "{ currentUser { accessTokens(first: 10) { totalCount nodes { id note scopes createdAt lastUsedAt expiresAt creator { username } subject { username } } } } }";
    t.match(await site.data("bob", own), {
      currentUser: {
        accessTokens: {
          totalCount: 3,
          nodes: [
            { creator: { username: "bob" }, subject: { username: "bob" }, lastUsedAt: /^20/, expiresAt: /^20/ },
            { id: first.id, note: "for a test", scopes: ["user:all"], expiresAt: /^20/, lastUsedAt: /^20/ },
            { id: second.id, expiresAt: /^20/, lastUsedAt: null },
          ],
        },
      },
    });
    t.match(site.audited.filter(({ event }) => event === "token-created").slice(-1), [
      { who: "bob", sudoBy: "admin", user: "bob" },
    ]);
    for (const [variables, message] of [
      [{ s: ["user:all", "root"] }, /unknown access token scope "root" \(valid scopes: user:all, /],
      [{ s: [] }, 'an access token must have scope "user:all", "search" or "mcp"'],
      [{ s: ["user:all", "user:all"] }, /given twice/],
      [{ s: ["user:all", "site-admin:sudo"] }, /site admin/],
      [{ n: "x".repeat(1001) }, /longer than 1000/],
      [{ d: 0 }, /durationSeconds/],
      [{ d: -5 }, /durationSeconds/],
    ] as const)
      t.match(await site.refusal("bob", create, { ...{ u: bobId, s: ["user:all"], n: "" }, ...variables }), message);
    t.equal(
      await site.refusal("admin", create, { u: bobId, s: ["user:all"], n: "" }),
      `must be authenticated as user with id ${numberOf(bobId)}`,
      "no site admin becomes bob so",
    );

    // What a token creates ends with it, and not later.
    const [parent, bySudo] = [await make("bob", bobId, { d: 3600 }), await make("admin as bob", bobId)];
    const byToken = async (
      text: string,
      variables: object,
    ): Promise<{ token?: string; expiresAt?: string; error?: string }> => {
      const given = { u: bobId, s: ["user:all"], n: "made by a token", ...variables };
      const answer = (await ask(site.daemon.url, create, given, `token ${text}`)) as {
        data?: { createAccessToken: { id: string; token: string } | null };
        errors?: { message: string }[];
      };
      return { token: answer.data?.createAccessToken?.token, error: answer.errors?.[0]?.message };
    };
    const isValid = async (text: string | undefined): Promise<boolean> =>
      (await fetch(`${site.daemon.url}/.api/search/stream?q=x&token=${text}`)).status === 200;
    t.match((await byToken(parent.token, { d: 7200 })).error, /cannot create one that is valid for longer than itself/);
    const child = await byToken(parent.token, {});
    const grandchild = await byToken(child.token!, { d: 60 });
    t.same([await isValid(child.token), await isValid(grandchild.token)], [true, true]);
    const [shown] = (
      await site.data<{ currentUser: { accessTokens: { nodes: { note: string; expiresAt: string }[] } } }>("bob", own)
    ).currentUser.accessTokens.nodes.filter(({ note }) => note === "made by a token");
    t.ok(Date.parse(shown!.expiresAt) <= Date.now() + 3_600_000, "by default, no longer either");
    await site.data("bob", "mutation ($t: String!) { deleteAccessToken(byToken: $t) { alwaysNil } }", {
      t: parent.token,
    });
    t.same([await isValid(child.token), await isValid(grandchild.token)], [false, false]);
    let last: string | undefined = bySudo.token;
    let depth = 0;
    for (; last !== undefined && depth < 20; depth++) last = (await byToken(last, {})).token;
    t.ok(depth < 20, "a chain has an end");
    t.equal(await isValid(bySudo.token), true);
    await site.daemon.control("POST", "/.api/users", { name: "boss" });
    await site.daemon.control("POST", "/.api/users/boss", { isSiteAdmin: true });
    await site.daemon.control("POST", "/.api/users/admin", { isSiteAdmin: false });
    t.equal(await isValid(bySudo.token), false, "made by a site admin who is none any more");
    await site.daemon.control("POST", "/.api/users/admin", { isSiteAdmin: true });
    await site.data("bob", "mutation ($t: ID!) { deleteAccessToken(byID: $t) { alwaysNil } }", { t: bySudo.id });

    const tokensOfAnn = '{ user(username: "ann") { accessTokens { totalCount } } }';
    t.equal(await site.refusal("bob", tokensOfAnn), notSelf);
    t.match(await site.data("admin", tokensOfAnn), { user: { accessTokens: { totalCount: 1 } } });
    t.match(
      await site.data(
        "admin",
        "{ site { accessTokens(first: 2) { totalCount nodes { subject { username } } pageInfo { hasNextPage } } } }",
      ),
      { site: { accessTokens: { totalCount: 6, nodes: [{}, {}] } } },
    );
    t.equal(await site.refusal("bob", "{ site { accessTokens(first: 2) { totalCount } } }"), notAdmin);

    // A field that is refused is null, and what was asked for beside it stays.
    const refused = async (asker: Asker, query: string, seen: object, ...paths: readonly string[]): Promise<void> => {
      const { data, errors } = (await site.ask(asker, query)) as {
        readonly data: unknown;
        readonly errors?: readonly { readonly path: readonly string[] }[];
      };
      t.match(data, seen, query);
      t.same(errors?.map(({ path }) => path.join(".")).sort(), [...paths].sort(), query);
    };
    await refused(
      "bob",
      '{ user(username: "ann") { username createdAt accessTokens { totalCount } settingsCascade { final } configurationCascade { merged { contents } } } currentUser { username } }',
      {
        user: { username: "ann", accessTokens: null, settingsCascade: null, configurationCascade: null },
        currentUser: { username: "bob" },
      },
      "user.accessTokens",
      "user.settingsCascade",
      "user.configurationCascade",
    );
    await refused(
      "bob",
      '{ site { productVersion configuration { id } configurationProblems(text: "") { message } accessTokens { totalCount } monitoringStatistics { alerts { name } } externalServicesCounts { remoteExternalServicesCount } settingsCascade { final } } }',
      {
        site: {
          productVersion: /./,
          configuration: null,
          configurationProblems: null,
          accessTokens: null,
          monitoringStatistics: null,
          externalServicesCounts: null,
          settingsCascade: { final: /./ },
        },
      },
      ...[
        "configuration",
        "configurationProblems",
        "accessTokens",
        "monitoringStatistics",
        "externalServicesCounts",
      ].map((name) => `site.${name}`),
    );
    const { createOrganization } = await site.data<{ createOrganization: { id: string } }>(
      "admin",
      'mutation { createOrganization(name: "club") { id } }',
    );
    await site.data(
      "admin",
      'mutation ($club: ID!) { addUserToOrganization(organization: $club, username: "ann") { alwaysNil } }',
      { club: createOrganization.id },
    );
    for (const [namespace, name] of [
      [createOrganization.id, "shown"],
      [await site.userId("ann"), "seen"],
    ])
      await site.data(
        "ann",
        'mutation ($namespace: ID!, $name: String!) { createSearchContext(searchContext: { name: $name, description: "", public: true, query: "repo:one", namespace: $namespace }, repositories: []) { id } }',
        { namespace, name },
      );
    await refused(
      "anonymous",
      '{ searchContextBySpec(spec: "@club/shown") { name namespace { ... on Org { name createdAt members { totalCount } settingsCascade { final } configurationCascade { merged { contents } } } } } }',
      {
        searchContextBySpec: {
          name: "shown",
          namespace: { name: "club", createdAt: null, members: null, settingsCascade: null },
        },
      },
      ...["createdAt", "members", "settingsCascade", "configurationCascade"].map(
        (name) => `searchContextBySpec.namespace.${name}`,
      ),
    );
    await refused(
      "anonymous",
      '{ user(username: "ann") { username email createdAt updatedAt siteAdmin searchable accessTokens { totalCount } } }',
      { user: { username: "ann", email: "", createdAt: null, siteAdmin: null, searchable: null, accessTokens: null } },
      ...["createdAt", "updatedAt", "siteAdmin", "searchable", "accessTokens"].map((name) => `user.${name}`),
    );
    const node = "query ($id: ID!) { node(id: $id) { ... on AccessToken { note } } }";
    t.match(await site.data("ann", node, { id: first.id }), { node: null });
    t.match(await site.data("bob", node, { id: first.id }), { node: { note: "for a test" } });

    const remove = "mutation ($id: ID, $t: String) { deleteAccessToken(byID: $id, byToken: $t) { alwaysNil } }";
    t.equal(await site.refusal("anonymous", remove, { id: first.id }), notAuthenticated);
    t.equal(await site.refusal("ann", remove, { id: first.id }), notSelf);
    t.equal(
      await site.refusal("ann", remove, { id: idOf("AccessToken", 999) }),
      notSelf,
      "the same for one that is not there",
    );
    t.match(await site.refusal("ann", remove, {}), /either/);
    t.match(await site.refusal("ann", remove, { id: first.id, t: first.token }), /either/);
    await site.data("bob", remove, { id: first.id });
    t.match(await site.refusal("admin", remove, { id: first.id }), /no such access token/);
    await site.data("ann", remove, { t: second.token });
    t.equal(
      (
        await fetch(`${site.daemon.url}/.api/graphql`, {
          method: "POST",
          headers: { Authorization: `token ${second.token}` },
          body: "{}",
        })
      ).status,
      401,
    );
  });
});

function numberOf(id: string): string {
  return Buffer.from(id, "base64").toString().split(":")[1] ?? "";
}
