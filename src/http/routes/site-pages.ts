import type { HttpRequest } from "../server/request.js";

/** Paths of pages that need no credential. */
export const openPages: ReadonlyMap<string, string> = new Map(
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

export function findSitePage(request: HttpRequest): string | undefined {
  return sitePages.find(([path]) => path.test(request.path))?.[1];
}
