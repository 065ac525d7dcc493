/** Invitations to organizations, and what programs remember about a user. */
import t from "tap";
import { GraphqlSite, idOf } from "../../support/graphql-site.js";

interface Invited {
  readonly inviteUserToOrganization: { readonly invitationURL: string; readonly sentInvitationEmail: boolean };
}

const invite = `mutation ($org: ID!, $username: String, $email: String) {
  inviteUserToOrganization(organization: $org, username: $username, email: $email) { sentInvitationEmail invitationURL }
}`;
const respond = `mutation ($id: ID!, $type: OrganizationInvitationResponseType!) {
  respondToOrganizationInvitation(organizationInvitation: $id, responseType: $type) { alwaysNil }
}`;
const revoke = "mutation ($id: ID!) { revokeOrganizationInvitation(organizationInvitation: $id) { alwaysNil } }";
const resend =
  "mutation ($id: ID!) { resendOrganizationInvitationNotification(organizationInvitation: $id) { alwaysNil } }";
const byToken = `query ($token: String!) { invitationByToken(token: $token) {
  id organization { name displayName } sender { username } recipient { username } recipientEmail respondURL responseType
  createdAt expiresAt respondedAt revokedAt notifiedAt isVerifiedEmail
} }`;
const mine = "{ currentUser { organizationInvitations { id respondURL } organizations { nodes { name } } } }";
const gone = /^there is no such invitation/;

const site = await GraphqlSite.start(t);

/** An organization of one test. */
async function makeOrganization(name: string) {
  const made = await site.data<{ createOrganization: { id: string } }>(
    "admin",
    'mutation ($name: String!) { createOrganization(name: $name, displayName: "Core") { id } }',
    { name },
  );
  const org = made.createOrganization.id;
  const tokenOf = async (variables: object): Promise<string> => {
    const { inviteUserToOrganization: invited } = await site.data<Invited>("admin", invite, { org, ...variables });
    t.equal(invited.sentInvitationEmail, false);
    return /\/organizations\/invitation\/(\d+)$/.exec(invited.invitationURL)?.[1] ?? "";
  };
  const pending = async (): Promise<number> => {
    const query = "query ($org: ID!) { pendingInvitations(organization: $org) { id } }";
    return (await site.data<{ pendingInvitations: unknown[] }>("admin", query, { org })).pendingInvitations.length;
  };
  return { org, tokenOf, pending };
}

t.test("temporary settings", async (t) => {
  const read = async (asker: "ann" | "bob"): Promise<unknown> =>
    JSON.parse(
      (await site.data<{ temporarySettings: { contents: string } }>(asker, "{ temporarySettings { contents } }"))
        .temporarySettings.contents,
    );
  const overwrite = "mutation ($text: String!) { overwriteTemporarySettings(contents: $text) { alwaysNil } }";
  const edit = "mutation ($text: String!) { editTemporarySettings(settingsToEdit: $text) { alwaysNil } }";
  t.same(await read("ann"), {});
  await site.data("ann", overwrite, { text: '{"a": 1, "b": {"c": true}}' });
  await site.data("ann", edit, { text: '{"b": null, "__proto__": 2}' });
  const edited = JSON.parse('{"a": 1, "b": null, "__proto__": 2}') as unknown;
  t.equal(JSON.stringify(await read("ann")), JSON.stringify(edited));
  t.same(await read("bob"), {}, "each user has its own");
  for (const text of ["[]", "1", "{", "{} x", `{"a": "${"x".repeat(70_000)}"}`])
    t.match(await site.refusal("ann", edit, { text }), /must be a JSON object|limited to/);
  await site.data("ann", edit, { text: `{"c": "${"x".repeat(40_000)}"}` });
  t.match(await site.refusal("ann", edit, { text: `{"d": "${"x".repeat(40_000)}"}` }), /limited to/);
  t.match(await site.refusal("anonymous", "{ temporarySettings { contents } }"), /not authenticated/);
  t.match(await site.refusal("anonymous", edit, { text: "{}" }), /not authenticated/);
  await Promise.all(["x", "y", "z"].map((name) => site.data("bob", edit, { text: `{"${name}": 1}` })));
  t.same(await read("bob"), { x: 1, y: 1, z: 1 }, "concurrent edits lose nothing");
});

t.test("who could be invited", async (t) => {
  const { org } = await makeOrganization("third");
  const search =
    "query ($org: ID!, $query: String!) { autocompleteMembersSearch(organization: $org, query: $query) { username inOrg } }";
  const names = async (query: string) =>
    (await site.data<{ autocompleteMembersSearch: { username: string }[] }>("admin", search, { org, query }))
      .autocompleteMembersSearch;
  t.same(await names("a"), [
    { username: "admin", inOrg: 1 },
    { username: "ann", inOrg: 0 },
  ]);
  await site.data("ann", "mutation { setSearchable(searchable: false) { alwaysNil } }");
  t.match(await site.data("ann", "{ currentUser { searchable } }"), { currentUser: { searchable: false } });
  t.same(await names("an"), []);
  t.same(await names("ann"), [{ username: "ann", inOrg: 0 }], "by the whole name");
  t.match(await site.refusal("bob", search, { org, query: "a" }), /must be authenticated as the authorized user/);
});

t.test("a user is invited, and accepts", async (t) => {
  const { org, tokenOf, pending } = await makeOrganization("core");
  t.match(await site.refusal("ann", invite, { org, username: "ann" }), /must be authenticated as the authorized user/);
  const token = await tokenOf({ username: "ann" });
  t.match(await site.refusal("admin", invite, { org, username: "ann" }), /already pending/);
  t.match(await site.refusal("admin", invite, { org, username: "admin" }), /already a member/);
  t.match(await site.refusal("admin", invite, { org, username: "nobody" }), /no user named "nobody"/);
  t.match(await site.refusal("admin", invite, { org }), /either a username or an e-mail address/);

  const shown = {
    organization: { name: "core", displayName: "Core" },
    sender: { username: "admin" },
    recipient: { username: "ann" },
    recipientEmail: null,
    respondedAt: null,
    isVerifiedEmail: null,
  };
  for (const _ of ["first", "second"])
    t.match(await site.data("ann", byToken, { token }), { invitationByToken: shown });
  t.match(await site.refusal("bob", byToken, { token }), gone);
  t.match(await site.refusal("anonymous", byToken, { token }), /not authenticated/);
  t.match(await site.refusal("ann", byToken, { token: "x".repeat(100) }), gone);
  const id = idOf("OrganizationInvitation", Number(token));
  t.match(await site.data("bob", "query ($id: ID!) { node(id: $id) { id } }", { id }), { node: null });
  t.match(await site.data("ann", "query ($id: ID!) { node(id: $id) { id } }", { id }), { node: { id } });
  t.match(
    await site.refusal(
      "ann",
      "query ($id: ID!) { node(id: $id) { ... on OrganizationInvitation { organization { members { totalCount } } } } }",
      { id },
    ),
    /must be authenticated/,
    "an invitation shows no members",
  );
  t.match(await site.data("ann", mine), { currentUser: { organizationInvitations: [{ id }] } });
  t.equal(await pending(), 1);

  for (const asker of ["bob", "admin"] as const)
    t.match(await site.refusal(asker, respond, { id, type: "ACCEPT" }), gone, `${asker} cannot answer it`);
  t.match(await site.refusal("bob", revoke, { id }), gone);
  await site.data("ann", respond, { id, type: "ACCEPT" });
  t.match(await site.data("ann", mine), {
    currentUser: { organizationInvitations: [], organizations: { nodes: [{ name: "core" }] } },
  });
  t.match(await site.refusal("ann", respond, { id, type: "REJECT" }), gone);
  t.equal(await pending(), 0);
  t.match(
    site.audited.filter(({ event }) => String(event).startsWith("invitation-")),
    [
      { event: "invitation-created", who: "admin", organization: "core", invited: "ann" },
      { event: "invitation-answered", who: "ann", response: "ACCEPT" },
    ],
  );
  await site.data("admin", "mutation ($org: ID!) { deleteOrganization(organization: $org) { alwaysNil } }", { org });
});

t.test("by address, rejected, revoked, extended, and gone with their subjects", async (t) => {
  const { org, tokenOf, pending } = await makeOrganization("other");
  const email = "Ann@acme.test";
  const token = await tokenOf({ email });
  t.match(await site.refusal("admin", invite, { org, email: "ann@ACME.test" }), /already pending/);
  t.match(await site.refusal("admin", invite, { org, email: "no address" }), /is not an e-mail address/);
  t.match(await site.refusal("ann", byToken, { token }), gone);
  const ann = await site.userId("ann");
  await site.data("ann", 'mutation ($user: ID!) { addUserEmail(user: $user, email: "ann@acme.test") { alwaysNil } }', {
    user: ann,
  });
  t.match(await site.refusal("ann", byToken, { token }), gone, "an address that is not verified is not enough");
  await site.data(
    "admin",
    'mutation ($user: ID!) { setUserEmailVerified(user: $user, email: "ann@acme.test", verified: true) { alwaysNil } }',
    { user: ann },
  );
  t.match(await site.data("ann", byToken, { token }), {
    invitationByToken: { recipient: null, recipientEmail: email, isVerifiedEmail: true },
  });
  const id = idOf("OrganizationInvitation", Number(token));
  await site.data("ann", respond, { id, type: "REJECT" });
  t.match(await site.data("ann", mine), { currentUser: { organizationInvitations: [], organizations: { nodes: [] } } });

  const second = idOf("OrganizationInvitation", Number(await tokenOf({ username: "bob" })));
  t.match(
    await site.data("ann", "query ($id: ID!) { node(id: $id) { id } }", { id }),
    { node: null },
    "one that has ended makes room",
  );
  t.match(await site.refusal("bob", resend, { id: second }), gone);
  await site.data("admin", resend, { id: second });
  await site.data("admin", revoke, { id: second });
  t.match(await site.refusal("bob", respond, { id: second, type: "ACCEPT" }), gone);
  t.match(await site.refusal("admin", resend, { id: second }), gone);

  await tokenOf({ username: "bob" });
  await tokenOf({ username: "ann" });
  t.equal(await pending(), 2);
  await site.data("admin", "mutation ($user: ID!) { deleteUser(user: $user) { alwaysNil } }", {
    user: await site.userId("bob"),
  });
  t.equal(await pending(), 1);
  await site.data("admin", "mutation ($org: ID!) { deleteOrganization(organization: $org) { alwaysNil } }", { org });
  t.match(await site.data("ann", mine), { currentUser: { organizationInvitations: [] } });
});
