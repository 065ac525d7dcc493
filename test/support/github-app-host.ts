/** A double of GitHub that knows one app: it verifies what the app signs, gives tokens of its installations, and serves git behind them. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { decodeJwt, jwtVerify } from "jose";
import type { Test } from "tap";
import type { GitFixture } from "./git-fixture.js";
import { serveHttp } from "./http-remote.js";

export const appId = "4711";

/** What the double does beside its duty. */
export interface HostFaults {
  /** What the clock of the host is ahead of that of this machine. */
  clockAheadMs: number;
  /** Answers instead of the double. */
  answer: (path: string, method: string) => { readonly status: number; readonly body: unknown } | undefined;
  /** The answer to a request for a token, before it is sent. */
  changeToken: (answer: Record<string, unknown>) => unknown;
}

export interface AppHost {
  readonly port: number;
  readonly url: string;
  readonly privateKey: string;
  readonly faults: HostFaults;
  /** Method and path of each request of the API, with the account whose token it had: `app` for that of the app itself. */
  readonly requests: readonly string[];
  /** All tokens that were given. */
  readonly tokens: ReadonlyMap<string, string>;
  /** The rights that were asked for. */
  readonly asked: readonly unknown[];
  revokeAll(): void;
}

interface Account {
  /** Another one after the app was installed again. */
  id: number;
  readonly repositories: readonly string[];
  suspended?: boolean;
}

/** `source` is served below each `OWNER/NAME.git`, to tokens of that owner only. */
export async function githubAppHost(
  t: Test,
  source: GitFixture,
  accounts: Readonly<Record<string, Account>>,
  pageSize = 100,
): Promise<AppHost> {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const privateKey = pair.privateKey.export({ type: "pkcs1", format: "pem" }).toString();
  const faults: HostFaults = { clockAheadMs: 0, answer: () => undefined, changeToken: (answer) => answer };
  const requests: string[] = [];
  const asked: unknown[] = [];
  const tokens = new Map<string, string>();
  const valid = new Set<string>();
  const nowMs = (): number => new Date().getTime() + faults.clockAheadMs;
  const accountFor = (token: string): string | undefined => (valid.has(token) ? tokens.get(token) : undefined);

  /** The account of a token, or `app`; otherwise why it is refused. */
  const identify = async (request: IncomingMessage): Promise<{ who: string } | { refusal: string }> => {
    const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
    const account = accountFor(token);
    if (account !== undefined) return { who: account };
    if (token.split(".").length !== 3) return { refusal: "Bad credentials" };
    try {
      const { payload } = await jwtVerify(token, pair.publicKey, {
        algorithms: ["RS256"],
        currentDate: new Date(nowMs()),
      });
      const { iss, exp = 0, iat = Infinity } = payload;
      if (iss !== appId) return { refusal: "A JSON web token could not be decoded" };
      if (exp - iat > 600 || exp * 1000 > nowMs() + 600_000)
        return { refusal: "'Expiration time' claim ('exp') is too far in the future" };
      if (iat * 1000 > nowMs()) return { refusal: "'Issued at' claim ('iat') must be in the past" };
      return { who: "app" };
    } catch {
      const { exp = 0 } = decodeJwt(token);
      const isLate = exp * 1000 <= nowMs();
      return {
        refusal: isLate
          ? "'Expiration time' claim ('exp') must be a numeric value representing the future time"
          : "A JSON web token could not be decoded",
      };
    }
  };

  const api = async (request: IncomingMessage, response: ServerResponse, body: string): Promise<void> => {
    const send = (status: number, value: unknown): void => {
      response.writeHead(status, { Date: new Date(nowMs()).toUTCString(), "Content-Type": "application/json" });
      response.end(typeof value === "string" ? value : JSON.stringify(value));
    };
    const { pathname, searchParams } = new URL(request.url ?? "", "http://host");
    const path = pathname.slice("/api/v3/".length);
    const method = request.method ?? "";
    const identity = await identify(request);
    requests.push(`${method} ${path} ${"who" in identity ? identity.who : "nobody"}`);
    const other = faults.answer(path, method);
    if (other !== undefined) return send(other.status, other.body);
    if ("refusal" in identity) return send(401, { message: identity.refusal });
    const { who } = identity;
    const page = (items: readonly unknown[]): readonly unknown[] => {
      const number = Number(searchParams.get("page"));
      if (items.length > number * pageSize) response.setHeader("Link", `<http://elsewhere.example/>; rel="next"`);
      return items.slice((number - 1) * pageSize, number * pageSize);
    };
    if (who !== "app") {
      const own = accounts[who];
      if (path === "installation/repositories")
        return send(200, {
          total_count: own.repositories.length,
          repositories: page(own.repositories.map((name, i) => item(who, name, own.id * 1000 + i, request))),
        });
      const [, repository] = /^repos\/(.+)\/collaborators$/.exec(path) ?? [];
      if (repository?.startsWith(`${who}/`) === true)
        return send(200, [{ id: 7, login: "Ann", permissions: { pull: true } }]);
      return send(404, { message: "Not Found" });
    }
    const [, id] = /^app\/installations\/([0-9]+)\/access_tokens$/.exec(path) ?? [];
    if (id !== undefined && method === "POST") {
      const [owner, account] = Object.entries(accounts).find(([, one]) => String(one.id) === id) ?? [];
      if (owner === undefined) return send(404, { message: "Not Found" });
      if (account?.suspended === true) return send(403, { message: "This installation has been suspended" });
      const { permissions } = JSON.parse(body) as { permissions: unknown };
      asked.push(permissions);
      const token = `ghs_${owner}${tokens.size}`;
      tokens.set(token, owner);
      valid.add(token);
      const expires = new Date(nowMs() + 3_600_000).toISOString();
      return send(201, faults.changeToken({ token, expires_at: expires, permissions }));
    }
    if (path === "app/installations")
      return send(200, page(Object.entries(accounts).map(([login, one]) => ({ id: one.id, account: { login } }))));
    const [, kind, owner = "", name] = /^(orgs|repos)\/([^/]+)(?:\/([^/]+))?\/installation$/.exec(path) ?? [];
    const [login, found] = Object.entries(accounts).find(([one]) => one.toLowerCase() === owner.toLowerCase()) ?? [];
    const isChosen = kind === "orgs" || found?.repositories.includes(name ?? "") === true;
    return found === undefined || !isChosen
      ? send(404, { message: "Not Found" })
      : send(200, { id: found.id, account: { login } });
  };

  const port = await serveHttp(t, source, sentCredentials, (request) => {
    const { url = "" } = request;
    if (url.startsWith("/api/v3/")) return withBody(request, api);
    const [user, token = ""] = sentCredentials(request).split(":");
    const [whole = "", owner] = /^\/([^/]+)\/[^/]+\.git/.exec(url) ?? [];
    if (owner === undefined || user !== "x-access-token" || accountFor(token) !== owner) return refuse;
    request.url = url.slice(whole.length);
    return undefined;
  });
  return {
    port,
    url: `http://127.0.0.1:${port}/api/v3`,
    privateKey,
    faults,
    requests,
    tokens,
    asked,
    revokeAll: () => valid.clear(),
  };
}

function item(owner: string, name: string, id: number, request: IncomingMessage): object {
  const isPrivate = name.startsWith("private");
  return {
    id,
    full_name: `${owner}/${name}`,
    clone_url: `http://${request.headers.host}/${owner}/${name}.git`,
    ssh_url: "",
    private: isPrivate,
    visibility: isPrivate ? "private" : "public",
  };
}

type ApiAnswer = (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void>;

/** Reads the body while the request is read. */
function withBody(request: IncomingMessage, answer: ApiAnswer) {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  return (_: IncomingMessage, response: ServerResponse): void =>
    void answer(request, response, Buffer.concat(parts).toString());
}

function sentCredentials({ headers }: IncomingMessage): string {
  return Buffer.from((headers.authorization ?? "").replace(/^Basic /, ""), "base64").toString();
}

function refuse(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(401, { "WWW-Authenticate": "Basic realm=GitHub" }).end();
}

/** A key that is no app's. */
export function otherKey(bits = 2048): string {
  return execFileSync("openssl", ["genrsa", String(bits)], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
