import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Actor } from "../records/audit-log.js";
import { GroupIndex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { Emails } from "./emails.js";
import type { Organizations } from "./organizations.js";
import type { Organization, User } from "./user.js";
import { checkEmail, requireRoom } from "../records/validation.js";

/** An invitation to become a member of an organization. */
export interface Invitation {
  readonly id: number;
  /** The organization; spelt as in stored records. */
  readonly organisationId: number;
  readonly senderId: number;
  /** 0 if the invitation is for an e-mail address. */
  readonly recipientId: number;
  /** "" if it is for a user. */
  readonly recipientEmail: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly expiresAt: string;
  /** RFC 3339; "" before an answer. */
  readonly respondedAt: string;
  readonly response: "" | "ACCEPT" | "REJECT";
  /** RFC 3339; "" unless it was revoked. */
  readonly revokedAt: string;
}

/** Who is invited: a user, or whoever has a verified e-mail address. */
export type Invited = { readonly user: User } | { readonly email: string };

const lifetimeMs = 7 * 86_400_000;
const ofOrganizationMax = 1000;
const invitationCountMax = 10_000;

/**
 * Invitations to organizations. An invitation alone gives nobody access: its recipient must be signed in, and accept it.
 * Therefore its address contains no secret.
 *
 * Invitations that have ended are removed when the next one to the same organization is made.
 */
export class Invitations {
  readonly #changes: TransactionQueue;
  readonly #organizations: Organizations;
  readonly #emails: Emails;
  readonly #table: RecordTable<Invitation>;
  /** By organization and by recipient; their ids differ. */
  readonly #idsOf = new GroupIndex<Invitation>(({ organisationId, recipientId }) => [organisationId, recipientId]);

  constructor(tables: RecordTables, changes: TransactionQueue, organizations: Organizations, emails: Emails) {
    this.#changes = changes;
    this.#organizations = organizations;
    this.#emails = emails;
    this.#table = tables.add<Invitation>("invitation/", (before, after) => this.#idsOf.change(before, after));
  }

  get(id: number): Invitation | undefined {
    return this.#table.get(id);
  }

  /** The pending invitations to an organization. */
  pendingOf(organisationId: number): readonly Invitation[] {
    return this.#of(organisationId).filter(isPending);
  }

  /** The pending invitations for a user, by name or by a verified address. */
  pendingFor(user: User): readonly Invitation[] {
    const byAddress = this.#of(0).filter((invitation) => this.isRecipient(invitation, user));
    return [...this.#of(user.id), ...byAddress].filter(isPending);
  }

  isRecipient({ recipientId, recipientEmail }: Invitation, { id }: User): boolean {
    if (recipientEmail === "") return recipientId === id;
    const wanted = recipientEmail.toLowerCase();
    return this.#emails.of(id).some(({ address, isVerified }) => isVerified && address.toLowerCase() === wanted);
  }

  /** Rejects with `conflict` if who is invited is a member, or has been invited already. */
  create(organization: Organization, senderId: number, invited: Invited, actor: Actor): Promise<Invitation> {
    if ("email" in invited) checkEmail(invited.email);
    return this.#changes.commit(
      () => {
        const all = this.#of(organization.id);
        const pending = all.filter(isPending);
        this.#requireNew(this.#organizations.require(organization.name), pending, invited);
        requireRoom(pending.length, ofOrganizationMax, "pending invitations to this organization");
        requireRoom(this.#table.count, invitationCountMax, "invitations");
        const nowMs = new Date().getTime();
        const result: Invitation = {
          id: this.#changes.newId(),
          organisationId: organization.id,
          senderId,
          recipientId: "user" in invited ? invited.user.id : 0,
          recipientEmail: "email" in invited ? invited.email : "",
          createdAt: new Date(nowMs).toISOString(),
          expiresAt: new Date(nowMs + lifetimeMs).toISOString(),
          respondedAt: "",
          response: "",
          revokedAt: "",
        };
        const ended = all.filter((invitation) => !isPending(invitation));
        return { steps: [...ended.map((old) => this.#table.remove(old)), this.#table.put(result)], result };
      },
      () =>
        auditEntry("invitation-created", actor, {
          organization: organization.name,
          invited: "user" in invited ? invited.user.name : invited.email,
        }),
    );
  }

  /** Accepts or rejects it. Rejects with `not-found` unless it is pending, and for the user. */
  respond(id: number, user: User, response: "ACCEPT" | "REJECT", actor: Actor): Promise<Invitation> {
    return this.#changes.commit(
      () => {
        const invitation = this.#requirePending(id);
        if (!this.isRecipient(invitation, user)) throw noInvitation();
        const organization = this.#organizations.get(invitation.organisationId);
        if (organization === undefined) throw noInvitation();
        const result = { ...invitation, response, respondedAt: new Date().toISOString() };
        const steps = [this.#table.put(result)];
        return {
          steps: response === "ACCEPT" ? [...steps, this.#organizations.adding(organization, user.id)] : steps,
          result,
        };
      },
      ({ organisationId }) =>
        auditEntry("invitation-answered", actor, {
          organization: this.#organizations.get(organisationId)?.name,
          user: user.name,
          response,
        }),
    );
  }

  revoke(id: number, actor: Actor): Promise<Invitation> {
    return this.#end(id, () => ({ revokedAt: new Date().toISOString() }), "invitation-revoked", actor);
  }

  /** Makes it valid for as long as a new one. */
  extend(id: number, actor: Actor): Promise<Invitation> {
    const expiresAt = (): string => new Date(new Date().getTime() + lifetimeMs).toISOString();
    return this.#end(id, () => ({ expiresAt: expiresAt() }), "invitation-extended", actor);
  }

  /** The writes that remove the invitations to an organization, or for a user. */
  removing(organizationOrUserId: number): readonly RecordWrite[] {
    return this.#of(organizationOrUserId).map((invitation) => this.#table.remove(invitation));
  }

  #end(
    id: number,
    change: () => Partial<Invitation>,
    event: "invitation-revoked" | "invitation-extended",
    actor: Actor,
  ): Promise<Invitation> {
    return this.#changes.commit(
      () => {
        const result = { ...this.#requirePending(id), ...change() };
        return { steps: [this.#table.put(result)], result };
      },
      ({ organisationId }) =>
        auditEntry(event, actor, { organization: this.#organizations.get(organisationId)?.name, invitation: id }),
    );
  }

  #requireNew({ memberIds }: Organization, pending: readonly Invitation[], invited: Invited): void {
    if ("user" in invited && memberIds.includes(invited.user.id))
      throw new TrawlError("conflict", "user is already a member of the organization");
    const isSame = ({ recipientId, recipientEmail }: Invitation): boolean =>
      "user" in invited
        ? recipientId === invited.user.id
        : recipientEmail.toLowerCase() === invited.email.toLowerCase();
    if (pending.some(isSame)) throw new TrawlError("conflict", "an invitation to this organization is already pending");
  }

  #requirePending(id: number): Invitation {
    const invitation = this.#table.get(id);
    if (invitation === undefined || !isPending(invitation)) throw noInvitation();
    return invitation;
  }

  #of(organizationOrUserId: number): readonly Invitation[] {
    return this.#idsOf.of(organizationOrUserId).flatMap((id) => this.#table.get(id) ?? []);
  }
}

function isPending({ respondedAt, revokedAt, expiresAt }: Invitation): boolean {
  return respondedAt === "" && revokedAt === "" && Date.parse(expiresAt) > new Date().getTime();
}

function noInvitation(): TrawlError {
  return new TrawlError("not-found", "there is no such invitation: it was answered or revoked, or has expired");
}
