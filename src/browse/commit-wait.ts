import { monotonicMs, sleep } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { isOid } from "../git/objects/refs.js";
import type { Repository } from "../model/repository.js";
import type { PartitionVersion } from "../model/search-request.js";
import { operatorViewer } from "../model/viewer.js";
import type { RepositoryHolder } from "../search/source/search-fleet.js";
import { refusedHere } from "./commit-fetches.js";
import type { AwaitedCommit } from "./mirror-messages.js";
import type { RequestContext } from "./request-context.js";
import { toRepositorySource } from "./repository-source.js";

const abbreviatedLength = 12;

/** The first pause before the owner is asked again, or it is looked whether this node has its changes, and the longest one. */
const pauseMsMin = 20;
const pauseMsMax = 500;

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
 *
 * In a fleet, the node that fetches the repository is asked, and then this one waits until it has the same changes, if it has a copy. While
 * there is no such node, or it changes, it is tried again; rejects with `overloaded` or `conflict` if that lasts as long as the request
 * may. Resolves with what a search needs to see the commit, wherever it is made; undefined on a single host.
 */
export async function waitForCommit(
  commit: AwaitedCommit,
  context: RequestContext,
): Promise<PartitionVersion | undefined> {
  return await whileRefused(() => waitAtOwner(commit, context), context);
}

/**
 * Calls `ask` again, after a pause, while it is refused because nobody can be asked, as long as `mayTry` says so and the request goes on.
 * Rejects with the last error.
 */
export async function whileRefused<T>(
  ask: () => Promise<T>,
  context: RequestContext,
  mayTry: () => boolean = () => true,
): Promise<T> {
  const pauses = makePauses(context);
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const refusal = refusedHere(error);
      if (refusal === undefined || refusal.code === "shutting-down" || !mayTry() || !(await pauses.next())) throw error;
    }
  }
}

async function waitAtOwner(commit: AwaitedCommit, context: RequestContext): Promise<PartitionVersion | undefined> {
  const { repository: name, oid } = commit;
  const {
    services: { catalog, mirrors, searcher },
    repositories,
  } = context;
  const place = searcher.fleet?.findPlace(name);
  const partition = place?.partition;
  const here = (): PartitionVersion | undefined =>
    partition === undefined ? undefined : { partition, version: catalog.positionIn(partition).version };
  const known = repositories.byName(name);
  if (place?.isHere === true && known !== undefined && isTip(known, oid)) return here();
  const owner = await findOwner(name, context);
  if (owner === undefined) {
    await waitForCommitHere(commit, context);
    return here();
  }
  const { version } = await mirrors.askOwner(owner, { kind: "wait", commit }, context.readLimits);
  if (partition === undefined) return undefined;
  await waitForVersion(name, version, `commit ${oid} of ${name} is indexed`, context);
  return { partition, version };
}

/**
 * Waits until this node has so many changes of the partition of the repository, unless it has no copy of it: then searches are asked of
 * those that have. `done` is a sentence for the error. Rejects with `overloaded` after `waitMs`, or when the time of the request is over.
 */
export async function waitForVersion(
  name: string,
  version: number,
  done: string,
  context: RequestContext,
  waitMs = Infinity,
): Promise<void> {
  const { catalog, searcher } = context.services;
  const endMs = monotonicMs() + waitMs;
  const pauses = makePauses(context);
  for (;;) {
    const place = searcher.fleet?.findPlace(name);
    if (place?.isHere !== true || catalog.positionIn(place.partition).version >= version) return;
    if (monotonicMs() >= endMs || !(await pauses.next()))
      throw new TrawlError("overloaded", `${done}, and this node does not have that change yet: try again in a moment`);
  }
}

/** The node that fetches the repository, if it is another one. Rejects with `overloaded` if that is not known. */
export async function findOwner(name: string, context: RequestContext): Promise<RepositoryHolder | undefined> {
  const { fleet } = context.services.searcher;
  const owner = fleet?.findOwner(name);
  if (owner !== undefined || fleet === undefined || fleet.findPlace(name) !== undefined) return owner;
  // Where each node has repositories of its own, only their ids say where they are.
  const known = await context.findRepository(name);
  return known && fleet.findOwner(known.id);
}

/** `next` resolves after a pause, with whether the request goes on. Each pause is twice as long as the one before. */
function makePauses(context: RequestContext): { next(): Promise<boolean> } {
  let pauseMs = pauseMsMin;
  const next = async (): Promise<boolean> => {
    const end = new AbortController();
    const forget = context.onCancel(() => end.abort());
    await sleep(Math.min(pauseMs, context.leftMs), end.signal);
    forget();
    pauseMs = Math.min(pauseMsMax, 2 * pauseMs);
    return !context.isOver;
  };
  return { next };
}

/** The same, of a repository that this node fetches itself. Rejects with `conflict` or `overloaded` if it does not any more. */
export async function waitForCommitHere(
  { repository: name, oid }: AwaitedCommit,
  context: RequestContext,
): Promise<void> {
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

/** Rejects with `not-found`, `git`, `cancelled`, or why this node does not fetch. */
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
    if (refusedHere(error) !== undefined || (error instanceof TrawlError && error.code === "cancelled")) throw error;
    throw new TrawlError("git", `${name} could not be fetched for commit ${oid}: ${errorMessage(error)}`);
  }
  const repository = requireRepository(name, context);
  if (await isCovered(repository, oid, context)) return;
  throw new TrawlError(
    "not-found",
    `no indexed branch of ${name} contains commit ${oid} after a fetch; indexed: ${describeBranches(repository)}`,
  );
}

/** Whether the commit is covered in the end. Rejects with why this node does not fetch. */
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
    if (error instanceof TrawlError && error.code !== "internal" && refusedHere(error) === undefined) return false;
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
  if (isTip(repository, oid)) return true;
  if (indexedBranches.length === 0) return false;
  const { isStored } = await context.git.run({ kind: "has-commit", repositoryId: id, oid });
  return isStored && (await isCovered(repository, oid, context));
}

function isTip({ indexedBranches }: Repository, oid: string): boolean {
  return indexedBranches.some(({ commit }) => commit === oid);
}

/** Whether the commit is that of an indexed branch, or one of its ancestors. */
async function isCovered(repository: Repository, oid: string, { git }: RequestContext): Promise<boolean> {
  if (isTip(repository, oid)) return true;
  const tips = repository.indexedBranches.map(({ commit }) => commit);
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
      if (repository.name === name && isTip(repository, oid)) resolve();
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
