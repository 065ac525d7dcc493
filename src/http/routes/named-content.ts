import { TrawlError } from "../../base/errors.js";
import { shownPath } from "../../base/path-text.js";
import type { EntryData } from "../../git/objects/directories.js";
import type { RequestContext } from "../../browse/request-context.js";
import { CommitSource } from "../../browse/git-sources.js";
import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";
import type { RequestOrigin } from "../../model/request-origin.js";
import type { Viewer } from "../../model/viewer.js";
import { retryAfter } from "../access/concurrency.js";
import type { PagePath } from "../../model/page-path.js";
import type { Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/** Services for showing repositories. */
export interface ContentServices {
  /** Creates the reads of one request of the viewer, from this address, for the repositories that it may see. */
  readonly contextFor: (viewer: Viewer, origin: RequestOrigin) => RequestContext;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

/** A request, its response, and its viewer. */
export interface Visit {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly viewer: Viewer;
}

/** A commit, or the entry at a path in one. */
export interface FoundEntry {
  readonly commit: CommitSource;
  readonly entry: EntryData;
}

/**
 * The repository with this name. Throws `not-found`, with the same message for a repository hidden from the viewer as
 * for one that does not exist.
 */
export async function findRepository(context: RequestContext, name: string): Promise<RepositorySource> {
  const record = await context.findRepository(name);
  if (record !== undefined) return toRepositorySource(record);
  throw new TrawlError("not-found", `there is no repository named ${JSON.stringify(name)}, or you may not see it`);
}

/** The commit of a revision, "" for the default branch. Throws `not-found`. */
export async function resolveCommit(
  context: RequestContext,
  repository: RepositorySource,
  revision: string,
): Promise<CommitSource> {
  if (!repository.cloned)
    throw new TrawlError("not-found", `${repository.name} is being cloned; try again in a moment`);
  const commit = await context.git.resolve(repository, revision);
  if (commit !== null) return new CommitSource(repository, commit, revision === "" ? undefined : revision);
  throw new TrawlError(
    "not-found",
    revision === ""
      ? `${repository.name} has no commits yet`
      : `${repository.name} has no revision ${JSON.stringify(revision)}`,
  );
}

/** The entry at the path of a URL. Throws `not-found`. */
export async function findEntry(context: RequestContext, { name, revision, path }: PagePath): Promise<FoundEntry> {
  const repository = await findRepository(context, name);
  const commit = await resolveCommit(context, repository, revision);
  const entry = await context.git.entry(commit, path);
  if (entry !== null) return { commit, entry };
  throw new TrawlError(
    "not-found",
    `there is nothing at ${JSON.stringify(shownPath(path))} in ${repository.name} at commit ${commit.oid}`,
  );
}

/**
 * Runs `answer` with the reads of one request. They end when the client disconnects; an expected error is answered with
 * its status and a line of text.
 */
export async function withContext(
  services: ContentServices,
  { request, response, viewer }: Visit,
  headers: Headers,
  answer: (context: RequestContext) => Promise<void>,
): Promise<void> {
  const context = services.contextFor(viewer, request);
  response.onClosed(() => context.cancel());
  try {
    await answer(context);
  } catch (error) {
    if (response.closed) return;
    if (!(error instanceof TrawlError) || error.code === "internal") throw error;
    // 499 is for logs only: a client that receives a status has not disconnected.
    const status = error.code === "cancelled" ? 503 : error.httpStatus;
    response.replyError(status, error.code, error.message, {
      ...headers,
      ...(status === 503 || status === 429 ? retryAfter : {}),
    });
  }
}
