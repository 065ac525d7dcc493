import { createRemoteJWKSet, customFetch as joseFetch, errors, jwtVerify } from "jose";
import * as client from "openid-client";
import { errorMessage } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { readSecret } from "../../base/secret-source.js";
import { providerAnswerMs, type ProviderConfig, ProviderProblem, providerBytesMax } from "./provider-config.js";

/** What must come back with the answer to one sign-in. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

/** What a provider has said about a user who has signed in there. */
export interface ProviderAnswer extends Omit<ProviderClaims, "groups"> {
  readonly issuer: string;
  /** Undefined if it says nothing about them. */
  readonly groups: readonly string[] | undefined;
  /** With which it is asked later whether the user is still signed in; undefined if it gives none. */
  readonly refreshToken: string | undefined;
}

/** Whose sessions a provider ends. At least one of the last two is given. */
export interface ProviderLogout {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly sessionId: string | undefined;
}

/** How long the metadata of a provider, its keys and the client's secret are not read again. */
const metadataMs = 3_600_000;

/** How old the message of a logout may be, for which the clocks of both may differ. */
const logoutAgeSeconds = 300;
const clockToleranceSeconds = 30;

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

/** Signatures with a key that only the provider has. */
const logoutAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

interface Loaded {
  readonly configuration: client.Configuration;
  readonly keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  readonly untilMs: number;
}

/**
 * A provider of identities that speaks OpenID Connect: authorization code with PKCE, state and nonce. Every ID token is checked, with its
 * signature, although it comes from the provider over TLS: a proxy in between may not be the provider.
 *
 * All methods reject with a `ProviderProblem` for what a provider or somebody in its place can cause.
 */
export class IdentityProvider {
  readonly config: ProviderConfig;
  #loading: Promise<Loaded> | undefined;

  constructor(config: ProviderConfig) {
    this.config = config;
  }

  /** Where the browser is sent to sign in. */
  async begin(redirectUri: string, { state, nonce, verifier }: SignInChecks): Promise<string> {
    return this.#explained(async ({ configuration }) => {
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: this.config.scopes.join(" "),
        state,
        nonce,
        ...(this.config.prompt === "" ? {} : { prompt: this.config.prompt }),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
      return url.href;
    });
  }

  /** Exchanges the code with which the browser has come back to `redirectUri`, whose query is `query`. */
  async finish(redirectUri: string, query: string, { state, nonce, verifier }: SignInChecks): Promise<ProviderAnswer> {
    return this.#explained(async ({ configuration }) => {
      const tokens = await client.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      return this.#answer(configuration, tokens, claims?.iss ?? "", claims?.sub ?? "", claims);
    });
  }

  /**
   * Asks whether the user is still signed in there. `keep` gets a new refresh token as soon as there is one: the old one is spent,
   * even if what follows fails.
   */
  async refresh(
    refreshToken: string,
    issuer: string,
    subject: string,
    keep: (refreshToken: string) => void,
  ): Promise<ProviderAnswer> {
    return this.#explained(async ({ configuration }) => {
      const tokens = await client.refreshTokenGrant(configuration, refreshToken);
      if (tokens.refresh_token !== undefined) keep(tokens.refresh_token);
      const claims = tokens.claims();
      if (claims !== undefined && (claims.sub !== subject || claims.iss !== issuer))
        throw new ProviderProblem("refused", `${this.config.displayName} answers for another user`);
      return this.#answer(configuration, tokens, issuer, subject, claims);
    });
  }

  /** Checks the message by which a provider ends sessions (OpenID Connect Back-Channel Logout), also that `isNew` accepts its id. */
  async readLogout(token: string, isNew: (id: string) => boolean): Promise<ProviderLogout> {
    return this.#explained(async ({ configuration, keys }) => {
      const { issuer } = configuration.serverMetadata();
      if (keys === undefined) throw new ProviderProblem("refused", `${this.config.displayName} has no keys`);
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: this.config.clientId,
        algorithms: logoutAlgorithms,
        maxTokenAge: logoutAgeSeconds,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ["iat", "jti"],
      });
      const { sub, sid, jti = "", events, nonce } = payload;
      const refused = (reason: string): ProviderProblem => new ProviderProblem("refused", `the logout token ${reason}`);
      // An ID token has a nonce, and must not be taken for one of these.
      if (!isObject(events) || !isObject(events[logoutEvent]) || nonce !== undefined)
        throw refused("is a token for something else");
      const sessionId = typeof sid === "string" && sid !== "" ? sid : undefined;
      if (sub === undefined && sessionId === undefined) throw refused("names neither a user nor a session");
      if (!isNew(jti)) throw refused("was used before");
      return { issuer, subject: sub, sessionId };
    });
  }

  /** The claims of the ID token, which a refresh may lack, and those that only the user-info endpoint has. */
  async #answer(
    configuration: client.Configuration,
    { access_token, refresh_token }: { readonly access_token: string; readonly refresh_token?: string },
    issuer: string,
    subject: string,
    claims: Readonly<Record<string, unknown>> | undefined,
  ): Promise<ProviderAnswer> {
    const more =
      configuration.serverMetadata().userinfo_endpoint === undefined
        ? {}
        : await client.fetchUserInfo(configuration, access_token, subject);
    const all = { ...more, ...claims, sub: subject };
    const { groups, ...read } = readClaims(this.config, all);
    const saysGroups = claims !== undefined || Object.hasOwn(more, this.config.groupsClaim);
    return { ...read, groups: saysGroups ? groups : undefined, issuer, refreshToken: refresh_token };
  }

  /** Runs it with the metadata of the provider, and explains what goes wrong. */
  async #explained<T>(use: (loaded: Loaded) => Promise<T>): Promise<T> {
    try {
      return await use(await this.#loaded());
    } catch (error) {
      throw explain(this.config.displayName, error);
    }
  }

  /** Requests at the same time wait for one answer, and one that fails is not kept. */
  async #loaded(): Promise<Loaded> {
    const known = await this.#loading;
    if (known !== undefined && known.untilMs > new Date().getTime()) return known;
    const loading = this.#load();
    this.#loading = loading;
    try {
      return await loading;
    } catch (error) {
      if (this.#loading === loading) this.#loading = undefined;
      throw error;
    }
  }

  async #load(): Promise<Loaded> {
    const { displayName, issuer, clientId, clientSecret } = this.config;
    const secret = clientSecret === "" ? undefined : readClientSecret(this.config);
    const options: client.DiscoveryRequestOptions = {
      timeout: providerAnswerMs / 1000,
      [client.customFetch]: (url, given) => boundedFetch(displayName, url, given),
      // The configuration only allows it on this machine.
      execute: issuer.startsWith("http:") ? [client.allowInsecureRequests] : [],
    };
    const metadata = (
      await client.discovery(new URL(issuer), clientId, undefined, client.None(), options)
    ).serverMetadata();
    const configuration = new client.Configuration(
      metadata,
      clientId,
      undefined,
      chooseAuthentication(secret, metadata),
    );
    configuration[client.customFetch] = (url, given) => boundedFetch(displayName, url, given);
    configuration.timeout = providerAnswerMs / 1000;
    if (issuer.startsWith("http:")) client.allowInsecureRequests(configuration);
    client.enableNonRepudiationChecks(configuration);
    const keys =
      metadata.jwks_uri === undefined
        ? undefined
        : createRemoteJWKSet(new URL(metadata.jwks_uri), {
            timeoutDuration: providerAnswerMs,
            [joseFetch]: (url, given) => boundedFetch(displayName, url, given),
          });
    return { configuration, keys, untilMs: new Date().getTime() + metadataMs };
  }
}

/** Where the secret is, is for the log only. */
function readClientSecret({ name, displayName, clientSecret }: ProviderConfig): string {
  try {
    return readSecret(clientSecret, `identity provider ${name}`);
  } catch (cause) {
    const message = `${displayName} cannot be asked, because its secret cannot be read here`;
    throw new ProviderProblem("unreachable", message, { cause });
  }
}

/** What the provider supports; without a list, HTTP Basic is what the standard says. */
function chooseAuthentication(
  secret: string | undefined,
  {
    token_endpoint_auth_methods_supported: supported,
  }: Pick<client.ServerMetadata, "token_endpoint_auth_methods_supported">,
): client.ClientAuth {
  if (secret === undefined) return client.None();
  return supported?.includes("client_secret_post") === true && !supported.includes("client_secret_basic")
    ? client.ClientSecretPost(secret)
    : basicAuthentication(secret);
}

/**
 * HTTP Basic with name and secret encoded as in forms (RFC 6749, section 2.3.1), which leaves `-`, `.` and `_` as they are. The library
 * encodes these too, and Gitea, which decodes nothing, then does not know the UUIDs that it has given to applications.
 */
function basicAuthentication(secret: string): client.ClientAuth {
  return (_, { client_id: id }, __, headers) => {
    const credentials = [id, secret].map((text) => new URLSearchParams({ "": text }).toString().slice(1)).join(":");
    headers.set("authorization", `Basic ${Buffer.from(credentials).toString("base64")}`);
  };
}

/** Errors that say nothing about the user: the provider has one, or does not know this application, whose secret may have been replaced. */
const noAnswers: ReadonlySet<string> = new Set([
  "invalid_client",
  "unauthorized_client",
  "server_error",
  "temporarily_unavailable",
]);

/** What the libraries say with a code, in words. */
const sentences: Readonly<Record<string, string>> = {
  OAUTH_TIMEOUT: "did not answer in time",
  OAUTH_KEY_SELECTION_FAILED: "signed its answer with a key that is none of its own",
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "sent an answer that is not valid at this time: compare the clocks",
  OAUTH_HTTP_REQUEST_FORBIDDEN: "names an address that is not https",
  OAUTH_REQUEST_PROTOCOL_FORBIDDEN: "names an address that is not https",
  OAUTH_RESPONSE_IS_NOT_JSON: "sent an answer that is not JSON",
  OAUTH_PARSE_ERROR: "sent an answer that cannot be read",
  OAUTH_UNSUPPORTED_OPERATION: "signs in a way that is not supported",
  OAUTH_MISSING_SERVER_METADATA: "lacks an address in its metadata",
  OAUTH_INVALID_SERVER_METADATA: "has metadata that cannot be used",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "did not sign this: the signature is wrong",
  ERR_JWKS_NO_MATCHING_KEY: "did not sign this: it is signed with a key that is none of its own",
  ERR_JWS_INVALID: "did not send this: it is no signed token",
  ERR_JWT_INVALID: "did not send this: it is no signed token",
  ERR_JOSE_ALG_NOT_ALLOWED: "did not sign this with a key that only it has",
  ERR_JWT_EXPIRED: "sent this too long ago",
};

/** What a claim that is not what it should be means. */
const claimSentences: Readonly<Record<string, string>> = {
  iss: "sent an answer of another issuer",
  issuer: "sent an answer of another issuer",
  aud: "sent an answer that is for another application",
  azp: "sent an answer that is for another application",
  nonce: "sent an answer that belongs to another sign-in",
  sub: "sent answers about different users",
};

/** `error` is thrown by the libraries, by this file, or by a bug. */
function explain(provider: string, error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ProviderProblem) return at;
  if (error instanceof client.AuthorizationResponseError)
    return refused(provider, `did not sign you in: ${shown(error.error_description ?? error.error)}`, error);
  if (error instanceof client.ResponseBodyError) {
    const { status } = error;
    const isAnswer = status < 500 && status !== 429 && !noAnswers.has(error.error);
    const message = `${provider} refused: ${shown(error.error_description ?? error.error)}`;
    return new ProviderProblem(isAnswer ? "refused" : "unreachable", message, { cause: error });
  }
  // What RFC 6749 demands with `invalid_client` after HTTP Basic; the user-info endpoint asks for Bearer instead.
  if (error instanceof client.WWWAuthenticateChallengeError && error.cause.some(({ scheme }) => scheme === "basic"))
    return new ProviderProblem("unreachable", `${provider} does not accept the secret of this application`, {
      cause: error,
    });
  const code = findCode(error);
  if (code === undefined) return error;
  const claim = findClaim(error);
  const sentence = (claim === undefined ? undefined : claimSentences[claim]) ?? sentences[code];
  if (
    code === "OAUTH_TIMEOUT" ||
    code === "OAUTH_RESPONSE_IS_NOT_CONFORM" ||
    code === "OAUTH_RESPONSE_IS_NOT_JSON" ||
    code === "ERR_JWKS_TIMEOUT"
  )
    return new ProviderProblem("unreachable", `${provider} ${sentence ?? `answered ${statusIn(error)}`}`, {
      cause: error,
    });
  return refused(
    provider,
    sentence ?? `sent an answer that cannot be accepted: ${shown(innermostMessage(error))}`,
    error,
  );
}

function refused(provider: string, sentence: string, cause: unknown): ProviderProblem {
  return new ProviderProblem("refused", `${provider} ${sentence}`, { cause });
}

function findCode(error: unknown): string | undefined {
  if (error instanceof errors.JOSEError) return error.code;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^(?:OAUTH_|ERR_J)/.test(code) ? code : undefined;
}

/** The claim, or the member of an answer, that is wrong. */
function findClaim(error: unknown): string | undefined {
  for (let at = error; isObject(at); at = at["cause"]) {
    const { claim, attribute } = at;
    if (typeof claim === "string") return claim;
    if (typeof attribute === "string") return attribute;
  }
  return undefined;
}

function statusIn(error: unknown): string {
  for (let at = error; isObject(at); at = at["cause"]) if (at instanceof Response) return `with status ${at.status}`;
  return "in a way that is not expected";
}

function innermostMessage(error: unknown): string {
  let message = errorMessage(error);
  for (let at = error; at instanceof Error; at = at.cause) message = at.message;
  return message;
}

/** What others have written, in a sentence of ours. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}

/** What the libraries give with a request. */
interface FetchOptions {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

/**
 * Sends a request to a provider. The whole answer arrives in time and is short, or there is none; redirects are not followed.
 * Rejects with a `ProviderProblem`.
 */
async function boundedFetch(provider: string, url: string, options: FetchOptions): Promise<Response> {
  const deadline = AbortSignal.timeout(providerAnswerMs);
  const { method = "GET", headers = {}, body } = options;
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: body as string | URLSearchParams | Uint8Array | null,
      redirect: "manual",
      signal: deadline,
    });
    const bytes = await readBody(provider, response);
    const { status, statusText, headers: answered } = response;
    return new Response(bytes.length === 0 && isBodyless(status) ? null : bytes, {
      status,
      statusText,
      headers: plain(answered),
    });
  } catch (error) {
    if (error instanceof ProviderProblem) throw error;
    if (deadline.aborted)
      throw new ProviderProblem("unreachable", `${provider} did not answer within ${providerAnswerMs / 1000} s`);
    throw new ProviderProblem("unreachable", `${provider} cannot be reached (${reasonIn(error)})`, { cause: error });
  }
}

async function readBody(provider: string, { body }: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let byteCount = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    byteCount += part.length;
    if (byteCount > providerBytesMax)
      throw new ProviderProblem("unreachable", `${provider} sent more than ${providerBytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The body is decoded already. */
function plain(headers: Headers): Headers {
  const copy = new Headers(headers);
  copy.delete("content-encoding");
  copy.delete("content-length");
  return copy;
}

function isBodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** Such as ECONNREFUSED, or the code of a certificate that is not trusted. */
function reasonIn(error: unknown): string {
  const { cause, message } = error as { readonly cause?: unknown; readonly message?: unknown };
  const { code, message: why } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? why ?? message).slice(0, 200);
}

/** What a provider says about a user, as far as it is used. */
export interface ProviderClaims {
  readonly subject: string;
  /** The session at the provider; undefined if it names none. */
  readonly sessionId: string | undefined;
  /** "" if it says none. */
  readonly username: string;
  readonly displayName: string;
  /** "" unless the provider has verified it: everything else is only what somebody claims. */
  readonly verifiedEmail: string;
  readonly groups: readonly string[];
}

const groupsMax = 2_000;
const textCharsMax = 320;

/**
 * Reads what is used of the claims. Those of a user that cannot be what they should be are a reason to refuse the sign-in where
 * rights depend on them, as on groups; names are left out then. Throws `ProviderProblem`.
 */
function readClaims(
  { displayName: provider, groupsClaim, usernameClaim }: ProviderConfig,
  claims: Readonly<Record<string, unknown>>,
): ProviderClaims {
  const subject = claims["sub"];
  if (typeof subject !== "string" || subject === "" || subject.length > textCharsMax)
    throw new ProviderProblem("refused", `${provider} names no subject`);
  const email = readText(claims["email"]);
  return {
    subject,
    sessionId: readText(claims["sid"]) || undefined,
    username: readText(claims[usernameClaim]),
    displayName: readText(claims["name"]),
    verifiedEmail: claims["email_verified"] === true ? email : "",
    groups: readGroups(provider, groupsClaim, claims),
  };
}

function readText(value: unknown): string {
  return typeof value === "string" && value.length <= textCharsMax ? value.trim() : "";
}

/** Absent groups are none: so are those of a user who has left the last one. */
function readGroups(provider: string, claim: string, claims: Readonly<Record<string, unknown>>): readonly string[] {
  const sources = claims["_claim_names"];
  // A provider that leaves out long lists names where they can be read.
  if (isObject(sources) && Object.hasOwn(sources, claim))
    throw new ProviderProblem("refused", `${provider} leaves the groups out, because there are too many of them`);
  const value = claims[claim] ?? [];
  const groups = typeof value === "string" ? [value] : value;
  if (!Array.isArray(groups) || !groups.every((group): group is string => typeof group === "string"))
    throw new ProviderProblem("refused", `${provider} sends a claim ${JSON.stringify(claim)} that is no list of texts`);
  if (groups.length > groupsMax)
    throw new ProviderProblem("refused", `${provider} names ${groups.length} groups, more than ${groupsMax}`);
  return groups;
}
