import { errorMessage, TrawlError } from "../base/errors.js";
import { isOid } from "../git/objects/refs.js";
import type { Repository } from "../model/repository.js";
import { operatorViewer } from "../model/viewer.js";
import type { RequestContext } from "./request-context.js";
import { toRepositorySource } from "./repository-source.js";

/** A commit that a search must cover. */
export interface AwaitedCommit {
  readonly repository: string;
  /** In full. */
  readonly oid: string;
}

const abbreviatedLength = 12;

/** The id in lower case; undefined if it is not the full id of a commit. */
export function readCommitId(text: string): string | undefined {
  const oid = text.toLowerCase();
  return isOid(oid) ? oid : undefined;
}

/**
 * Resolves when an indexed branch of the repository contains the commit. If none does, the repository is fetched, as a
 * webhook does. Rejects if the commit is not searchable afterwards, or when the time of the request is over. The operator
 * learns the reason; everybody else only that the commit is not covered, because git's messages contain the URL of the
 * remote and what it says.
 */
export async function waitForCommit({ repository: name, oid }: AwaitedCommit, context: RequestContext): Promise<void> {
  const repository = requireRepository(name, context);
  if (await wasCovered(repository, oid, context)) return;
  const watch = watchCommit(name, oid, context);
  try {
    if (context.viewer === operatorViewer) await fetchForOperator(name, oid, watch.indexed, context);
    else if (!(await fetchForOthers(repository, oid, watch.indexed, context))) throw notCovered(name, oid);
  } finally {
    watch.end();
  }
}

function notCovered(name: string, oid: string): TrawlError {
  return new TrawlError("not-found", `commit ${oid} of ${name} is not covered`);
}

/** Rejects with `not-found`, `git`, or `cancelled`. */
async function fetchForOperator(
  name: string,
  oid: string,
  indexed: Promise<void>,
  context: RequestContext,
): Promise<void> {
  try {
    const synced = context.services.repositoryCommands.sync(name);
    // Nobody else looks at it when the commit is indexed earlier, by a sync that was running.
    synced.catch(() => undefined);
    await context.beforeEnd(Promise.race([indexed, synced]), `the fetch of ${name} for commit ${oid}`);
  } catch (error) {
    if (error instanceof TrawlError && error.code === "cancelled") throw error;
    throw new TrawlError("git", `${name} could not be fetched for commit ${oid}: ${errorMessage(error)}`);
  }
  const repository = requireRepository(name, context);
  if (await isCovered(repository, oid, context)) return;
  throw new TrawlError(
    "not-found",
    `no indexed branch of ${name} contains commit ${oid} after a fetch; indexed: ${describeBranches(repository)}`,
  );
}

/** Whether the commit is covered in the end. */
async function fetchForOthers(
  { id, name }: Repository,
  oid: string,
  indexed: Promise<void>,
  context: RequestContext,
): Promise<boolean> {
  const isCoveredBy = async (): Promise<boolean> => {
    const repository = context.repositories.byName(name);
    return repository !== undefined && (await isCovered(repository, oid, context));
  };
  const isWanted = (): boolean => !context.isCancelled;
  const brought = context.services.commitFetches.bring({ id, name }, isCoveredBy, isWanted, context.leftMs);
  // When the commit is indexed earlier, or the time is over, nobody looks at it any more.
  brought.catch(() => undefined);
  try {
    await context.beforeEnd(Promise.race([indexed, brought]), "the wait");
    return await isCoveredBy();
  } catch (error) {
    if (error instanceof TrawlError && error.code !== "internal") return false;
    throw error;
  }
}

function requireRepository(name: string, { repositories }: RequestContext): Repository {
  const repository = repositories.byName(name);
  if (repository !== undefined) return repository;
  throw new TrawlError("not-found", `there is no repository ${JSON.stringify(name)}`);
}

/** Without starting git for a commit that the mirror does not have, which is the usual one to wait for. */
async function wasCovered(repository: Repository, oid: string, context: RequestContext): Promise<boolean> {
  const { indexedBranches, id } = repository;
  if (indexedBranches.some(({ commit }) => commit === oid)) return true;
  if (indexedBranches.length === 0) return false;
  const { isStored } = await context.git.run({ kind: "has-commit", repositoryId: id, oid });
  return isStored && (await isCovered(repository, oid, context));
}

/** Whether the commit is that of an indexed branch, or one of its ancestors. */
async function isCovered(repository: Repository, oid: string, { git }: RequestContext): Promise<boolean> {
  const tips = repository.indexedBranches.map(({ commit }) => commit);
  if (tips.includes(oid)) return true;
  if (tips.length === 0 || (await git.commit(toRepositorySource(repository), oid)) === null) return false;
  for (const tip of tips) {
    const { mergeBase } = await git.run({ kind: "compare-commits", repositoryId: repository.id, base: oid, head: tip });
    if (mergeBase === oid) return true;
  }
  return false;
}

/** `indexed` resolves when a branch at the commit becomes searchable, or when the response is no longer wanted. */
function watchCommit(name: string, oid: string, context: RequestContext) {
  const { watchers } = context.services.catalog;
  let end: () => void = () => undefined;
  const indexed = new Promise<void>((resolve) => {
    const watcher = (repository: Repository): void => {
      if (repository.name === name && repository.indexedBranches.some(({ commit }) => commit === oid)) resolve();
    };
    watchers.add(watcher);
    const forget = context.onCancel(resolve);
    end = () => {
      watchers.delete(watcher);
      forget();
    };
  });
  return { indexed, end };
}

function describeBranches({ indexedBranches }: Repository): string {
  if (indexedBranches.length === 0) return "nothing";
  return indexedBranches.map(({ name, commit }) => `${name} at ${commit.slice(0, abbreviatedLength)}`).join(", ");
}
