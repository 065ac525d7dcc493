import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { callAfter } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
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

/** How much of the text of a refusal is shown. Those of the daemon are shorter. */
const refusalBytesMax = 1024;

/** The kernel would try for two minutes. */
const connectTimeoutMs = 15_000;

/** A connection whose other end has disappeared is noticed: nothing may be sent for as long as a search takes. */
const keepAliveMs = 30_000;

export const eventStream = "text/event-stream";

const isThisTrawl = "is this the address of a Trawl daemon?";

/** The URL of a path of the daemon, which may be served below a path of its own. */
export function urlAt({ endpoint }: Connection, path: string): URL {
  return new URL(path, `${endpoint}/`);
}

/**
 * Sends a request with the token, and again if that was stored, has expired and could be renewed. Resolves with the
 * response if it was accepted; else throws what to do.
 */
export async function send(connection: Connection, sent: ClientRequest): Promise<IncomingMessage> {
  const { endpoint, token, isStored } = connection;
  const response = await sendOnce(connection, sent);
  if (response.statusCode !== 401 || isStored !== true || token === undefined)
    return accepted(endpoint, sent, response);
  const { renewedToken } = await import("./device-login.js");
  const renewed = await renewedToken(endpoint, token);
  if (renewed === undefined) return accepted(endpoint, sent, response);
  response.destroy();
  return accepted(endpoint, sent, await sendOnce({ ...connection, token: renewed }, sent));
}

function sendOnce(connection: Connection, sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise<IncomingMessage>((resolve, reject) => {
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
    request.on("socket", (socket) => watchConnection(socket));
    request.on("error", (cause) => reject(unreachable(connection.endpoint, cause)));
    request.end(sent.body);
  });
}

async function accepted(endpoint: string, sent: ClientRequest, response: IncomingMessage): Promise<IncomingMessage> {
  const { statusCode = 0, headers } = response;
  const isAccepted = statusCode === 200 || (statusCode === 400 && sent.mayBeBad);
  if (!isAccepted) throw refusal(endpoint, response, await readRefusal(response));
  const type = headers["content-type"];
  if (sent.accept !== eventStream || type === undefined || type.startsWith(eventStream)) return response;
  response.destroy();
  throw new TrawlError("bad-request", `${endpoint} answered with ${type} instead of results; ${isThisTrawl}`);
}

function watchConnection(socket: Socket): void {
  socket.setKeepAlive(true, keepAliveMs);
  if (!socket.connecting) return;
  const tooSlow = callAfter(connectTimeoutMs, () =>
    socket.destroy(new TrawlError("cancelled", `the connection was not accepted in ${connectTimeoutMs / 1000} s`)),
  );
  socket.once("connect", () => tooSlow.cancel());
  socket.once("close", () => tooSlow.cancel());
}

function authorization({ token }: Connection): Record<string, string> {
  return token === undefined ? {} : { Authorization: `token ${token}` };
}

function contentHeaders(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { "Content-Type": "application/json" };
}

/** What to do about an error of a connection, by its code. */
const remedies: readonly (readonly [codes: RegExp, remedy: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "check the name of the host"],
  [
    /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/,
    "its certificate is not one of a known authority: if it is your own, set NODE_EXTRA_CA_CERTS to the file with its authority",
  ],
  [/^(CERT_|ERR_TLS_CERT)/, "its certificate is not valid for this address"],
  [/^(EPROTO|ERR_SSL_)/, "it may not use TLS: try http://"],
  [/^HPE_/, "it does not speak HTTP, or wants https://"],
  [/^ECONNRESET$/, "it may want https://, or have been stopped"],
  [/^TRAWL_/, "check the address, and whether a firewall is between"],
];

function unreachable(endpoint: string, cause: NodeJS.ErrnoException): TrawlError {
  const code = cause instanceof TrawlError ? "TRAWL_" : (cause.code ?? "");
  const remedy =
    remedies.find(([codes]) => codes.test(code))?.[1] ??
    "is trawld running there? Start one with `trawl serve`, or specify its address with --endpoint";
  const message = errorMessage(cause);
  // The message of OpenSSL names the place in its source as well.
  const [, reason = message] = /:SSL routines:[^:]{0,80}:([^:]{1,80}):/.exec(message) ?? [];
  return new TrawlError("not-found", `no response from ${endpoint}: ${reason}; ${remedy}`, { cause });
}

async function readRefusal(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    byteCount += part.length;
    if (byteCount >= refusalBytesMax) break;
  }
  // The page of a proxy says nothing that its status does not say.
  if (/^text\/html/.test(response.headers["content-type"] ?? "")) return response.statusMessage ?? "";
  return Buffer.concat(parts).subarray(0, refusalBytesMax).toString().trim();
}

function refusal(endpoint: string, { statusCode = 0, headers }: IncomingMessage, body: string): TrawlError {
  const told = `${endpoint} answered ${statusCode}${body === "" ? "" : `: ${body}`}`;
  const wait = headers["retry-after"];
  if (statusCode === 401)
    return new TrawlError(
      "forbidden",
      `${told.replace(/\.?$/, ".")} Run \`trawl login\`, or set an access token in TRAWL_TOKEN; \`trawl token create\` creates one`,
    );
  if (statusCode === 403) return new TrawlError("forbidden", told);
  if (statusCode >= 300 && statusCode < 400)
    return new TrawlError(
      "bad-request",
      `${told}${headers.location === undefined ? "" : ` (a redirect to ${headers.location})`}: use that as the endpoint`,
    );
  if (statusCode === 404) return new TrawlError("not-found", `${told}; ${isThisTrawl}`);
  if (statusCode === 410) return new TrawlError("gone", told);
  return new TrawlError("overloaded", wait === undefined ? told : `${told}; try again in ${wait} s`);
}

/** The call of curl that sends the same request. The token itself is not in it, but the variable that holds it. */
export function curlCall(connection: Connection, url: URL, accept: string, body?: string): string {
  const words = ["curl", "-sS", ...(accept === eventStream ? ["-N"] : []), "-H", quoted(`Accept: ${accept}`)];
  if (connection.token !== undefined)
    words.push("-H", `"Authorization: token $${connection.tokenVariable ?? "TRAWL_TOKEN"}"`);
  if (body !== undefined) words.push("-H", quoted("Content-Type: application/json"), "--data-binary", quoted(body));
  return [...words, quoted(url.href)].join(" ");
}

/** A word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
