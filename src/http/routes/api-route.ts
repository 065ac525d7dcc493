import { openApiDocument } from "../api/openapi.js";
import type { ViewerHandler } from "../access/guard.js";
import type { Handler } from "../server/handler.js";
import type { HttpServer } from "../server/uws.js";

/** The description of the routes of this server, made when it is first asked for. */
export function addOpenApiRoute(
  server: HttpServer,
  externalUrl: () => string,
  guard: (handler: ViewerHandler) => Handler,
): void {
  let made: { readonly url: string; readonly json: string } | undefined;
  server.route(
    "GET",
    "/.api/openapi.json",
    guard((_, response) => {
      const url = externalUrl();
      if (made?.url !== url) {
        const document = openApiDocument(url, (method, pattern) => server.hasRoute(method, pattern));
        made = { url, json: JSON.stringify(document) };
      }
      response.reply(200, { "Content-Type": "application/json", "Cache-Control": "private, no-cache" }, made.json);
    }),
  );
}
