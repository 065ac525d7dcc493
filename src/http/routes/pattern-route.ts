import type { Authenticator } from "../../account/sign-in/authenticator.js";
import { TrawlError } from "../../base/errors.js";
import { guardedBody, type ViewerHandler } from "../access/guard.js";
import { plainText } from "../server/headers.js";
import type { HttpServer } from "../server/uws.js";
import { parsePatternBody, patternBodyBytesMax } from "../stream/pattern-body.js";

/** The sizes of bodies are bounded together, and a search is admitted when its body is complete. */
const always = { refusal: () => undefined };

/** Adds the route of a search for the patterns in the body, which `handle` gets. */
export function addPatternRoute(
  server: HttpServer,
  path: string,
  { authenticator }: { readonly authenticator: Pick<Authenticator, "authenticate"> },
  handle: (patterns: readonly string[]) => ViewerHandler,
): void {
  const admission = guardedBody(authenticator, always, "searches", (request, response, viewer) => {
    let patterns: readonly string[];
    try {
      patterns = parsePatternBody(request.body);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
      return response.reply(400, plainText, `${error.message}\n`);
    }
    return handle(patterns)(request, response, viewer);
  });
  server.routeWithAdmission("POST", path, patternBodyBytesMax, admission);
}
