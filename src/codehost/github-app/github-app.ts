import { callAfter, monotonicMs } from "../../base/deadline.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { RateLimitError } from "../../base/rate-limit.js";
import { apiKinds } from "../api-kinds.js";
import type { ApiConnection } from "../connection.js";
import { HostError, type HostRequest, type HostResponse, readUrl } from "../host-request.js";
import { escapeName, text } from "../hosts/api-kind.js";
import { type HostToken, PageReader } from "../page-reader.js";
import { signAsApp } from "./app-key.js";

interface KnownToken {
  readonly token: string;
  readonly installation: string;
  /** On the monotonic clock, when it is no longer handed out. */
  readonly untilMs: number;
}

const installationsMax = 1_000;
const tokenLengthMax = 4_096;
const ownersMax = 10_000;
const answerBytesMax = 1024 * 1024;
/** GitHub's tokens are valid for an hour; one that claims more is taken for one of those. */
const lifeMsMax = 3_600_000;
const lifeMsMin = 60_000;
/** A token is handed out for this share of its time, so that what takes it can use it for the rest. */
const usedShare = 2 / 3;
/** After a failure, the same is said again for so long without asking. */
const failureMs = 5_000;
/** A token that a remote has refused is replaced, but not more often than this. */
const doubtMs = 60_000;
/** A larger difference between the clocks is named as the cause of a refusal. */
const clockMsMax = 30_000;

/** Where an app is installed. */
export interface Installation {
  readonly id: string;
  /** The account, in lower case, because names of owners have no case; "" if the host does not name it. */
  readonly owner: string;
}

/** All that is asked of an installation: to read code, and names and readers of repositories. */
const permissions = { contents: "read", metadata: "read" };

/**
 * A GitHub App, with which a connection gets tokens of the app's installations: each is valid for an hour, and may read what the owner of
 * the installation has granted. Tokens are in memory only. Of several callers that need one, one asks.
 */
export class GithubApp {
  readonly #config: ApiConnection;
  readonly #stop: AbortSignal;
  readonly #apiUrl: URL;
  readonly #tokens = new OncePerKey<KnownToken>(installationsMax);
  /** When the tokens of installations were last replaced because of doubts. */
  readonly #doubtedMs = new BoundedMap<string, number>(installationsMax, () => 1);
  /** Their numbers, by owner. */
  readonly #installations = new OncePerKey<string>(ownersMax);

  constructor(config: ApiConnection, stop: AbortSignal) {
    this.#config = config;
    this.#stop = stop;
    this.#apiUrl = apiKinds.github.apiUrl(new URL(config.url), true);
  }

  /** The token of an installation. */
  token(installation: string): HostToken {
    return this.#hostToken(() => this.#currentToken(installation));
  }

  /** The token with which a repository, `OWNER/NAME`, is read. Rejects if the app is not installed in the account of its owner. */
  async tokenFor(repository: string): Promise<HostToken> {
    const owner = ownerIn(repository);
    await this.#installationFor(owner);
    return this.#hostToken(() => this.#tokenIn(owner));
  }

  /** A remote could not be read with the token of a repository, perhaps because of the token: the next one is a new one. */
  async doubt(repository: string): Promise<void> {
    const owner = ownerIn(repository);
    const id = await this.#installationFor(owner);
    const nowMs = monotonicMs();
    if (nowMs - (this.#doubtedMs.get(id) ?? Number.NEGATIVE_INFINITY) < doubtMs) return;
    this.#doubtedMs.set(id, nowMs);
    this.#tokens.delete(id);
    if (this.#config.installation === "") this.#installations.delete(owner);
  }

  /**
   * The number of the installation in the account of an owner, which is an organization or a user. Rejects with a `HostError` if
   * there is none.
   */
  async installationIn(owner: string): Promise<string> {
    const id = await this.#findInstallation(owner);
    this.#installations.set(owner.toLowerCase(), id, Infinity);
    return id;
  }

  /** All installations of the app. */
  async installations(signal: AbortSignal): Promise<readonly Installation[]> {
    const jwt: HostToken = {
      isGiven: true,
      current: () => this.#sign(),
      replace: () => Promise.resolve(undefined),
    };
    const reader = new PageReader({
      kind: apiKinds.github,
      url: this.#config.url,
      token: jwt,
      signal,
      noun: "installations",
      countMax: installationsMax,
      remedy: ": write the owners of the connection",
    });
    try {
      const { items, problem } = await reader.read("app/installations");
      if (problem !== "") throw new TrawlError("git", problem);
      const found = items.map((item) => ({ id: toInstallation(item), owner: accountIn(item) }));
      for (const { id, owner } of found) if (owner !== "") this.#installations.set(owner, id, Infinity);
      return found;
    } catch (error) {
      throw this.#explain(error, "");
    }
  }

  async #installationFor(owner: string): Promise<string> {
    const { installation } = this.#config;
    if (installation !== "") return installation;
    // Not asked about a repository: one that the app may not read says nothing about the others of its owner.
    return await this.#installations.get(owner, async () => ({
      value: await this.#findInstallation(owner),
      untilMs: Infinity,
    }));
  }

  async #findInstallation(owner: string): Promise<string> {
    const name = escapeName(owner);
    try {
      return toInstallation(await this.#ask(`orgs/${name}/installation`, owner));
    } catch (error) {
      if (!isMissing(error)) throw error;
      return toInstallation(await this.#ask(`users/${name}/installation`, owner));
    }
  }

  #hostToken(find: () => Promise<KnownToken>): HostToken {
    return {
      isGiven: true,
      current: async () => (await find()).token,
      replace: async (refused) => {
        const known = await find();
        if (known.token !== refused) return known.token;
        this.#tokens.delete(known.installation);
        return (await find()).token;
      },
    };
  }

  /** An app that is installed again has another number there. */
  async #tokenIn(owner: string): Promise<KnownToken> {
    const id = await this.#installationFor(owner);
    try {
      return await this.#currentToken(id);
    } catch (error) {
      const other = isMissing(error) ? await this.#installationFor(owner) : id;
      if (other === id) throw error;
      return await this.#currentToken(other);
    }
  }

  /** If there is no such installation any more, its number is forgotten. */
  #currentToken(installation: string): Promise<KnownToken> {
    return this.#tokens.get(installation, async () => {
      try {
        const value = await this.#createToken(installation);
        return { value, untilMs: value.untilMs };
      } catch (error) {
        if (isMissing(error)) this.#installations.deleteValue(installation);
        throw error;
      }
    });
  }

  async #createToken(installation: string): Promise<KnownToken> {
    const path = `app/installations/${escapeName(installation)}/access_tokens`;
    const response = await this.#request(path, installation, { method: "POST", body: JSON.stringify({ permissions }) });
    const { host } = this.#apiUrl;
    const answer = this.#parse(response);
    const token = text(answer["token"]);
    if (token.length > tokenLengthMax || !/^[\x21-\x7e]+$/.test(token))
      throw new TrawlError("git", `${host} sent no token for ${this.#name}`);
    // By the clock of the host, which has written both.
    const lifeMs = Date.parse(text(answer["expires_at"])) - (dateIn(response.date) ?? new Date().getTime());
    if (!(lifeMs >= lifeMsMin))
      throw new TrawlError(
        "git",
        `${host} sent a token for ${this.#name} that is not valid for a minute: check the clocks of that host and of this machine`,
      );
    return { token, installation, untilMs: monotonicMs() + Math.min(lifeMs, lifeMsMax) * usedShare };
  }

  /** Asks as the app. `subject`: an installation by its number, or the owner that is asked about. */
  async #ask(path: string, subject: string): Promise<Readonly<Record<string, unknown>>> {
    return this.#parse(await this.#request(path, subject, {}));
  }

  async #request(path: string, subject: string, request: Omit<HostRequest, "bodyBytesMax">): Promise<HostResponse> {
    const headers = apiKinds.github.headers(await this.#sign());
    const url = new URL(path, this.#apiUrl);
    try {
      return await readUrl(url, headers, this.#stop, { ...request, bodyBytesMax: answerBytesMax });
    } catch (error) {
      throw this.#explain(error, subject);
    }
  }

  #parse({ text: json }: HostResponse): Readonly<Record<string, unknown>> {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      // What it has sent may have a token, so it is not shown.
    }
    if (isObject(value)) return value;
    throw new TrawlError("git", `${this.#apiUrl.host} sent no JSON about ${this.#name}`);
  }

  #sign(): Promise<string> {
    const { name, app, appKey } = this.#config;
    return signAsApp(app, appKey, `connection ${name}`);
  }

  get #name(): string {
    return `the app ${this.#config.app}`;
  }

  /** The error with what to do about it, instead of the host's words about a token. */
  #explain(error: unknown, subject: string): unknown {
    if (!(error instanceof HostError)) return error;
    const { status, message } = error;
    const { host } = this.#apiUrl;
    const said = `(${message})`;
    const where = /^[0-9]+$/.test(subject) ? `as installation ${subject}` : `for ${subject}`;
    if (status === 401) return new TrawlError("forbidden", `${this.#findRefusal(error)} ${said}`);
    if (status === 403 && /suspended/i.test(message))
      return new HostError(
        "forbidden",
        status,
        `${this.#name} is suspended on ${host} ${where}: an owner of the account can resume it there ${said}`,
      );
    if (status === 404)
      return new HostError(
        "not-found",
        status,
        `${this.#name} is not installed on ${host} ${where}, or not any more: install it there, or correct app, installation and owners of the connection ${said}`,
      );
    if (status === 422)
      return new HostError(
        "forbidden",
        403,
        `${this.#name} lacks the right on ${host} ${where} to read code: give it the repository permissions Contents and Metadata (read-only), and accept them for the installation ${said}`,
      );
    return error;
  }

  #findRefusal({ date }: HostError): string {
    const { app, appKey } = this.#config;
    const { host } = this.#apiUrl;
    const aheadMs = new Date().getTime() - (dateIn(date) ?? new Date().getTime());
    if (Math.abs(aheadMs) > clockMsMax) {
      const how = `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? "ahead of" : "behind"}`;
      return `${host} refuses ${this.#name}: the clock of this machine is ${how} that of ${host}; set it, for instance by NTP`;
    }
    return `${host} does not accept ${appKey} as a key of the app ${app}: check that app is its App ID or client ID, and that the key was made for it there and not deleted since`;
  }
}

/** Values that are asked for once, however many callers want them at the same time, and kept until a time. */
class OncePerKey<Value> {
  readonly #known: BoundedMap<string, { readonly value: Value; readonly untilMs: number }>;
  readonly #asked = new Map<string, Promise<Value>>();

  constructor(countMax: number) {
    this.#known = new BoundedMap(countMax, () => 1);
  }

  delete(key: string): void {
    this.#known.delete(key);
  }

  /** Deletes the keys that have this value. */
  deleteValue(value: Value): void {
    for (const [key, known] of this.#known.entries()) if (known.value === value) this.#known.delete(key);
  }

  /** A value that is known without having been asked for. */
  set(key: string, value: Value, untilMs: number): void {
    this.#known.set(key, { value, untilMs });
  }

  /** A failure counts for some seconds, so that many repositories do not ask for the same again and again. */
  get(key: string, ask: () => Promise<{ readonly value: Value; readonly untilMs: number }>): Promise<Value> {
    const known = this.#known.get(key);
    if (known !== undefined && known.untilMs > monotonicMs()) return Promise.resolve(known.value);
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const answer = ask().then(({ value, untilMs }) => {
      this.set(key, value, untilMs);
      this.#asked.delete(key);
      return value;
    });
    this.#asked.set(key, answer);
    answer.catch((error: unknown) => {
      const waitMs = error instanceof RateLimitError ? Math.max(error.waitMs, failureMs) : failureMs;
      callAfter(waitMs, () => this.#asked.delete(key));
    });
    return answer;
  }
}

/** The number of an installation. Throws if it has none. */
function toInstallation({ id }: Readonly<Record<string, unknown>>): string {
  if (Number.isSafeInteger(id) && (id as number) > 0) return String(id);
  throw new TrawlError("git", "the host sent an installation without a number");
}

/** See `Installation`. */
function accountIn({ account }: Readonly<Record<string, unknown>>): string {
  return isObject(account) ? text(account["login"]).toLowerCase() : "";
}

/** In lower case. Throws if it is no `OWNER/NAME`. */
function ownerIn(repository: string): string {
  const parts = repository.split("/");
  if (parts.length === 2 && parts.every((part) => part !== "" && part !== "." && part !== ".."))
    return (parts[0] ?? "").toLowerCase();
  throw new TrawlError("git", `${JSON.stringify(repository)} is not the name of a repository on GitHub`);
}

function isMissing(error: unknown): boolean {
  return error instanceof HostError && error.status === 404;
}

/** The time in a header; undefined if there is none. */
function dateIn(date: string): number | undefined {
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? undefined : ms;
}
