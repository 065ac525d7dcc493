import type { TokenScope } from "../records/validation.js";

/** Who can suspend an account: an operator, or the directory of an identity provider. A directory lifts only its own suspension; an operator lifts all. */
export type SuspendedBy = "operator" | "directory";

export function isSuspended({ suspendedBy }: Pick<User, "suspendedBy">): boolean {
  return suspendedBy !== undefined && suspendedBy.length > 0;
}

export interface User {
  readonly id: number;
  readonly name: string;
  readonly displayName: string;
  readonly isSiteAdmin: boolean;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Whether others do not find the user when they look for members of an organization. */
  readonly isUnlisted?: boolean;
  /** Who has suspended the account. While it is not empty, nobody can sign in and no token is accepted. */
  readonly suspendedBy?: readonly SuspendedBy[];
}

/** Whom an identity provider means. A subject is never given to somebody else, in contrast to a name or an address. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** The properties of a new user. */
export interface NewUser extends Pick<User, "name" | "displayName" | "isSiteAdmin" | "suspendedBy"> {
  /** Absent for a user without an address. */
  readonly email?: { readonly address: string; readonly isVerified: boolean };
  /** As created by `Passwords.hashed`; absent for a user who cannot sign in. */
  readonly passwordHash?: string;
  /** Of whom an identity provider has said that it is the user. */
  readonly identity?: (Identity & { readonly provider: string }) | undefined;
}

/** How other parts of the accounts look up users. */
export interface UserFinder {
  get(id: number): User | undefined;
  /** Like `get`; undefined for an account that is suspended. */
  active(id: number): User | undefined;
  /** Throws `not-found`. */
  require(name: string): User;
}

export interface Organization {
  readonly id: number;
  readonly name: string;
  readonly displayName: string;
  readonly createdAt: string;
  readonly memberIds: readonly number[];
}

export interface AccessToken {
  readonly id: number;
  /** The user that the token authenticates. */
  readonly userId: number;
  /** Name of its creator. */
  readonly creator: string;
  readonly note: string;
  readonly scopes: readonly TokenScope[];
  readonly createdAt: string;
  /** RFC 3339; "" if it never expires. */
  readonly expiresAt: string;
  /** RFC 3339; "" before the first use. */
  readonly lastUsedAt: string;
  /** Id of the token with which this one was created: it ends with that one. */
  readonly madeBy?: number;
}

/** The properties of a new token. */
export interface TokenRequest {
  readonly scopes: readonly string[];
  readonly note: string;
  /** Undefined if it never expires. */
  readonly lifetimeMs: number | undefined;
  /**
   * The token that authenticates the request; absent if another credential does. With `mayShorten`, the new token is
   * valid for no longer than that one, otherwise a longer lifetime is refused.
   */
  readonly maker?: { readonly id: number; readonly mayShorten: boolean };
}
