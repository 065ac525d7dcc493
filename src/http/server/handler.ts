import type { HttpRequest, RequestHead } from "./request.js";
import type { HttpResponse } from "./response.js";

export type Method = "GET" | "POST" | "PUT" | "DELETE" | "OPTIONS";

export type Handler = (request: HttpRequest, response: HttpResponse) => Promise<void> | void;

/**
 * Asked before a body is read: who receives it, and whose share it takes. Undefined when the response is answered
 * already, as where the sender may not send it.
 */
export type BodyAdmission = (request: HttpRequest, response: HttpResponse) => BodyReceiver | undefined;

export interface BodyReceiver {
  readonly client: string;
  readonly handler: Handler;
}

/** Told once for each request, when its response ended: `status` is 499 when the client left before an answer. */
export type RequestObserver = (method: string, status: number) => void;

/** A status and a sentence for a request that is refused; undefined for another. */
export type RequestCheck = (request: RequestHead) => { readonly status: number; readonly message: string } | undefined;
