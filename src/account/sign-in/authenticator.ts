import { anonymous, type NarrowedView, type Viewer } from "../../model/viewer.js";
import type { Accounts } from "../identity/accounts.js";
import { type AccessToken, isSuspended, type User } from "../identity/user.js";
import { auditEntry, type AuditLog, toSender } from "../records/audit-log.js";
import { isAddedByBrowser, readCredential, readSession, type Credential } from "./credential.js";
import type { LeaseKey, LeaseTerms } from "../identity/leases.js";
import { areNarrow, type NarrowScope, repositoriesIn, type TokenScope } from "../records/validation.js";
import type { Origins } from "./origins.js";
import { ProxyHeader, type ProxyName } from "./proxy-header.js";
import { findNamed } from "./proxy-sign-in.js";

/** Who may create access tokens; with `none`, existing tokens are not accepted either. */
export type AccessTokenPolicy = "all-users-create" | "site-admin-create" | "none";

export interface AuthenticatorSettings {
  /** Whether requests without a credential are accepted. */
  readonly isPublic: boolean;
  readonly accessTokens: AccessTokenPolicy;
  /** Whether a site admin may act as another site admin. */
  readonly allowsSudoToSiteAdmins: boolean;
}

/** Where a session is opened for the user whom a proxy names. */
export const proxySignInPath = "/-/proxy/sign-in";

/** The parts of a request that identify its sender. */
export interface AuthRequest {
  /** The query string, as sent. */
  readonly query: string;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
  readonly requestId: string;
  /** The address that has opened the connection, which may be a proxy. */
  readonly peerAddress?: string;
}

export type AuthResult =
  | {
      readonly kind: "viewer";
      readonly viewer: Viewer;
      /**
       * Registers a callback that is called with a sentence when the basis of the authentication ends: the token, the
       * session, the user or one of its permissions. The returned function unregisters it.
       */
      readonly watch: (onEnd: (reason: string) => void) => () => void;
      /**
       * If the viewer is acting as another user: resolves when that has been recorded. Nothing may be done for the
       * viewer before, and nothing at all if it rejects.
       */
      readonly recorded?: Promise<void>;
    }
  | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly status: 401 | 403;
  /** A sentence. */
  readonly message: string;
  /** Whether there was no credential, so that signing in would help. */
  readonly wantsSignIn: boolean;
  /** Where signing in needs no question, because a proxy has asked it. */
  readonly signInPath?: string;
  /** Whether the token is valid, but not for this. */
  readonly lacksScope?: boolean;
}

/**
 * The only place that determines the sender of a request.
 *
 * A wrong credential is refused even if none is required, because its sender would otherwise mistake the response for
 * an authenticated one. Unknown, revoked and expired tokens and those of deleted users get the same response.
 *
 * A narrow token is refused unless the caller names a scope that suffices, so a route that names none is closed to it.
 *
 * A browser sends the session cookie regardless of who wrote the page that makes the request, so it is accepted only if
 * the page is known to belong to us or to a trusted origin: according to the `Origin` header or, under `/.api/` if
 * there is none, a header that pages of other origins cannot send. An expired session is treated as absent, and not
 * refused.
 */
export class Authenticator {
  readonly #accounts: Accounts;
  readonly #settings: AuthenticatorSettings;
  readonly #audit: AuditLog;
  readonly #origins: Origins;
  readonly #proxyHeader: ProxyHeader;

  constructor(
    accounts: Accounts,
    settings: AuthenticatorSettings,
    origins: Origins,
    audit: AuditLog,
    proxyHeader = new ProxyHeader("", []),
  ) {
    this.#proxyHeader = proxyHeader;
    this.#accounts = accounts;
    this.#settings = settings;
    this.#origins = origins;
    this.#audit = audit;
  }

  /** `suffices` is the scope with which a narrow token may do this. */
  authenticate(request: AuthRequest, suffices?: NarrowScope): AuthResult {
    const authorization = request.headers.get("authorization");
    const origin = request.headers.get("origin");
    if (isAddedByBrowser(authorization) && origin !== undefined && !this.#trusts(origin, request))
      return refused(403, "A page of another site must send a token as Authorization: token …, not as a user name.");
    const credential = readCredential(request.query, authorization);
    const nowMs = new Date().getTime();
    if (credential.kind === "none") return this.#enterBySession(request, nowMs);
    const entry = this.#check(credential, request, nowMs, suffices);
    if (entry.kind === "refused") this.#audit.recordRefusal(toSender(request), entry.message);
    return entry;
  }

  #enterBySession(request: AuthRequest, nowMs: number): AuthResult {
    const named = this.#proxyHeader.read(request);
    if (named.kind === "untrusted") {
      this.#audit.recordRefusal(toSender(request), named.message);
      return refused(403, named.message);
    }
    const session = readSession(request.headers.get("cookie"));
    const found =
      session === undefined || !this.#acceptsCookie(request)
        ? undefined
        : this.#accounts.sessions.lookUp(session, nowMs);
    if (found !== undefined && this.#isStill(found, named)) {
      const { id, user, expiresMs } = found;
      this.#accounts.lastUses.note(user.id, nowMs);
      const viewer: Viewer = {
        ...this.#accounts.toViewer(user),
        isSignedIn: true,
        credential: { kind: "session", id },
      };
      return this.#admitted({ viewer, keys: [`session/${id}`, `user/${user.id}`], expiresMs });
    }
    // A page is shown to the user whom the proxy names; a program sends a token.
    if (named.kind === "named" && request.headers.get("accept")?.includes("text/html") === true)
      return { ...refused(401, "The proxy has signed you in."), wantsSignIn: true, signInPath: proxySignInPath };
    if (this.#settings.isPublic) return this.#admitted({ viewer: anonymous, keys: [], expiresMs: Infinity });
    return { ...refused(401, "Private mode requires authentication."), wantsSignIn: true };
  }

  /** Whether the session is that of the user whom a proxy names; without a name, one that needs none. */
  #isStill({ user, isByProxy }: { readonly user: User; readonly isByProxy: boolean }, named: ProxyName): boolean {
    return named.kind === "named" ? findNamed(this.#accounts, named.name)?.id === user.id : !isByProxy;
  }

  #trusts(origin: string, { headers }: Pick<AuthRequest, "headers">): boolean {
    return this.#origins.trusts(origin, headers.get("host"));
  }

  #acceptsCookie({ path, headers }: AuthRequest): boolean {
    const origin = headers.get("origin");
    if (origin !== undefined) return this.#trusts(origin, { headers });
    return headers.has("x-requested-with") || !path.startsWith("/.api/");
  }

  #check(credential: Credential, request: AuthRequest, nowMs: number, suffices: NarrowScope | undefined): AuthResult {
    switch (credential.kind) {
      case "none":
        return this.#enterBySession(request, nowMs);
      // A proxy in front of a private instance may use its own password.
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
    if (areNarrow(token.scopes) && (suffices === undefined || !token.scopes.includes(suffices)))
      return {
        ...refused(403, `This access token is only for ${token.scopes.join(", ")}: it cannot be used here.`),
        lacksScope: true,
      };
    this.#recordUse(token.id, user.id, nowMs);
    return this.#admitted(leaseTerms(token, narrowed(this.#accounts.toViewer(user), token.scopes), [user]));
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
    if (subject === undefined || isSuspended(subject)) return refused(403, "Unable to sudo to nonexistent user.");
    if (subject.isSiteAdmin && subject.id !== user.id && !this.#settings.allowsSudoToSiteAdmins) {
      return refused(403, "Unable to sudo to another site admin: auth.allowSudoToSiteAdmins is off.");
    }
    this.#recordUse(token.id, user.id, nowMs);
    const actor = { who: subject.name, sudoBy: user.name, ...toSender(request) };
    const recorded = this.#audit.record(auditEntry("sudo", actor, { token: token.id, path: request.path }));
    recorded.catch(() => undefined);
    const terms = leaseTerms(token, { ...this.#accounts.toViewer(subject), sudoBy: user.name }, [user, subject]);
    return { ...this.#admitted(terms), recorded };
  }

  #admitted(terms: LeaseTerms): AuthResult & { readonly kind: "viewer" } {
    return { kind: "viewer", viewer: terms.viewer, watch: (onEnd) => this.#accounts.leases.open(terms, onEnd) };
  }

  /** The user who acts as another is recorded as active; the other user is not. */
  #recordUse(tokenId: number, userId: number, nowMs: number): void {
    this.#accounts.lastUses.note(tokenId, nowMs);
    this.#accounts.lastUses.note(userId, nowMs);
  }
}

/** What the authentication with a token depends on: the token, and the users for whom it is sent. */
function leaseTerms({ id, scopes, expiresAt }: AccessToken, viewer: Viewer, users: readonly User[]): LeaseTerms {
  return {
    viewer: { ...viewer, credential: { kind: "token", id, scopes } },
    keys: [`token/${id}`, ...users.map((user): LeaseKey => `user/${user.id}`)],
    expiresMs: expiresAt === "" ? Infinity : Date.parse(expiresAt),
  };
}

function narrowed(viewer: Viewer, scopes: readonly TokenScope[]): Viewer {
  if (!areNarrow(scopes)) return viewer;
  const view: NarrowedView = { seesPrivate: viewer.isSiteAdmin, repositories: repositoriesIn(scopes) };
  return { ...viewer, isSiteAdmin: false, narrowed: view };
}

function refused(status: 401 | 403, message: string): Refusal {
  return { kind: "refused", status, message, wantsSignIn: false };
}
