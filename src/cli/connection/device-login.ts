import { monotonicMs, sleep } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { clientConfigPath, ofEndpoint, readClientConfig, storeToken, type StoredToken } from "./client-config.js";
import { isHeaderText } from "./connection.js";

/** Where the user authorizes the program, and the code to compare with the one on that page. */
export interface DevicePrompt {
  readonly address: string;
  readonly code: string;
}

/** Paths of the daemon's OAuth endpoints, below the endpoint: what is obtained there is sent to no other daemon. */
const paths = { device: "/-/oauth/device/code", token: "/-/oauth/token", revoke: "/-/oauth/revoke" } as const;

const clientId = "trawl";
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

const requestMsMax = 15_000;
const answerBytesMax = 64 * 1024;

/** Limits on what the daemon asks for. */
const waitMsMax = 900_000;
const intervalSecondsMin = 1;
const intervalSecondsMax = 60;
const slowerSeconds = 5;

/** How often, and after how long, the file is read again for the token of another process. */
const rereadsMax = 5;
const rereadMs = 200;

interface OAuthAnswer {
  readonly status: number;
  readonly members: Readonly<Record<string, unknown>>;
}

/**
 * Obtains a token by OAuth 2.0 device authorization (RFC 8628): `show` tells the user where to authorize the program, and
 * the daemon is asked every few seconds, until the user has answered or the code has expired. Undefined if the daemon
 * does not offer it. `pause` waits between two requests.
 */
export async function authorizeDevice(
  endpoint: string,
  show: (prompt: DevicePrompt) => void,
  pause: (ms: number) => Promise<unknown> = sleep,
): Promise<StoredToken | undefined> {
  const begun = await post(endpoint, paths.device, { scope: "user:all offline_access" });
  // Without OAuth, the path is one that does not exist, which is refused in another form.
  if (begun.status >= 400 && begun.status < 500 && begun.members["error"] === undefined) return undefined;
  if (begun.status !== 200) throw refused(endpoint, begun);
  const deviceCode = readText(endpoint, begun, "device_code");
  show({
    address: readText(endpoint, begun, "verification_uri_complete"),
    code: readText(endpoint, begun, "user_code"),
  });
  const endMs = monotonicMs() + Math.min(waitMsMax, readSeconds(begun, "expires_in", 600) * 1000);
  let seconds = Math.min(intervalSecondsMax, Math.max(intervalSecondsMin, readSeconds(begun, "interval", 5)));
  while (monotonicMs() < endMs) {
    await pause(seconds * 1000);
    const answer = await post(endpoint, paths.token, { grant_type: deviceGrant, device_code: deviceCode });
    if (answer.status === 200) return readToken(endpoint, answer);
    const { error } = answer.members;
    if (error === "slow_down") seconds += slowerSeconds;
    else if (error !== "authorization_pending" && error !== "temporarily_unavailable") throw refused(endpoint, answer);
  }
  throw new TrawlError("cancelled", "the code has expired before the program was authorized: run `trawl login` again");
}

/**
 * A token that replaces `expired`, which was read from the file: that of another process which has renewed it already, or
 * a new one, which is stored. Undefined if there is none: the user has to sign in again.
 */
export async function renewedToken(endpoint: string, expired: string): Promise<string | undefined> {
  const path = clientConfigPath();
  const stored = (): { token: string | undefined; refreshToken: string | undefined } => {
    const { tokens, refreshTokens = {} } = readClientConfig(path);
    return { token: ofEndpoint(tokens, endpoint), refreshToken: ofEndpoint(refreshTokens, endpoint) };
  };
  const { token, refreshToken } = stored();
  if (token !== expired) return token;
  if (refreshToken === undefined) return undefined;
  const answer = await post(endpoint, paths.token, { grant_type: "refresh_token", refresh_token: refreshToken });
  if (answer.status === 200) {
    const renewed = readToken(endpoint, answer);
    storeToken(path, endpoint, renewed);
    return renewed.token;
  }
  // Another process may have renewed it at the same time.
  for (let i = 0; i < rereadsMax && answer.members["error"] === "invalid_grant"; i++) {
    const other = stored().token;
    if (other !== expired) return other;
    await sleep(rereadMs);
  }
  return undefined;
}

/** Revokes a token that was obtained in a browser (RFC 7009). Resolves with whether the daemon has confirmed it. */
export async function revokeToken(endpoint: string, refreshToken: string): Promise<boolean> {
  try {
    return (await post(endpoint, paths.revoke, { token: refreshToken })).status === 200;
  } catch {
    return false;
  }
}

async function post(endpoint: string, path: string, fields: Readonly<Record<string, string>>): Promise<OAuthAnswer> {
  try {
    const response = await fetch(endpoint + path, {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, ...fields }),
      redirect: "error",
      signal: AbortSignal.timeout(requestMsMax),
    });
    return { status: response.status, members: parseMembers(await readBody(response)) };
  } catch (error) {
    const { cause } = error as Error;
    throw new TrawlError("not-found", `no answer from ${endpoint}: ${errorMessage(cause ?? error)}`, { cause: error });
  }
}

/** The body up to a limit: what is longer is no answer of OAuth. */
async function readBody({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let byteCount = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    byteCount += part.length;
    if (byteCount > answerBytesMax) return "";
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function parseMembers(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function readToken(endpoint: string, answer: OAuthAnswer): StoredToken {
  return {
    token: readText(endpoint, answer, "access_token"),
    refreshToken: readText(endpoint, answer, "refresh_token"),
  };
}

const tokenLengthMax = 4096;

/** A text that may be printed, and sent in a header. */
function readText(endpoint: string, { members }: OAuthAnswer, name: string): string {
  const text = members[name];
  if (typeof text === "string" && text.length <= tokenLengthMax && isHeaderText(text)) return text;
  throw new TrawlError("bad-request", `${endpoint} did not answer as a Trawl daemon does: there is no valid ${name}`);
}

function readSeconds({ members }: OAuthAnswer, name: string, otherwise: number): number {
  const value = members[name];
  return typeof value === "number" && value > 0 ? value : otherwise;
}

function refused(endpoint: string, { status, members }: OAuthAnswer): TrawlError {
  const { error, error_description: description } = members;
  if (error === "access_denied") return new TrawlError("forbidden", "the program was refused on that page");
  if (error === "expired_token")
    return new TrawlError("cancelled", "the code has expired, or the daemon was restarted: run `trawl login` again");
  const told = typeof description === "string" ? `: ${description.slice(0, 1000)}` : "";
  return new TrawlError("bad-request", `${endpoint} answered ${status}${told}`);
}
