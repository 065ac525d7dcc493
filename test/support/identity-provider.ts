/** A real provider of OpenID Connect, which tells the truth unless a test changes its answers, and the browser of somebody who signs in. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import Provider from "oidc-provider";
import { TrawlError } from "../../src/base/errors.js";
import type { Owner } from "./shared.js";

type Claims = Readonly<Record<string, unknown>>;

/** Changes the body of an answer; a promise that never resolves is a provider that is slow. */
type Change = (body: string) => string | Promise<string>;

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

/** As Gitea names an application. The library that plays the provider also takes one that is encoded further. */
export const clientId = "910b153a-3d6b.trawl_1";

/** The names under which a daemon may know the provider. */
const clientNames = ["acme", "listed", "all", "trusting", "linking"];

export class TestProvider {
  readonly #server: Server;
  readonly #keys: Keys;
  #provider: Provider | undefined;
  /** Who signs in next, without a question. */
  account = "ann";
  /** What the provider knows about each account. */
  readonly claims = new Map<string, Claims>();
  /** Changes of answers by path. */
  readonly lies = new Map<string, Change>();
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  /** The names and secrets that came with requests. */
  readonly credentials: string[] = [];

  private constructor(keys: Keys) {
    this.#keys = keys;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** `callbacks` are the redirect URIs of the client, whose secret is `secret`. */
  static async start(owner: Owner, trawlUrl: string, secret: string): Promise<TestProvider> {
    const provider = new TestProvider(await generateKeyPair("RS256", { extractable: true }));
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    owner.teardown(() => provider.stop());
    provider.#provider = await provider.#create(trawlUrl, secret);
    return provider;
  }

  /** Forgets what a test has told it. */
  reset(): void {
    this.account = "ann";
    for (const told of [this.claims, this.lies, this.gone]) told.clear();
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends what the account has at the provider, so that it refuses to refresh. */
  readonly gone = new Set<string>();

  /** Changes the claims of ID tokens, and signs them again: with the key of the provider, or with another one. */
  lieAboutTokens(change: (claims: JWTPayload) => object, withOtherKey = false): void {
    this.lies.set("/token", async (body) => {
      const answer = JSON.parse(body) as { id_token?: string };
      if (answer.id_token === undefined) return body;
      const claims = decodeJwt(answer.id_token);
      const keys = withOtherKey ? await generateKeyPair("RS256") : this.#keys;
      return JSON.stringify({
        ...answer,
        id_token: await this.sign({ ...claims, ...change(claims) }, {}, keys.privateKey),
      });
    });
  }

  sign(claims: object, header: object = {}, key: CryptoKey | Uint8Array = this.#keys.privateKey): Promise<string> {
    return new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: "RS256", kid: "test", ...header }).sign(key);
  }

  /** The message by which the provider ends sessions; `claims` are added, or replace others. */
  signLogout(claims: object, header: object = {}, key?: Uint8Array): Promise<string> {
    const nowSeconds = Math.floor(new Date().getTime() / 1000);
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const jti = randomUUID();
    const all = { iss: this.issuer, aud: clientId, iat: nowSeconds, exp: nowSeconds + 60, jti, events, ...claims };
    return this.sign(all, header, key);
  }

  async #create(trawlUrl: string, secret: string): Promise<Provider> {
    const jwk = { ...(await exportJWK(this.#keys.privateKey)), kid: "test", use: "sig", alg: "RS256" };
    const provider = new Provider(this.issuer, {
      jwks: { keys: [jwk] },
      clients: [
        {
          client_id: clientId,
          client_secret: secret,
          redirect_uris: clientNames.map((name) => `${trawlUrl}/-/oidc/${name}/callback`),
          grant_types: ["authorization_code", "refresh_token"],
          backchannel_logout_uri: `${trawlUrl}/-/oidc/acme/backchannel-logout`,
          backchannel_logout_session_required: true,
          post_logout_redirect_uris: [trawlUrl],
        },
      ],
      claims: {
        openid: ["sub", "groups"],
        email: ["email", "email_verified"],
        profile: ["name", "preferred_username"],
      },
      // The library knows how to require PKCE; the tests check that it is used.
      pkce: { required: () => true },
      cookies: { keys: ["a key of a test"] },
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: {
          enabled: true,
          logoutSource: confirmLogout,
          postLogoutSuccessSource: (context: { body: unknown }) => {
            context.body = "<!doctype html><title>Signed out</title>Signed out";
          },
        },
      },
      // It calls no address of its own machine otherwise.
      fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { readonly dispatcher?: unknown }) =>
        fetch(url, options),
      interactions: { url: () => "/interaction" },
      issueRefreshToken: async (_: unknown, __: unknown, code: { scopes: Set<string> }) =>
        code.scopes.has("offline_access"),
      findAccount: async (_: unknown, id: string) =>
        this.gone.has(id)
          ? undefined
          : { accountId: id, claims: async () => ({ sub: id, preferred_username: id, ...this.claims.get(id) }) },
    });
    return provider;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const provider = this.#provider;
    if (provider === undefined) throw new TrawlError("internal", "the provider has not started");
    const path = (request.url ?? "").split("?")[0] ?? "";
    this.asked.push(path);
    const [, basic] = /^Basic (.*)$/.exec(request.headers.authorization ?? "") ?? [];
    if (basic !== undefined) this.credentials.push(Buffer.from(basic, "base64").toString());
    const change = this.lies.get(path);
    if (change !== undefined) changeBody(response, change);
    if (path !== "/interaction") return provider.callback()(request, response);
    const { params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: this.account, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    const login = { login: { accountId: this.account }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, login);
  }
}

/** The page on which somebody confirms to sign out there. */
function confirmLogout(context: { body: unknown }, form: string): void {
  context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Sign out</button>`;
}

/** Replaces the body when it is complete, before anything is sent. */
function changeBody(response: ServerResponse, change: Change): void {
  const end = response.end.bind(response);
  response.end = (body?: unknown) => {
    void Promise.resolve(change(String(body ?? ""))).then((changed) => {
      response.setHeader("Content-Length", Buffer.byteLength(changed));
      end(changed);
    });
    return response;
  };
}

/** A browser as far as it follows redirects and keeps cookies, by host. */
export class Visitor {
  readonly #cookies = new Map<string, string>();
  /** The addresses of the last visit. */
  visited: string[] = [];

  /** Follows redirects, up to a page. */
  async visit(
    url: string,
    init: RequestInit = {},
  ): Promise<{ readonly status: number; readonly text: string; readonly url: string }> {
    this.visited = [];
    for (let at = url, hops = 0; hops < 20; hops++) {
      this.visited.push(at);
      const { response, text } = await this.send(at, hops === 0 ? init : {});
      const location = response.headers.get("location");
      if (location === null || response.status === 200) return { status: response.status, text, url: at };
      at = new URL(location, at).href;
    }
    throw new TrawlError("internal", `too many redirects from ${url}`);
  }

  async send(url: string, init: RequestInit = {}): Promise<{ readonly response: Response; readonly text: string }> {
    const { origin } = new URL(url);
    const cookie = [...this.#cookies]
      .filter(([key]) => key.startsWith(`${origin} `))
      .map(([key, value]) => `${key.slice(origin.length + 1)}=${value}`);
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: { ...(init.headers as object), Cookie: cookie.join("; ") },
    });
    for (const text of response.headers.getSetCookie()) {
      const [pair = "", ...rest] = text.split("; ");
      const [name = "", ...value] = pair.split("=");
      const isOver = rest.some((part) => part === "Max-Age=0" || part.startsWith("expires=Thu, 01 Jan 1970"));
      if (isOver) this.#cookies.delete(`${origin} ${name}`);
      else this.#cookies.set(`${origin} ${name}`, value.join("="));
    }
    return { response, text: await response.text() };
  }

  /** The cookie of the session at this address, as a header. */
  session(url: string): string {
    return `sgs=${this.#cookies.get(`${new URL(url).origin} sgs`) ?? ""}`;
  }

  forget(url: string, name: string): void {
    this.#cookies.delete(`${new URL(url).origin} ${name}`);
  }
}
