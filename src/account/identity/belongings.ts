import type { OwnContexts } from "../contexts/own-contexts.js";
import type { RecordWrite } from "../records/record-table.js";
import type { SavedSearches } from "../settings/saved-searches.js";
import type { SettingsTable } from "../settings/settings-table.js";
import type { TemporarySettings } from "../settings/temporary-settings.js";
import type { Sessions } from "../sign-in/sessions.js";
import type { AccessTokens } from "./access-tokens.js";
import type { Emails } from "./emails.js";
import type { Invitations } from "./invitations.js";
import type { LastUses } from "./last-uses.js";
import type { Organizations } from "./organizations.js";
import type { Passwords } from "./passwords.js";
import type { Teams } from "./teams.js";
import type { Organization, User } from "./user.js";

/** The tables of what belongs to users and organizations. */
export interface Belongings {
  readonly accessTokens: AccessTokens;
  readonly emails: Emails;
  readonly contexts: OwnContexts;
  readonly organizations: Organizations;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly teams: Teams;
  readonly settings: SettingsTable;
  readonly savedSearches: SavedSearches;
  readonly lastUses: LastUses;
  readonly invitations: Invitations;
  readonly temporarySettings: TemporarySettings;
}

/** The writes that remove everything that belongs to a user. */
export function removeBelongingsOfUser(of: Belongings, user: User): readonly RecordWrite[] {
  return [
    ...of.accessTokens.removingUser(user.id),
    ...of.lastUses.removing(user.id),
    ...of.organizations.removingUser(user.id),
    ...of.sessions.removing(user),
    ...of.passwords.removing(user),
    ...of.emails.removing(user),
    ...of.contexts.removing(user),
    ...of.teams.removingUser(user.id),
    ...of.settings.removing(user.id),
    ...of.savedSearches.removing(user.id),
    ...of.invitations.removing(user.id),
    ...of.temporarySettings.removing(user.id),
  ];
}

/** The writes that remove an organization and everything that belongs to it. */
export function removeOrganization(of: Belongings, organization: Organization): readonly RecordWrite[] {
  return [
    ...of.contexts.removing(organization),
    ...of.settings.removing(organization.id),
    ...of.savedSearches.removing(organization.id),
    ...of.invitations.removing(organization.id),
    of.organizations.removing(organization),
  ];
}
