interface FailureRow {
  readonly meaning: string;
  /**
   * The client waited in vain: its wait is included in the latencies, as the least that the latency would have been.
   * Without it a server would look faster the more answers it never gave. A refusal is no wait, and would flatter it.
   */
  readonly isWait: boolean;
}

/** Every way in which a request fails. Each failure is counted by its kind and shown, never dropped. */
export const failureTable = {
  unreachable: { meaning: "no connection: refused, unknown host, no route", isWait: false },
  denied: { meaning: "HTTP 401 or 403", isWait: false },
  overloaded: { meaning: "HTTP 503", isWait: false },
  status: { meaning: "another HTTP status than 200", isWait: false },
  reset: { meaning: "the server cut the connection", isWait: false },
  grammar: { meaning: "an answer that breaks its grammar", isWait: false },
  "no-done": { meaning: "a stream that ended without `done`", isWait: false },
  alert: { meaning: "an alert event", isWait: false },
  error: { meaning: "an error event, or errors in a GraphQL answer", isWait: false },
  partial: { meaning: "the server left out a part of the search for lack of time or of shards", isWait: true },
  timeout: { meaning: "no whole answer within the time limit", isWait: true },
  "not-sent": { meaning: "too many in flight", isWait: true },
  unfinished: { meaning: "no whole answer when the run ended", isWait: true },
  "no-socket": { meaning: "this machine had no socket left for it", isWait: true },
} as const satisfies Readonly<Record<string, FailureRow>>;

export type FailureKind = keyof typeof failureTable;

export interface Failure {
  readonly kind: FailureKind;
  /** What exactly happened, for the user. */
  readonly message: string;
}

/** The failure of an HTTP status other than 200; `text` is the beginning of the answer's body. */
export function statusFailure(status: number, text: string): Failure {
  const kind = status === 401 || status === 403 ? "denied" : status === 503 ? "overloaded" : "status";
  return { kind, message: `HTTP ${status}${text === "" ? "" : `: ${text.trim()}`}` };
}

const unreachableCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$|^ERR_TLS|CERT|SELF_SIGNED|^ERR_SSL/;
const noSocketCodes = /^(EMFILE|ENFILE|EADDRNOTAVAIL|ENOBUFS|ENOMEM)$/;

/** The failure of an error of the HTTP client. */
export function connectionFailure(error: Error): Failure {
  const code = "code" in error ? String(error.code) : "";
  const message = code === "" || error.message.includes(code) ? error.message : `${error.message} (${code})`;
  if (unreachableCodes.test(code)) return { kind: "unreachable", message };
  if (noSocketCodes.test(code)) return { kind: "no-socket", message };
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return { kind: "grammar", message };
  return { kind: "reset", message };
}
