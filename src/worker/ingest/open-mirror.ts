import { join } from "node:path";
import { readSecret, readSecretFile } from "../../base/secret-source.js";
import { Mirror } from "../../git/mirror/mirror.js";
import { RemoteRules } from "../../git/mirror/remote-rules.js";
import { parseRemoteUrl, redirectedUrl, type RemoteUrl } from "../../git/run/remote-url.js";
import { withSecret } from "../../git/mirror/url-secret.js";
import type { Repository } from "../../model/repository.js";
import type { FetchSettings } from "../../protocol/ingest-messages.js";
import { SecretFiles } from "../../store/secret-files.js";
import { postProgress } from "./progress.js";
import { mirrorName, mirrorsFolder } from "../../model/mirror-name.js";

/** Time limit for a remote to list its refs. */
const listTimeoutMs = 60_000;

/**
 * Rejects with `forbidden` if the repository may not be fetched from its URL. Must be called before each fetch; resolves
 * with the addresses for `openMirror`.
 */
export async function requireRemote(
  dataFolder: string,
  { url, source }: Repository,
  { networks }: FetchSettings,
): Promise<readonly string[]> {
  return await new RemoteRules(dataFolder, networks).requireForFetch(parseRemoteUrl(url), source);
}

export function openMirror(
  dataFolder: string,
  repository: Repository,
  fetch: FetchSettings,
  resolvedHosts: readonly string[],
  url: RemoteUrl = remoteUrl(dataFolder, repository),
): Promise<Mirror> {
  const directory = join(dataFolder, mirrorsFolder, mirrorName(repository.id));
  const access = {
    home: fetch.home || null,
    sshCommand: fetch.sshCommand || null,
    credentialHelper: fetch.credentialHelper || null,
    // A redirect could lead where the source may not.
    followRedirects: fetch.followRedirects && repository.source?.hosts === undefined,
    resolvedHosts,
  };
  return Mirror.open(directory, url, {
    access,
    listTimeoutMs,
    fetchTimeoutMs: fetch.timeoutMs,
    silenceMs: fetch.silenceMs,
    fetchBytesMax: fetch.bytesMax,
    memoryBytesMax: fetch.memoryBytesMax,
    reserveBytes: fetch.reserveBytes,
    onProgress: ({ percent }) =>
      postProgress({
        kind: "progress",
        repositoryId: repository.id,
        phase: "fetching",
        done: percent ?? 0,
        total: percent === null ? 0 : 100,
      }),
  });
}

/** The secret is read at each fetch, so that a new one takes effect without a restart. */
function remoteUrl(dataFolder: string, { name, url, credential }: Repository): RemoteUrl {
  const remote = parseRemoteUrl(url);
  if (credential === "") return remote;
  const stored = SecretFiles.path(join(dataFolder, "secrets"), credential);
  return withSecret(remote, stored === undefined ? readSecret(credential, name) : readSecretFile(stored, name));
}

/**
 * Opens the mirror of a repository that a connection lists, with the URL to which its host redirects: within the host, where
 * the source may name any repository. Undefined if it is not of a connection, or the redirect leads elsewhere.
 */
export async function openRedirected(
  dataFolder: string,
  repository: Repository,
  fetch: FetchSettings,
  from: RemoteUrl,
  location: string,
): Promise<Mirror | undefined> {
  if (repository.source?.hosts === undefined || from.kind !== "http") return undefined;
  const target = redirectedUrl(from, location);
  if (target === undefined) return undefined;
  const resolvedHosts = await new RemoteRules(dataFolder, fetch.networks).requireForFetch(target, repository.source);
  return await openMirror(dataFolder, repository, fetch, resolvedHosts, target);
}
