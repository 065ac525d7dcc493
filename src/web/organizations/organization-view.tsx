import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { SettingsEditor } from "../editor/settings-editor.js";
import { viewer } from "../route/viewer.js";
import { CreateForm, Form, TextField } from "../ui/form.js";
import { formatDay } from "../ui/numbers.js";
import { Found, Notice, State } from "../ui/states.js";
import { Members } from "./members.js";
import { useSignal } from "@preact/signals";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";

const shownMax = 500;

const organizationQuery = `query Organization($name: String!) {
  organization(name: $name) {
    id name displayName createdAt viewerCanAdminister
    members(first: ${shownMax}) { totalCount nodes { id username displayName } }
  }
}`;
const addMutation = `mutation AddMember($organization: ID!, $username: String!) {
  addUserToOrganization(organization: $organization, username: $username) { alwaysNil }
}`;
const removeMutation = `mutation RemoveMember($organization: ID!, $user: ID!) {
  removeUserFromOrganization(organization: $organization, user: $user) { alwaysNil }
}`;
const updateMutation = `mutation UpdateOrganization($id: ID!, $displayName: String) {
  updateOrganization(id: $id, displayName: $displayName) { id }
}`;

/** One organization: profile, members, settings. */
export function OrganizationView({ name }: { readonly name: string }) {
  const used = useGraphql("Organization", organizationQuery, { name });
  return (
    <Found used={used} what="the organization">
      {({ organization }, retry) => {
        if (organization === null)
          return (
            <State title="There is no such organization">
              <p>Or you are not a member of it.</p>
            </State>
          );
        const { id, displayName, createdAt, viewerCanAdminister, members } = organization;
        return (
          <>
            <h1>{organization.name}</h1>
            <section class="panel organization-part" aria-labelledby="profile">
              <h2 id="profile">Profile</h2>
              <dl class="facts">
                <dt>Display name</dt>
                <dd>{displayName === null || displayName === "" ? "none" : displayName}</dd>
                <dt>Created</dt>
                <dd>{createdAt === null ? "unknown" : formatDay(createdAt)}</dd>
              </dl>
              {viewerCanAdminister && (
                <details>
                  <summary>Change the display name</summary>
                  <Form
                    submitLabel="Save"
                    submit={async (fields) => {
                      await graphql("UpdateOrganization", updateMutation, {
                        id,
                        displayName: fields.get("displayName"),
                      });
                      retry();
                    }}
                  >
                    <TextField label="Display name" name="displayName" isOptional />
                  </Form>
                </details>
              )}
            </section>
            <Members
              members={members?.nodes ?? []}
              totalCount={members?.totalCount ?? 0}
              of={organization.name}
              add={
                viewer.isSiteAdmin
                  ? (username) => graphql("AddMember", addMutation, { organization: id, username })
                  : undefined
              }
              remove={
                viewerCanAdminister
                  ? (member) => graphql("RemoveMember", removeMutation, { organization: id, user: member.id })
                  : undefined
              }
              changed={retry}
            />
            {viewerCanAdminister && <Invitations organization={id} />}
            <section class="panel organization-part" aria-labelledby="settings">
              <h2 id="settings">Settings as JSON</h2>
              <p class="soft">They apply to the members, who can set the same values for themselves.</p>
              <SettingsEditor subject={id} />
            </section>
          </>
        );
      }}
    </Found>
  );
}

const pendingQuery = `query PendingInvitations($organization: ID!) {
  pendingInvitations(organization: $organization) { id recipient { username } recipientEmail respondURL expiresAt }
}`;
const inviteMutation = `mutation InviteMember($organization: ID!, $username: String) {
  inviteUserToOrganization(organization: $organization, username: $username) { invitationURL }
}`;
const revokeMutation = `mutation RevokeInvitation($id: ID!) {
  revokeOrganizationInvitation(organizationInvitation: $id) { alwaysNil }
}`;

/** The pending invitations to an organization, and a form for another one. */
function Invitations({ organization }: { readonly organization: string }) {
  const used = useGraphql("PendingInvitations", pendingQuery, { organization });
  const action = useAction();
  const made = useSignal("");
  return (
    <section class="panel organization-part" aria-labelledby="invitations">
      <h2 id="invitations">Invitations</h2>
      <p class="soft small">No e-mail is sent: give the address of the invitation to its recipient.</p>
      <ActionError action={action} />
      <Found used={used} what="the invitations">
        {({ pendingInvitations: pending }) =>
          pending.length > 0 && (
            <ul class="rows" aria-label="Pending invitations">
              {pending.map(({ id, recipient, recipientEmail, respondURL, expiresAt }) => {
                const name = recipient?.username ?? recipientEmail ?? "a deleted user";
                return (
                  <li key={id}>
                    <div class="row-main">
                      <span class="row-title">{name}</span>
                      <span class="soft small">
                        {respondURL ?? ""}
                        {expiresAt !== null && ` · until ${formatDay(expiresAt)}`}
                      </span>
                    </div>
                    <div class="row-actions">
                      <ConfirmButton
                        label="Revoke"
                        about={`the invitation of ${name}`}
                        act={() =>
                          void action.run(async () => {
                            await graphql("RevokeInvitation", revokeMutation, { id });
                            used.retry();
                          })
                        }
                      >
                        {name} can no longer accept it.
                      </ConfirmButton>
                    </div>
                  </li>
                );
              })}
            </ul>
          )
        }
      </Found>
      {made.value !== "" && <Notice kind="info">The invitation is answered at {made.value}</Notice>}
      <CreateForm
        submitLabel="Invite"
        submit={async (fields) => {
          const { inviteUserToOrganization } = await graphql("InviteMember", inviteMutation, {
            organization,
            username: fields.get("username"),
          });
          made.value = inviteUserToOrganization.invitationURL;
          used.retry();
        }}
      >
        <TextField label="Name of the user to invite" name="username" />
      </CreateForm>
    </section>
  );
}
