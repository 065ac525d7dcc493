import { TrawlError } from "../base/errors.js";
import type { RemoteRepository } from "../browse/request-context.js";
import { parseRemoteUrl } from "../git/run/remote-url.js";
import type { RemoteRules } from "../git/mirror/remote-rules.js";
import type { SyncManager } from "../sync/sync-manager.js";
import { resolveRepository } from "./config/repositories.js";

/**
 * Adds a repository for a site admin, who may be at another host than the daemon: a path on the daemon's disk is
 * refused, because it could be one that only the daemon's account may read, and so are hosts that only this machine reaches.
 */
export async function addRemote(
  { commands }: { readonly commands: Pick<SyncManager["commands"], "addAll"> },
  remotes: RemoteRules,
  given: RemoteRepository,
): Promise<void> {
  const remote = parseRemoteUrl(given.url);
  if (remote.kind === "local")
    throw new TrawlError(
      "forbidden",
      "a repository on the server's own disk is added by its operator, with `trawl repo add`; give an https or ssh URL",
    );
  const source = { connection: "", hosts: ["*"] };
  await remotes.require(remote, source);
  const { taken } = await commands.addAll([{ ...resolveRepository({ ...given }), source }]);
  if (taken.length > 0)
    throw new TrawlError(
      "conflict",
      `there is another repository named ${given.name}; remove it first, or choose another name`,
    );
}
