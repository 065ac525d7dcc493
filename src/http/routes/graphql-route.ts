import { gunzip, gzip, constants } from "node:zlib";
import type { Authenticator } from "../../account/sign-in/authenticator.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import { isObject } from "../../base/is-object.js";
import type { GraphqlExecutor, GraphqlRequest } from "../../graphql/execution/executor.js";
import { clientKey } from "../../model/client.js";
import type { Viewer } from "../../model/viewer.js";
import { guardedBody, type ViewerHandler } from "../access/guard.js";
import { takePermit } from "../access/concurrency.js";
import { acceptedEncoding } from "../stream/sse.js";
import type { BodyAdmission } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import { parseJsonBody } from "../server/json-body.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/**
 * Limit on a request's body, before and after decompression. Parsing 1 MiB of JSON takes 3 to 10 ms of the main thread.
 */
export const graphqlBytesMax = 1 << 20;

/** Limit on concurrent requests, and on queued ones; a further one is refused. */
const concurrentMax = 256;
const waitingMax = 1024;

const requests = "GraphQL requests";

/** Shorter responses are not compressed. */
const gzipBytesMin = 1024;

const jsonHeaders: Headers = { "Content-Type": "application/json", "Cache-Control": "no-cache, max-age=0" };
const zippedHeaders: Headers = { ...jsonHeaders, "Content-Encoding": "gzip" };

/**
 * `POST /.api/graphql`. The content type is ignored, because clients send various ones, and the query string is only a
 * label of the request. Every executed request is answered with 200, even if fields have errors.
 */
export function graphqlAdmission(
  authenticator: Pick<Authenticator, "authenticate">,
  executor: Pick<GraphqlExecutor, "answer">,
  sharePercent: number,
): BodyAdmission {
  const permits = new FairSemaphore(shareLimits(concurrentMax, waitingMax, sharePercent));
  const handler: ViewerHandler = async (request, response, viewer) => {
    const release = await takePermit(permits, clientKey(viewer, request.remoteAddress), requests, response, {});
    if (release === undefined) return;
    try {
      await answer(executor, request, response, viewer);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
      response.reply(400, plainText, `${error.message}\n`);
    } finally {
      release();
    }
  };
  // What a narrow token may not read there, the fields refuse.
  return guardedBody(authenticator, permits, requests, handler, { suffices: "search" });
}

async function answer(
  executor: Pick<GraphqlExecutor, "answer">,
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer,
): Promise<void> {
  const graphql = readRequest(await inflated(request));
  // The response is no longer wanted, or no longer allowed.
  if (response.closed) return;
  const { status, json } = await executor.answer(graphql, viewer, request, (running) => {
    response.onClosed(() => running.cancel());
    response.onRevoked((reason) => {
      if (running.revoke() === "ends") response.reply(401, plainText, `${reason}\n`);
    });
  });
  const zips = json.length >= gzipBytesMin && acceptedEncoding(request.headers.get("accept-encoding")) === "gzip";
  if (zips) response.reply(status, zippedHeaders, await gzipped(json));
  else response.reply(status, jsonHeaders, json);
}

/** Decompression stops at the limit, so a small body that would expand to a huge one costs no more than any other. */
async function inflated({ headers, body }: HttpRequest): Promise<Uint8Array> {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return body;
  if (encoding !== "gzip")
    throw new TrawlError(
      "bad-request",
      `content encoding ${JSON.stringify(encoding)} is not supported; send gzip, or none`,
    );
  return new Promise((resolve, reject) =>
    gunzip(body, { maxOutputLength: graphqlBytesMax }, (error, bytes) => {
      if (error === null) resolve(bytes);
      else
        reject(
          new TrawlError(
            "bad-request",
            isTooLong(error)
              ? `the body has more than ${graphqlBytesMax} bytes after decompression`
              : `the body is not gzip: ${errorMessage(error)}`,
          ),
        );
    }),
  );
}

function isTooLong(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}

function gzipped(json: string | Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) =>
    gzip(json, { level: constants.Z_BEST_SPEED }, (error, bytes) => (error === null ? resolve(bytes) : reject(error))),
  );
}

/** Throws `bad-request` for an invalid request. */
function readRequest(body: Uint8Array): GraphqlRequest {
  const sent = parseJsonBody(body);
  if (Array.isArray(sent))
    throw new TrawlError("bad-request", "a list of requests is not supported; send them separately");
  if (!isObject(sent)) throw new TrawlError("bad-request", 'the body must be a JSON object with a "query"');
  const { query, operationName, variables } = sent;
  if (typeof query !== "string") throw new TrawlError("bad-request", '"query" must be a string');
  if (!isAbsent(operationName) && typeof operationName !== "string")
    throw new TrawlError("bad-request", '"operationName" must be a string');
  if (!isAbsent(variables) && !isObject(variables))
    throw new TrawlError("bad-request", '"variables" must be an object');
  return {
    query,
    operationName: typeof operationName === "string" && operationName !== "" ? operationName : undefined,
    variables: (variables ?? {}) as GraphqlRequest["variables"],
  };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
