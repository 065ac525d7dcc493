import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { errorMessage } from "../base/errors.js";
import { oneLine, withoutReordering } from "../base/text.js";
import type { Receivers } from "./receivers.js";

/** From the lookup of the name to the end of the response. */
const requestMs = 10_000;

/** The rest of a longer response is not read. */
const responseBytesMax = 64 * 1024;

/** UTF-16 units of a refusal that are shown. */
const shownLengthMax = 300;

/** The outcome of one attempt. */
export interface Delivered {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  /** Why it has to be tried again; "" if it was accepted. */
  readonly error: string;
  /** True if the receiver would refuse it again. */
  readonly isFinal?: boolean;
  /** The time that the receiver asks us to wait before the next attempt. */
  readonly waitMs?: number | undefined;
  /** What only the operator may read of why it was not sent. */
  readonly detail?: string;
}

/** What one request carries. */
export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /**
   * Whether the receiver is a chat. What it says of a message that it refuses is shown, and a message that it refuses is not
   * sent again; any other receiver may be a service that is being changed.
   */
  readonly isChat: boolean;
}

/**
 * Sends one message; only a status of 200 to 299 counts as accepted. Redirects are not followed, and of a response only its status is
 * kept, unless a chat refuses the message: otherwise a redirect could lead to any service, and an error could show what it says.
 */
export async function post(
  url: URL,
  { headers, body, isChat }: Message,
  receivers: Pick<Receivers, "lookup">,
  userAgent: string,
  stop: AbortSignal,
): Promise<Delivered> {
  const allHeaders = {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "User-Agent": userAgent,
    ...headers,
  };
  const signal = AbortSignal.any([stop, AbortSignal.timeout(requestMs)]);
  const make = url.protocol === "https:" ? httpsRequest : httpRequest;
  try {
    // Without an agent the connection is closed afterwards, and the address is checked each time.
    const options = {
      method: "POST",
      headers: allHeaders,
      signal,
      agent: false as const,
      lookup: receivers.lookup,
    };
    const response = await begin(make(url, options), body);
    const said = await readToEnd(response);
    return judge(url.host, response, isChat ? said : "", isChat);
  } catch (error) {
    const reason = signal.aborted && !stop.aborted ? `no answer within ${requestMs / 1000} s` : errorMessage(error);
    return { status: undefined, error: `${url.host} could not be reached: ${reason}` };
  }
}

function judge(host: string, response: IncomingMessage, said: string, isChat: boolean): Delivered {
  const { statusCode: status = 0, headers } = response;
  if (status >= 200 && status < 300) return { status, error: "" };
  if (status >= 300 && status < 400)
    return { status, error: `${host} answered ${status}, and redirects are not followed` };
  const text = said === "" ? "" : `: ${said}`;
  const waitMs = status === 429 || status === 503 ? parseWait(headers["retry-after"]) : undefined;
  return { status, error: `${host} answered ${status}${text}`, isFinal: isFinal(status, isChat), waitMs };
}

/** 410 means that the address is gone for good. */
function isFinal(status: number, isChat: boolean): boolean {
  if (status === 410) return true;
  return isChat && status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

/** Milliseconds in a `Retry-After`: seconds, which some chats write with a fraction, or a date. */
export function parseWait(value: string | undefined, nowMs = new Date().getTime()): number | undefined {
  if (value === undefined) return undefined;
  if (/^[0-9]{1,9}(?:\.[0-9]{1,9})?$/.test(value)) return Number(value) * 1000;
  const waitMs = /^[A-Z][a-z]+, [0-9]/.test(value) ? Date.parse(value) - nowMs : Number.NaN;
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : undefined;
}

function begin(request: ClientRequest, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
    request.end(body);
  });
}

/** Returns the beginning of the text. An error after the status does not change what the receiver has decided. */
async function readToEnd(response: IncomingMessage): Promise<string> {
  let byteCount = 0;
  const parts: Buffer[] = [];
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      if (byteCount < 4 * shownLengthMax) parts.push(part.subarray(0, 4 * shownLengthMax));
      if ((byteCount += part.length) > responseBytesMax) break;
    }
  } catch {
    // See above.
  } finally {
    response.destroy();
  }
  return oneLine(withoutReordering(Buffer.concat(parts).toString("utf8")), shownLengthMax);
}
