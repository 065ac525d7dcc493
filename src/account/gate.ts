import { anonymous, type Viewer } from "../model/viewer.js";
import type { Accounts } from "./accounts.js";
import type { AuditLog } from "./audit-log.js";
import { readCredential, type Credential } from "./credential.js";

/** Who may make access tokens; with `none` they don't count either. */
export type AccessTokenPolicy = "all-users-create" | "site-admin-create" | "none";

export interface GateSettings {
  /** Whether those without a credential are let in. */
  readonly isPublic: boolean;
  readonly accessTokens: AccessTokenPolicy;
}

/** What of a request says who sends it. */
export interface Knock {
  /** What follows the question mark, as sent. */
  readonly query: string;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
}

export type Entry =
  | { readonly kind: "viewer"; readonly viewer: Viewer }
  /** An HTTP status, and a sentence. */
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly message: string };

/**
 * The one place that decides who sends a request.
 *
 * A credential that is wrong is refused, also where none is needed: its sender would take the answer of somebody without an
 * account for its own. Unknown, revoked and expired tokens and those of deleted users get one answer.
 */
export class Gate {
  readonly #accounts: Accounts;
  readonly #settings: GateSettings;
  readonly #audit: AuditLog;

  constructor(accounts: Accounts, settings: GateSettings, audit: AuditLog) {
    this.#accounts = accounts;
    this.#settings = settings;
    this.#audit = audit;
  }

  get isPublic(): boolean {
    return this.#settings.isPublic;
  }

  enter(knock: Knock): Entry {
    const credential = readCredential(knock.query, knock.headers.get("authorization"));
    if (credential.kind === "none") return this.#enterWithout();
    const nowMs = new Date().getTime();
    const entry = this.#check(credential, knock, nowMs);
    if (entry.kind === "refused") this.#audit.noteRefusal(knock.remoteAddress, entry.message, nowMs);
    return entry;
  }

  #enterWithout(): Entry {
    return this.#settings.isPublic ? { kind: "viewer", viewer: anonymous } : refused(401, "Private mode requires authentication.");
  }

  #check(credential: Credential, knock: Knock, nowMs: number): Entry {
    switch (credential.kind) {
      case "none": return this.#enterWithout();
      // A proxy in front of a private instance may ask for a password of its own.
      case "unrecognised": return this.#settings.isPublic ? refused(401, "Invalid Authorization header.") : this.#enterWithout();
      case "malformed": return refused(401, "Invalid Authorization header.");
      case "token":
      case "sudo": break;
    }
    if (this.#settings.accessTokens === "none") return refused(401, "Access token authorization is disabled.");
    const found = this.#accounts.findToken(credential.token, nowMs);
    if (found === undefined) return refused(401, "Invalid access token.");
    const { token, user } = found;
    if (credential.kind === "token") {
      this.#accounts.noteUse(token, nowMs);
      return { kind: "viewer", viewer: this.#accounts.viewerOf(user) };
    }
    if (!token.scopes.includes("site-admin:sudo")) return refused(401, "Invalid access token.");
    if (!user.isSiteAdmin) return refused(403, "The subject user of a sudo access token must be a site admin.");
    const subject = this.#accounts.userByName(credential.user);
    if (subject === undefined) return refused(403, "Unable to sudo to nonexistent user.");
    this.#accounts.noteUse(token, nowMs);
    this.#audit.note("sudo", { who: subject.name, sudoBy: user.name, from: knock.remoteAddress }, { token: token.id, path: knock.path });
    return { kind: "viewer", viewer: { ...this.#accounts.viewerOf(subject), sudoBy: user.name } };
  }
}

function refused(status: 401 | 403, message: string): Entry {
  return { kind: "refused", status, message };
}
