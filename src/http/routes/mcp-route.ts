import type { Authenticator, Refusal } from "../../account/sign-in/authenticator.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { McpService } from "../../mcp/mcp-service.js";
import type { ToolSet } from "../../mcp/tools/all-tools.js";
import { clientKey } from "../../model/client.js";
import type { RequestOrigin } from "../../model/request-origin.js";
import type { Viewer } from "../../model/viewer.js";
import { guardedBody } from "../access/guard.js";
import { takePermit } from "../access/concurrency.js";
import { mcpChallenge, mcpPaths } from "./authorize-routes.js";
import type { OAuthServices } from "./oauth-routes.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";

/** Limit on a message: the arguments of a call have at most 8 KiB. */
const messageBytesMax = 64 << 10;

/** Limit on concurrent messages, and on queued ones; a further one is refused. */
const concurrentMax = 256;
const waitingMax = 1024;

const messages = "MCP messages";

const paths: readonly (readonly [path: string, set: ToolSet])[] = [
  [mcpPaths.main, "main"],
  [mcpPaths.version1, "main"],
  [mcpPaths.all, "all"],
];

const jsonHeaders: Headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };

export interface McpServices {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly oauth: Pick<OAuthServices["oauth"], "policy" | "baseUrl">;
  /** Undefined if it is switched off. */
  readonly mcp: (() => Promise<Pick<McpService, "answer">>) | undefined;
  readonly contextFor: (viewer: Viewer, origin: RequestOrigin) => RequestContext;
  readonly sharePercent: number;
}

/**
 * The Model Context Protocol over HTTP, without sessions: `POST` of one message, answered by one JSON object. There is
 * nothing to `GET`, because the server sends nothing on its own.
 */
export function addMcpRoutes(server: HttpServer, services: McpServices): void {
  if (services.mcp === undefined) return;
  const { oauth } = services;
  // Without access tokens, there are none to be authorized.
  const challenge = (request: HttpRequest, refusal: Refusal): Headers =>
    oauth.policy === "none" ? {} : mcpChallenge(oauth, request, refusal);
  const permits = new FairSemaphore(shareLimits(concurrentMax, waitingMax, services.sharePercent));
  for (const [path, set] of paths) {
    const admission = guardedBody(
      services.authenticator,
      permits,
      messages,
      (request, response, viewer) => answer(set, services, permits, request, response, viewer),
      { suffices: "mcp", challenge },
    );
    server.routeWithAdmission("POST", path, messageBytesMax, (request, response) => {
      if (isJson(request.headers.get("content-type"))) return admission(request, response);
      response.reply(415, plainText, "The Content-Type of a message must be application/json.\n");
      return undefined;
    });
  }
}

async function answer(
  set: ToolSet,
  { mcp, contextFor }: McpServices,
  permits: FairSemaphore,
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer,
): Promise<void> {
  const body = parse(request.body);
  if (body === undefined) return response.reply(400, jsonHeaders, notJson);
  const release = await takePermit(permits, clientKey(viewer, request.remoteAddress), messages, response, {});
  if (release === undefined || mcp === undefined) return;
  try {
    const context = contextFor(viewer, request);
    response.onClosed(() => context.cancel());
    const { status, json = "" } = await (await mcp()).answer(
      set,
      {
        body,
        protocolVersion: request.headers.get("mcp-protocol-version"),
        method: request.headers.get("mcp-method"),
        name: request.headers.get("mcp-name"),
      },
      context,
    );
    response.reply(status, jsonHeaders, json);
  } finally {
    release();
  }
}

const notJson = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "the body is not JSON" } });

/** Undefined if it is not JSON. */
function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
  } catch {
    return undefined;
  }
}

function isJson(contentType: string | undefined): boolean {
  const [type = ""] = (contentType ?? "").split(";");
  return type.trim().toLowerCase() === "application/json";
}
