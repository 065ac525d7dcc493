interface FailureRow {
  readonly meaning: string;
  /**
   * The client waited in vain: its wait counts among the latencies, as the least that it would have been. Left out, a
   * server would look faster the more of its answers never came. A refusal is no wait and would flatter the server.
   */
  readonly isWait: boolean;
}

/** Every way in which a request fails. A failure is counted by its kind and shown, never dropped. */
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
  partial: { meaning: "the server gave up a part of the search for lack of time or of shards", isWait: true },
  timeout: { meaning: "no whole answer within the time limit", isWait: true },
  "not-sent": { meaning: "too many in flight", isWait: true },
  unfinished: { meaning: "no whole answer when the run ended", isWait: true },
  "no-socket": { meaning: "this machine had no socket left for it", isWait: true },
} as const satisfies Readonly<Record<string, FailureRow>>;

export type FailureKind = keyof typeof failureTable;

export interface Failure {
  readonly kind: FailureKind;
  /** What exactly happened, for a person. */
  readonly message: string;
}

/** What an HTTP status other than 200 means; `text` is the beginning of the answer's body. */
export function statusFailure(status: number, text: string): Failure {
  const kind = status === 401 || status === 403 ? "denied" : status === 503 ? "overloaded" : "status";
  return { kind, message: `HTTP ${status}${text === "" ? "" : `: ${text.trim()}`}` };
}

const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const noSocketCodes = new Set(["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM"]);

/** What an error of the HTTP client means. */
export function connectionFailure(error: Error): Failure {
  const code = "code" in error ? String(error.code) : "";
  const message = code === "" || error.message.includes(code) ? error.message : `${error.message} (${code})`;
  if (unreachableCodes.has(code) || /^ERR_TLS|CERT|SELF_SIGNED|^ERR_SSL/.test(code))
    return { kind: "unreachable", message };
  if (noSocketCodes.has(code)) return { kind: "no-socket", message };
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return { kind: "grammar", message };
  return { kind: "reset", message };
}
