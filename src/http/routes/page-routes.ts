import type { Authenticator } from "../../account/sign-in/authenticator.js";
import type { ProviderSignIn } from "../../account/sign-in/provider-sign-in.js";
import { type ContentServices, type Visit, withContext } from "./named-content.js";
import { admit, refuse, refusePage } from "../access/guard.js";
import { type PagePath, readPagePath } from "../../model/page-path.js";
import type { RawHandler } from "./raw-route.js";
import type { Handler } from "../server/handler.js";
import { type Headers, plainText } from "../server/headers.js";
import { anonymous } from "../../model/viewer.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import { findWebPage, isMissingPage, type WebPageName } from "../../model/web-page.js";
import { repositoryPages } from "./repository-pages.js";
import type { WebFiles } from "./web-files.js";
import { replyPage } from "./web-pages.js";
import { TrawlError } from "../../base/errors.js";
import { escapeUrlPath } from "../../base/path-text.js";
import type { RequestContext } from "../../browse/request-context.js";
import { nameOfCloneUrl, repositoryUrl } from "../../browse/urls.js";
import { escapeRegexp } from "../../base/text.js";

/**
 * Answers every page URL: with the document that the browser renders, or for programs with a plain-text description of
 * what the URL names, because people follow links that clients show, and programs check whether something exists. What does not exist
 * is 404. In private mode, requests without credentials are redirected to the sign-in page and reveal nothing else.
 */
export function pageHandler(
  authenticator: Pick<Authenticator, "authenticate">,
  services: ContentServices,
  raw: RawHandler,
  web: WebFiles | undefined,
  providers: Pick<ProviderSignIn, "buttons">,
): Handler {
  return async (request, response) => {
    const { method, path } = request;
    // Clients look for other sign-in methods here first; there are none.
    if (path.startsWith("/.") && !path.startsWith("/.api/")) return reply(response, 404, "not found");
    const isRead = method === "GET" || method === "HEAD";
    const open = openPages.get(path);
    const isMarkup = web !== undefined && asksForMarkup(request);
    if (open !== undefined && isRead && !isMarkup) return reply(response, 200, open);
    const pagePath = readPagePath(path);
    const entry = authenticator.authenticate(request, "search");
    const webPage = findWebPage(path);
    if (webPage?.needsCredential === false && isRead && entry.kind === "refused")
      return replyPage(request, response, anonymous, web, webPage, 200, providers.buttons);
    if (entry.kind === "refused") {
      const isPage = isRead && pagePath?.page !== "raw" && !path.startsWith("/.");
      return isPage ? refusePage(request, response, entry) : refuse(response, entry);
    }
    if (path.startsWith("/.")) return reply(response, 404, "no route");
    if (!isRead) return response.reply(405, { ...plainText, Allow: "GET, HEAD" }, "method not allowed\n");
    const { viewer } = entry;
    const visit = { request, response, viewer };
    return admit(entry, response, async () => {
      if (webPage?.name === "search") return replyPage(request, response, viewer, web, webPage);
      if (webPage !== undefined && isMarkup && pagePath !== undefined) {
        const status = await statusOfPage(visit, services, webPage.name, pagePath);
        const shown = pagesWithProviders.has(webPage.name) ? providers.buttons : [];
        return replyPage(request, response, viewer, web, webPage, status, shown);
      }
      if (isMissingPage(path))
        return isMarkup
          ? replyPage(request, response, viewer, web, undefined, 404)
          : reply(response, 404, `there is no page ${path}`);
      return sitePage(visit, services, raw, pagePath);
    });
  };
}

/** Pages on which people sign in, or link an account of a provider. */
const pagesWithProviders: ReadonlySet<WebPageName> = new Set(["sign-in", "account"]);

/** Browsers name HTML in `Accept`; programs that follow links do not, and get plain text. */
function asksForMarkup({ headers }: HttpRequest): boolean {
  return headers.get("accept")?.includes("text/html") === true;
}

/** 404 for an unknown page, and a repository that does not exist or is hidden from the viewer: the page tells the rest. */
async function statusOfPage(
  { request, response, viewer }: Visit,
  services: ContentServices,
  page: WebPageName,
  { name }: PagePath,
): Promise<number> {
  if (isMissingPage(request.path)) return 404;
  if (page !== "code") return 200;
  const context = services.contextFor(viewer, request);
  response.onClosed(() => context.cancel());
  try {
    return (await context.findRepository(name)) === undefined ? 404 : 200;
  } catch (error) {
    // The page tells the rest of this, too.
    if (error instanceof TrawlError && error.code !== "internal") return error.httpStatus;
    throw error;
  }
}

async function sitePage(
  visit: Visit,
  services: ContentServices,
  raw: RawHandler,
  pagePath: PagePath | undefined,
): Promise<void> {
  const { request, response } = visit;
  if (pagePath === undefined) return reply(response, 400, "the path is not percent-encoded, or contains a zero byte");
  if (request.path.startsWith("/-/")) return instancePage(visit, services);
  const page = findSitePage(request);
  if (page !== undefined) return reply(response, 200, page);
  return repositoryPage(visit, services, raw, pagePath);
}

async function repositoryPage(
  visit: Visit,
  services: ContentServices,
  raw: RawHandler,
  pagePath: PagePath,
): Promise<void> {
  const { request, response } = visit;
  // The page of a file is its text, and that of a directory is a list of names.
  if (pagePath.page === "raw" || pagePath.page === "blob" || pagePath.page === "tree") return raw(visit, pagePath);
  const page = repositoryPages.get(pagePath.page);
  if (page === undefined) return reply(response, 404, `there is no page /-/${pagePath.page}`);
  const host = request.headers.get("host") ?? "";
  await withContext(services, visit, {}, async (context) => reply(response, 200, await page(context, pagePath, host)));
}

/** Pages of the instance that do not belong to a repository. */
async function instancePage(visit: Visit, services: ContentServices): Promise<void> {
  const { request, response } = visit;
  if (request.path !== "/-/editor") return reply(response, 404, "not found");
  await withContext(services, visit, {}, async (context) => {
    const target = editorTarget(new URLSearchParams(request.query), context);
    if (target === undefined)
      return reply(response, 400, "give search=TEXT, or remote_url=URL of a repository and file=PATH");
    return redirect(response, target);
  });
}

function reply(response: HttpResponse, status: number, text: string): void {
  response.reply(
    status,
    { ...plainText, Vary: "Authorization, Cookie, Origin" } satisfies Headers,
    text.endsWith("\n") ? text : `${text}\n`,
  );
}

function redirect(response: HttpResponse, to: string): void {
  response.reply(302, { ...plainText, Location: to }, "");
}

/** The URL that an editor plugin asks for: lines of a file, or a search. Rows and columns are counted from 0. */
function editorTarget(parameters: URLSearchParams, context: RequestContext): string | undefined {
  const of = (name: string): string => parameters.get(name) ?? "";
  if (of("search") !== "") {
    const name = remoteName(of("search_remote_url"), context);
    const revision = of("search_revision") || of("search_branch");
    const filters = [
      ...(name === undefined ? [] : [`repo:^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`]),
      ...(of("search_file") === "" ? [] : [`file:^${escapeRegexp(of("search_file"))}$`]),
    ];
    return `/search?${new URLSearchParams({ q: [...filters, of("search")].join(" "), patternType: "literal" })}`;
  }
  const name = remoteName(of("remote_url"), context);
  if (name === undefined || of("file") === "") return undefined;
  const typed = of("revision") || of("branch");
  const isDefault = typed === "HEAD" || typed === context.repositories.byName(name)?.defaultBranch;
  return `${repositoryUrl(name, isDefault ? "" : typed)}/-/blob/${escapeUrlPath(of("file"))}${lineQuery(of)}`;
}

function lineQuery(of: (name: string) => string): string {
  if (!/^\d+$/.test(of("start_row"))) return "";
  const position = (row: string, column: string): string => `${Number(row) + 1}:${(Number(column) || 0) + 1}`;
  const start = position(of("start_row"), of("start_col"));
  const end = /^\d+$/.test(of("end_row")) ? position(of("end_row"), of("end_col")) : start;
  return `?L${start === end ? start : `${start}-${end}`}`;
}

/**
 * The name of the repository with this clone URL: the name made of its host and path, or a repository fetched from it.
 */
function remoteName(url: string, { repositories }: RequestContext): string | undefined {
  const name = nameOfCloneUrl(url);
  if (name === undefined || repositories.byName(name) !== undefined) return name;
  return repositories.values().find((repository) => nameOfCloneUrl(repository.url) === name)?.name ?? name;
}

/** Paths of pages that need no credential. */
const openPages: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "/sign-in":
      'Send {"email": NAME, "password": TEXT} as JSON by POST to /-/sign-in; or send an access token with each request.',
    "/sign-up":
      'Send {"email": TEXT, "username": NAME, "password": TEXT} as JSON by POST to /-/sign-up, where that is allowed.',
    "/password-reset":
      'Send {"userID": NUMBER, "code": TEXT, "password": TEXT} as JSON by POST to /-/reset-password-code, with the number and the code of this address.',
  }),
);

/** The text of other pages, by the start of the path. */
const sitePages: readonly (readonly [path: RegExp, text: string])[] = [
  [/^\/contexts(\/|$)/, "Search contexts: ask GraphQL for searchContexts, or searchContextBySpec."],
  [/^\/search-jobs$/, "Search jobs: ask GraphQL for searchJobs, or use the command trawl job."],
  [/^\/site-admin(\/|$)/, "The site is administered by the trawl command, its configuration file, and GraphQL."],
  [
    /^\/(users\/[^/]+|user|settings|organizations\/[^/]+|teams\/[^/]+)(\/|$)/,
    "Users, organizations, teams, tokens and settings: ask GraphQL, or use the trawl command.",
  ],
  [
    /^\/(?:(?:api|debug)\/console|api\/schema)$/,
    "Send GraphQL requests by POST to /.api/graphql; it describes itself by introspection.",
  ],
  [
    /^\/help(\/|$)/,
    "The documents are in the folder docs of the program: query-syntax.md tells what a query can hold, clients.md which clients work, " +
      "README.md how to run it.",
  ],
];

function findSitePage(request: HttpRequest): string | undefined {
  return sitePages.find(([path]) => path.test(request.path))?.[1];
}
