import { serializeError, TrawlError } from "../../base/errors.js";
import { resolveRevisions } from "../../git/history/revisions.js";
import type { ResolvedRevisions, ResolveRevisions, RevisionsOfRepository } from "../../protocol/read-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";

export async function answerResolveRevisions(
  { repositories }: ResolveRevisions,
  context: ReadContext,
): Promise<ResolvedRevisions> {
  const resolved: RevisionsOfRepository[] = [];
  for (const { repositoryId, specs } of repositories) {
    try {
      const resolution = await resolveRevisions(mirrorPath(context, repositoryId), specs, context.stop);
      resolved.push({ repositoryId, ...resolution, error: undefined });
    } catch (error) {
      if (error instanceof TrawlError && error.code === "cancelled") throw error;
      resolved.push({
        repositoryId,
        revisions: [],
        missing: [],
        ambiguous: [],
        malformed: [],
        error: serializeError(error),
      });
    }
  }
  return { repositories: resolved };
}
