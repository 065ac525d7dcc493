import { anonymous, type Viewer } from "../../model/viewer.js";
import type { Accounts } from "../identity/accounts.js";
import type { AccessToken, User } from "../identity/user.js";
import { auditEntry, type AuditLog } from "../records/audit-log.js";
import { readCredential, readSession, type Credential } from "./credential.js";
import type { LeaseKey, LeaseTerms } from "./leases.js";
import type { Origins } from "./origins.js";

/** Who may make access tokens; with `none` they don't count either. */
export type AccessTokenPolicy = "all-users-create" | "site-admin-create" | "none";

export interface AuthenticatorSettings {
  /** Whether those without a credential are let in. */
  readonly isPublic: boolean;
  readonly accessTokens: AccessTokenPolicy;
  /** Whether a site admin may act as another one. */
  readonly allowsSudoToSiteAdmins: boolean;
}

/** What of a request says who sends it. */
export interface AuthRequest {
  /** What follows the question mark, as sent. */
  readonly query: string;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
}

export type AuthResult =
  | {
      readonly kind: "viewer";
      readonly viewer: Viewer;
      /**
       * Calls back, with a sentence, when what the viewer was let in on ends: the token, the session, the user or one
       * of its rights. The returned function ends that.
       */
      readonly watch: (onEnd: (reason: string) => void) => () => void;
      /**
       * Where somebody acts as another: resolves when that is recorded. Nothing is done for the viewer before, and
       * nothing at all when it rejects.
       */
      readonly recorded?: Promise<void>;
    }
  /** An HTTP status, and a sentence; whether there was no credential, so that signing in is what helps. */
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly message: string; readonly wantsSignIn: boolean };

/**
 * The one place that decides who sends a request.
 *
 * A credential that is wrong is refused, also where none is needed: its sender would take the answer of somebody
 * without an account for its own. Unknown, revoked and expired tokens and those of deleted users get one answer.
 *
 * The cookie of a session is sent by a browser whoever wrote the page that makes the request, so it counts only where
 * the page is known to be ours or of a trusted origin: by the `Origin` that the browser sends, and under `/.api/` where
 * there is none by a header that pages elsewhere cannot send. A session that is over is none, and not refused.
 */
export class Authenticator {
  readonly #accounts: Accounts;
  readonly #settings: AuthenticatorSettings;
  readonly #audit: AuditLog;
  readonly #origins: Origins;

  constructor(accounts: Accounts, settings: AuthenticatorSettings, origins: Origins, audit: AuditLog) {
    this.#accounts = accounts;
    this.#settings = settings;
    this.#origins = origins;
    this.#audit = audit;
  }

  authenticate(request: AuthRequest): AuthResult {
    const credential = readCredential(request.query, request.headers.get("authorization"));
    const nowMs = new Date().getTime();
    if (credential.kind === "none") return this.#enterBySession(request, nowMs);
    const entry = this.#check(credential, request, nowMs);
    if (entry.kind === "refused") this.#audit.recordRefusal(request.remoteAddress, entry.message);
    return entry;
  }

  #enterBySession(request: AuthRequest, nowMs: number): AuthResult {
    const session = readSession(request.headers.get("cookie"));
    const found =
      session === undefined || !this.#acceptsCookie(request)
        ? undefined
        : this.#accounts.sessions.lookUp(session, nowMs);
    if (found !== undefined) {
      const { id, user, expiresMs } = found;
      this.#accounts.lastUses.note(user.id, nowMs);
      const viewer: Viewer = { ...this.#accounts.toViewer(user), isSignedIn: true, credential: { kind: "session" } };
      return this.#admitted({ viewer, keys: [`session/${id}`, `user/${user.id}`], expiresMs });
    }
    if (this.#settings.isPublic) return this.#admitted({ viewer: anonymous, keys: [], expiresMs: Infinity });
    return { ...refused(401, "Private mode requires authentication."), wantsSignIn: true };
  }

  #acceptsCookie({ path, headers }: AuthRequest): boolean {
    const origin = headers.get("origin");
    if (origin !== undefined) return this.#origins.trusts(origin, headers.get("host"));
    return headers.has("x-requested-with") || !path.startsWith("/.api/");
  }

  #check(credential: Credential, request: AuthRequest, nowMs: number): AuthResult {
    switch (credential.kind) {
      case "none":
        return this.#enterBySession(request, nowMs);
      // A proxy in front of a private instance may ask for a password of its own.
      case "unrecognised":
        return this.#settings.isPublic
          ? refused(401, "Invalid Authorization header.")
          : this.#enterBySession(request, nowMs);
      case "malformed":
        return refused(401, "Invalid Authorization header.");
      case "token":
      case "sudo":
        break;
    }
    if (this.#settings.accessTokens === "none") return refused(401, "Access token authorization is disabled.");
    const found = this.#accounts.accessTokens.find(credential.token, nowMs);
    if (found === undefined) return refused(401, "Invalid access token.");
    const { token, user } = found;
    if (credential.kind === "sudo") return this.#enterAsAnother(token, user, credential.user, request, nowMs);
    this.#recordUse(token.id, user.id, nowMs);
    return this.#admitted(leaseTerms(token, this.#accounts.toViewer(user), [user]));
  }

  #enterAsAnother(
    token: AccessToken,
    user: User,
    subjectName: string,
    request: AuthRequest,
    nowMs: number,
  ): AuthResult {
    if (!token.scopes.includes("site-admin:sudo")) return refused(401, "Invalid access token.");
    if (!user.isSiteAdmin) return refused(403, "The subject user of a sudo access token must be a site admin.");
    const subject = this.#accounts.userByName(subjectName);
    if (subject === undefined) return refused(403, "Unable to sudo to nonexistent user.");
    if (subject.isSiteAdmin && subject.id !== user.id && !this.#settings.allowsSudoToSiteAdmins) {
      return refused(403, "Unable to sudo to another site admin: auth.allowSudoToSiteAdmins is off.");
    }
    this.#recordUse(token.id, user.id, nowMs);
    const actor = { who: subject.name, sudoBy: user.name, from: request.remoteAddress };
    const recorded = this.#audit.record(auditEntry("sudo", actor, { token: token.id, path: request.path }));
    recorded.catch(() => undefined);
    const terms = leaseTerms(token, { ...this.#accounts.toViewer(subject), sudoBy: user.name }, [user, subject]);
    return { ...this.#admitted(terms), recorded };
  }

  #admitted(terms: LeaseTerms): AuthResult & { readonly kind: "viewer" } {
    return { kind: "viewer", viewer: terms.viewer, watch: (onEnd) => this.#accounts.leases.open(terms, onEnd) };
  }

  /** Who acts as somebody else is here; the other one is not. */
  #recordUse(tokenId: number, userId: number, nowMs: number): void {
    this.#accounts.lastUses.note(tokenId, nowMs);
    this.#accounts.lastUses.note(userId, nowMs);
  }
}

/** What a request with the token rests on: the token, and the users for whom it is sent. */
function leaseTerms({ id, scopes, expiresAt }: AccessToken, viewer: Viewer, users: readonly User[]): LeaseTerms {
  return {
    viewer: { ...viewer, credential: { kind: "token", id, scopes } },
    keys: [`token/${id}`, ...users.map((user): LeaseKey => `user/${user.id}`)],
    expiresMs: expiresAt === "" ? Infinity : Date.parse(expiresAt),
  };
}

function refused(status: 401 | 403, message: string): AuthResult & { kind: "refused" } {
  return { kind: "refused", status, message, wantsSignIn: false };
}
