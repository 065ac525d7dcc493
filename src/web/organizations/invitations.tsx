import { useSignal } from "@preact/signals";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Form, TextField } from "../ui/form.js";
import { formatDay } from "../ui/numbers.js";
import { Failure, Notice } from "../ui/states.js";

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
export function Invitations({ organization }: { readonly organization: string }) {
  const { answer, retry } = useGraphql("PendingInvitations", pendingQuery, { organization });
  const action = useAction();
  const made = useSignal("");
  const round = useSignal(0);
  const pending = answer.kind === "ready" ? answer.value.pendingInvitations : [];
  return (
    <section class="panel organization-part" aria-labelledby="invitations">
      <h2 id="invitations">Invitations</h2>
      <p class="soft small">No e-mail is sent: give the address of the invitation to its recipient.</p>
      {answer.kind === "failed" && (
        <Failure what="The invitations could not be read" error={answer.error} retry={retry} />
      )}
      <ActionError action={action} />
      {pending.length > 0 && (
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
                        retry();
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
      )}
      {made.value !== "" && <Notice kind="info">The invitation is answered at {made.value}</Notice>}
      <Form
        key={round.value}
        submitLabel="Invite"
        submit={async (fields) => {
          const { inviteUserToOrganization } = await graphql("InviteMember", inviteMutation, {
            organization,
            username: fields.get("username"),
          });
          made.value = inviteUserToOrganization.invitationURL;
          round.value += 1;
          retry();
        }}
      >
        <TextField label="Name of the user to invite" name="username" />
      </Form>
    </section>
  );
}
