import { monotonicMs } from "../base/deadline.js";
import type { Log } from "../base/log.js";

/** Who does something, and from where. */
export interface Doer {
  /** Name of the user who acts. */
  readonly who: string;
  /** The site admin behind it, who acts as that user. */
  readonly sudoBy: string | undefined;
  /** Address of the client. */
  readonly from: string;
}

/** A user who writes something that bears its name. */
export interface Author {
  readonly id: number;
  readonly doer: Doer;
}

/** Whoever may open the control socket. */
export const operator: Doer = { who: "operator", sudoBy: undefined, from: "control socket" };

export type AuditEvent = "user-created" | "user-changed" | "user-deleted" | "organisation-created" | "organisation-changed" | "organisation-deleted"
  | "member-added" | "member-removed" | "email-added" | "email-changed" | "email-removed" | "password-changed" | "password-link-created" | "sessions-ended"
  | "token-created" | "token-deleted" | "sudo" | "credential-refused" | "sign-in" | "sign-in-refused" | "sign-out"
  | "readers-changed" | "team-created" | "team-changed" | "team-deleted"
  | "metadata-changed" | "repository-removed" | "repository-ordered" | "context-created" | "context-changed" | "context-deleted"
  | "settings-changed" | "saved-search-created" | "saved-search-changed" | "saved-search-deleted";

/** Lines about refused credentials and passwords in one minute: who sends many must not fill the disk. */
const refusalsPerMinuteMax = 60;
const minuteMs = 60_000;

/** Who did what to accounts, tokens and permissions, one line each, written before the answer is given. */
export class AuditLog {
  readonly #log: Log;
  /** On the monotonic clock. */
  #minute = 0;
  #refusals = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  note(event: AuditEvent, { who, sudoBy, from }: Doer, what: Readonly<Record<string, unknown>>): void {
    this.#log.info({ event, who, ...sudoBy === undefined ? {} : { sudoBy }, from, ...what });
  }

  /** A credential that was not accepted. When there are too many, a line of the next minute counts those without one. */
  noteRefusal(from: string, reason: string): void {
    this.#noteBounded("credential-refused", { from, reason });
  }

  /** Somebody who was not signed in; `user` is undefined for a name that nobody has. */
  noteSignInRefusal(from: string, what: { readonly user: string | undefined; readonly reason: string }): void {
    this.#noteBounded("sign-in-refused", { from, ...what });
  }

  #noteBounded(event: AuditEvent, what: Readonly<Record<string, unknown>>): void {
    const minute = Math.floor(monotonicMs() / minuteMs);
    if (minute !== this.#minute) {
      const untold = this.#refusals - refusalsPerMinuteMax;
      if (untold > 0) this.#log.info({ event: "credential-refused", untold });
      this.#minute = minute;
      this.#refusals = 0;
    }
    this.#refusals++;
    if (this.#refusals <= refusalsPerMinuteMax) this.#log.info({ event, ...what });
  }
}
