import { anonymous, type Viewer } from "../model/viewer.js";
import type { Accounts } from "./accounts.js";
import { auditEntry, type AuditLog } from "./audit-log.js";
import { readCredential, readSession, type Credential } from "./credential.js";
import type { Origins } from "./origins.js";

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
  | {
    readonly kind: "viewer";
    readonly viewer: Viewer;
    /** Where somebody acts as another: resolves when that is recorded. Nothing is done for the viewer before, and nothing at all when it rejects. */
    readonly recorded?: Promise<void>;
  }
  /** An HTTP status, and a sentence; whether there was no credential, so that signing in is what helps. */
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly message: string; readonly wantsSignIn: boolean };

/**
 * The one place that decides who sends a request.
 *
 * A credential that is wrong is refused, also where none is needed: its sender would take the answer of somebody without an
 * account for its own. Unknown, revoked and expired tokens and those of deleted users get one answer.
 *
 * The cookie of a session is sent by a browser whoever wrote the page that makes the request, so it counts only where the
 * page is known to be ours or of a trusted origin: by the `Origin` that the browser sends, and under `/.api/` where there is
 * none by a header that pages elsewhere cannot send. A session that is over is none, and not refused.
 */
export class Gate {
  readonly #accounts: Accounts;
  readonly #settings: GateSettings;
  readonly #audit: AuditLog;
  readonly #origins: Origins;

  constructor(accounts: Accounts, settings: GateSettings, origins: Origins, audit: AuditLog) {
    this.#accounts = accounts;
    this.#settings = settings;
    this.#origins = origins;
    this.#audit = audit;
  }

  enter(knock: Knock): Entry {
    const credential = readCredential(knock.query, knock.headers.get("authorization"));
    const nowMs = new Date().getTime();
    if (credential.kind === "none") return this.#enterBySession(knock, nowMs);
    const entry = this.#check(credential, knock, nowMs);
    if (entry.kind === "refused") this.#audit.noteRefusal(knock.remoteAddress, entry.message);
    return entry;
  }

  #enterBySession(knock: Knock, nowMs: number): Entry {
    const session = readSession(knock.headers.get("cookie"));
    const user = session === undefined || !this.#acceptsCookie(knock) ? undefined : this.#accounts.sessions.find(session, nowMs);
    if (user !== undefined) {
      this.#accounts.lastUses.note(user.id, nowMs);
      return { kind: "viewer", viewer: { ...this.#accounts.viewerOf(user), isSignedIn: true } };
    }
    if (this.#settings.isPublic) return { kind: "viewer", viewer: anonymous };
    return { ...refused(401, "Private mode requires authentication."), wantsSignIn: true };
  }

  #acceptsCookie({ path, headers }: Knock): boolean {
    const origin = headers.get("origin");
    if (origin !== undefined) return this.#origins.trusts(origin, headers.get("host"));
    return headers.has("x-requested-with") || !path.startsWith("/.api/");
  }

  #check(credential: Credential, knock: Knock, nowMs: number): Entry {
    switch (credential.kind) {
      case "none": return this.#enterBySession(knock, nowMs);
      // A proxy in front of a private instance may ask for a password of its own.
      case "unrecognised": return this.#settings.isPublic ? refused(401, "Invalid Authorization header.") : this.#enterBySession(knock, nowMs);
      case "malformed": return refused(401, "Invalid Authorization header.");
      case "token":
      case "sudo": break;
    }
    if (this.#settings.accessTokens === "none") return refused(401, "Access token authorization is disabled.");
    const found = this.#accounts.findToken(credential.token, nowMs);
    if (found === undefined) return refused(401, "Invalid access token.");
    const { token, user } = found;
    if (credential.kind === "token") {
      this.#noteUse(token.id, user.id, nowMs);
      return { kind: "viewer", viewer: this.#accounts.viewerOf(user) };
    }
    if (!token.scopes.includes("site-admin:sudo")) return refused(401, "Invalid access token.");
    if (!user.isSiteAdmin) return refused(403, "The subject user of a sudo access token must be a site admin.");
    const subject = this.#accounts.userByName(credential.user);
    if (subject === undefined) return refused(403, "Unable to sudo to nonexistent user.");
    this.#noteUse(token.id, user.id, nowMs);
    const doer = { who: subject.name, sudoBy: user.name, from: knock.remoteAddress };
    const recorded = this.#audit.record(auditEntry("sudo", doer, { token: token.id, path: knock.path }));
    recorded.catch(() => undefined);
    return { kind: "viewer", viewer: { ...this.#accounts.viewerOf(subject), sudoBy: user.name }, recorded };
  }

  /** Who acts as somebody else is here; the other one is not. */
  #noteUse(tokenId: number, userId: number, nowMs: number): void {
    this.#accounts.lastUses.note(tokenId, nowMs);
    this.#accounts.lastUses.note(userId, nowMs);
  }
}

function refused(status: 401 | 403, message: string): Entry & { kind: "refused" } {
  return { kind: "refused", status, message, wantsSignIn: false };
}
