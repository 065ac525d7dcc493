import { readError, TrawlError } from "./errors.js";

/** How a client reaches a daemon. */
export interface ClientOptions {
  /** As in `https://trawl.example.org`. */
  readonly url: string;
  /** An access token, or a function that returns it for each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** How often a request that is refused for now (429, 503) is sent again. The default is 3. */
  readonly retriesMax?: number;
}

/** What is sent. */
export interface SentRequest {
  readonly method?: "GET" | "POST";
  /** From the base of the URL, with its parameters. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called when the request is sent, and when it has to wait until it may be sent again. */
  readonly onSent?: (() => void) | undefined;
  readonly onWait?: (() => void) | undefined;
}

/** The daemon may say how long to wait, but not for how long nothing happens. */
const waitMsMax = 60_000;

/** Sends requests to one daemon. */
export class Connection {
  readonly #options: ClientOptions;
  readonly #base: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, "");
  }

  /**
   * The response, whose status is one of success. Rejects with a `TrawlError` for any other, and if there is no
   * connection; with the reason of the signal if it is aborted.
   */
  async send(request: SentRequest): Promise<Response> {
    const { retriesMax = 3 } = this.#options;
    for (let retries = 0; ; retries++) {
      request.onSent?.();
      const response = await this.#sendOnce(request);
      if (response.ok) return response;
      const error = await readError(response);
      const mayRetry = (error.status === 429 || error.status === 503) && retries < retriesMax;
      if (!mayRetry) throw error;
      request.onWait?.();
      await wait(Math.min(error.retryAfterMs ?? 1000, waitMsMax), request.signal);
    }
  }

  async #sendOnce({ method = "GET", path, headers, body, signal }: SentRequest): Promise<Response> {
    const { token, headers: own, fetch: send = fetch } = this.#options;
    const text = typeof token === "function" ? await token() : token;
    signal?.throwIfAborted();
    try {
      return await send(this.#base + path, {
        method,
        // A redirection would send the token to another place, or change the method.
        redirect: "error",
        headers: {
          ...own,
          ...(text === undefined ? {} : { Authorization: `token ${text}` }),
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new TrawlError("connection", `no answer from ${this.#base}: ${reasonIn(error)}`, { cause: error });
    }
  }
}

/** What `fetch` throws says only that it failed; its cause says why. */
export function reasonIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Rejects with the reason of the signal if it is aborted first. */
export function wait(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, durationMs);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
