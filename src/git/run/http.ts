import { readdir, readFile, stat } from "node:fs/promises";
import type { LookupFunction } from "node:net";
import { join } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import type { Dispatcher } from "undici";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { proxyFor } from "../../base/proxies.js";
import type { ReceivedHeaders } from "../../base/rate-limit.js";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
  /** Decides to which addresses of a name it may connect. A proxy resolves names itself. */
  readonly lookup?: LookupFunction | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: ReceivedHeaders;
  /** Must be read to its end, or left early. */
  readonly body: AsyncIterable<Buffer>;
}

/**
 * Sends a request, through the proxy and with the certificate authorities that git uses. Redirects are not followed. Throws `git`
 * errors that name the host if there is no response.
 */
export async function openHttp(
  url: URL,
  { method, headers, body, signal, lookup }: HttpRequest,
): Promise<HttpResponse> {
  // Loaded when it is first needed.
  const { request } = await import("undici");
  try {
    const dispatcher = await findDispatcher(url, lookup);
    const sent = { "User-Agent": "trawl", ...headers };
    const response = await request(url, { method, headers: sent, body: body ?? null, signal, dispatcher });
    if (lookup !== undefined) void dispatcher.close().catch(() => undefined);
    return { status: response.statusCode, headers: response.headers, body: response.body as AsyncIterable<Buffer> };
  } catch (cause) {
    if (cause instanceof TrawlError) throw cause;
    throw new TrawlError("git", `${url.host} cannot be reached: ${describeFailure(cause)}`, { cause });
  }
}

/** Connecting to several addresses of a name fails with a list of errors, which has no message. */
function describeFailure(cause: unknown): string {
  const errors = cause instanceof AggregateError ? cause.errors : [cause];
  const text = [...new Set(errors.map(errorMessage))].join("; ");
  return /certificate/i.test(text)
    ? `${text}: put the certificate of its authority in /usr/local/share/ca-certificates and run update-ca-certificates, or name its file in GIT_SSL_CAINFO`
    : text;
}

/** Those that have been used, by proxy and authorities: connections stay open between the pages of a list. */
const dispatchers = new Map<string, Dispatcher>();

/** How to reach a URL by the environment, as git does. */
async function findDispatcher(url: URL, lookup: LookupFunction | undefined): Promise<Dispatcher> {
  const proxy = proxyFor(url, process.env) ?? "";
  const isSecure = url.protocol === "https:" || proxy.startsWith("https:");
  const paths = isSecure ? await authorityFiles(process.env) : [];
  const states = await Promise.all(paths.map(async (path) => `${path} ${(await stat(path)).mtimeMs}`));
  const key = JSON.stringify([proxy, url.protocol, ...states]);
  const known = dispatchers.get(key);
  if (known !== undefined && lookup === undefined) return known;
  const tls = paths.length === 0 ? {} : { secureContext: await readAuthorities(paths) };
  const created = await createDispatcher(proxy, url.protocol === "https:", tls, lookup);
  if (lookup === undefined) dispatchers.set(key, created);
  return created;
}

async function createDispatcher(
  proxy: string,
  isTunnel: boolean,
  tls: { readonly secureContext?: SecureContext },
  lookup: LookupFunction | undefined,
): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import("undici");
  // With a lookup of its own, a connection is made for one response, whose address is checked.
  if (proxy === "" && lookup !== undefined) return new Agent({ connect: { ...tls, lookup }, pipelining: 0 });
  if (proxy === "") return new Agent({ connect: tls });
  if (!/^https?:/.test(proxy))
    throw new TrawlError("bad-config", `the proxy ${new URL(proxy).protocol}//… cannot be used: only http and https`);
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
