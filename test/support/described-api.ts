import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import t from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { findFailures, openApiPath } from "../../src/http/api/openapi.js";
import { type Operation, operations } from "../../src/http/api/operations.js";
import { isObject } from "../../src/base/is-object.js";

/** A request for an operation. */
export interface Asked {
  /** The captures of the path, in their order, as they are in a URL. */
  readonly captures?: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams;
  readonly method?: "HEAD" | "PUT";
}

/** What was answered, after it has been compared with the description. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** By name, the data of the events of a stream. */
  readonly events: ReadonlyMap<string, readonly unknown[]>;
}

const problemType = "application/problem+json";

/** Compares what a daemon answers with the description that it serves. */
export class DescribedApi {
  readonly #url: string;
  readonly #document: Readonly<Record<string, unknown>>;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #seen = new Set<string>();

  private constructor(url: string, document: Readonly<Record<string, unknown>>) {
    this.#url = url;
    this.#document = document;
    this.#ajv.addSchema({ ...(closed(document) as object), $id: "openapi" });
  }

  static async read(url: string): Promise<DescribedApi> {
    const response = await fetch(`${url}/.api/openapi.json`);
    return new DescribedApi(url, (await response.json()) as Readonly<Record<string, unknown>>);
  }

  /** Sends a request, whose answer must have this status and be as described. */
  async expect(id: string, status: number, asked: Asked = {}): Promise<Seen> {
    const { seen, problems } = await this.#look(id, status, asked);
    t.same(problems, [], `${id} ${status}`);
    return seen;
  }

  /** The same error as a line of text and, for a client that accepts it, as a problem with this code. */
  async refuse(id: string, status: number, code: string, asked: Asked = {}): Promise<void> {
    const plain = await this.#look(id, status, asked);
    const { seen, problems } = await this.#look(id, status, {
      ...asked,
      headers: { ...asked.headers, Accept: problemType },
    });
    const types = [plain, { seen }].map(({ seen: { headers } }) => headers.get("content-type"));
    t.same([...plain.problems, ...problems, ...types], ["text/plain; charset=utf-8", problemType], `${id} ${status}`);
    t.match(
      { vary: seen.headers.get("vary"), ...parseObject(seen.text) },
      {
        vary: /\bAccept\b(?!-)/,
        type: "about:blank",
        status,
        code,
        ...(plain.seen.text === "" ? {} : { detail: plain.seen.text.trimEnd() }),
      },
      `${id} ${status} is ${code}`,
    );
  }

  /** What was answered, and how it differs from the description. */
  async #look(id: string, status: number, asked: Asked): Promise<{ seen: Seen; problems: string[] }> {
    const operation = find(id);
    const path = openApiPath(operation);
    const response = await this.#send(operation, path, asked);
    const text = await response.text();
    const { headers } = response;
    const described = at(this.#document, "paths", path, operation.method.toLowerCase(), "responses");
    const key = String(response.status) in described ? String(response.status) : "default";
    const { $ref } = at(described, key);
    const place =
      typeof $ref === "string"
        ? $ref.split("/").slice(1)
        : ["paths", path, operation.method.toLowerCase(), "responses", key];
    this.#seen.add(`${id} ${key}`);
    const problems = response.status === status ? [] : [`the status is ${response.status}: ${text.slice(0, 200)}`];
    if (status < 400)
      for (const header of Object.keys(at(this.#document, ...place, "headers")))
        if (!headers.has(header)) problems.push(`there is no header ${header}`);
    const type = headers.get("content-type") ?? "";
    const contents = at(this.#document, ...place, "content");
    const contentPlace = [...place, "content", type];
    const seen = { status: response.status, headers, text, events: new Map<string, unknown[]>() };
    if (Object.keys(contents).length === 0) problems.push(...(text === "" ? [] : ["there is a body"]));
    else if (!(type in contents)) problems.push(`the type ${type} is not described`);
    else if (type === "text/event-stream") problems.push(...this.#readEvents(contentPlace, text, seen.events));
    else if (/[/+]json\b/.test(type))
      problems.push(...this.#differences([...contentPlace, "schema"], JSON.parse(text)));
    return { seen, problems };
  }

  /** Statuses that are described and were never seen. */
  unseen(): string[] {
    return operations.flatMap((operation) =>
      [...Object.keys(operation.answers), ...findFailures(operation)]
        .map((status) => `${operation.id} ${status}`)
        .filter((name) => !this.#seen.has(name)),
    );
  }

  async #send(
    operation: Operation,
    path: string,
    { captures = [], query, headers, body, method }: Asked,
  ): Promise<Response> {
    let n = 0;
    const filled = path.replace(/\{[a-z]+\}/g, () => captures[n++] ?? "x");
    const search = query === undefined ? "" : `?${new URLSearchParams(query)}`;
    return await fetch(`${this.#url}${filled}${search}`, {
      method: method ?? operation.method,
      redirect: "manual",
      headers: { ...(typeof body === "string" ? { "Content-Type": "application/json" } : {}), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }

  #readEvents(place: readonly string[], text: string, events: Map<string, unknown[]>): string[] {
    const problems: string[] = [];
    const described = at(this.#document, ...place, "x-events");
    for (const event of new SseDecoder().push(Buffer.from(text))) {
      const data: unknown = JSON.parse(event.data);
      if (!(event.name in described)) problems.push(`the event ${event.name} is not described`);
      else problems.push(...this.#differences([...place, "x-events", event.name], data));
      events.set(event.name, [...(events.get(event.name) ?? []), data]);
    }
    return events.has("done") ? problems : [...problems, "the stream is not complete"];
  }

  #differences(place: readonly string[], value: unknown): string[] {
    const pointer = place.map((part) => encodeURIComponent(part.replace(/~/g, "~0").replace(/\//g, "~1"))).join("/");
    let validate = this.#validators.get(pointer);
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `openapi#/${pointer}` });
      this.#validators.set(pointer, validate);
    }
    if (validate(value)) return [];
    return [`${this.#ajv.errorsText(validate.errors?.slice(0, 5))}: ${JSON.stringify(value).slice(0, 1000)}`];
  }
}

function parseObject(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
}

function find(id: string): Operation {
  const operation = operations.find((one) => one.id === id);
  t.ok(operation, `there is an operation ${id}`);
  return operation!;
}

/** The object at this place; empty if there is none. */
function at(value: unknown, ...place: readonly string[]): Readonly<Record<string, unknown>> {
  let found = value;
  for (const part of place) found = isObject(found) ? found[part] : undefined;
  return isObject(found) ? found : {};
}

/** The schemas, without members that are not described: a client may meet others later, but today's are all described. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (!isObject(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, closed(member)]));
  const isClosed = copy["type"] === "object" && isObject(copy["properties"]) && !("additionalProperties" in copy);
  return isClosed ? { ...copy, additionalProperties: false } : copy;
}
