import type { Organisation, User } from "../account/accounts.js";
import type { RequestContext } from "./context.js";
import { globalId } from "./ids.js";
import { settingsCascade } from "./site-source.js";
import type { SourceOf } from "./sources.js";

/** A user as others see one. Addresses are not recorded, so there are none. */
export function userSource(user: User, { viewer, services: { accounts } }: RequestContext): SourceOf<"User"> & { readonly __typename: "User" } {
  const url = `/users/${user.name}`;
  const organisations = accounts.organisations().filter(({ memberIds }) => memberIds.includes(user.id));
  return {
    __typename: "User", id: globalId("User", user.id), databaseID: user.id, username: user.name, email: "", displayName: user.displayName === "" ? null : user.displayName,
    avatarURL: null, url, settingsURL: `${url}/settings`, createdAt: user.createdAt, updatedAt: null, siteAdmin: user.isSiteAdmin, builtinAuth: true, latestSettings: null,
    settingsCascade: settingsCascade(), organizations: { nodes: organisations.map(organisationSource), totalCount: organisations.length }, tosAccepted: true,
    emails: [], primaryEmail: null, hasVerifiedEmail: false, completedPostSignup: true, session: { canSignOut: false },
    viewerCanAdminister: viewer.isSiteAdmin || viewer.userId === user.id, namespaceName: user.name, permissions: { nodes: [] },
  };
}

export function organisationSource(organisation: Organisation): SourceOf<"Org"> & { readonly __typename: "Org" } {
  const { id, name, displayName } = organisation;
  const url = `/organizations/${name}`;
  return { __typename: "Org", id: globalId("Org", id), name, displayName: displayName === "" ? null : displayName, url, settingsURL: `${url}/settings`, namespaceName: name };
}
