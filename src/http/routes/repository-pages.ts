import { escapeRegexp } from "../../base/text.js";
import type { CommitData } from "../../git/history/commits.js";
import type { RequestContext } from "../../browse/request-context.js";
import { commitSubject, type CommitSource } from "../../browse/git-sources.js";
import { repositoryUrl } from "../../browse/urls.js";
import { resolveCommit, findRepository } from "./named-content.js";
import type { PagePath } from "../../model/page-path.js";
import { unfilteredHistory } from "../../protocol/git-messages.js";

/** Commits, branches, tags or people that a page lists. */
const listLengthMax = 1000;

/** The longest difference that a page shows, in UTF-16 units. */
const patchLengthMax = 4 << 20;

type Page = (context: RequestContext, pagePath: PagePath, host: string) => Promise<string>;

/** Pages of a repository, by the word after `/-/`. */
export const repositoryPages: ReadonlyMap<string, Page> = new Map(
  Object.entries<Page>({
    "": overview,
    commit: async (context, { name, path, revision }) => {
      const repository = await findRepository(context, name);
      const commit = await resolveCommit(context, repository, path || revision);
      return commitText(commit, await context.git.commitData(commit));
    },
    commits: async (context, { name, revision, path }) => {
      const commit = await resolveCommit(context, await findRepository(context, name), revision);
      const exact = await context.git.exactPath(commit, path);
      const history = { ...unfilteredHistory, from: [commit.oid], path: exact, countMax: listLengthMax };
      const commits = await context.git.history(commit.repository, history);
      return lines(
        commits.map(
          ({ oid, author, message }) => `${oid.slice(0, 12)} ${author.date} ${author.name}: ${commitSubject(message)}`,
        ),
      );
    },
    branches: (context, { name }) => refsText(context, name, "refs/heads/"),
    tags: (context, { name }) => refsText(context, name, "refs/tags/"),
    compare: comparison,
    stats: async (context, { name, revision }) => {
      const commit = await resolveCommit(context, await findRepository(context, name), revision);
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
    "code-intelligence": async (context, { name }) =>
      lines(
        context.services.precise
          .list((await findRepository(context, name)).record.id)
          .map(({ commit, root, indexer, state, failure }) =>
            [commit.slice(0, 12), state, indexer, root, failure].filter((part) => part !== "").join(" "),
          ),
      ),
    settings: async (context, { name }) =>
      `${(await findRepository(context, name)).name} is changed by its entry in the configuration file, or by \`trawl repo set\`.`,
  }),
);

async function overview(context: RequestContext, { name, revision }: PagePath, host: string): Promise<string> {
  const repository = await findRepository(context, name);
  const commit = await resolveCommit(context, repository, revision).catch(() => null);
  if (commit === null && revision !== "") await resolveCommit(context, repository, revision);
  const { description, defaultBranch, indexedBranches } = repository.record;
  const url = `http://${host}${repositoryUrl(name, revision)}`;
  const filter = `repo:^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`;
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

async function refsText(context: RequestContext, name: string, prefix: string): Promise<string> {
  const repository = await findRepository(context, name);
  const { refs } = await context.git.run({
    kind: "list-refs",
    repositoryId: repository.record.id,
    prefixes: [prefix],
    nameText: "",
    order: "newest",
    skipCount: 0,
    countMax: listLengthMax,
  });
  return lines(refs.map(({ name: ref, commit, oid }) => `${commit ?? oid} ${ref.slice(prefix.length)}`));
}

/** For `BASE...HEAD`, what head changed since the newest common ancestor. Empty names mean the default branch. */
async function comparison(context: RequestContext, { name, path }: PagePath): Promise<string> {
  const repository = await findRepository(context, name);
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
    ignoreWhitespace: false,
    skipCount: 0,
    countMax: 0,
    withPatch: true,
  });
  return patch.length <= patchLengthMax
    ? patch
    : `${patch.slice(0, patchLengthMax)}\n(The rest of ${patch.length} characters is left out.)\n`;
}

export function lines(texts: readonly string[]): string {
  return texts.join("\n");
}
