import { createHash } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { AwsV4Signer } from "aws4fetch";
import { errorMessage, TrawlError } from "../base/errors.js";
import { readSecret } from "../base/secret-source.js";
import { ObjectFailure, type ObjectName, type ObjectStore } from "./object-store.js";

export interface S3Settings {
  /** The URL of the bucket, perhaps with the beginning of all keys. */
  readonly url: string;
  readonly region: string;
  /** Where `ACCESS_KEY:SECRET_KEY` is. It is read for each request, so that it can be replaced. */
  readonly credential: string;
  readonly silenceMs: number;
}

/** Of an answer that is an error. */
const errorBytesMax = 4096;

/** An upload hands so much to the connection at once. */
const pieceBytes = 256 * 1024;

/** Statuses after which the same request may succeed. A proxy before a store that starts answers 404 for a while, but so does a lost object. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

const emptyHash = createHash("sha256").digest("hex");

/** Stores accept signatures of a quarter of an hour ago. */
const clockMsMax = 5 * 60_000;

interface Answer {
  readonly status: number;
  readonly message: http.IncomingMessage;
}

/**
 * Objects in a bucket of a store with the interface of Amazon S3: PUT, HEAD and GET of whole objects, signed with the version 4. A PUT has the
 * SHA-256 of its bytes in the signature, with which a store compares what arrives.
 */
export class S3Store implements ObjectStore {
  readonly #settings: S3Settings;
  readonly #agent: http.Agent;
  /** The keys of a day that signatures are made with. */
  readonly #keys = new Map<string, ArrayBuffer>();
  /** What the clock of the store is ahead of that of this host, once the store has refused a signature for that. */
  #aheadMs = 0;

  constructor(settings: S3Settings) {
    this.#settings = settings;
    const options = { keepAlive: true, maxSockets: 16, maxFreeSockets: 4 };
    this.#agent = settings.url.startsWith("https:") ? new https.Agent(options) : new http.Agent(options);
  }

  get place(): string {
    return this.#settings.url;
  }

  async put(key: string, { hash }: ObjectName, bytes: Buffer, signal: AbortSignal): Promise<void> {
    const { status, message } = await this.#ask("PUT", key, bytes, hash, signal);
    await this.#require(status === 200 || status === 201 || status === 204, { status, message });
  }

  async find(key: string, signal: AbortSignal): Promise<number | undefined> {
    const answer = await this.#ask("HEAD", key, undefined, emptyHash, signal);
    if (answer.status === 404) {
      answer.message.resume();
      return undefined;
    }
    await this.#require(answer.status === 200, answer);
    const length = answer.message.headers["content-length"];
    return length === undefined ? undefined : Number(length);
  }

  async read(key: string, take: (chunk: Buffer) => void, signal: AbortSignal): Promise<void> {
    const answer = await this.#ask("GET", key, undefined, emptyHash, signal);
    if (answer.status !== 200) await this.#require(false, answer);
    try {
      for await (const chunk of answer.message) take(chunk as Buffer);
    } catch (error) {
      answer.message.destroy();
      throw toFailure(error, signal, this.#settings.silenceMs);
    }
  }

  /** Reads the rest of an answer. */
  async #require(isGood: boolean, { status, message }: Answer): Promise<void> {
    if (isGood) {
      message.resume();
      return;
    }
    const isClock = status === 403 && this.#setClock(message);
    const text = await readSome(message);
    throw refusal(status, elementIn(text, "Code"), elementIn(text, "Message"), isClock);
  }

  /**
   * Whether the clock of this host differs so much from that of the store that this may be why it has refused a signature: then signatures
   * are as of its time from now on. The answer to HEAD does not tell the reason.
   */
  #setClock({ headers: { date = "" } }: http.IncomingMessage): boolean {
    const aheadMs = Date.parse(date) - new Date().getTime();
    if (Number.isNaN(aheadMs) || Math.abs(aheadMs - this.#aheadMs) < clockMsMax) return false;
    this.#aheadMs = aheadMs;
    return true;
  }

  async #ask(
    method: string,
    key: string,
    body: Buffer | undefined,
    hash: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { url, region, silenceMs } = this.#settings;
    const signed = await new AwsV4Signer({
      method,
      url: `${url}/${key}`,
      headers: { "X-Amz-Content-Sha256": hash },
      ...this.#readKey(),
      region,
      service: "s3",
      cache: this.#keys,
      datetime: new Date(new Date().getTime() + this.#aheadMs).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    }).sign();
    const headers: Record<string, string | number> = Object.fromEntries(signed.headers);
    if (method === "PUT") headers["Content-Length"] = body?.length ?? 0;
    if (this.#keys.size > 8) this.#keys.clear();
    return new Promise<Answer>((resolve, reject) => {
      const send = url.startsWith("https:") ? https.request : http.request;
      const request = send(`${url}/${key}`, { method, headers, agent: this.#agent, signal, timeout: silenceMs });
      request.on("timeout", () => request.destroy(new ObjectFailure(`no byte came for ${silenceMs} ms`, true)));
      request.on("error", (error) => reject(toFailure(error, signal, silenceMs)));
      request.on("response", (message) => resolve({ status: message.statusCode ?? 0, message }));
      if (body === undefined) request.end();
      else write(request, body);
    });
  }

  #readKey(): { readonly accessKeyId: string; readonly secretAccessKey: string } {
    const [accessKeyId = "", ...rest] = readSecret(this.#settings.credential, "fleet.objectsCredential").split(":");
    const secretAccessKey = rest.join(":");
    if (accessKeyId === "" || secretAccessKey === "")
      throw new TrawlError("bad-config", "fleet.objectsCredential: it must be ACCESS_KEY:SECRET_KEY");
    return { accessKeyId, secretAccessKey };
  }
}

/** As fast as the connection takes it. An answer that comes meanwhile ends it. */
function write(request: http.ClientRequest, body: Buffer): void {
  let from = 0;
  const more = (): void => {
    while (from < body.length && !request.destroyed && request.writable) {
      const piece = body.subarray(from, from + pieceBytes);
      from += piece.length;
      if (!request.write(piece)) return;
    }
    if (from >= body.length) request.end();
  };
  request.on("drain", more);
  request.on("response", ({ statusCode = 0 }) => {
    if (from < body.length && statusCode >= 300) from = body.length;
  });
  more();
}

/** The beginning of an answer, as far as it comes. */
async function readSome(message: http.IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of message) {
      text += (chunk as Buffer).toString("latin1");
      if (text.length >= errorBytesMax) break;
    }
  } catch {
    // The status says enough.
  }
  message.destroy();
  return text.slice(0, errorBytesMax);
}

/** The text of an element of an error; "" if there is none. */
function elementIn(xml: string, name: string): string {
  const from = xml.indexOf(`<${name}>`);
  const to = xml.indexOf(`</${name}>`, from);
  if (from < 0 || to < 0) return "";
  return xml
    .slice(from + name.length + 2, to)
    .replace(/[^\x20-\x7e]/g, " ")
    .slice(0, 300);
}

function refusal(status: number, code: string, reason: string, isClock: boolean): ObjectFailure {
  const said = [code, reason].filter((text) => text !== "").join(": ");
  const hint =
    status === 403 && !isClock
      ? "; see fleet.objectsCredential, and whether this key may list, read and write the bucket"
      : status === 301 || status === 307 || status === 308 || code === "AuthorizationHeaderMalformed"
        ? "; see the region and the host in fleet.objects"
        : code === "NoSuchBucket"
          ? "; make the bucket, or change fleet.objects"
          : "";
  return new ObjectFailure(
    `the store answered ${status}${said === "" ? "" : ` (${said})`}${hint}`,
    passing.has(status) || isClock,
  );
}

function toFailure(error: unknown, signal: AbortSignal, silenceMs: number): TrawlError {
  if (error instanceof TrawlError) return error;
  if (signal.aborted) return new ObjectFailure("there was no time left", true, error);
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const isSilent = code === "ETIMEDOUT" || code === "ESOCKETTIMEDOUT";
  // A certificate that is refused stays refused.
  const isPassing = !/^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code);
  return new ObjectFailure(isSilent ? `no byte came for ${silenceMs} ms` : errorMessage(error), isPassing, error);
}
