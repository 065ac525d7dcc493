import type { Problem } from "./types.js";

/** The daemon refused a request, or a search failed. */
export class TrawlError extends Error {
  /** 0 if the daemon had begun to answer, so that there is no status: a search that fails says so in its stream. */
  readonly status: number;
  /** Does not change, unlike the message. `stream-failed` for an error in a stream, `connection` for a broken connection. */
  readonly code: Problem["code"] | "stream-failed" | "connection";
  /** When to ask again; undefined if the daemon does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: TrawlError["code"],
    message: string,
    { status = 0, retryAfterMs, cause }: { status?: number; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TrawlError";
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The codes of the Connect protocol, which calls of search jobs have, and what they are elsewhere. */
const connectCodes: Readonly<Record<string, Problem["code"]>> = {
  invalid_argument: "bad-request",
  unauthenticated: "unauthenticated",
  permission_denied: "forbidden",
  not_found: "not-found",
  aborted: "conflict",
  resource_exhausted: "too-many-requests",
  canceled: "cancelled",
  unimplemented: "not-implemented",
  unavailable: "overloaded",
};

/** Longer bodies of errors are not read: something between client and daemon may have sent them. */
const errorBytesMax = 64 * 1024;

/** The error that a response reports. */
export async function readError(response: Response): Promise<TrawlError> {
  const { status, headers } = response;
  const text = await readStart(response);
  const options = { status, retryAfterMs: readRetryAfter(headers.get("retry-after")) };
  const { code, detail, message } = parseObject(text);
  const known = typeof code === "string" ? (connectCodes[code] ?? (code as Problem["code"])) : undefined;
  const said = [detail, message].find((words) => typeof words === "string") ?? text.trim().slice(0, 1000);
  return new TrawlError(known ?? codeForStatus(status), said === "" ? `status ${status}` : String(said), options);
}

function codeForStatus(status: number): Problem["code"] {
  const codes: Readonly<Record<number, Problem["code"]>> = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    410: "gone",
    429: "too-many-requests",
    503: "overloaded",
  };
  return codes[status] ?? (status < 500 ? "bad-request" : "internal");
}

async function readStart({ body }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let part = await reader.read(); !part.done && text.length < errorBytesMax; part = await reader.read())
      text += decoder.decode(part.value, { stream: true });
  } catch {
    // What has arrived is what can be shown.
  } finally {
    await reader.cancel().catch(() => undefined);
  }
  return text;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** In seconds, as Trawl says it; a date is not read. */
function readRetryAfter(header: string | null): number | undefined {
  return header !== null && /^[0-9]{1,9}$/.test(header) ? Number(header) * 1000 : undefined;
}
