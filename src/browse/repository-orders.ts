import { monotonicMs } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import { findOwner, waitForVersion, whileRefused } from "./commit-wait.js";
import type { RepositoryOrder } from "./mirror-messages.js";
import type { RequestContext } from "./request-context.js";

/** While nobody can be asked, or this node does not get the result, it is waited for this long: who gives an order would rather know. */
const tryMs = 15_000;

/**
 * Has a repository fetched, or indexed or cloned anew, by the node that does so, whichever that is. An order that waits resolves when the
 * result can be searched here, and at the latest when the request may not last any longer: what was begun goes on. Rejects with `not-found` if
 * the viewer sees no such repository, with `forbidden` if it may not give the order, with `overloaded` or `conflict` if nobody can be asked, and
 * with the error of the sync.
 */
export async function orderRepository(order: RepositoryOrder, context: RequestContext): Promise<void> {
  const endMs = monotonicMs() + tryMs;
  const mayTry = (): boolean => context.services.searcher.fleet !== undefined && monotonicMs() < endMs;
  return await whileRefused(() => orderAtOwner(order, context), context, mayTry);
}

async function orderAtOwner(order: RepositoryOrder, context: RequestContext): Promise<void> {
  const owner = await findOwner(order.repository, context);
  if (owner === undefined) return await orderHere(order, context);
  const { version } = await context.services.mirrors.askOwner(owner, { kind: "order", order }, context.readLimits);
  // Longer than it is tried again: what has been carried out is not ordered once more.
  if (order.waits) await waitForVersion(order.repository, version, `${order.repository} is fetched`, context, tryMs);
}

/** The same, of a repository that this node fetches itself: it decides whether the viewer may. */
export async function orderHere(
  { repository: name, kind, waits, acceptsLoss }: RepositoryOrder,
  { services, repositories, viewer }: RequestContext,
): Promise<void> {
  const { repositoryCommands } = services;
  // Whoever sees a repository may have it fetched, and nothing else.
  if (!viewer.isSiteAdmin && (kind !== "fetch" || waits || acceptsLoss))
    throw new TrawlError("forbidden", "must be site admin");
  if (waits) {
    await repositoryCommands.sync(name, acceptsLoss);
    return;
  }
  const found = repositories.byName(name);
  if (found === undefined) throw new TrawlError("not-found", `there is no repository named ${JSON.stringify(name)}`);
  switch (kind) {
    case "fetch":
      return repositoryCommands.request(found.id);
    case "index":
      return repositoryCommands.requestIndexing(found.id);
    case "clone":
      return repositoryCommands.requestCloning(found.id);
  }
}
