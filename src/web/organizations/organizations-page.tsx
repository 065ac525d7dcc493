import { unescapeUrlPart } from "../../base/path-text.js";
import { useEffect } from "preact/hooks";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { Found, State } from "../ui/states.js";
import { InvitationView } from "./invitation-view.js";
import { OrganizationView } from "./organization-view.js";
import { TeamList, TeamView } from "./teams.js";
import "../ui/rows.css";
import "./organizations.css";

/** `/organizations`, `/organizations/NAME`, `/organizations/invitation/ID`, `/teams` and `/teams/NAME`. */
export function OrganizationsPage() {
  const [, kind, given, invitation] = address.value.pathname.split("/");
  const name = unescapeUrlPart(given ?? "");
  useEffect(() => {
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
