import { filterInSteps, resultWhileYielding } from "../../base/yielding.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";
import { splitSecret } from "../../git/mirror/url-secret.js";
import { SecretFiles } from "../../store/secret-files.js";
import { TrawlError } from "../../base/errors.js";
import type { SyncServices } from "./sync-settings.js";

/** Moves the secrets of URLs to files, so that the catalog contains none. */
export class RepositorySecrets {
  readonly #files: SecretFiles;

  constructor(files: SecretFiles) {
    this.#files = files;
  }

  /**
   * The configuration with a URL that contains no secret, and a credential that names its location; and whether that
   * secret differs from the previous one.
   */
  async moved<T extends Pick<RepositoryConfig, "name" | "url" | "credential">>(
    config: T,
  ): Promise<{ readonly config: T; readonly isNew: boolean }> {
    const { url, secret } = splitSecret(config.url);
    if (secret === undefined) return { config, isNew: false };
    const credential = SecretFiles.reference(config.name);
    return { config: { ...config, url, credential }, isNew: await this.#files.keep(credential, secret) };
  }

  /** Yields between steps, since most repositories have no secret. */
  async movedAll<T extends RepositoryConfig>(
    configs: readonly T[],
  ): Promise<{ readonly configs: readonly T[]; readonly changedNames: ReadonlySet<string> }> {
    const isSecret = ({ url }: T): boolean => splitSecret(url).secret !== undefined;
    const withSecret = await resultWhileYielding(filterInSteps(configs, isSecret));
    const moved = new Map<T, T>();
    const changedNames = new Set<string>();
    for (const config of withSecret) {
      const { config: without, isNew } = await this.moved(config);
      moved.set(config, without);
      if (isNew) changedNames.add(config.name);
    }
    return { configs: configs.map((config) => moved.get(config) ?? config), changedNames };
  }

  forget(credential: string): Promise<void> {
    return this.#files.forget(credential);
  }
}

type MoveServices = Pick<SyncServices, "catalog" | "manifest" | "share" | "log">;

/** Earlier versions stored the secrets of URLs in the catalog. Resolves when none is left there. */
export async function moveStoredSecrets(services: MoveServices, secrets: RepositorySecrets): Promise<void> {
  const { catalog, log, share } = services;
  const withSecret = await resultWhileYielding(
    filterInSteps([...catalog.repositories()], ({ id, url }) => url.includes("@") && share.has(id)),
  );
  for (const repository of withSecret) {
    try {
      await moveStoredSecret(services, secrets, repository);
    } catch (error) {
      // A URL that this version rejects affects only its repository, whose fetches report the same error.
      if (!(error instanceof TrawlError) || error.code !== "bad-config") throw error;
      log.warn({ repository: repository.name }, error.message);
    }
  }
}

async function moveStoredSecret(
  { catalog, manifest, log }: MoveServices,
  secrets: RepositorySecrets,
  repository: Repository,
): Promise<void> {
  const { config } = await secrets.moved(repository);
  if (config === repository) return;
  await manifest.publish(() => ({
    repositories: [
      { ...(catalog.repository(repository.id) ?? repository), url: config.url, credential: config.credential },
    ],
  }));
  log.warn(
    { repository: repository.name },
    "the user and password of its URL are now stored in the folder secrets of the data directory, and no longer in the catalog",
  );
}
