import { TrawlError } from "../base/errors.js";
import type { RemoteRepository } from "../browse/request-context.js";
import { parseRemoteUrl } from "../git/mirror/remote-url.js";
import type { SyncManager } from "../sync/sync-manager.js";
import { resolveRepository } from "./config/repositories.js";

/**
 * Adds a repository for a site admin, who may be at another host than the daemon: a path on the daemon's disk is
 * refused, because it could be one that only the daemon's account may read.
 */
export async function addRemote(
  { commands }: { readonly commands: Pick<SyncManager["commands"], "addAll"> },
  given: RemoteRepository,
): Promise<void> {
  if (parseRemoteUrl(given.url).kind === "local")
    throw new TrawlError(
      "forbidden",
      "a repository on the server's own disk is added by its operator, with `trawl repo add`; give an https or ssh URL",
    );
  const { taken } = await commands.addAll([resolveRepository({ ...given })]);
  if (taken.length > 0)
    throw new TrawlError(
      "conflict",
      `there is another repository named ${given.name}; remove it first, or choose another name`,
    );
}
