import { TrawlError } from "../../base/errors.js";
import { decodePath, shownPath } from "../../base/path-text.js";
import { readBlame } from "../../browse/blame-source.js";
import { offsetPageInfo, pageCountMax, pageLength, skipCount } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import {
  BlobSource,
  CommitSource,
  entrySource,
  signatureSource,
  commitSubject,
  TreeSource,
} from "../../browse/git-sources.js";
import { HighlightSource } from "../../browse/highlight-source.js";
import type { ResolversOf } from "./resolver-types.js";
import { blobOwnership } from "./ownership.js";
import { symbolFields, symbolsBelow } from "./symbols.js";
import { unfilteredHistory } from "../../protocol/git-messages.js";

/** Limit on the entries of one listing. */
const entriesMax = 20_000;

export const tree: ResolversOf<"GitTree"> = {
  path: ({ path }) => shownPath(path),
  name: ({ name }) => shownPath(name),
  directories: async (source, { first, recursive }, context) =>
    (await listing(source, first, recursive, ["directory"], context)).filter((entry) => entry instanceof TreeSource),
  files: async (source, { first, recursive }, context) =>
    (await listing(source, first, recursive, ["file", "submodule"], context)).filter(
      (entry) => entry instanceof BlobSource,
    ),
  entries: async (source, { first, recursive, ancestors }, context) => {
    const own = await listing(source, first, recursive, [], context);
    if (ancestors !== true || source.isRoot) return own;
    const above = await Promise.all(parentTrees(source).map((parent) => listing(parent, first, false, [], context)));
    return [...above.flat(), ...own];
  },
  isSingleChild: (source, _, context) => isSingleChild(source, context),
  history: (source, args, context) => pathHistory(source, args, context),
  lastCommits: async ({ commit, path }, { after }, { git }) => {
    const skipped = skipCount(after);
    const { found, left } = await git.lastCommits(commit, await git.exactPath(commit, path), skipped);
    const shown = found.slice(0, pageCountMax);
    return {
      nodes: shown.map(({ name, commit: oid }) => ({
        name: shownPath(decodePath(Buffer.from(name, "latin1"))),
        commit: new CommitSource(commit.repository, oid, undefined),
      })),
      pageInfo: offsetPageInfo(skipped, shown.length, shown.length < found.length || left.length > 0),
    };
  },
  symbols: ({ commit, path }, page, context) => symbolsBelow(commit, path, page, context),
};

export const blob: ResolversOf<"GitBlob"> = {
  path: ({ path }) => shownPath(path),
  name: ({ name }) => shownPath(name),
  content: async (source, { startLine, endLine }, { git }) =>
    (await git.file(source, { kind: "text" }, startLine ?? undefined, endLine ?? undefined)).text,
  byteSize: async (source, _, { git }) => {
    const { byteCount } = await git.entryOf(source);
    return byteCount < 0 ? null : byteCount;
  },
  totalLines: async (source, _, { git }) =>
    (await git.file(source, { kind: "attributes" }, undefined, undefined)).lineCount,
  binary: async (source, _, { git }) => (await git.file(source, { kind: "attributes" }, undefined, undefined)).isBinary,
  richHTML: async (source, { startLine, endLine }, { git }) =>
    (await git.file(source, { kind: "markdown" }, startLine ?? undefined, endLine ?? undefined)).text,
  blame: async (source, args, context) => {
    const { startLine, endLine, ignoreWhitespace } = args;
    if (startLine < 1 || endLine < startLine)
      throw new TrawlError(
        "bad-request",
        `lines ${startLine} to ${endLine} is not a valid range: line numbers start at 1`,
      );
    const lines = await readBlame(
      source.commit,
      {
        path: await context.git.exactPath(source.commit, source.path),
        startLine,
        endLine,
        ignoreWhitespace: ignoreWhitespace ?? false,
      },
      context,
    );
    return lines.map(({ commit, data, path, previous, ...range }) => ({
      ...range,
      rev: commit.oid,
      author: signatureSource(data.author),
      message: commitSubject(data.message),
      commit,
      filename: shownPath(path),
      previousRev: previous?.commit ?? null,
      previousFilename: previous === undefined ? null : shownPath(previous.path),
    }));
  },
  highlight: async (source, { startLine, endLine, format, highlightLongLines, disableTimeout }, { git }) => {
    const form =
      format === "HTML_PLAINTEXT"
        ? { kind: "plain-html" as const }
        : { kind: "html" as const, longLines: highlightLongLines ?? false, patient: disableTimeout };
    const file = await git.file(source, form, startLine ?? undefined, endLine ?? undefined);
    if (file.isBinary) throw new TrawlError("bad-request", "cannot render binary file");
    return new HighlightSource(file.text, file.aborted);
  },
  submodule: async (source, _, { git }) => {
    const entry = await git.entryOf(source);
    if (entry.kind !== "submodule") return null;
    const { urls } = await git.run({
      kind: "read-submodules",
      repositoryId: source.repository.record.id,
      commit: source.commit.oid,
    });
    return { url: urls.get(entry.path) ?? "", commit: entry.oid, path: shownPath(entry.path) };
  },
  isSingleChild: (source, _, context) => isSingleChild(source, context),
  lfs: async (source, _, { git }) => {
    const entry = await git.entryOf(source);
    if (entry.isLfs === true) return { byteSize: String(entry.byteCount) };
    if (entry.kind !== "file" || entry.byteCount < 0 || entry.byteCount > lfsBytesMax) return null;
    const size = lfsPointer.exec((await git.file(source, { kind: "text" }, undefined, undefined)).text)?.[1];
    return size === undefined ? null : { byteSize: size };
  },
  history: (source, args, context) => pathHistory(source, args, context),
  languages: async (source, _, { git }) => {
    const { language } = await git.file(source, { kind: "attributes" }, undefined, undefined);
    return language === "" ? [] : [language];
  },
  contentType: async (source, _, { git }) =>
    (await git.file(source, { kind: "attributes" }, undefined, undefined)).isBinary
      ? "application/octet-stream"
      : "text/plain; charset=utf-8",
  ...blobOwnership,
  ...symbolFields,
};

export const highlighted: ResolversOf<"HighlightedFile"> = {
  lineRanges: (source, { ranges }) => {
    const rows = source.rows();
    return ranges.map(({ startLine, endLine }) => rows.slice(Math.max(0, startLine), Math.max(0, endLine)));
  },
};

const lfsBytesMax = 1024;
const lfsPointer = /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:.*\n)*?size (\d+)\n/;

async function listing(
  { commit, path }: TreeSource,
  first: number | null | undefined,
  recursive: boolean | null,
  entryKinds: readonly ("directory" | "file" | "submodule")[],
  { git }: RequestContext,
): Promise<(TreeSource | BlobSource)[]> {
  const countMax = Math.min(first ?? entriesMax, entriesMax);
  if (countMax < 0) throw new TrawlError("bad-request", `first: ${countMax} is negative`);
  const { entries, totalCount } = await git.run({
    kind: "list-directory",
    repositoryId: commit.repository.record.id,
    lfsTree: commit.repository.record.lfsTree,
    commit: commit.oid,
    path,
    recursive: recursive ?? false,
    entryKinds,
    countMax,
  });
  const siblingCount = recursive === true || entryKinds.length > 0 ? undefined : totalCount;
  return entries.map((entry) => entrySource(commit, entry, siblingCount));
}

/** The directories that contain it, the root first. */
function parentTrees({ commit, path }: TreeSource): TreeSource[] {
  const parts = path.split("/");
  return parts.map((_, at) => new TreeSource(commit, parts.slice(0, at).join("/"), undefined));
}

async function isSingleChild(
  { commit, path, siblingCount }: TreeSource | BlobSource,
  { git }: RequestContext,
): Promise<boolean> {
  if (path === "") return false;
  if (siblingCount !== undefined) return siblingCount === 1;
  const parent = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  const { totalCount } = await git.run({
    kind: "list-directory",
    repositoryId: commit.repository.record.id,
    lfsTree: commit.repository.record.lfsTree,
    commit: commit.oid,
    path: parent,
    recursive: false,
    entryKinds: [],
    countMax: 1,
  });
  return totalCount === 1;
}

async function pathHistory(
  { commit, path }: TreeSource | BlobSource,
  { first, after }: { readonly first?: number | null; readonly after?: string | null },
  { git }: RequestContext,
) {
  const skipped = skipCount(after);
  const countMax = pageLength(first);
  const commits = await git.history(commit.repository, {
    ...unfilteredHistory,
    from: [commit.oid],
    path: await git.exactPath(commit, path),
    skipCount: skipped,
    countMax: countMax + 1,
  });
  const nodes = commits
    .slice(0, countMax)
    .map(({ oid }) => ({ commit: new CommitSource(commit.repository, oid, undefined), path: shownPath(path) }));
  return { nodes, pageInfo: offsetPageInfo(skipped, nodes.length, commits.length > countMax) };
}
