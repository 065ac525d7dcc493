import Negotiator from "negotiator";
import { readCookie } from "../../account/sign-in/credential.js";
import { escapeHtml } from "../../base/html.js";
import { pageTextUrl, readPagePath } from "../../model/page-path.js";
import type { Viewer } from "../../model/viewer.js";
import { themeCookie, type PageViewer, type ProviderButton, type WebPage } from "../../model/web-page.js";
import type { Handler } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import type { WebFile, WebFiles } from "./web-files.js";

const filesPath = "/.assets/";

/** A name contains a hash of the content, so what it names never changes. */
const immutable = "public, max-age=31536000, immutable";

/**
 * The browser runs only scripts and style sheets of this server, and sends nothing anywhere else. Text becomes markup
 * only through the one policy of src/web/ui/parse-html.ts.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Images in notebooks are data, to which a page gives an address of its own.
  "img-src 'self' blob: data:",
  // A PDF, which is the only answer that may be framed.
  "frame-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types trawl",
].join("; ");

const documentHeaders: Headers = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": pagePolicy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "private, no-cache",
  Vary: "Authorization, Cookie, Origin",
};

/** Adds the route of the scripts, style sheets and images of the web pages. They are the same for everyone. */
export function addWebFileRoute(server: HttpServer, files: WebFiles | undefined): void {
  server.route("GET", `${filesPath}NAME`, fileHandler(files));
}

function fileHandler(files: WebFiles | undefined): Handler {
  return (request, response) => {
    const file = files?.find(request.params["NAME"] ?? "");
    if (file === undefined) return response.reply(404, plainText, "no such file\n");
    const { bytes, encoding } = chooseForm(file, request.headers.get("accept-encoding"));
    response.reply(
      200,
      {
        "Content-Type": file.type,
        "Cache-Control": immutable,
        Vary: "Accept-Encoding",
        ...(encoding === undefined ? {} : { "Content-Encoding": encoding }),
      },
      bytes,
    );
  };
}

interface Form {
  readonly bytes: Uint8Array;
  readonly encoding: string | undefined;
}

/** Brotli is the smallest. A form that the client refuses with `q=0` is not in the list. */
function chooseForm({ bytes, gzip, brotli }: WebFile, accepted: string | undefined): Form {
  const encodings = new Negotiator({ headers: { "accept-encoding": accepted } }).encodings(["br", "gzip"]);
  if (brotli !== undefined && encodings.includes("br")) return { bytes: brotli, encoding: "br" };
  if (gzip !== undefined && encodings.includes("gzip")) return { bytes: gzip, encoding: "gzip" };
  return { bytes, encoding: undefined };
}

/** Sends the document of a page, undefined for one that says that there is none, or a line of text if the pages are not built. */
export function replyPage(
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer,
  files: WebFiles | undefined,
  page: WebPage | undefined,
  status = 200,
  signInWith: readonly ProviderButton[] = [],
): void {
  if (files === undefined) return response.reply(status, plainText, missingText(request));
  // The browser asks for a few things at a time, in this order: the text takes longest.
  const links = status === 200 && page?.name === "code" ? [...textLinks(request.path)] : [];
  for (const file of page === undefined ? [] : files.filesOf(page)) links.push(linkOfFile(file));
  response.reply(
    status,
    documentHeaders,
    pageDocument(files, links, describeViewer(viewer, signInWith), request.headers.get("cookie")),
  );
}

function linkOfFile(file: string): string {
  return file.endsWith(".css")
    ? `<link rel="stylesheet" crossorigin href="${filesPath}${file}">`
    : `<link rel="modulepreload" crossorigin href="${filesPath}${file}">`;
}

/** The text of the file at this address, which the browser fetches while it loads the scripts. */
function textLinks(path: string): readonly string[] {
  const pagePath = readPagePath(path);
  if (pagePath?.page !== "blob" || pagePath.path === "") return [];
  return [`<link rel="preload" as="fetch" crossorigin href="${escapeHtml(pageTextUrl(pagePath))}">`];
}

/** What the browser needs at first is in the document, so that nothing moves when it arrives. */
function pageDocument(
  files: WebFiles,
  links: readonly string[],
  viewer: PageViewer,
  cookies: string | undefined,
): string {
  const theme = readCookie(cookies, themeCookie);
  const about = escapeHtml(JSON.stringify(viewer));
  return files.document
    .replace(
      '<html lang="en">',
      () => `<html lang="en"${theme === "light" || theme === "dark" ? ` data-theme="${theme}"` : ""}>`,
    )
    .replace('<meta name="trawl-viewer" content="{}"', () => `<meta name="trawl-viewer" content="${about}"`)
    .replace("</head>", () => `${links.join("")}</head>`);
}

function describeViewer({ name, isSiteAdmin, isSignedIn }: Viewer, signInWith: readonly ProviderButton[]): PageViewer {
  const about = { name, isSiteAdmin, isSignedIn, sentMs: new Date().getTime() };
  return signInWith.length === 0 ? about : { ...about, signInWith };
}

function missingText({ headers }: HttpRequest): string {
  return [
    "Trawl searches code in git repositories and streams every match.",
    'Its web pages are missing from this installation: "make build" writes them.',
    "",
    `  curl -N 'http://${headers.get("host") ?? ""}/.api/search/stream?q=TODO'`,
    "",
    "Also here: /healthz, /readyz, /metrics.",
    "",
  ].join("\n");
}
