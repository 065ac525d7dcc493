import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { filterInSteps, resultWhileYielding } from "../../base/yielding.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Repository } from "../../model/repository.js";
import type { RepositorySecrets } from "./repository-secrets.js";

/** Earlier versions stored the secrets of URLs in the catalog. Resolves when none is left there. */
export async function moveStoredSecrets(catalog: Catalog, secrets: RepositorySecrets, log: Log): Promise<void> {
  const withSecret = await resultWhileYielding(
    filterInSteps([...catalog.repositories()], ({ url }) => url.includes("@")),
  );
  for (const repository of withSecret) {
    try {
      await moveStoredSecret(catalog, secrets, log, repository);
    } catch (error) {
      // A URL that this version rejects affects only its repository, whose fetches report the same error.
      if (!(error instanceof TrawlError) || error.code !== "bad-config") throw error;
      log.warn({ repository: repository.name }, error.message);
    }
  }
}

async function moveStoredSecret(
  catalog: Catalog,
  secrets: RepositorySecrets,
  log: Log,
  repository: Repository,
): Promise<void> {
  const { config } = await secrets.moved(repository);
  if (config === repository) return;
  await catalog.commit(() => ({
    repositories: [
      { ...(catalog.repository(repository.id) ?? repository), url: config.url, credential: config.credential },
    ],
  }));
  log.warn(
    { repository: repository.name },
    "the user and password of its URL are now stored in the folder secrets of the data directory, and no longer in the catalog",
  );
}
