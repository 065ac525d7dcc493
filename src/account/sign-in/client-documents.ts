import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { isPublicAddress, Networks, checkedLookup } from "../../base/networks.js";
import { attemptsIn, RateLimiter } from "../records/rate-limiter.js";
import { ClientProblem, readClientMetadata, type OAuthClient } from "./oauth-clients.js";

/** From the lookup of the name to the end of the document. */
const fetchMs = 5_000;
const documentBytesMax = 16 << 10;
const urlCharsMax = 500;

/** How long a document is not read again, and how many are kept. */
const keptMs = 300_000;
const keptMax = 200;

/** Documents that one user may have read. */
const limitOfReads = attemptsIn(3_600_000, 60);

interface Kept {
  readonly client: OAuthClient;
  readonly untilMs: number;
}

/**
 * Programs whose `client_id` is the URL of a document that describes them (OAuth Client ID Metadata Documents).
 *
 * The URL comes from whoever wrote the link that a user follows. So only the document of a signed-in user's request is read, few in an
 * hour, by HTTPS, from addresses that are public or listed by the operator, without following redirects, and only a part of a long answer;
 * and no error shows what an answer says.
 */
export class ClientDocuments {
  readonly #listed: Networks;
  readonly #userAgent: string;
  readonly #reads = new RateLimiter(limitOfReads);
  readonly #kept = new BoundedMap<string, Kept>(keptMax, () => 1);
  readonly #lookup = checkedLookup((host, address) => this.#refusal(host, address));

  /** Throws `bad-config` for a network that is none. */
  constructor(networks: readonly string[], userAgent: string) {
    this.#listed = new Networks(networks, "mcp.clientNetworks");
    this.#userAgent = userAgent;
  }

  /** The program that the document at this URL describes. Throws a `ClientProblem`, which says why there is none. */
  async read(id: string, userId: number, nowMs: number): Promise<OAuthClient> {
    const url = requireDocumentUrl(id);
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.client;
    if (this.#reads.begin(`user/${userId}`, nowMs) > 0)
      throw problem(url, "too many such documents were read; try later");
    const client = describedClient(url, id, await this.#fetch(url));
    this.#kept.set(id, { client, untilMs: nowMs + keptMs });
    return client;
  }

  async #fetch(url: URL): Promise<string> {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const refusal = isIP(host) === 0 ? undefined : this.#refusal(host, host);
    if (refusal !== undefined) throw problem(url, refusal);
    const signal = AbortSignal.timeout(fetchMs);
    const headers = { Accept: "application/json", "User-Agent": this.#userAgent };
    try {
      // Without an agent the connection is closed afterwards, and the address is checked each time.
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const request = httpsRequest(url, { headers, signal, agent: false, lookup: this.#lookup });
        request.on("response", resolve);
        request.on("error", reject);
        request.end();
      });
      return await readDocument(url, response);
    } catch (error) {
      if (error instanceof ClientProblem) throw error;
      throw problem(url, signal.aborted ? `there was no answer within ${fetchMs / 1000} s` : errorMessage(error));
    }
  }

  #refusal(host: string, address: string): string | undefined {
    if (isPublicAddress(address) || this.#listed.has(address)) return undefined;
    return `${host} has an address that is not public: the operator has to list it in mcp.clientNetworks`;
  }
}

/** Whether a `client_id` is meant to be the URL of a document. */
export function isDocumentUrl(id: string): boolean {
  return id.startsWith("https://") && id.length <= urlCharsMax;
}

/** Throws a `ClientProblem` unless it is an HTTPS URL with a path, and written as it is understood. */
function requireDocumentUrl(id: string): URL {
  const url = isDocumentUrl(id) && URL.canParse(id) ? new URL(id) : undefined;
  const isGood =
    url !== undefined &&
    url.href === id &&
    url.pathname !== "/" &&
    url.username === "" &&
    url.password === "" &&
    !id.includes("#");
  if (isGood) return url;
  throw new ClientProblem(
    "invalid_client_metadata",
    `a client_id that is a URL must begin with https://, have a path, no user and no fragment, and at most ${urlCharsMax} characters`,
  );
}

async function readDocument(url: URL, response: IncomingMessage): Promise<string> {
  try {
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400)
      throw problem(url, `it answers ${statusCode}, and redirects are not followed`);
    if (statusCode !== 200) throw problem(url, `it answers ${statusCode}`);
    const [type = ""] = (headers["content-type"] ?? "").split(";");
    if (!/^application\/(?:[\w.-]*\+)?json$/i.test(type.trim())) throw problem(url, "its type is not application/json");
    const parts: Buffer[] = [];
    let byteCount = 0;
    for await (const part of response as AsyncIterable<Buffer>) {
      byteCount += part.length;
      if (byteCount > documentBytesMax) throw problem(url, `it has more than ${documentBytesMax} bytes`);
      parts.push(part);
    }
    return Buffer.concat(parts).toString();
  } finally {
    response.destroy();
  }
}

function describedClient(url: URL, id: string, text: string): OAuthClient {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw problem(url, "it is not JSON");
  }
  if (!isObject(value) || value["client_id"] !== id) throw problem(url, "its client_id is not its own URL");
  const method = value["token_endpoint_auth_method"];
  if (method !== undefined && method !== "none")
    throw problem(url, "its token_endpoint_auth_method must be none, the only one served here");
  try {
    return { id, ...readClientMetadata(value) };
  } catch (error) {
    throw problem(url, errorMessage(error));
  }
}

function problem({ host }: URL, message: string): ClientProblem {
  return new ClientProblem(
    "invalid_client_metadata",
    `the document at ${host} that describes the program cannot be used: ${message}`,
  );
}
