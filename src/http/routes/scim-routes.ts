import {
  resourceTypes,
  schemas,
  ScimError,
  type ScimType,
  selectAttributes,
  serviceProviderConfig,
  showError,
  showList,
  type Resource,
} from "../../account/directory/scim-messages.js";
import {
  type Collection,
  type DirectoryRequest,
  pageMax,
  type PageRequest,
  type ScimDirectory,
} from "../../account/directory/scim-directory.js";
import { type Sender, toSender } from "../../account/records/audit-log.js";
import { attemptsIn, RateLimiter } from "../../account/records/rate-limiter.js";
import type { ProviderConfig } from "../../account/sign-in/provider-config.js";
import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { isObject } from "../../base/is-object.js";
import { bearerToken, isSameSecret } from "../access/shared-secret.js";
import type { Handler } from "../server/handler.js";
import { waitHeaders } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";

/** Limit on a body: a group of 10,000 members. Parsing this much JSON takes 3 to 10 ms of the main thread. */
const bodyBytesMax = 1 << 20;

/** Limits on requests of one directory, and on refusals per address, in a minute. */
const requestLimit = attemptsIn(60_000, 6_000);
const refusalLimit = attemptsIn(60_000, 60);

/** Lines of the log about a token that cannot be read. */
const lineLimit = attemptsIn(60_000, 1);

const tokenCharsMin = 16;

/** A secret that was replaced counts at most this much longer. */
const tokenKeptMs = 60_000;

const root = "/.api/scim/v2";
const scimType = { "Content-Type": "application/scim+json", "Cache-Control": "no-store" } as const;

export interface ScimServices {
  readonly directory: Pick<ScimDirectory, "configs" | "users" | "groups" | "listAll">;
  readonly readSecret: (source: string, where: string) => string;
  readonly log: Log;
  readonly recordRefusal: (sender: Sender, reason: string) => void;
  /** The URL by which the client has reached this server. */
  readonly baseUrl: (request: HttpRequest) => string;
}

interface Asked extends DirectoryRequest {
  readonly request: HttpRequest;
  readonly id: string;
}

interface Answer {
  readonly status: number;
  /** Undefined for none. */
  readonly body: unknown;
}

/**
 * SCIM 2.0 (RFC 7644): the directory of an identity provider creates, changes, suspends and deletes the accounts of its users, and sends
 * its groups. It proves who it is by the token of the provider's configuration, which opens nothing else.
 */
export function addScimRoutes(server: HttpServer, services: ScimServices): void {
  const handle = scimHandler(services);
  const get = (path: string, answer: (asked: Asked) => Promise<unknown> | unknown): void =>
    server.route(
      "GET",
      root + path,
      handle(async (asked) => ({ status: 200, body: await answer(asked) })),
    );
  const send = (
    [method, path, status]: readonly [method: "POST" | "PUT" | "PATCH", path: string, status: number],
    answer: (asked: Asked, body: unknown) => Promise<unknown>,
  ): void =>
    server.routeWithBody(
      method,
      root + path,
      bodyBytesMax,
      handle(async (asked) => ({ status, body: await answer(asked, readBody(asked.request)) })),
    );

  get("/ServiceProviderConfig", ({ url }) => serviceProviderConfig(url, pageMax));
  get("/ResourceTypes", ({ url }) => listed(resourceTypes(url)));
  get("/ResourceTypes/ID", ({ url, id }) => found(resourceTypes(url), id));
  get("/Schemas", ({ url }) => listed(schemas(url)));
  get("/Schemas/ID", ({ url, id }) => found(schemas(url), id));

  const page = async (list: Collection["list"], asked: Asked, wanted: Wanted): Promise<unknown> => {
    const { resources, total } = await list(asked, wanted);
    return showList(
      resources.map((resource) => selected(wanted, resource)),
      total,
      wanted.startIndex,
    );
  };
  const { directory } = services;
  for (const [path, collection] of [
    ["/Users", directory.users],
    ["/Groups", directory.groups],
  ] as const) {
    const one = `${path}/ID`;
    const shown = ({ request }: Asked, resource: Resource): unknown => selected(readParameters(request), resource);
    get(path, (asked) => page(collection.list, asked, readParameters(asked.request)));
    send(["POST", `${path}/.search`, 200], (asked, body) => page(collection.list, asked, readSearch(body)));
    get(one, (asked) => shown(asked, collection.get(asked, asked.id)));
    send(["POST", path, 201], async (asked, body) => shown(asked, await collection.create(asked, body)));
    send(["PUT", one, 200], async (asked, body) => shown(asked, await collection.replace(asked, asked.id, body)));
    send(["PATCH", one, 200], async (asked, body) => shown(asked, await collection.patch(asked, asked.id, body)));
    server.route(
      "DELETE",
      root + one,
      handle(async (asked) => {
        await collection.remove(asked, asked.id);
        return { status: 204, body: undefined };
      }),
    );
  }
  const listAll: Collection["list"] = (asked, wanted) => directory.listAll(asked, wanted);
  send(["POST", "/.search", 200], (asked, body) => page(listAll, asked, readSearch(body)));
  // A client of this protocol reads no other errors.
  get("/OTHER", ({ request }) => {
    throw new ScimError(404, `there is nothing at ${request.path.slice(0, 200)}`);
  });
}

function scimHandler(services: ScimServices): (answer: (asked: Asked) => Promise<Answer>) => Handler {
  const requests = new RateLimiter(requestLimit);
  const refusals = new RateLimiter(refusalLimit);
  const secrets = new Secrets(services);
  const tooMany = (response: HttpResponse, limit: string, waitMs: number): void => {
    const headers = { ...scimType, ...waitHeaders(limit, Math.ceil(waitMs / 1000)) };
    response.reply(429, headers, JSON.stringify(showError(new ScimError(429, `too many ${limit} within a minute`))));
  };
  return (answer) => async (request, response) => {
    const { remoteAddress } = request;
    const refusalWaitMs = refusals.begin(remoteAddress, monotonicMs());
    if (refusalWaitMs > 0) return tooMany(response, "refusals", refusalWaitMs);
    try {
      const config = secrets.find(services.directory.configs, request);
      if (config === undefined) {
        services.recordRefusal(toSender(request), "a wrong token of a directory");
        throw new ScimError(401, "this needs the token of scimToken, as Authorization: Bearer TOKEN");
      }
      refusals.forgive(remoteAddress);
      const waitMs = requests.begin(config.name, monotonicMs());
      if (waitMs > 0) return tooMany(response, "requests", waitMs);
      const url = services.baseUrl(request) + root;
      const id = request.params["ID"] ?? "";
      const { status, body } = await answer({ request, config, url, id, sender: toSender(request) });
      response.reply(status, scimType, body === undefined ? "" : JSON.stringify(body));
    } catch (error) {
      const refusal = toRefusal(error);
      const headers = refusal.status === 401 ? { ...scimType, "WWW-Authenticate": 'Bearer realm="scim"' } : scimType;
      response.reply(refusal.status, headers, JSON.stringify(showError(refusal)));
    }
  };
}

/** The refusal in the client's own format; an error of ours is thrown again. */
function toRefusal(error: unknown): ScimError {
  if (error instanceof ScimError) return error;
  if (!(error instanceof TrawlError) || (error.httpStatus >= 500 && error.httpStatus !== 503)) throw error;
  const types: Readonly<Record<number, ScimType>> = { 400: "invalidValue", 409: "uniqueness" };
  return new ScimError(error.httpStatus, error.message, types[error.httpStatus]);
}

/** The tokens of directories, read from their files from time to time. */
class Secrets {
  readonly #services: Pick<ScimServices, "readSecret" | "log">;
  readonly #known = new Map<string, { readonly token: string; readonly readMs: number }>();
  readonly #lines = new RateLimiter(lineLimit);

  constructor(services: Pick<ScimServices, "readSecret" | "log">) {
    this.#services = services;
  }

  /** The provider whose token the request has. All are compared, so the time does not tell which one it is. */
  find(configs: readonly ProviderConfig[], request: HttpRequest): ProviderConfig | undefined {
    const given = bearerToken(request)?.trim();
    if (given === undefined) return undefined;
    const [found] = configs.filter((config) => {
      const token = this.#token(config);
      return token !== undefined && isSameSecret(token, given);
    });
    return found;
  }

  /** Undefined if the token cannot be read: that is told to the operator only, and does not keep other directories out. */
  #token({ name, scimToken }: ProviderConfig): string | undefined {
    const key = `${name} ${scimToken}`;
    const known = this.#known.get(key);
    if (known !== undefined && monotonicMs() - known.readMs < tokenKeptMs) return known.token;
    try {
      const token = this.#services.readSecret(scimToken, `identity provider ${name}, scimToken`);
      if (token.length < tokenCharsMin)
        throw new TrawlError("bad-config", `scimToken of ${name}: the token has less than ${tokenCharsMin} characters`);
      this.#known.set(key, { token, readMs: monotonicMs() });
      return token;
    } catch (error) {
      this.#known.delete(key);
      if (this.#lines.begin(name, monotonicMs()) === 0)
        this.#services.log.error({ provider: name }, `a directory is refused: ${errorMessage(error)}`);
      return undefined;
    }
  }
}

function readBody({ body }: HttpRequest): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    throw new ScimError(400, `the body is not JSON in UTF-8: ${errorMessage(error)}`, "invalidSyntax");
  }
}

/** What a client wants to see of resources. */
interface Wanted extends PageRequest {
  readonly attributes: string;
  readonly excludedAttributes: string;
}

function readParameters({ query }: HttpRequest): Wanted {
  const parameters = new URLSearchParams(query);
  return readWanted((name) => parameters.get(name) ?? "");
}

/** The same in a body (RFC 7644, section 3.4.3), where attributes are a list. */
function readSearch(body: unknown): Wanted {
  if (!isObject(body)) throw new ScimError(400, "the body must be a JSON object", "invalidSyntax");
  return readWanted((name) => {
    const value = body[name] ?? "";
    return Array.isArray(value) ? value.join(",") : String(value);
  });
}

/** Numbers below the least are the least, as the protocol says. */
function readWanted(textAt: (name: keyof Wanted) => string): Wanted {
  const number = (name: keyof Wanted, usual: number, least: number): number => {
    const text = textAt(name);
    if (text === "") return usual;
    if (!/^-?[0-9]{1,9}$/.test(text)) throw new ScimError(400, `${name} is not a number`, "invalidValue");
    return Math.max(least, Number(text));
  };
  return {
    filter: textAt("filter"),
    startIndex: number("startIndex", 1, 1),
    count: number("count", pageMax, 0),
    attributes: textAt("attributes"),
    excludedAttributes: textAt("excludedAttributes"),
  };
}

function selected({ attributes, excludedAttributes }: Wanted, resource: Resource): Readonly<Record<string, unknown>> {
  return selectAttributes(resource, attributes, excludedAttributes);
}

function listed(resources: readonly Resource[]): unknown {
  return showList(resources, resources.length, 1);
}

function found(resources: readonly Resource[], id: string): Resource {
  const resource = resources.find((one) => one.id === id);
  if (resource === undefined) throw new ScimError(404, `there is no ${JSON.stringify(id.slice(0, 100))}`);
  return resource;
}
