import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { RequestOrigin } from "../../model/request-origin.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { networkPrefix } from "./rate-limiter.js";

/** The originator of an action. */
export interface Actor {
  /** Name of the acting user. */
  readonly who: string;
  /** The site admin who is acting as that user. */
  readonly sudoBy: string | undefined;
  /** Address of the client. */
  readonly from: string;
  /** The request's `X-Request-Id`, by which the log has it too. */
  readonly requestId?: string | undefined;
  /** The credential, as "token 7" or "session". */
  readonly via?: string | undefined;
}

/** Who sends a request, before it is known who that is. */
export type Sender = Pick<Actor, "from" | "requestId">;

export function toSender({ remoteAddress, requestId }: Pick<RequestOrigin, "remoteAddress" | "requestId">): Sender {
  return requestId === "" ? { from: remoteAddress } : { from: remoteAddress, requestId };
}

/** A user whose name is recorded as the author of something. */
export interface Author {
  readonly id: number;
  readonly actor: Actor;
}

/** Whoever may open the control socket. */
export const operator: Actor = { who: "operator", sudoBy: undefined, from: "control socket" };

export type AuditEvent =
  | "user-created"
  | "user-changed"
  | "user-deleted"
  | "organization-created"
  | "organization-changed"
  | "organization-deleted"
  | "member-added"
  | "member-removed"
  | "members-set"
  | "group-changed"
  | "invitation-created"
  | "invitation-answered"
  | "invitation-revoked"
  | "invitation-extended"
  | "email-added"
  | "email-changed"
  | "email-removed"
  | "identity-linked"
  | "identity-unlinked"
  | "password-changed"
  | "password-link-created"
  | "sessions-ended"
  | "token-created"
  | "token-refreshed"
  | "token-deleted"
  | "sudo"
  | "credential-refused"
  | "sign-in"
  | "sign-in-refused"
  | "sign-out"
  | "readers-changed"
  | "owners-changed"
  | "team-created"
  | "team-changed"
  | "team-deleted"
  | "metadata-changed"
  | "repository-added"
  | "repository-removed"
  | "repository-ordered"
  | "context-created"
  | "context-changed"
  | "context-deleted"
  | "index-uploaded"
  | "index-deleted"
  | "settings-changed"
  | "saved-search-created"
  | "saved-search-changed"
  | "saved-search-deleted";

/** A change that is about to be made, or another action that is about to begin. */
export interface AuditEntry {
  readonly event: AuditEvent;
  readonly actor: Actor;
  /** The object of the action, and its details. */
  readonly what: Readonly<Record<string, unknown>>;
}

/** For `TransactionQueue.commit`: the audit-log entry of the change. */
export function auditEntry(event: AuditEvent, actor: Actor, what: AuditEntry["what"]): AuditEntry {
  return { event, actor, what };
}

/** Why a sign-in, a sign-up or a change of a password is refused. */
export type SignInRefusal =
  | "no such user"
  | "wrong password"
  | "wrong old password"
  | "too many attempts"
  | "too many attempts to change the password"
  | "too many questions for names"
  | "too many sign-ups"
  | "identity provider";

/** The destination of lines; each is durable when its promise resolves. */
export interface AuditFile {
  append(line: string): Promise<void>;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Records actions on accounts, tokens and permissions: one line per action, on disk before the action begins. An action
 * whose line cannot be written is refused. One that fails after its line has been written gets a second line, with
 * `"outcome": "failed"`.
 */
export class AuditLog {
  readonly #file: AuditFile;
  readonly #log: Log;
  readonly #refusals: RefusalLines;
  /** Called for each refusal, also for those without a line of their own. */
  onRefusal: (refused: "credential" | SignInRefusal) => void = () => undefined;

  constructor(file: AuditFile, log: Log) {
    this.#file = file;
    this.#log = log;
    this.#refusals = new RefusalLines((event, fields) => this.#try(formatLine(event, fields)));
  }

  /** Resolves when the action may begin. Rejects with `storage` or `overloaded`. */
  async record(entry: AuditEntry): Promise<void> {
    try {
      await this.#file.append(formatLine(entry.event, toFields(entry)));
    } catch (error) {
      this.#log.error(
        { err: error, event: entry.event },
        "an action was refused because its audit-log line could not be written",
      );
      const { code } = error instanceof TrawlError ? error : { code: "storage" as const };
      throw new TrawlError(
        code,
        `nothing was changed, because the audit log could not be written: ${errorMessage(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Records that an action that had been recorded failed. */
  recordFailure(entry: AuditEntry, error: unknown): void {
    this.#try(formatLine(entry.event, { ...toFields(entry), outcome: "failed", reason: errorMessage(error) }));
  }

  /** Records the action, then runs it. */
  async around<T>(entry: AuditEntry, act: () => Promise<T> | T): Promise<T> {
    await this.record(entry);
    try {
      return await act();
    } catch (error) {
      this.recordFailure(entry, error);
      throw error;
    }
  }

  /** Records a credential that was not accepted. */
  recordRefusal(sender: Sender, reason: string): void {
    this.onRefusal("credential");
    this.#refusals.note("credential-refused", { ...sender, reason });
  }

  /** Records a failed sign-in; `user` is undefined if the name is unknown. */
  recordSignInRefusal(
    sender: Sender,
    what: { readonly user: string | undefined; readonly reason: SignInRefusal },
  ): void {
    this.onRefusal(what.reason);
    this.#refusals.note("sign-in-refused", { ...sender, ...what });
  }

  /** Records a sign-in with an identity provider, or a logout by one, that was refused. `reason` is a sentence. */
  recordProviderRefusal(sender: Sender, provider: string, reason: string): void {
    this.onRefusal("identity provider");
    this.#refusals.note("sign-in-refused", { ...sender, provider, reason });
  }

  /** Records that a receiver did not take a notification, or that its owner may not be told any more. `to` is without secrets. */
  recordUndelivered(what: {
    readonly owner: string;
    readonly savedSearch: number;
    readonly to: string;
    readonly state: string;
    readonly reason: string;
  }): void {
    this.#refusals.note("notification-refused", what);
  }

  /** Resolves when all lines so far have been written or lost. */
  settled(): Promise<void> {
    return this.#file.settled();
  }

  /** Writes pending lines. Idempotent. */
  async close(): Promise<void> {
    this.#refusals.flush();
    await this.#file.close();
  }

  /** Nothing waits for these lines. */
  #try(line: string): void {
    this.#file
      .append(line)
      .catch((error: unknown) => this.#log.error({ err: error }, "a line of the audit log was lost"));
  }
}

function toFields({ actor, what }: AuditEntry): Readonly<Record<string, unknown>> {
  const { who, sudoBy, from, via, requestId } = actor;
  // JSON leaves out what is undefined.
  return { who, sudoBy, from, via, requestId, ...what };
}

function formatLine(event: string, fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ time: new Date().toISOString(), event, ...fields });
}

const minuteMs = 60_000;

/** Lines of one kind per sender and minute; further ones are only counted. */
const linesOfKindMax = 3;

/**
 * Limit on senders, and on kinds for each, that are distinguished within a minute; the others share the rest. Therefore
 * a minute has at most about 3,600 lines, 1.2 MB with the longest request ids.
 */
const sendersMax = 100;
const kindsOfSenderMax = 8;

interface Refusals {
  readonly event: string;
  readonly reason: string;
  /** The total number, and the number without a line. */
  count: number;
  untold: number;
  /** The first of those without a line. */
  first: string;
  last: string;
}

type RefusedSender = Map<string, Refusals>;

/** The contents of a line: what somebody has sent, or what a receiver has not taken. */
type RefusalFields = Readonly<Record<string, unknown>> & { readonly reason: string } & (
    | { readonly from: string }
    | { readonly to: string }
  );

/**
 * Lines about refused credentials, passwords and notifications. A sender of many of them must neither fill the disk nor hide those of
 * others. Therefore each sender, which is an address or an IPv6 network, or a receiver of notifications, has a few lines of each kind per minute; the
 * rest are summarized in one line, with their number and the times of the first and the last.
 */
class RefusalLines {
  readonly #write: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly #senders = new Map<string, RefusedSender>();
  #minute: PendingCall | undefined;

  constructor(write: (event: string, fields: Readonly<Record<string, unknown>>) => void) {
    this.#write = write;
  }

  note(event: string, fields: RefusalFields): void {
    this.#minute ??= callAfter(minuteMs, () => this.flush());
    const sender = this.#findSender("to" in fields ? `to ${fields.to}` : `from ${networkPrefix(fields.from)}`);
    const refusals = findRefusals(sender, event, fields.reason);
    refusals.count++;
    if (refusals.count <= linesOfKindMax) this.#write(event, fields);
    else countUntold(refusals);
  }

  /** Ends the minute: writes the summaries. */
  flush(): void {
    this.#minute?.cancel();
    this.#minute = undefined;
    for (const [key, sender] of this.#senders) {
      const [direction = ""] = key.split(" ", 1);
      const place = { [direction]: key.slice(direction.length + 1) };
      for (const { event, reason, untold, first, last } of sender.values()) {
        if (untold > 0) this.#write(event, { ...place, reason, untold, first, last });
      }
    }
    this.#senders.clear();
  }

  #findSender(place: string): RefusedSender {
    const key = this.#senders.has(place) || this.#senders.size < sendersMax ? place : "from other addresses";
    const known = this.#senders.get(key);
    if (known !== undefined) return known;
    const sender: RefusedSender = new Map();
    this.#senders.set(key, sender);
    return sender;
  }
}

function findRefusals(sender: RefusedSender, event: string, reason: string): Refusals {
  const kind = sender.has(`${event} ${reason}`) || sender.size < kindsOfSenderMax ? reason : "other reasons";
  const key = `${event} ${kind}`;
  let refusals = sender.get(key);
  if (refusals === undefined) {
    refusals = { event, reason: kind, count: 0, untold: 0, first: "", last: "" };
    sender.set(key, refusals);
  }
  return refusals;
}

function countUntold(refusals: Refusals): void {
  refusals.untold++;
  refusals.last = new Date().toISOString();
  refusals.first ||= refusals.last;
}
