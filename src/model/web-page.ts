import { readPagePath } from "./page-path.js";

/** Parts of the administration, by the end of their paths; "" is the first. */
export const adminParts = ["", "repositories", "users", "organizations", "configuration", "global-settings"] as const;
export type AdminPart = (typeof adminParts)[number];

export function adminPath(part: AdminPart): string {
  return part === "" ? "/site-admin" : `/site-admin/${part}`;
}

/** Pages of a repository, by what follows `/-/` in their paths; "" is the first. */
const codePages: ReadonlySet<string> = new Set([
  "",
  "tree",
  "blob",
  "commit",
  "commits",
  "compare",
  "branches",
  "tags",
  "stats",
  "code-intelligence",
]);

/** How paths begin that are of no repository. */
const sitePath =
  /^\/(?:api|contexts|debug|help|organizations|password-reset|search|search-jobs|settings|sign-in|sign-up|site-admin|teams|user|users)(?:\/|$)/;

/** Those of them that only have a text. */
const textPath = /^\/(?:help(?:\/|$)|users\/[^/]+$)/;

/**
 * The pages that the browser renders. The daemon sends the same document for each of them, and `src/web/main.tsx` loads
 * the module that shows the page.
 */
export const webPages = [
  { name: "search", path: /^\/(?:search)?$/, module: "search/search-page.tsx", needsCredential: true },
  {
    name: "sign-in",
    path: /^\/(?:sign-in|sign-up|password-reset)$/,
    module: "sign-in/sign-in-page.tsx",
    needsCredential: false,
  },
  {
    name: "account",
    path: /^\/(?:settings|user\/settings(?:\/tokens)?|users\/[^/]+\/settings(?:\/tokens)?)$/,
    module: "account/account-page.tsx",
    needsCredential: true,
  },
  {
    name: "admin",
    path: /^\/site-admin(?:\/|$)/,
    module: "admin/admin-page.tsx",
    needsCredential: true,
  },
  {
    name: "organizations",
    path: /^\/(?:teams(?:\/[^/]+)?|organizations(?:\/invitation\/[0-9]+|\/[^/]+(?:\/settings)?)?)$/,
    module: "organizations/organizations-page.tsx",
    needsCredential: true,
  },
  { name: "jobs", path: /^\/search-jobs$/, module: "jobs/jobs-page.tsx", needsCredential: true },
  { name: "contexts", path: /^\/contexts(?:\/|$)/, module: "contexts/contexts-page.tsx", needsCredential: true },
  {
    name: "console",
    path: /^\/(?:api|debug)\/console$/,
    module: "console/console-page.tsx",
    needsCredential: true,
  },
  { name: "schema", path: /^\/api\/schema$/, module: "console/schema-page.tsx", needsCredential: true },
  // Every other path is of a repository, except those of `sitePath`, and files as they are.
  {
    name: "code",
    path: /^\/(?!\.|-\/)(?!(?:(?!-\/)[^/]*\/)*-\/(?:raw|settings)(?:\/|$))/,
    module: "code/code-page.tsx",
    needsCredential: true,
  },
] as const satisfies readonly WebPageRow[];

interface WebPageRow {
  readonly name: string;
  /** Tested against the path as in a URL, percent-encoded. */
  readonly path: RegExp;
  /** The file in `src/web` that shows the page. */
  readonly module: string;
  /** False for a page that is shown to everyone even on a private instance, such as the sign-in page. */
  readonly needsCredential: boolean;
}

export type WebPageName = (typeof webPages)[number]["name"];
export type WebPage = WebPageRow & { readonly name: WebPageName };

/** The page at this path; undefined if the browser renders none there. */
export function findWebPage(path: string): WebPage | undefined {
  return webPages.find((page) => page.path.test(path) && !(page.name === "code" && sitePath.test(path)));
}

/** Whether nothing can be at this path, whatever the server holds: the page that is shown there only says so. */
export function isMissingPage(path: string): boolean {
  const page = findWebPage(path)?.name;
  if (page === "code") return !codePages.has(readPagePath(path)?.page ?? "");
  if (page === "admin") return !adminParts.some((part) => path === adminPath(part));
  return page === undefined && sitePath.test(path) && !textPath.test(path);
}

/** The cookie with the chosen colours: `light` or `dark`; without it, those of the system. */
export const themeCookie = "trawl-theme";

/** What the document tells about the viewer, as JSON in its element `meta[name=trawl-viewer]`. */
export interface PageViewer {
  /** "" without an account. */
  readonly name: string;
  readonly isSiteAdmin: boolean;
  /** Whether the browser is signed in, so that it can sign out. */
  readonly isSignedIn: boolean;
  /** When the document was sent, by the clock of the server. */
  readonly sentMs: number;
  /** The identity providers with which people sign in; absent on pages that show none. */
  readonly signInWith?: readonly ProviderButton[];
}

/** An identity provider, for a button. */
export interface ProviderButton {
  readonly name: string;
  readonly label: string;
}
