import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import type { Dispatcher } from "undici";
import { type ErrorCode, errorMessage, TrawlError } from "../base/errors.js";
import { proxyFor } from "../base/proxies.js";
import { findRateLimit, RateLimitError, type ReceivedHeaders } from "../base/rate-limit.js";

export interface HostResponse {
  readonly status: number;
  readonly headers: ReceivedHeaders;
  readonly text: string;
  /** When the host says that it answered; "" if it does not. */
  readonly date: string;
}

/** What a request is beyond its URL and its headers. */
export interface HostRequest {
  readonly method?: "GET" | "POST";
  /** JSON. */
  readonly body?: string;
  readonly bodyBytesMax: number;
}

/** A host refused a request, or answered with something else than was asked for. */
export class HostError extends TrawlError {
  /** Of HTTP. */
  readonly status: number;
  /** See `HostResponse`. */
  readonly date: string;

  constructor(code: ErrorCode, status: number, message: string, date = "") {
    super(code, message);
    this.status = status;
    this.date = date;
  }
}

const requestMs = 30_000;

/** A page of 100 repositories takes less than 1 MB. */
const pageRequest: HostRequest = { bodyBytesMax: 16 * 1024 * 1024 };

/**
 * Reads a URL, through the proxy and with the certificate authorities that git uses. Redirects are not followed: the token
 * would be sent to another place. Throws a `RateLimitError` if the host refuses because of its limits, and a `HostError` for another
 * status than 200, and 201 to a POST, with `not-found` for 404; other failures are `git` errors that name the host.
 */
export async function readUrl(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  request: HostRequest = pageRequest,
): Promise<HostResponse> {
  const response = await exchange(url, headers, signal, request);
  const { status, headers: received, text, date } = response;
  if (status === 200 || (status === 201 && request.method === "POST")) return response;
  const limit = findRateLimit(status, received, text, new Date().getTime());
  if (limit !== undefined) throw new RateLimitError(url.host, limit);
  // An answer that a proxy has changed may still have the secret that was asked for.
  const said = status < 300 ? "" : `: ${text.slice(0, 200).replaceAll(/\s+/g, " ")}`;
  const message = `${url.origin}${url.pathname} answered ${status}${said}`;
  if (status === 404) throw new HostError("not-found", status, message, date);
  // Azure DevOps answers with a page for people and 203 if it does not accept a token.
  if (status === 401 || status === 403 || status === 203)
    throw new HostError("forbidden", status, `${message}; check the token`, date);
  if (status >= 300 && status < 400)
    throw new HostError(
      "bad-config",
      status,
      `${message}; it redirects to ${String(received["location"])}: configure that URL`,
    );
  throw new HostError("git", status, message, date);
}

async function exchange(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { method = "GET", body, bodyBytesMax }: HostRequest,
): Promise<HostResponse> {
  // Loaded when it is first needed.
  const { request } = await import("undici");
  const limited = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
  let response: Dispatcher.ResponseData;
  try {
    const dispatcher = await findDispatcher(url);
    const sent = {
      "User-Agent": "trawl",
      ...headers,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    };
    response = await request(url, { method, headers: sent, body: body ?? null, signal: limited, dispatcher });
  } catch (cause) {
    if (cause instanceof TrawlError) throw cause;
    throw new TrawlError("git", `${url.host} cannot be reached: ${describeFailure(cause)}`, { cause });
  }
  const { statusCode: status, headers: received } = response;
  const date = String(received["date"] ?? "");
  return { status, headers: received, text: await readBody(response, url.host, bodyBytesMax), date };
}

/** Connecting to several addresses of a name fails with a list of errors, which has no message. */
function describeFailure(cause: unknown): string {
  const errors = cause instanceof AggregateError ? cause.errors : [cause];
  const text = [...new Set(errors.map(errorMessage))].join("; ");
  return /certificate/i.test(text)
    ? `${text}: put the certificate of its authority in /usr/local/share/ca-certificates and run update-ca-certificates, or name its file in GIT_SSL_CAINFO`
    : text;
}

async function readBody({ body }: Dispatcher.ResponseData, host: string, bodyBytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      byteCount += part.length;
      if (byteCount > bodyBytesMax) throw new TrawlError("git", `${host} sent more than ${bodyBytesMax} bytes at once`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("git", `${host} ended its response early: ${errorMessage(error)}`, { cause: error });
  }
  return Buffer.concat(parts).toString();
}

/** Those that have been used, by proxy and authorities: connections stay open between the pages of a list. */
const dispatchers = new Map<string, Dispatcher>();

/** How to reach a URL by the environment, as git does. */
async function findDispatcher(url: URL): Promise<Dispatcher> {
  const proxy = proxyFor(url, process.env) ?? "";
  const isSecure = url.protocol === "https:" || proxy.startsWith("https:");
  const paths = isSecure ? await authorityFiles(process.env) : [];
  const states = await Promise.all(paths.map(async (path) => `${path} ${(await stat(path)).mtimeMs}`));
  const key = JSON.stringify([proxy, url.protocol, ...states]);
  const known = dispatchers.get(key);
  if (known !== undefined) return known;
  const tls = paths.length === 0 ? {} : { secureContext: await readAuthorities(paths) };
  const created = await createDispatcher(proxy, url.protocol === "https:", tls);
  dispatchers.set(key, created);
  return created;
}

async function createDispatcher(
  proxy: string,
  isTunnel: boolean,
  tls: { readonly secureContext?: SecureContext },
): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import("undici");
  if (proxy === "") return new Agent({ connect: tls });
  if (!/^https?:/.test(proxy))
    throw new TrawlError(
      "bad-config",
      `the proxy ${new URL(proxy).protocol}//… cannot be used for lists: only http and https`,
    );
  return new ProxyAgent({ uri: proxy, requestTls: tls, proxyTls: tls, proxyTunnel: isTunnel });
}

/** Where systems keep the certificates of all authorities that they trust, in one file. */
const systemFiles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** A directory of certificates has a few hundred. */
const filesMax = 2_000;

/** The files with the certificates of authorities that git trusts; empty if only Node knows some. */
async function authorityFiles(environment: Readonly<Record<string, string | undefined>>): Promise<readonly string[]> {
  const file = environment["GIT_SSL_CAINFO"] || environment["SSL_CERT_FILE"];
  const folder = environment["GIT_SSL_CAPATH"] || environment["SSL_CERT_DIR"];
  const named = [...(file ? [file] : []), ...(folder ? await certificatesIn(folder) : [])];
  if (named.length > 0) return named;
  for (const path of systemFiles) if (await isFile(path)) return [path];
  return [];
}

async function certificatesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => /\.(?:pem|crt|[0-9])$/.test(name))
    .slice(0, filesMax)
    .map((name) => join(folder, name));
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function readAuthorities(paths: readonly string[]): Promise<SecureContext> {
  try {
    return createSecureContext({ ca: await Promise.all(paths.map((path) => readFile(path))) });
  } catch (error) {
    throw new TrawlError(
      "bad-config",
      `the certificates in ${paths.slice(0, 3).join(", ")} cannot be used: ${errorMessage(error)}`,
    );
  }
}
