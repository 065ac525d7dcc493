import type { Authenticator } from "../../account/sign-in/authenticator.js";
import { TrawlError } from "../../base/errors.js";
import type { RequestOrigin } from "../../model/request-origin.js";
import { buildVersion } from "../../model/versions.js";
import type { Viewer } from "../../model/viewer.js";
import type { ViewerHandler } from "../access/guard.js";
import type { Handler } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpServer } from "../server/uws.js";

/** The release of the `src` command with which this interface was tested. */
const srcVersion = "7.6.0";
const srcReleases = "https://github.com/sourcegraph/src-cli/releases/download";
const srcFiles: ReadonlySet<string> = new Set([
  "src_darwin_amd64",
  "src_darwin_arm64",
  "src_linux_amd64",
  "src_linux_arm64",
  "src_windows_amd64.exe",
  "src_windows_arm64.exe",
]);

const json: Headers = { "Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff" };

/** Services used by these routes. */
export interface ClientServices {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  /**
   * Schedules a fetch of the repository. Resolves with false if there is no repository of this name that the viewer may see; rejects with
   * `overloaded` or `conflict` if the node that fetches it does not answer.
   */
  readonly refresh: (name: string, viewer: Viewer, origin: RequestOrigin) => Promise<boolean>;
  /** Base of absolute URLs; without a trailing slash. */
  readonly externalUrl: () => string;
}

/**
 * Small resources that existing clients, browsers and crawlers request. `guard` admits only authenticated requests. The
 * version, which is requested like a health check, and the resources of the sign-in page (its icon, and the rules for
 * crawlers) are public.
 */
export function addClientRoutes(
  server: HttpServer,
  services: ClientServices,
  guard: (handler: ViewerHandler) => Handler,
): void {
  server.route(
    "GET",
    "/.api/src-cli/version",
    guard((_, response) => response.reply(200, json, JSON.stringify({ version: srcVersion }))),
  );
  server.route(
    "GET",
    "/.api/src-cli/FILE",
    guard(({ params }, response) => {
      const file = params["FILE"] ?? "";
      if (!srcFiles.has(file))
        return response.reply(
          404,
          plainText,
          `there is no build ${JSON.stringify(file)} of src; available are ${[...srcFiles].join(", ")}\n`,
        );
      return response.reply(302, { ...plainText, Location: `${srcReleases}/${srcVersion}/${file}` }, "");
    }),
  );
  server.route("GET", "/__version", (_, response) => response.reply(200, plainText, buildVersion));
  server.route(
    "POST",
    "/.api/repos/NAME/-/refresh",
    guard(async (request, response, viewer) => {
      if (viewer.userId === undefined) return response.reply(401, plainText, "not authenticated\n");
      try {
        if (!(await services.refresh(request.params["NAME"] ?? "", viewer, request)))
          return response.reply(404, plainText, "there is no repository with this name, or you may not see it\n");
        return response.reply(200, json, "{}");
      } catch (error) {
        if (!(error instanceof TrawlError) || error.code === "internal") throw error;
        return response.replyError(error.httpStatus, error.code, error.message);
      }
    }),
  );
  // The number of projects that use a repository is unknown here.
  server.route(
    "GET",
    "/.api/repos/NAME/-/shield",
    guard((_, response) => response.reply(200, json, JSON.stringify({ value: " 0 projects" }))),
  );
  server.route("GET", "/robots.txt", (_, response) => response.reply(200, plainText, "User-agent: *\nDisallow: /\n"));
  server.route("GET", "/favicon.ico", (_, response) =>
    response.reply(200, { ...plainText, "Content-Type": "image/svg+xml", "Cache-Control": "max-age=86400" }, icon),
  );
  server.route(
    "GET",
    "/opensearch.xml",
    guard((_, response) =>
      response.reply(
        200,
        { ...plainText, "Content-Type": "application/opensearchdescription+xml; charset=utf-8" },
        openSearch(services.externalUrl()),
      ),
    ),
  );
}

/** A net. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 3h14L10 13H6zM4 3l4 10 4-10M3 7h10M5 10h6" fill="none" stroke="#17a"/></svg>\n';

function openSearch(externalUrl: string): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">',
    "  <ShortName>Trawl</ShortName>",
    "  <Description>Search code</Description>",
    "  <InputEncoding>UTF-8</InputEncoding>",
    `  <Url type="text/html" template="${externalUrl.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;")}/search?q={searchTerms}&amp;patternType=keyword"/>`,
    "</OpenSearchDescription>",
    "",
  ].join("\n");
}
