import { createHash } from "node:crypto";
import type { LookupFunction } from "node:net";
import { uninitializedBytes } from "../../base/bytes.js";
import { callAfter, callEvery, monotonicMs, type PendingCall, sleep } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { findRateLimit } from "../../base/rate-limit.js";
import { trimEndChars } from "../../base/text.js";
import { type HttpResponse, openHttp } from "../run/http.js";
import { type HttpUrl, redactUrl } from "../run/remote-url.js";
import type { StopSignal } from "../run/run.js";
import type { LfsPointer } from "./pointer.js";

/** Called with each pointer, once: with its contents, which are verified, or with the reason why they are not there. */
export type OnLfsObject = (pointer: LfsPointer, outcome: Buffer | string) => Promise<void>;

export interface LfsServerOptions {
  /** Of the repository, with the credentials of its mirror. */
  readonly url: HttpUrl;
  /**
   * Throws `forbidden` for a place where no request may go. Decides, if it returns a function, to which addresses of a name.
   */
  readonly admit: (url: URL) => LookupFunction | undefined;
  /** No request begins after this time on the monotonic clock. */
  readonly endMs: number;
  /** After it, a request that is under way may take this long. */
  readonly graceMs: number;
  /** How long a server may send nothing. */
  readonly silenceMs: number;
  readonly stop: StopSignal;
}

/** Objects of one request for their places; git-lfs asks for as many. */
const batchCountMax = 100;
const batchBytesMax = 4 << 20;
const mediaType = "application/vnd.git-lfs+json";

/** Objects that are read at the same time, and their bytes, which are in memory. */
const readsMax = 4;
const readBytesMax = 64 << 20;

const redirectsMax = 3;
const attemptsMax = 3;
const firstWaitMs = 500;
/** A server that asks to wait for longer is asked by the next sync. */
const waitMsMax = 10_000;

/** From the start of a request, in addition to the time that its bytes take at this rate. */
const requestMs = 30_000;
const bytesPerSecondMin = 16 << 10;

const headersBytesMax = 16 << 10;
const stopPollMs = 50;

/** Headers of HTTP itself: an answer must not change how a request is sent. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|keep-alive|expect|proxy-.*|cookie|accept-encoding)$/i;

/** Where a server says that an object is. */
interface Action {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** A failure with which the request may be repeated, or by which all others fail, too. */
class ServerError extends TrawlError {
  readonly scope: "again" | "object" | "all";
  readonly waitMs: number;
  readonly status: number;

  constructor(scope: "again" | "object" | "all", message: string, status = 0, waitMs = 0) {
    super("git", message);
    this.scope = scope;
    this.status = status;
    this.waitMs = waitMs;
  }
}

/**
 * Reads objects from the server of Git LFS that belongs to a remote: by the batch API, with the transfer `basic`.
 *
 * What the server says is not trusted. The credentials of the mirror go to the origin of its remote only, and headers for a download to
 * the address for which they were given. Redirects are followed a few times, without headers to another origin. Each object has
 * the size and the SHA-256 of its pointer, or is refused. Waits, repetitions and times have limits.
 */
export class LfsServer {
  readonly #options: LfsServerOptions;
  readonly #batchUrl: URL;
  readonly #abort = new AbortController();
  #batchCount = batchCountMax;

  constructor(options: LfsServerOptions) {
    this.#options = options;
    const path = trimEndChars(new URL(options.url.text).pathname, "/");
    this.#batchUrl = new URL(
      `${path}${path.endsWith(".git") ? "" : ".git"}/info/lfs/objects/batch`,
      options.url.origin,
    );
  }

  /** Throws `cancelled` if stopped, and what `onObject` throws. */
  async read(pointers: readonly LfsPointer[], onObject: OnLfsObject): Promise<void> {
    const watch = callEvery(stopPollMs, () => {
      if (this.#options.stop()) this.#abort.abort();
    });
    try {
      for (let at = 0; at < pointers.length; ) {
        const wanted = pointers.slice(at, at + this.#batchCount);
        const before = this.#batchCount;
        const found = await this.#locate(wanted);
        // It asked for fewer at a time.
        if (found === "too-many" && this.#batchCount < before) continue;
        at += wanted.length;
        if (typeof found === "string") {
          for (const pointer of pointers.slice(at - wanted.length)) await onObject(pointer, found);
          return;
        }
        await this.#readAll(wanted, found, onObject);
      }
    } finally {
      watch.cancel();
    }
  }

  /** Where each object is, or why it is not there; a text if nothing can be had of the server. */
  async #locate(wanted: readonly LfsPointer[]): Promise<ReadonlyMap<string, Action | string> | string> {
    const body = JSON.stringify({
      operation: "download",
      transfers: ["basic"],
      objects: wanted.map(({ oid, size }) => ({ oid, size })),
      hash_algo: "sha256",
    });
    try {
      const text = await this.#repeat(() => this.#ask(body));
      return readBatch(text, wanted);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code === "cancelled") throw error;
      if (error instanceof ServerError && error.status === 413 && this.#batchCount > 1) {
        this.#batchCount = Math.ceil(this.#batchCount / 4);
        return "too-many";
      }
      return errorMessage(error);
    }
  }

  async #ask(body: string): Promise<string> {
    const { url: remote } = this.#options;
    let url = this.#batchUrl;
    for (let redirectCount = 0; ; redirectCount++) {
      const headers: Record<string, string> = { Accept: mediaType, "Content-Type": mediaType };
      if (remote.authorization !== null) headers["Authorization"] = remote.authorization;
      const { response, signal } = await this.#open(url, "POST", headers, body, 0);
      const location = redirection(response);
      if (location === undefined) {
        const text = (await readBody(response, url.host, batchBytesMax, signal)).toString();
        if (response.status === 200) return text;
        throw refusal(url, response, text);
      }
      await discard(response);
      const next = parseUrl(location, url);
      const isUpgrade = next?.origin === remote.origin.replace(/^http:/, "https:");
      if (next === undefined || redirectCount >= redirectsMax || !(next.origin === remote.origin || isUpgrade))
        throw new ServerError("all", `${place(url)} redirects to another place, or too often`);
      url = next;
    }
  }

  /** A few at a time. */
  async #readAll(
    wanted: readonly LfsPointer[],
    found: ReadonlyMap<string, Action | string>,
    onObject: OnLfsObject,
  ): Promise<void> {
    let group: LfsPointer[] = [];
    const flush = async (): Promise<void> => {
      const outcomes = await Promise.all(group.map((pointer) => this.#readOne(pointer, found.get(pointer.oid))));
      for (const [i, pointer] of group.entries()) await onObject(pointer, outcomes[i]);
      group = [];
    };
    let byteCount = 0;
    for (const pointer of wanted) {
      if (group.length === readsMax || (group.length > 0 && byteCount + pointer.size > readBytesMax)) {
        await flush();
        byteCount = 0;
      }
      group.push(pointer);
      byteCount += pointer.size;
    }
    await flush();
  }

  async #readOne(pointer: LfsPointer, action: Action | string | undefined): Promise<Buffer | string> {
    if (action === undefined) return "the server of Git LFS does not say where it is";
    if (typeof action === "string") return action;
    try {
      return await this.#repeat(() => this.#download(pointer, action));
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code === "cancelled") throw error;
      return errorMessage(error);
    }
  }

  async #download({ oid, size }: LfsPointer, action: Action): Promise<Buffer> {
    const { url: remote } = this.#options;
    let { url } = action;
    for (let redirectCount = 0; ; redirectCount++) {
      const headers: Record<string, string> = { "Accept-Encoding": "identity" };
      if (url.origin === action.url.origin) Object.assign(headers, action.headers);
      const hasOwn = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
      if (!hasOwn && remote.authorization !== null && url.origin === remote.origin)
        headers["Authorization"] = remote.authorization;
      const { response, signal } = await this.#open(url, "GET", headers, undefined, size);
      const location = redirection(response);
      if (location === undefined) {
        if (response.status !== 200) {
          const text = (await readBody(response, url.host, batchBytesMax, signal)).toString();
          throw refusal(url, response, text);
        }
        return await readObject(response, url.host, { oid, size }, signal);
      }
      await discard(response);
      const next = parseUrl(location, url);
      if (next === undefined || redirectCount >= redirectsMax)
        throw new ServerError("object", `${url.host} redirects to no place, or too often`);
      url = next;
    }
  }

  async #open(
    url: URL,
    method: "GET" | "POST",
    headers: Readonly<Record<string, string>>,
    body: string | undefined,
    size: number,
  ) {
    if (this.#options.stop()) throw stopped();
    if (monotonicMs() > this.#options.endMs)
      throw new ServerError("all", "the time of one sync for contents of Git LFS is over: the next one goes on");
    const lookup = this.#options.admit(url);
    const { endMs, graceMs } = this.#options;
    const silence = new AbortController();
    const leftMs = endMs + graceMs - monotonicMs();
    const timeoutMs = Math.ceil(Math.max(1, Math.min(requestMs + (size / bytesPerSecondMin) * 1000, leftMs)));
    const signal = AbortSignal.any([this.#abort.signal, silence.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const { body: parts, ...head } = await openHttp(url, { method, headers, body, signal, lookup });
      const response = { ...head, body: watchSilence(parts, silence, this.#options.silenceMs) };
      return { response, signal };
    } catch (error) {
      if (this.#abort.signal.aborted) throw stopped();
      if (error instanceof TrawlError && error.code === "forbidden") throw error;
      throw new ServerError("again", errorMessage(error));
    }
  }

  /** Repeats what may succeed the next time. */
  async #repeat<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (this.#abort.signal.aborted || this.#options.stop()) throw stopped();
        const isLast = !(error instanceof ServerError) || error.scope !== "again" || attempt >= attemptsMax;
        if (isLast || error.waitMs > waitMsMax) throw error;
        const untilMs = monotonicMs() + Math.max(error.waitMs, firstWaitMs * 2 ** (attempt - 1));
        while (monotonicMs() < untilMs) {
          if (this.#options.stop()) throw stopped();
          await sleep(Math.min(stopPollMs, Math.max(1, untilMs - monotonicMs())));
        }
      }
    }
  }
}

function stopped(): TrawlError {
  return new TrawlError("cancelled", "the fetch of contents of Git LFS was stopped");
}

/** Without its query, which may have a secret. */
function place(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

function parseUrl(text: string, base?: URL): URL | undefined {
  if (text.length > 8_192 || !URL.canParse(text, base?.href)) return undefined;
  const url = new URL(text, base);
  const isPlain = (url.protocol === "https:" || url.protocol === "http:") && url.username + url.password === "";
  return isPlain ? url : undefined;
}

function redirection({ status, headers }: HttpResponse): string | undefined {
  return [301, 302, 303, 307, 308].includes(status) ? String(headers["location"] ?? "") : undefined;
}

function refusal(url: URL, { status, headers }: HttpResponse, text: string): ServerError {
  const limit = findRateLimit(status, headers, text, new Date().getTime());
  // The path of an object has its name.
  const message = `${url.pathname.endsWith("/objects/batch") ? place(url) : url.host} answered ${status}`;
  if (limit !== undefined)
    return new ServerError("again", `${message}: it allows no more requests for now`, status, limit.waitMs);
  if (status >= 500 && status !== 501 && status !== 507 && status !== 509)
    return new ServerError("again", message, status);
  if (status === 401 || status === 403)
    return new ServerError("object", `${message}: check the credential of the repository`, status);
  return new ServerError("object", message, status);
}

/** What a server answers to a batch, as far as it was asked. Throws `git` if it is no such answer. */
function readBatch(text: string, wanted: readonly LfsPointer[]): ReadonlyMap<string, Action | string> {
  let answer: unknown;
  try {
    answer = JSON.parse(text) as unknown;
  } catch {
    throw new TrawlError("git", "the server of Git LFS answered no JSON");
  }
  if (!isObject(answer) || !Array.isArray(answer["objects"]))
    throw new TrawlError("git", "the server of Git LFS answered no list of objects");
  const transfer = answer["transfer"] ?? "basic";
  if (transfer !== "basic") throw new TrawlError("git", "the server of Git LFS does not know the transfer basic");
  const sizes = new Map(wanted.map(({ oid, size }) => [oid, size]));
  const found = new Map<string, Action | string>();
  for (const object of answer["objects"] as unknown[]) {
    if (!isObject(object)) continue;
    const oid = String(object["oid"]);
    const size = sizes.get(oid);
    if (size === undefined || found.has(oid)) continue;
    const error = object["error"];
    if (isObject(error)) found.set(oid, `the server of Git LFS answered ${Number(error["code"]) || "an error"} for it`);
    else if (object["size"] !== size) found.set(oid, "the server of Git LFS says that it has another size");
    else found.set(oid, readAction(object["actions"]) ?? "the server of Git LFS does not say where it is");
  }
  return found;
}

function readAction(actions: unknown): Action | undefined {
  const download = isObject(actions) ? actions["download"] : undefined;
  if (!isObject(download) || typeof download["href"] !== "string") return undefined;
  const url = parseUrl(download["href"]);
  const given = download["header"] ?? {};
  if (url === undefined || !isObject(given)) return undefined;
  const headers: Record<string, string> = {};
  let byteCount = 0;
  for (const [name, value] of Object.entries(given)) {
    const isPlain = /^[A-Za-z0-9_-]{1,256}$/.test(name) && typeof value === "string" && /^[\t\x20-\x7e]*$/.test(value);
    if (!isPlain) return undefined;
    byteCount += name.length + value.length;
    if (byteCount > headersBytesMax) return undefined;
    if (!ownHeaders.test(name)) headers[name] = value;
  }
  return { url, headers };
}

/** Aborts when the next part does not come in time. */
async function* watchSilence(
  parts: AsyncIterable<Buffer>,
  silence: AbortController,
  silenceMs: number,
): AsyncGenerator<Buffer, undefined> {
  const start = (): PendingCall => callAfter(silenceMs, () => silence.abort());
  let timer = start();
  try {
    for await (const part of parts) {
      timer.cancel();
      yield part;
      timer = start();
    }
  } finally {
    timer.cancel();
  }
}

async function discard({ body }: HttpResponse): Promise<void> {
  let byteCount = 0;
  try {
    for await (const part of body) if ((byteCount += part.length) > 64 << 10) return;
  } catch {
    // It is not needed.
  }
}

async function readBody({ body }: HttpResponse, host: string, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const part of body) {
      byteCount += part.length;
      if (byteCount > bytesMax) throw new ServerError("object", `${host} sent more than ${bytesMax} bytes at once`);
      parts.push(part);
    }
  } catch (error) {
    throw broken(error, host, signal);
  }
  return Buffer.concat(parts);
}

async function readObject(
  { body }: HttpResponse,
  host: string,
  { oid, size }: LfsPointer,
  signal: AbortSignal,
): Promise<Buffer> {
  const contents = Buffer.from(uninitializedBytes(size).buffer, 0, size);
  let length = 0;
  try {
    for await (const part of body) {
      if (length + part.length > size)
        throw new ServerError("object", `${host} sent more bytes than its pointer names`);
      part.copy(contents, length);
      length += part.length;
    }
  } catch (error) {
    throw broken(error, host, signal);
  }
  if (length < size) throw new ServerError("again", `${host} sent fewer bytes than its pointer names`);
  if (!hasSha256(oid, contents)) throw new ServerError("object", `${host} sent other contents than its pointer names`);
  return contents;
}

function broken(error: unknown, host: string, signal: AbortSignal): TrawlError {
  if (error instanceof TrawlError) return error;
  const reason = signal.aborted ? "it was too slow" : redactUrl(errorMessage(error));
  return new ServerError("again", `${host} ended its response early: ${reason}`);
}

export function hasSha256(oid: string, contents: Uint8Array): boolean {
  return createHash("sha256").update(contents).digest("hex") === oid;
}
