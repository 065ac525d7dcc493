import type { Invitation } from "../../account/identity/invitations.js";
import { globalId } from "../../browse/ids.js";

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
