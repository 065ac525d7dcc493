import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { TrawlError, errorMessage } from "../../base/errors.js";
import type { Connection } from "./connection.js";

export interface ClientRequest {
  readonly url: URL;
  readonly accept: string;
  /** JSON; undefined for a GET request. */
  readonly body?: string;
  /** Whether a response with status 400 is wanted, because its body says more. */
  readonly mayBeBad?: boolean;
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

/** How much of the text of a refusal is read and shown. */
const refusalBytesMax = 8 * 1024;

/** The URL of a path of the daemon, which may be served below a path of its own. */
export function urlAt({ endpoint }: Connection, path: string): URL {
  return new URL(path, `${endpoint}/`);
}

/** Sends a request with the token. Resolves with the response if it was accepted; else throws what to do. */
export async function send(connection: Connection, sent: ClientRequest): Promise<IncomingMessage> {
  const { endpoint } = connection;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const make = sent.url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = make(
      sent.url,
      {
        method: sent.body === undefined ? "GET" : "POST",
        headers: { Accept: sent.accept, ...authorization(connection), ...contentHeaders(sent.body) },
        signal: sent.signal,
      },
      resolve,
    );
    request.on("error", (cause) => reject(unreachable(endpoint, cause)));
    request.end(sent.body);
  });
  if (response.statusCode === 200 || (response.statusCode === 400 && sent.mayBeBad)) return response;
  throw refusal(endpoint, response, await readRefusal(response));
}

function authorization({ token }: Connection): Record<string, string> {
  return token === undefined ? {} : { Authorization: `token ${token}` };
}

function contentHeaders(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { "Content-Type": "application/json" };
}

function unreachable(endpoint: string, cause: Error): TrawlError {
  return new TrawlError(
    "not-found",
    `no response from ${endpoint}: ${errorMessage(cause)}; is trawld running there? ` +
      "Start one with `trawl serve`, or specify its address with --endpoint",
    { cause },
  );
}

async function readRefusal(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    byteCount += part.length;
    if (byteCount >= refusalBytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, refusalBytesMax).toString().trim();
}

function refusal(endpoint: string, { statusCode = 0, headers }: IncomingMessage, body: string): TrawlError {
  const told = `${endpoint} answered ${statusCode}: ${body}`;
  const wait = headers["retry-after"];
  if (statusCode === 401)
    return new TrawlError(
      "forbidden",
      `${told} Run \`trawl login\`, or set an access token in TRAWL_TOKEN; \`trawl token create\` creates one`,
    );
  if (statusCode >= 300 && statusCode < 400)
    return new TrawlError("bad-request", `${told} (a redirect to ${headers.location}): use that as the endpoint`);
  if (statusCode === 404) return new TrawlError("not-found", `${told}; is this the address of a Trawl daemon?`);
  if (statusCode === 410) return new TrawlError("gone", told);
  return new TrawlError("overloaded", wait === undefined ? told : `${told}; try again in ${wait} s`);
}
