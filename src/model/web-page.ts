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
  // Every other path is of a repository, except those that begin like a page of the site, and files as they are.
  {
    name: "code",
    path: /^\/(?!\.|-\/|(?:api|contexts|debug|help|organizations|password-reset|search|search-jobs|settings|sign-in|sign-up|site-admin|teams|user|users)(?:\/|$))(?!(?:(?!-\/)[^/]*\/)*-\/(?:raw|settings)(?:\/|$))/,
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
  return webPages.find((page) => page.path.test(path));
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
}
