import type { AccessToken, Organization, User } from "../../account/identity/user.js";
import type { SavedSearch } from "../../account/settings/saved-searches.js";
import type { LinkedIdentity } from "../../account/identity/identities.js";
import type { Team } from "../../account/identity/teams.js";
import { globalId } from "../../browse/ids.js";
import type { Invitation } from "../../account/identity/invitations.js";

/** A user. Properties that are not visible to everyone have resolvers, which know the viewer. */
export class UserSource {
  readonly __typename = "User";
  readonly user: User;

  constructor(user: User) {
    this.user = user;
  }

  get id(): string {
    return globalId("User", this.user.id);
  }

  get databaseID(): number {
    return this.user.id;
  }

  get username(): string {
    return this.user.name;
  }

  get namespaceName(): string {
    return this.user.name;
  }

  get displayName(): string | null {
    return this.user.displayName || null;
  }

  get url(): string {
    return `/users/${this.user.name}`;
  }

  get settingsURL(): string {
    return `${this.url}/settings`;
  }

  get createdAt(): string {
    return this.user.createdAt;
  }

  get siteAdmin(): boolean {
    return this.user.isSiteAdmin;
  }

  get searchable(): boolean {
    return this.user.isUnlisted !== true;
  }

  /** The time of the last change is not recorded, and avatars are not supported. */
  get updatedAt(): null {
    return null;
  }

  get avatarURL(): null {
    return null;
  }
}

/** An account at an identity provider. Only created for viewers who may see it. */
export class ExternalAccountSource {
  readonly __typename = "ExternalAccount";
  readonly serviceType = "openidconnect";
  readonly clientID = "";
  readonly accountData = null;
  readonly #identity: LinkedIdentity;

  constructor(identity: LinkedIdentity) {
    this.#identity = identity;
  }

  get id(): string {
    return globalId("ExternalAccount", this.#identity.id);
  }

  get serviceID(): string {
    return this.#identity.issuer;
  }

  get accountID(): string {
    return this.#identity.subject;
  }

  get provider(): string {
    return this.#identity.provider;
  }

  get createdAt(): string {
    return this.#identity.linkedAt;
  }
}

/** An organization. Only created for viewers who may know about it. */
export class OrganizationSource {
  readonly __typename = "Org";
  readonly organization: Organization;

  constructor(organization: Organization) {
    this.organization = organization;
  }

  get id(): string {
    return globalId("Org", this.organization.id);
  }

  get name(): string {
    return this.organization.name;
  }

  get namespaceName(): string {
    return this.organization.name;
  }

  get displayName(): string | null {
    return this.organization.displayName || null;
  }

  get createdAt(): string {
    return this.organization.createdAt;
  }

  get url(): string {
    return `/organizations/${this.organization.name}`;
  }

  get settingsURL(): string {
    return `${this.url}/settings`;
  }
}

export class TeamSource {
  readonly __typename = "Team";
  readonly avatarURL = null;
  readonly external = false;
  readonly team: Team;

  constructor(team: Team) {
    this.team = team;
  }

  get id(): string {
    return globalId("Team", this.team.id);
  }

  get name(): string {
    return this.team.name;
  }

  get displayName(): string | null {
    return this.team.displayName || null;
  }

  get url(): string {
    return `/teams/${this.team.name}`;
  }

  get readonly(): boolean {
    return this.team.isReadonly;
  }
}

/** An access token and the user whom it authenticates. */
export class TokenSource {
  readonly __typename = "AccessToken";
  readonly token: AccessToken;
  readonly subject: UserSource;

  constructor(token: AccessToken, user: User) {
    this.token = token;
    this.subject = new UserSource(user);
  }

  get id(): string {
    return globalId("AccessToken", this.token.id);
  }

  get scopes(): readonly string[] {
    return this.token.scopes;
  }

  get note(): string {
    return this.token.note;
  }

  get createdAt(): string {
    return this.token.createdAt;
  }

  get lastUsedAt(): string | null {
    return this.token.lastUsedAt || null;
  }

  get expiresAt(): string | null {
    return this.token.expiresAt || null;
  }
}

/** A saved search and its owner. */
export class SavedSearchSource {
  readonly __typename = "SavedSearch";
  readonly notifySlack = false;
  readonly slackWebhookURL = null;
  readonly search: SavedSearch;
  readonly owner: UserSource | OrganizationSource;

  constructor(search: SavedSearch, owner: UserSource | OrganizationSource) {
    this.search = search;
    this.owner = owner;
  }

  get namespace(): UserSource | OrganizationSource {
    return this.owner;
  }

  get notify(): boolean {
    return this.search.notification !== undefined;
  }

  get id(): string {
    return globalId("SavedSearch", this.search.id);
  }

  get description(): string {
    return this.search.description;
  }

  get query(): string {
    return this.search.query;
  }

  get draft(): boolean {
    return this.search.isDraft;
  }

  get visibility(): "PUBLIC" | "SECRET" {
    return this.search.isPublic ? "PUBLIC" : "SECRET";
  }

  get createdAt(): string {
    return this.search.createdAt;
  }

  get updatedAt(): string {
    return this.search.updatedAt;
  }

  get url(): string {
    return `/saved-searches/${this.id}`;
  }
}

/** An invitation to an organization; only created for its recipient, members of the organization and site admins. */
export class InvitationSource {
  readonly __typename = "OrganizationInvitation";
  readonly invitation: Invitation;

  constructor(invitation: Invitation) {
    this.invitation = invitation;
  }

  get id(): string {
    return globalId("OrganizationInvitation", this.invitation.id);
  }

  get recipientEmail(): string | null {
    return this.invitation.recipientEmail || null;
  }

  get createdAt(): string {
    return this.invitation.createdAt;
  }

  get expiresAt(): string {
    return this.invitation.expiresAt;
  }

  get respondedAt(): string | null {
    return this.invitation.respondedAt || null;
  }

  get responseType(): "ACCEPT" | "REJECT" | null {
    return this.invitation.response || null;
  }

  get revokedAt(): string | null {
    return this.invitation.revokedAt || null;
  }

  /** No e-mail is sent. */
  get notifiedAt(): null {
    return null;
  }
}

/** The page where an invitation is answered. */
export function invitationPath({ id }: Pick<Invitation, "id">): string {
  return `/organizations/invitation/${id}`;
}
