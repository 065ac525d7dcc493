import type { TokenScope } from "./validation.js";

export interface User {
  readonly id: number;
  readonly name: string;
  readonly displayName: string;
  readonly isSiteAdmin: boolean;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** What a new user is to be. */
export interface NewUser extends Pick<User, "name" | "displayName" | "isSiteAdmin"> {
  /** Absent for a user without an address. */
  readonly email?: { readonly address: string; readonly isVerified: boolean };
  /** As `Passwords.hashed` makes it; absent for one who cannot sign in. */
  readonly passwordHash?: string;
}

/** How parts of the accounts find users. */
export interface UserFinder {
  get(id: number): User | undefined;
  /** Throws `not-found`. */
  require(name: string): User;
}

export interface Organisation {
  readonly id: number;
  readonly name: string;
  readonly displayName: string;
  readonly createdAt: string;
  readonly memberIds: readonly number[];
}

export interface AccessToken {
  readonly id: number;
  /** The user whom it stands for. */
  readonly userId: number;
  /** Name of who made it. */
  readonly creator: string;
  readonly note: string;
  readonly scopes: readonly TokenScope[];
  readonly createdAt: string;
  /** RFC 3339; "" when it never does. */
  readonly expiresAt: string;
  /** RFC 3339; "" before the first use. */
  readonly lastUsedAt: string;
}

/** What a new token is to be. */
export interface TokenRequest {
  readonly scopes: readonly string[];
  readonly note: string;
  /** Undefined when it never expires. */
  readonly lifetimeMs: number | undefined;
}
