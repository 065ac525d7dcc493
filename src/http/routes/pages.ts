import type { Authenticator } from "../../account/sign-in/authenticator.js";
import type { CommitData } from "../../git/history/commits.js";
import type { RequestContext } from "../../browse/request-context.js";
import { commitSubject, type CommitSource } from "../../browse/git-sources.js";
import type { RepositorySource } from "../../browse/repository-source.js";
import { escapePath, nameOfCloneUrl, repositoryUrl } from "../../browse/urls.js";
import { escapeRegexp } from "../../base/escape-regexp.js";
import { resolveCommit, findRepository, withContext, type ContentServices, type Visit } from "./content.js";
import { admit, refuse, refusePage } from "../access/guard.js";
import { readPagePath, type PagePath } from "./page-path.js";
import type { RawHandler } from "./raw-route.js";
import type { Handler } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/** Commits, branches, tags or people that a page lists. */
const listLengthMax = 1000;

/** The longest difference that a page shows, in UTF-16 units. */
const patchLengthMax = 4 << 20;

type Page = (context: RequestContext, pagePath: PagePath, host: string) => Promise<string>;

/**
 * Answers every URL of a page with what it names, as plain text: people follow links that clients show, and programs
 * look whether a thing is there. What does not exist is 404. In private mode who sends no credential is led to sign in,
 * and learns nothing else.
 */
export function pageHandler(
  authenticator: Pick<Authenticator, "authenticate">,
  services: ContentServices,
  raw: RawHandler,
): Handler {
  return async (request, response) => {
    const { method, path } = request;
    // Clients that sign in by other ways look for them here first: there are none.
    if (path.startsWith("/.") && !path.startsWith("/.api/")) return reply(response, 404, "not found");
    const isRead = method === "GET" || method === "HEAD";
    const open = openPages.get(path);
    if (open !== undefined && isRead) return reply(response, 200, open);
    const pagePath = readPagePath(path);
    const entry = authenticator.authenticate(request);
    if (entry.kind === "refused") {
      const isPage = isRead && pagePath?.page !== "raw" && !path.startsWith("/.");
      return isPage ? refusePage(request, response, entry) : refuse(response, entry);
    }
    if (path.startsWith("/.")) return reply(response, 404, "no route");
    if (!isRead) return response.reply(405, { ...plainText, Allow: "GET, HEAD" }, "method not allowed\n");
    return admit(entry, response, () => sitePage({ request, response, viewer: entry.viewer }, services, raw, pagePath));
  };
}

async function sitePage(
  visit: Visit,
  services: ContentServices,
  raw: RawHandler,
  pagePath: PagePath | undefined,
): Promise<void> {
  const { request, response } = visit;
  if (pagePath === undefined)
    return reply(response, 400, "the path is not UTF-8 in percent-encoding, or holds a zero byte");
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
  // A file's page is its text, and a directory's its names.
  if (pagePath.page === "raw" || pagePath.page === "blob" || pagePath.page === "tree") return raw(visit, pagePath);
  const page = repositoryPages.get(pagePath.page);
  if (page === undefined) return reply(response, 404, `there is no page /-/${pagePath.page}`);
  const host = request.headers.get("host") ?? "";
  await withContext(services, visit, {}, async (context) => reply(response, 200, await page(context, pagePath, host)));
}

const repositoryPages: ReadonlyMap<string, Page> = new Map(
  Object.entries<Page>({
    "": overview,
    commit: async (context, { name, path, revision }) => {
      const repository = findRepository(context, name);
      const commit = await resolveCommit(context, repository, path || revision);
      return commitText(commit, await context.git.commitData(commit));
    },
    commits: async (context, { name, revision, path }) => {
      const commit = await resolveCommit(context, findRepository(context, name), revision);
      const history = {
        from: [commit.oid],
        without: [],
        messageText: "",
        author: "",
        path,
        follow: false,
        after: "",
        before: "",
        skipCount: 0,
        countMax: listLengthMax,
      };
      const { commits } = await context.git.run({
        kind: "list-history",
        repositoryId: commit.repository.record.id,
        history,
      });
      return lines(
        commits.map(
          ({ oid, author, message }) => `${oid.slice(0, 12)} ${author.date} ${author.name}: ${commitSubject(message)}`,
        ),
      );
    },
    branches: (context, { name }) => refsText(context, findRepository(context, name), "refs/heads/"),
    tags: (context, { name }) => refsText(context, findRepository(context, name), "refs/tags/"),
    compare: comparison,
    stats: async (context, { name, revision }) => {
      const commit = await resolveCommit(context, findRepository(context, name), revision);
      const { contributors } = await context.git.run({
        kind: "list-contributors",
        repositoryId: commit.repository.record.id,
        from: [commit.oid],
        without: [],
        path: "",
        after: "",
        skipCount: 0,
        countMax: listLengthMax,
      });
      return lines(contributors.map(({ commitCount, name: person, email }) => `${commitCount} ${person} <${email}>`));
    },
    settings: async (context, { name }) =>
      `${findRepository(context, name).name} is changed by its entry in the configuration file, or by \`trawl repo set\`.`,
  }),
);

async function overview(context: RequestContext, { name, revision }: PagePath, host: string): Promise<string> {
  const repository = findRepository(context, name);
  const commit = await resolveCommit(context, repository, revision).catch(() => null);
  if (commit === null && revision !== "") await resolveCommit(context, repository, revision);
  const { description, defaultBranch, indexedBranches } = repository.record;
  const url = `http://${host}${repositoryUrl(name, revision)}`;
  const filter = `repo:^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$${revision === "" ? "" : `@${revision}`}`;
  return lines([
    `repository      ${name}`,
    ...(description === "" ? [] : [`description     ${description}`]),
    `default branch  ${defaultBranch === "" ? "none yet" : defaultBranch}`,
    `commit          ${commit?.oid ?? "none yet"}`,
    `indexed         ${indexedBranches.map((branch) => branch.name).join(", ") || "nothing yet"}`,
    "",
    `search    curl -N 'http://${host}/.api/search/stream?${new URLSearchParams({ q: `${filter} TODO` })}'`,
    `files     curl '${url}/-/raw/'`,
    `archive   curl -O -J '${url}/-/raw/?format=zip'`,
  ]);
}

function commitText({ oid }: CommitSource, { parents, author, committer, message }: CommitData): string {
  return lines([
    `commit    ${oid}`,
    ...parents.map((parent) => `parent    ${parent}`),
    `author    ${author.name} <${author.email}> ${author.date}`,
    `committer ${committer.name} <${committer.email}> ${committer.date}`,
    "",
    message,
  ]);
}

async function refsText(context: RequestContext, repository: RepositorySource, prefix: string): Promise<string> {
  const { refs } = await context.git.run({
    kind: "list-refs",
    repositoryId: repository.record.id,
    prefixes: [prefix],
    nameText: "",
    order: "newest",
    countMax: listLengthMax,
  });
  return lines(refs.map(({ name, commit, oid }) => `${commit ?? oid} ${name.slice(prefix.length)}`));
}

/**
 * `BASE...HEAD`, either of them empty for the default branch: what head changed since the newest commit that both have.
 */
async function comparison(context: RequestContext, { name, path }: PagePath): Promise<string> {
  const repository = findRepository(context, name);
  const [baseText = "", headText = ""] = path.split(/\.{2,3}/);
  const [base, head] = await Promise.all([
    resolveCommit(context, repository, baseText),
    resolveCommit(context, repository, headText),
  ]);
  const repositoryId = repository.record.id;
  const { mergeBase } = await context.git.run({
    kind: "compare-commits",
    repositoryId,
    base: base.oid,
    head: head.oid,
  });
  const { patch } = await context.git.run({
    kind: "read-diff",
    repositoryId,
    base: mergeBase ?? base.oid,
    head: head.oid,
    paths: [],
    skipCount: 0,
    countMax: 0,
    withPatch: true,
  });
  return patch.length <= patchLengthMax
    ? patch
    : `${patch.slice(0, patchLengthMax)}\n(The rest of ${patch.length} characters is left out.)\n`;
}

/** Pages of the instance that are no repository's. */
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

/** Where an editor's plugin wants to go: to lines of a file, or to a search. Rows and columns come counted from 0. */
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
  return `${repositoryUrl(name, isDefault ? "" : typed)}/-/blob/${escapePath(of("file"))}${lineQuery(of)}`;
}

function lineQuery(of: (name: string) => string): string {
  if (!/^\d+$/.test(of("start_row"))) return "";
  const position = (row: string, column: string): string => `${Number(row) + 1}:${(Number(column) || 0) + 1}`;
  const start = position(of("start_row"), of("start_col"));
  const end = /^\d+$/.test(of("end_row")) ? position(of("end_row"), of("end_col")) : start;
  return `?L${start === end ? start : `${start}-${end}`}`;
}

/**
 * The name of the repository with this clone URL: one that is fetched from there, or whose name its host and path are.
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

/** What is said at each other page of the site, by the start of its path. */
const sitePages: readonly (readonly [path: RegExp, text: string])[] = [
  [/^\/contexts(\/|$)/, "Search contexts: ask GraphQL for searchContexts, or searchContextBySpec."],
  [/^\/search-jobs$/, "Search jobs are not available yet."],
  [/^\/site-admin(\/|$)/, "The site is administered by the trawl command, its configuration file, and GraphQL."],
  [
    /^\/(users\/[^/]+|user|settings|organizations\/[^/]+|teams\/[^/]+)(\/|$)/,
    "Users, organisations, teams, tokens and settings: ask GraphQL, or use the trawl command.",
  ],
  [/^\/(api|debug)\/console$/, "Send GraphQL requests by POST to /.api/graphql; it describes itself by introspection."],
  [
    /^\/help(\/|$)/,
    "The documents are in the folder docs of the program: query-syntax.md tells what a query can hold, clients.md which clients work, " +
      "README.md how to run it.",
  ],
];

function findSitePage(request: HttpRequest): string | undefined {
  if (request.path === "/search" || request.path === "/search/console") return searchText(request);
  return sitePages.find(([path]) => path.test(request.path))?.[1];
}

/** How to get what the page would show. */
function searchText({ query, headers }: HttpRequest): string {
  const given = new URLSearchParams(query);
  const text = `${given.get("q") ?? ""}${given.get("case") === "yes" ? " case:yes" : ""}`.trim();
  const parameters = new URLSearchParams({
    q: text === "" ? "TODO" : text,
    ...(given.has("patternType") ? { t: given.get("patternType") ?? "" } : {}),
  });
  return lines([
    text === ""
      ? "Searches are answered as a stream of events:"
      : `The search for ${text} is answered as a stream of events:`,
    "",
    `  curl -N 'http://${headers.get("host") ?? ""}/.api/search/stream?${parameters.toString().replace(/'/g, "%27")}'`,
  ]);
}

function lines(texts: readonly string[]): string {
  return texts.join("\n");
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
