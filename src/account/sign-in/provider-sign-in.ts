import { BoundedMap } from "../../base/bounded-map.js";
import { callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { eachInSteps, resultWhileYielding } from "../../base/yielding.js";
import type { ProviderButton } from "../../model/web-page.js";
import type { Accounts } from "../identity/accounts.js";
import type { SealedTexts } from "../identity/sealed-texts.js";
import type { ProviderSession, SessionProvider, StoredRefresh } from "../identity/sessions.js";
import { hashOfSecretText } from "../identity/secret-text.js";
import type { Identity, User } from "../identity/user.js";
import { type Actor, auditEntry, type AuditLog, type Sender } from "../records/audit-log.js";
import { attemptsIn, networkPrefix, RateLimiter } from "../records/rate-limiter.js";
import type { IdentityProvider, ProviderAnswer } from "./identity-provider.js";
import { ProviderAccounts } from "./provider-accounts.js";
import { type ProviderConfig, ProviderProblem } from "./provider-config.js";
import { ProviderTickets, type Ticket } from "./provider-tickets.js";

export interface ProviderSettings {
  /** Of a session for which the provider is asked from time to time. */
  readonly sessionLifetimeMs: number;
  /** As in `SignInSettings`. */
  readonly isReserved: (name: string) => boolean;
  /** Encrypts refresh tokens. */
  readonly sealed: SealedTexts;
  /** Makes a provider. The libraries are loaded only where one is configured. */
  readonly load: (config: ProviderConfig) => Promise<IdentityProvider>;
}

export interface ProviderEntry {
  readonly session: string;
  readonly lifetimeMs: number;
  readonly returnTo: string;
}

/** Answers of providers from one network that are exchanged: each is up to four requests to the provider. */
const limitOfAnswers = attemptsIn(60_000, 120);

/** Exchanges at the same time; each takes 20 s at most. */
const exchangesMax = 100;

/** Lines of the log about refusals; the audit log has its own limit. */
const limitOfLines = attemptsIn(60_000, 20);

/** Messages of logouts that are remembered, so that none is used twice; each is valid for minutes. */
const logoutsMax = 10_000;

/** Sessions that are refreshed at the same time. */
const refreshesMax = 4;

/**
 * How often sessions are looked through for those that have to be refreshed: a hundred times in the shortest period of a provider. Of the
 * 100,000 sessions that there may be, each look takes a tenth of a second of processor time, in steps.
 */
const looksInPeriod = 100;
const lookMsMin = 1_000;
const lookMsMax = 60_000;

/** A provider that does not answer for this many periods, and as many questions of this process, ends the session. */
const missedMax = 4;

/** What this process knows of a session that is refreshed. Times are monotonic. */
interface Refreshed {
  /** Undefined if it is stored and not read yet. */
  readonly refreshToken: string | undefined;
  /** When the provider has last said that the user is signed in. */
  readonly checkedMs: number;
  /** When it was last asked. */
  readonly askedMs: number;
  /** Questions since then that were not answered. After a stop of any length, one such question does not end the session. */
  readonly missed: number;
}

/**
 * Sign-in with identity providers, and the end of the sessions that began with one: when the provider says so (back-channel logout), when
 * it refuses to refresh, when it does not answer for long, and when it is no longer configured.
 *
 * Refresh tokens are stored with their sessions, encrypted, so that a restart changes nothing: the provider is asked about each
 * session soon after it. Where one cannot be read, as after the restore of a backup, which lacks the key, the session ends; the
 * provider then signs the browser in again without a question, if its own session goes on.
 */
export class ProviderSignIn {
  readonly #accounts: Accounts;
  readonly #audit: AuditLog;
  readonly #log: Log;
  readonly #settings: ProviderSettings;
  readonly users: ProviderAccounts;
  readonly #tickets = new ProviderTickets();
  readonly #answers = new RateLimiter(limitOfAnswers);
  readonly #logged = new RateLimiter(limitOfLines);
  readonly #logouts = new BoundedMap<string, true>(logoutsMax, () => 1);
  /** By the id of the session. */
  readonly #refreshed = new Map<string, Refreshed>();
  /** Sessions about which the provider is being asked. */
  readonly #asked = new Set<string>();
  readonly #startMs = monotonicMs();
  #configs: ReadonlyMap<string, ProviderConfig> = new Map();
  #providers = new Map<string, Promise<IdentityProvider>>();
  #exchanges = 0;
  #look: PendingCall | undefined;
  #lookedMs = -Infinity;
  #isLooking = false;
  #isClosed = false;
  /** Due, the next one last: all are asked about before sessions are looked through again, so that none waits for ever. */
  #due: ProviderSession[] = [];

  constructor(accounts: Accounts, audit: AuditLog, log: Log, settings: ProviderSettings) {
    this.#accounts = accounts;
    this.#audit = audit;
    this.#log = log;
    this.#settings = settings;
    this.users = new ProviderAccounts(accounts, (wanted) => this.isReserved(wanted));
  }

  /** Takes the place of what was configured before. */
  configure(configs: readonly ProviderConfig[]): void {
    this.#configs = new Map(configs.map((config) => [config.name, config]));
    this.#providers = new Map();
    // Sessions of a provider that has gone end now.
    this.#lookedMs = -Infinity;
  }

  /** Begins to look after sessions. Caller guarantees: the accounts are loaded. */
  start(): void {
    this.#look ??= callEvery(lookMsMin, () => void this.#refreshDue());
  }

  close(): void {
    this.#look?.cancel();
    this.#isClosed = true;
    this.#due = [];
  }

  /** In the order of the configuration. */
  get buttons(): readonly ProviderButton[] {
    return [...this.#configs.values()].map(({ name, displayName }) => ({ name, label: displayName }));
  }

  has(name: string): boolean {
    return this.#configs.has(name);
  }

  /** Whether nobody may take the name: because of the settings, or because it is that of an organization of a group, which may not exist yet. */
  isReserved(name: string): boolean {
    const lower = name.toLowerCase();
    if (this.#settings.isReserved(name)) return true;
    return [...this.#configs.values()].some(({ organizations }) =>
      Object.values(organizations).some((other) => other.toLowerCase() === lower),
    );
  }

  /** Begins a sign-in, or the link to the account of a user: where the browser goes, and the value of its cookie. */
  async begin(
    name: string,
    redirectUri: string,
    returnTo: string,
    linksUserId: number | undefined,
    sender: Sender,
  ): Promise<{ readonly location: string; readonly ticket: Ticket; readonly sealed: string }> {
    const ticket = this.#tickets.issue(name, returnTo, linksUserId, new Date().getTime());
    return this.#recorded(name, sender, async () => {
      const location = await (await this.#provider(name)).begin(redirectUri, ticket);
      return { location, ticket, sealed: this.#tickets.seal(ticket) };
    });
  }

  /** Whom the answer of a provider signs in. `signedInId` is the user of the browser's session. */
  async finish(
    name: string,
    redirectUri: string,
    { query, state, cookie }: { readonly query: string; readonly state: string; readonly cookie: string | undefined },
    signedInId: number | undefined,
    sender: Sender,
  ): Promise<ProviderEntry> {
    return this.#recorded(name, sender, async (config) => {
      const ticket = this.#tickets.open(cookie ?? "", name, state, new Date().getTime());
      if (ticket === undefined)
        throw new ProviderProblem(
          "refused",
          "this sign-in was not begun in this browser, or too long ago: begin again",
        );
      const answer = await this.#exchange(name, sender, async (provider) =>
        provider.finish(redirectUri, query, ticket),
      );
      const user = await this.#enter(config, ticket, answer, signedInId, sender);
      const isRefreshed = answer.refreshToken !== undefined;
      const lifetimeMs = isRefreshed
        ? this.#settings.sessionLifetimeMs
        : Math.min(this.#settings.sessionLifetimeMs, config.sessionHours * 3_600_000);
      const session = await this.#open(user, config, answer, lifetimeMs, sender);
      return { session, lifetimeMs, returnTo: ticket.returnTo };
    });
  }

  /** Ends the sessions that a provider names. */
  async logOut(name: string, token: string, sender: Sender): Promise<void> {
    await this.#recorded(name, sender, async () => {
      let used = "";
      const { issuer, subject, sessionId } = await this.#exchange(name, sender, async (provider) =>
        provider.readLogout(token, (id) => this.#isNewLogout(name, (used = id))),
      );
      const ended = await resultWhileYielding(
        this.#accounts.sessions.providerSessions(
          ({ provider }) =>
            provider.issuer === issuer &&
            (subject === undefined || provider.subject === subject) &&
            (sessionId === undefined || provider.sessionId === sessionId),
        ),
      );
      try {
        await this.#end(ended, "the provider has ended it", sender);
      } catch (error) {
        // The provider may send it again.
        this.#logouts.delete(hashOfSecretText(`${name} ${used}`));
        throw error;
      }
    });
  }

  async #enter(
    config: ProviderConfig,
    { linksUserId }: Ticket,
    answer: ProviderAnswer,
    signedInId: number | undefined,
    sender: Sender,
  ): Promise<User> {
    if (linksUserId === undefined) return this.users.enter(config, answer, sender);
    if (linksUserId !== signedInId)
      throw new ProviderProblem(
        "refused",
        "you are no longer signed in with the account that you want to link: begin again",
      );
    return this.users.link(config, linksUserId, answer, sender);
  }

  async #open(
    user: User,
    { name }: ProviderConfig,
    { issuer, subject, sessionId, refreshToken }: ProviderAnswer,
    lifetimeMs: number,
    sender: Sender,
  ): Promise<string> {
    const actor: Actor = { who: user.name, sudoBy: undefined, ...sender };
    const refresh = refreshToken === undefined ? undefined : await this.#seal(refreshToken, { issuer, subject });
    const provider: SessionProvider = {
      name,
      issuer,
      subject,
      isRefreshed: refreshToken !== undefined,
      ...(refresh === undefined ? {} : { refresh }),
      ...(sessionId === undefined ? {} : { sessionId }),
    };
    const isLinked = (): boolean => this.#accounts.identities.find(provider)?.id === user.id;
    const entry = auditEntry("sign-in", actor, { user: user.name, provider: name, subject });
    const session = await this.#accounts.sessions.open(user, lifetimeMs, isLinked, entry, provider);
    const nowMs = monotonicMs();
    if (refreshToken !== undefined)
      this.#refreshed.set(hashOfSecretText(session), { refreshToken, checkedMs: nowMs, askedMs: nowMs, missed: 0 });
    return session;
  }

  /** Undefined, with a line of the log, if it cannot be encrypted: it is then in memory only. */
  async #seal(refreshToken: string, about: Identity): Promise<StoredRefresh | undefined> {
    try {
      const sealed = await this.#settings.sealed.seal(refreshToken, nameIdentity(about));
      return { sealed, checkedAt: new Date().toISOString() };
    } catch (error) {
      this.#logFault(error);
      return undefined;
    }
  }

  /** What is known of a session after a restart; undefined if it cannot be asked about. */
  #restore({ provider: { refresh } }: ProviderSession): Refreshed | undefined {
    if (refresh === undefined) return undefined;
    // The wall clock may have been set back.
    const agoMs = Math.max(0, new Date().getTime() - Date.parse(refresh.checkedAt));
    return { refreshToken: undefined, checkedMs: monotonicMs() - agoMs, askedMs: -Infinity, missed: 0 };
  }

  /** The stored refresh token; undefined if it is lost. Rejects if the key cannot be read now. */
  async #unseal({ provider }: ProviderSession): Promise<string | undefined> {
    return provider.refresh && this.#settings.sealed.open(provider.refresh.sealed, nameIdentity(provider));
  }

  /** Stores the token of a session after the provider has said that its user is signed in. */
  async #keep({ id, provider }: ProviderSession, refreshToken: string): Promise<void> {
    const refresh = await this.#seal(refreshToken, provider);
    if (refresh !== undefined)
      await this.#accounts.sessions.keepRefresh(id, refresh).catch((error: unknown) => this.#logFault(error));
  }

  /** Runs it, unless too much of it runs. */
  async #exchange<T>(name: string, { from }: Sender, use: (provider: IdentityProvider) => Promise<T>): Promise<T> {
    if (this.#exchanges >= exchangesMax || this.#answers.begin(networkPrefix(from), monotonicMs()) > 0)
      throw new ProviderProblem("unreachable", "too many people sign in at the same time: try again in a minute");
    this.#exchanges++;
    try {
      const result = await use(await this.#provider(name));
      // What the provider vouches for does not count: it ends many sessions at once, and an office has one address.
      this.#answers.forgive(networkPrefix(from));
      return result;
    } finally {
      this.#exchanges--;
    }
  }

  /** Records why it fails. Rejects with `not-found` if there is no such provider. */
  async #recorded<T>(name: string, sender: Sender, act: (config: ProviderConfig) => Promise<T>): Promise<T> {
    const config = this.#config(name);
    try {
      return await act(config);
    } catch (error) {
      if (error instanceof ProviderProblem) {
        this.#audit.recordProviderRefusal(sender, name, error.message);
        if (this.#logged.begin("", monotonicMs()) === 0)
          this.#log.warn(
            { provider: name, from: sender.from, err: error.cause },
            `a sign-in was refused: ${error.message}`,
          );
      }
      throw error;
    }
  }

  #provider(name: string): Promise<IdentityProvider> {
    const known = this.#providers.get(name) ?? this.#settings.load(this.#config(name));
    this.#providers.set(name, known);
    return known;
  }

  #config(name: string): ProviderConfig {
    const config = this.#configs.get(name);
    if (config === undefined)
      throw new TrawlError("not-found", `there is no identity provider ${JSON.stringify(name)}`);
    return config;
  }

  #isNewLogout(name: string, id: string): boolean {
    const key = hashOfSecretText(`${name} ${id}`);
    if (this.#logouts.get(key) === true) return false;
    this.#logouts.set(key, true);
    return true;
  }

  /** Asks about the sessions that are due, a few at a time. */
  async #refreshDue(): Promise<void> {
    if (this.#isLooking) return;
    if (this.#due.length === 0 && monotonicMs() - this.#lookedMs >= this.#lookMs) {
      this.#isLooking = true;
      this.#lookedMs = monotonicMs();
      try {
        const due = await resultWhileYielding(this.#lookThrough());
        if (!this.#isClosed) this.#due = due;
      } finally {
        this.#isLooking = false;
      }
    }
    this.#askDue();
  }

  get #lookMs(): number {
    const periods = [...this.#configs.values()].map(({ refreshSeconds }) => refreshSeconds * 1000);
    return Math.max(lookMsMin, Math.min(lookMsMax, Math.min(...periods) / looksInPeriod));
  }

  /** Forgets sessions that have ended, and finds those that are due, the next one last. */
  *#lookThrough(): Generator<void, ProviderSession[]> {
    const { sessions } = this.#accounts;
    yield* eachInSteps([...this.#refreshed.keys()], (id) => {
      if (!sessions.has(id)) this.#refreshed.delete(id);
    });
    const due = yield* sessions.providerSessions((session) => this.#isDue(session));
    return due.reverse();
  }

  #askDue(): void {
    const { sessions } = this.#accounts;
    while (this.#asked.size < refreshesMax) {
      const session = this.#due.pop();
      if (session === undefined) return;
      if (sessions.has(session.id) && !this.#asked.has(session.id) && this.#isDue(session)) void this.#ask(session);
    }
  }

  #isDue({ id, provider }: ProviderSession): boolean {
    const config = this.#configs.get(provider.name);
    if (config === undefined) return true;
    // After a restart, the provider is asked at once: a process that often restarts would never ask otherwise.
    const unknownMs = provider.refresh === undefined ? this.#startMs : -Infinity;
    const askedMs = this.#refreshed.get(id)?.askedMs ?? unknownMs;
    return provider.isRefreshed && monotonicMs() - askedMs >= config.refreshSeconds * 1000;
  }

  async #ask(session: ProviderSession): Promise<void> {
    this.#asked.add(session.id);
    try {
      const reason = await this.#findEnd(session);
      if (reason !== undefined) await this.#end([session], reason, { from: "identity provider" });
    } catch (error) {
      this.#logFault(error);
    } finally {
      this.#asked.delete(session.id);
      if (this.#due.length > 0) this.#askDue();
    }
  }

  /** Why the session ends; undefined if it goes on. */
  async #findEnd(session: ProviderSession): Promise<string | undefined> {
    const { id, userId, provider } = session;
    const { name, issuer, subject } = provider;
    const config = this.#configs.get(name);
    if (config === undefined) return "its identity provider is not configured any more";
    const lost = "the provider cannot be asked about it any more, because its refresh token is lost";
    const known = this.#refreshed.get(id) ?? this.#restore(session);
    if (known === undefined) return lost;
    const missed = known.missed + 1;
    const asked = { ...known, askedMs: monotonicMs(), missed };
    this.#refreshed.set(id, asked);
    try {
      const token = known.refreshToken ?? (await this.#unseal(session));
      if (token === undefined) return lost;
      this.#refreshed.set(id, { ...asked, refreshToken: token });
      let stored: Promise<void> | undefined;
      const keep = (refreshToken: string): void => {
        this.#refreshed.set(id, { ...asked, refreshToken });
        stored = this.#keep(session, refreshToken);
      };
      const answer = await (await this.#provider(name)).refresh(token, issuer, subject, keep);
      const user = this.#accounts.user(userId);
      if (user !== undefined)
        await this.users.setMemberships(config, user, answer.groups, { from: "identity provider" });
      const nowMs = monotonicMs();
      const refreshToken = answer.refreshToken ?? token;
      this.#refreshed.set(id, { refreshToken, checkedMs: nowMs, askedMs: nowMs, missed: 0 });
      await (stored ?? this.#keep(session, refreshToken));
      return undefined;
    } catch (error) {
      if (error instanceof ProviderProblem && error.kind === "refused") return error.message;
      if (!(error instanceof ProviderProblem)) this.#logFault(error);
      const isLong = monotonicMs() - known.checkedMs >= missedMax * config.refreshSeconds * 1000;
      if (missed < missedMax || !isLong) return undefined;
      const problem = error instanceof ProviderProblem ? "the provider has not answered" : "it could not be checked";
      return `${problem} for long: ${errorMessage(error)}`;
    }
  }

  #logFault(error: unknown): void {
    this.#log.error({ err: error }, `a session of an identity provider could not be checked: ${errorMessage(error)}`);
  }

  /** Ends these sessions, with a line of the audit log for each user. */
  async #end(sessions: readonly ProviderSession[], reason: string, sender: Sender): Promise<void> {
    const byUser = new Map<number, ProviderSession[]>();
    for (const session of sessions) byUser.set(session.userId, [...(byUser.get(session.userId) ?? []), session]);
    for (const [userId, own] of byUser) {
      const user = this.#accounts.user(userId)?.name ?? String(userId);
      const actor: Actor = { who: user, sudoBy: undefined, ...sender };
      const what = { user, provider: own[0]?.provider.name, count: own.length, reason };
      await this.#accounts.sessions.closeById(
        own.map(({ id }) => id),
        auditEntry("sessions-ended", actor, what),
      );
    }
  }
}

/** An issuer has no line feeds: it is a URL. */
function nameIdentity({ issuer, subject }: Identity): string {
  return `${issuer}\n${subject}`;
}
