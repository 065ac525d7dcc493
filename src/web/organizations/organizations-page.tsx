import "../ui/lists-and-forms.css";
import { unescapeUrlPart } from "../../base/path-text.js";
import { useLayoutEffect } from "preact/hooks";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { serverTimeMs, viewer } from "../route/viewer.js";
import { Found, State } from "../ui/states.js";
import { OrganizationView } from "./organization-view.js";
import { TeamList, TeamView } from "./teams.js";
import { graphql } from "../api/graphql.js";
import { ActionError, useAction } from "../ui/action.js";

/** `/organizations`, `/organizations/NAME`, `/organizations/invitation/ID`, `/teams` and `/teams/NAME`. */
export function OrganizationsPage() {
  const [, kind, given, invitation] = address.value.pathname.split("/");
  const name = unescapeUrlPart(given ?? "");
  useLayoutEffect(() => {
    document.title = `${name || (kind === "teams" ? "Teams" : "Organizations")} · Trawl`;
  }, [name, kind]);
  if (viewer.name === "")
    return (
      <State title="Sign in to see organizations and teams">
        <a class="button main" href={`/sign-in?returnTo=${encodeURIComponent(address.value.pathname)}`}>
          Sign in
        </a>
      </State>
    );
  return (
    <div class="column-page organizations" key={`${kind} ${name} ${invitation}`}>
      {given === "invitation" && invitation !== undefined && invitation !== "settings" ? (
        <InvitationView token={invitation} />
      ) : kind === "teams" ? (
        name === "" ? (
          <TeamList />
        ) : (
          <TeamView name={name} />
        )
      ) : name === "" ? (
        <OwnList />
      ) : (
        <OrganizationView name={name} />
      )}
    </div>
  );
}

const ownQuery = "query OwnOrganizations { currentUser { organizations { nodes { id name displayName } } } }";

function OwnList() {
  const used = useGraphql("OwnOrganizations", ownQuery, {});
  return (
    <Found used={used} what="your organizations">
      {(value) => {
        const nodes = value.currentUser?.organizations.nodes ?? [];
        return (
          <>
            <h1>Your organizations</h1>
            <p class="soft">
              An organization owns settings, search contexts and saved searches, and can be a reader of private
              repositories. Site admins create them. <a href="/teams">Teams</a> group people further.
            </p>
            {nodes.length === 0 && <p>You are in no organization.</p>}
            {nodes.length > 0 && (
              <ul class="rows panel" aria-label="Organizations">
                {nodes.map(({ id, name, displayName }) => (
                  <li key={id}>
                    <div class="row-main">
                      <span class="row-title">
                        <a href={`/organizations/${encodeURIComponent(name)}`}>{name}</a>
                      </span>
                      {displayName !== null && displayName !== "" && <span class="soft small">{displayName}</span>}
                    </div>
                  </li>
                ))}
              </ul>
            )}
            {viewer.isSiteAdmin && (
              <p>
                <a href="/site-admin/organizations">All organizations</a>
              </p>
            )}
          </>
        );
      }}
    </Found>
  );
}

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
function InvitationView({ token }: { readonly token: string }) {
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
