import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { SettingsEditor } from "../editor/settings-editor.js";
import { viewer } from "../route/viewer.js";
import { Form, TextField } from "../ui/form.js";
import { formatDay } from "../ui/numbers.js";
import { Failure, State, Waiting } from "../ui/states.js";
import { Invitations } from "./invitations.js";
import { Members } from "./members.js";

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
  const { answer, retry } = useGraphql("Organization", organizationQuery, { name });
  if (answer.kind === "waiting") return <Waiting what="the organization" />;
  if (answer.kind === "failed")
    return <Failure what="The organization could not be read" error={answer.error} retry={retry} />;
  const { organization } = answer.value;
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
                await graphql("UpdateOrganization", updateMutation, { id, displayName: fields.get("displayName") });
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
}
