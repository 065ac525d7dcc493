import { createHmac } from "node:crypto";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { errorMessage } from "../base/errors.js";
import type { Receivers } from "./receivers.js";

/** From the lookup of the name to the end of the response. */
const requestMs = 10_000;

/** The rest of a longer response is not read. */
const responseBytesMax = 64 * 1024;

export interface Delivered {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  /** Why it has to be tried again; "" if it was accepted. */
  readonly error: string;
}

/** What one request carries. */
export interface Message {
  readonly id: string;
  readonly event: string;
  readonly secret: string;
  readonly body: Buffer;
}

/** The value of `X-Trawl-Signature-256`, by which a receiver recognizes that the body is ours. */
export function sign(secret: string, body: Buffer): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/**
 * Sends one message; only a status of 200 to 299 counts as accepted. Redirects are not followed, and nothing of the
 * response but its status is kept: otherwise a redirect could lead to any service, and an error could show what it says.
 */
export async function post(
  url: URL,
  { id, event, secret, body }: Message,
  receivers: Pick<Receivers, "lookup">,
  userAgent: string,
  stop: AbortSignal,
): Promise<Delivered> {
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "User-Agent": userAgent,
    "X-Trawl-Event": event,
    "X-Trawl-Delivery": id,
    "X-Trawl-Signature-256": sign(secret, body),
  };
  const signal = AbortSignal.any([stop, AbortSignal.timeout(requestMs)]);
  const make = url.protocol === "https:" ? httpsRequest : httpRequest;
  try {
    // Without an agent the connection is closed afterwards, and the address is checked each time.
    const options = { method: "POST", headers, signal, agent: false as const, lookup: receivers.lookup };
    const response = await begin(make(url, options), body);
    const status = response.statusCode ?? 0;
    await readToEnd(response);
    if (status >= 200 && status < 300) return { status, error: "" };
    if (status >= 300 && status < 400)
      return { status, error: `${url.host} answered ${status}, and redirects are not followed` };
    return { status, error: `${url.host} answered ${status}` };
  } catch (error) {
    const reason = signal.aborted && !stop.aborted ? `no answer within ${requestMs / 1000} s` : errorMessage(error);
    return { status: undefined, error: `${url.host} could not be reached: ${reason}` };
  }
}

function begin(request: ClientRequest, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
    request.end(body);
  });
}

/** An error after the status does not change what the receiver has decided. */
async function readToEnd(response: IncomingMessage): Promise<void> {
  let byteCount = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>)
      if ((byteCount += part.length) > responseBytesMax) break;
  } catch {
    // See above.
  } finally {
    response.destroy();
  }
}
