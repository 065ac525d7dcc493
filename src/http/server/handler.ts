import type { HttpRequest, RequestHead } from "./request.js";
import type { HttpResponse } from "./response.js";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export type Handler = (request: HttpRequest, response: HttpResponse) => Promise<void> | void;

/**
 * Called before a body is read: determines who receives it, and whose share it uses. Undefined if the response has
 * already been sent, for example because the sender may not send it.
 */
export type BodyAdmission = (request: HttpRequest, response: HttpResponse) => BodyReceiver | undefined;

export interface BodyReceiver {
  readonly client: string;
  readonly handler: Handler;
}

/** Receives a body as it arrives. */
export interface BodySink {
  readonly bytesMax: number;
  /** Takes a chunk, which it may keep. No more arrives before the promise resolves; if it rejects, the request fails. */
  write(chunk: Uint8Array): Promise<void>;
  /** The body is complete: answers the request. */
  end(): Promise<void>;
  /** The response has ended before the body, or after it; called once. */
  abort(): Promise<void>;
}

/** Like `BodyAdmission`, for a body that is not held in memory. */
export type StreamAdmission = (request: HttpRequest, response: HttpResponse) => BodySink | undefined;

/** A request whose response has ended. */
export interface EndedRequest {
  readonly method: string;
  /** 499 if the client disconnected before a response. */
  readonly status: number;
  /** The pattern of the route, or "none". */
  readonly route: string;
  /** From its head to the end of the response. */
  readonly durationMs: number;
}

/** Called once per request, when its response has ended. */
export type RequestObserver = (request: EndedRequest) => void;

/** A status and a sentence if the request is refused; otherwise undefined. */
export type RequestCheck = (request: RequestHead) => { readonly status: number; readonly message: string } | undefined;
