import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { serverTimeMs, viewer } from "../route/viewer.js";
import { ActionError, useAction } from "../ui/action.js";
import { Found } from "../ui/states.js";

interface Invitation {
  readonly id: string;
  readonly organization: { readonly name: string };
  readonly sender: { readonly username: string } | null;
  readonly recipient: { readonly username: string } | null;
  readonly expiresAt: string | null;
  readonly respondedAt: string | null;
  readonly responseType: "ACCEPT" | "REJECT" | null;
  readonly revokedAt: string | null;
}

const invitationQuery = `query Invitation($token: String!) {
  invitationByToken(token: $token) {
    id organization { name } sender { username } recipient { username } expiresAt respondedAt responseType revokedAt
  }
}`;
const respondMutation = `mutation RespondToInvitation($id: ID!, $answer: OrganizationInvitationResponseType!) {
  respondToOrganizationInvitation(organizationInvitation: $id, responseType: $answer) { alwaysNil }
}`;

/** An invitation to an organization, which its recipient answers. `token` is the end of its address. */
export function InvitationView({ token }: { readonly token: string }) {
  const used = useGraphql("Invitation", invitationQuery, {
    token,
  });
  const action = useAction();
  return (
    <Found used={used} what="the invitation">
      {(value, retry) => {
        const { id, organization, sender, recipient } = value.invitationByToken;
        const outcome = describeOutcome(value.invitationByToken);
        const isForOther = recipient !== null && recipient.username !== viewer.name;
        const respond = (response: "ACCEPT" | "REJECT"): void =>
          void action.run(async () => {
            await graphql("RespondToInvitation", respondMutation, { id, answer: response });
            if (response === "ACCEPT")
              window.location.assign(`/organizations/${encodeURIComponent(organization.name)}`);
            else retry();
          });
        return (
          <section class="panel organization-part">
            <h1>Invitation to {organization.name}</h1>
            <p>
              {sender === null ? "Somebody" : sender.username} invites {isForOther ? recipient.username : "you"} to
              become a member of {organization.name}. Members see what only they may see, and share settings, search
              contexts and saved searches.
            </p>
            {outcome !== "" && <p role="status">{outcome}</p>}
            {outcome === "" && isForOther && <p>Only {recipient.username} can answer it.</p>}
            {outcome === "" && !isForOther && (
              <p class="invitation-answers">
                <button type="button" class="button main" onClick={() => respond("ACCEPT")}>
                  Accept
                </button>
                <button type="button" class="button" onClick={() => respond("REJECT")}>
                  Decline
                </button>
              </p>
            )}
            <ActionError action={action} />
          </section>
        );
      }}
    </Found>
  );
}

/** "" while it can be answered. */
function describeOutcome({ responseType, revokedAt, expiresAt }: Invitation): string {
  if (revokedAt !== null) return "The invitation was revoked.";
  if (responseType === "ACCEPT") return "The invitation was accepted.";
  if (responseType === "REJECT") return "The invitation was declined.";
  return expiresAt !== null && Date.parse(expiresAt) < serverTimeMs()
    ? "The invitation has expired: ask for another one."
    : "";
}
