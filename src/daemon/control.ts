import { TrawlError, errorMessage } from "../base/errors.js";
import { auditEntry, operator, type AuditEntry } from "../account/records/audit-log.js";
import type { Catalog } from "../catalog/catalog.js";
import type { ControlCall, ControlHandlers } from "../http/server/control-server.js";
import type { RepositoryConfig, RepositoryAttributes } from "../model/repository.js";
import type { RepositoryStatus } from "../model/repository-status.js";
import type { SyncManager } from "../sync/sync-manager.js";
import { isSecretSource } from "../base/secret-source.js";
import { readCommitId } from "../browse/commit-wait.js";
import { parseRemoteUrl } from "../git/run/remote-url.js";
import { splitSecret } from "../git/mirror/url-secret.js";
import { type AddedRepositories, readRepositories } from "./added-repositories.js";
import { accountHandlers } from "./account-control.js";
import { resolveAttributes, resolveRepository } from "./config/file-repositories.js";
import type { Controlled } from "./parts/controlled.js";
import { profileSecondsMax } from "./parts/profiler.js";
import type { ServiceManager } from "./service-manager.js";

/** The control interface's routes; `cli/` is their client. */
export function controlHandlers(
  daemon: () => Controlled,
  service: Pick<ServiceManager, "whileBlocked">,
): ControlHandlers {
  const statusOf = (name: string): RepositoryStatus => {
    const status = daemon()
      .sync.statuses()
      .find((other) => other.name === name);
    if (status === undefined)
      throw new TrawlError(
        "not-found",
        `there is no repository named ${JSON.stringify(name)}; \`trawl repo list\` lists the existing ones`,
      );
    return status;
  };
  /** Of a repository that another node may have. */
  const statusAnywhere = async (name: string): Promise<RepositoryStatus> => {
    const { sync, catalog, findElsewhere } = daemon();
    const elsewhere = catalog.repositoryByName(name) === undefined ? await findElsewhere(name) : undefined;
    return elsewhere === undefined ? statusOf(name) : sync.statusElsewhere(elsewhere);
  };
  return {
    ...accountHandlers(daemon),
    "GET /.api/repos": () => daemon().sync.statuses(),
    "POST /.api/repos": async ({ body, progress }: ControlCall) => {
      const { sync, catalog, audit } = daemon();
      const config = resolveRepository(body);
      if (config.private && catalog.repositoryByName(config.name) === undefined)
        await audit.record(permissionsEntry(config.name, config));
      await withActivity(sync, config.name, progress, () => sync.commands.add(config)).catch((error: unknown) => {
        const isTaken = error instanceof TrawlError && error.code === "conflict";
        throw !isTaken && isAdded(catalog, config) ? withRemedy(error, config.name) : error;
      });
      return statusOf(config.name);
    },
    "POST /.api/repositories": ({ body }: ControlCall) => addRepositories(daemon(), body),
    "DELETE /.api/repos/NAME": async ({ params }: ControlCall) => {
      await daemon().sync.commands.remove(params["NAME"] ?? "");
      return null;
    },
    "POST /.api/repos/NAME/sync": async ({ params, body, progress }: ControlCall) => {
      const { sync } = daemon();
      const name = params["NAME"] ?? "";
      const oid = readCommit(body);
      await withActivity(sync, name, progress, async () => {
        const order = {
          repository: name,
          kind: "fetch",
          waits: true,
          acceptsLoss: isTrue(body, "acceptEmpty"),
        } as const;
        if (oid === undefined) await daemon().orderRepository(order);
        else await daemon().waitForCommit({ repository: name, oid });
      });
      return await statusAnywhere(name);
    },
    "POST /.api/repos/NAME/attributes": async ({ params, body }: ControlCall) => {
      const name = params["NAME"] ?? "";
      const attributes = resolveAttributes(body);
      const { sync, audit } = daemon();
      const { private: isPrivate, readers } = attributes;
      if (isPrivate === undefined && readers === undefined) await sync.commands.setAttributes(name, attributes);
      else await audit.around(permissionsEntry(name, attributes), () => sync.commands.setAttributes(name, attributes));
      return statusOf(name);
    },
    "POST /.api/repos/NAME/url": async ({ params, body, progress }: ControlCall) => {
      const { sync } = daemon();
      const name = params["NAME"] ?? "";
      const { url, credential } = readRemote(body);
      await withActivity(sync, name, progress, () => sync.commands.setRemote(name, url, credential));
      return statusOf(name);
    },
    "GET /.api/connections": () => daemon().connections.statuses(),
    "POST /.api/connections/NAME/sync": ({ params, body }: ControlCall) =>
      daemon().connections.list(params["NAME"] ?? "", isTrue(body, "mayRemoveMost")),
    "POST /.api/sync": async () => {
      const { sync, catalog } = daemon();
      // The status of each repository shows the outcome of its sync.
      await Promise.allSettled([...catalog.repositories()].map((repository) => sync.commands.sync(repository.name)));
      return sync.statuses();
    },
    "POST /.api/reload": ({ body }: ControlCall) => daemon().reload(isTrue(body, "mayRemoveMost")),
    "POST /explain": ({ body }: ControlCall) => daemon().searcher.explain(readExplain(body)),
    "POST /backup": ({ body, progress }: ControlCall) => daemon().backups.take(readFolder(body), progress),
    "POST /check": ({ body, progress }: ControlCall) => check(daemon().sync, isTrue(body, "repair"), progress),
    "GET /metrics": () => daemon().metricsText(),
    "GET /searches": () => daemon().searcher.running(),
    "POST /profile": ({ body, signal, send }: ControlCall) =>
      daemon().profiler.profile(readProfileSeconds(body), signal, send),
    "POST /heap-snapshot": ({ signal, send }: ControlCall) =>
      service.whileBlocked(() => daemon().profiler.heapSnapshot(signal, send)),
  };
}

/** The commit that a sync has to bring; undefined if it need not bring a certain one. */
function readCommit(body: unknown): string | undefined {
  const commit = (body as { readonly commit?: unknown } | null | undefined)?.commit;
  if (commit === undefined) return undefined;
  const oid = typeof commit === "string" ? readCommitId(commit) : undefined;
  if (oid !== undefined) return oid;
  throw new TrawlError("bad-request", `a commit is waited for by its full id, not ${JSON.stringify(commit)}`);
}

/** Adds many repositories without waiting for their first sync. */
async function addRepositories({ sync, audit }: Controlled, body: unknown): Promise<AddedRepositories> {
  const { configs, refused } = await readRepositories(body);
  for (const config of configs) if (config.private) await audit.record(permissionsEntry(config.name, config));
  const { added, taken } = await sync.commands.addAll(configs);
  const others = new Set([...added, ...taken]);
  const reason = "there is another repository with this name; remove it first, or choose another name";
  return {
    added,
    present: configs.map(({ name }) => name).filter((name) => !others.has(name)),
    refused: [...refused, ...taken.map((name) => ({ name, reason }))],
  };
}

function isAdded(catalog: Catalog, { name, url }: RepositoryConfig): boolean {
  const known = catalog.repositoryByName(name);
  return known !== undefined && known.url === splitSecret(url).url && known.generation === 0;
}

function withRemedy(error: unknown, name: string): TrawlError {
  const code = error instanceof TrawlError ? error.code : "internal";
  return new TrawlError(
    code,
    `${errorMessage(error)}\n${name} stays in the list and will be retried; \`trawl repo remove ${name}\` removes it`,
    { cause: error },
  );
}

/** Who may see a repository. */
function permissionsEntry(
  repository: string,
  { private: isPrivate, readers }: Partial<RepositoryAttributes>,
): AuditEntry {
  return auditEntry("readers-changed", operator, { repository, private: isPrivate, readers });
}

/** Reports the activity of a sync each time it changes. */
async function withActivity<T>(
  sync: SyncManager,
  name: string,
  progress: (value: unknown) => void,
  work: () => Promise<T>,
): Promise<T> {
  let shown = "";
  const stop = sync.activities.onActivity(name, (activity) => {
    if (activity === shown) return;
    shown = activity;
    progress(`${name}: ${activity}`);
  });
  try {
    return await work();
  } finally {
    stop();
  }
}

async function check(
  sync: SyncManager,
  repair: boolean,
  progress: (value: unknown) => void,
): Promise<{ shards: number; faults: number }> {
  let shards = 0;
  const damaged: { readonly shardId: number; readonly repairs: Pick<SyncManager["repairs"], "rebuild"> }[] = [];
  for (const repairs of [sync.repairs, sync.historyRepairs]) {
    for await (const { shardId, error } of repairs.check()) {
      shards++;
      if (error === undefined) continue;
      damaged.push({ shardId, repairs });
      progress(error.message);
    }
  }
  if (!repair || damaged.length === 0) return { shards, faults: damaged.length };
  let faults = 0;
  for (const { shardId, repairs } of damaged) {
    try {
      await repairs.rebuild(shardId);
      progress(`shard ${shardId} was rebuilt`);
    } catch (error) {
      faults++;
      progress(`shard ${shardId} could not be rebuilt: ${errorMessage(error)}`);
    }
  }
  return { shards, faults };
}

/**
 * Omitted properties are left unchanged. A relative path is rejected, because it would be relative to the daemon's
 * directory.
 */
function readRemote(body: unknown): { readonly url: string | undefined; readonly credential: string | undefined } {
  const { url, credential } =
    typeof body === "object" && body !== null ? (body as { url?: unknown; credential?: unknown }) : {};
  if (!isTextOrNothing(url) || !isTextOrNothing(credential) || (url ?? credential) === undefined) {
    throw new TrawlError("bad-request", 'this takes {"url": TEXT, "credential": TEXT}, or one of them');
  }
  if (url !== undefined) parseRemoteUrl(url);
  if (credential !== undefined && !isSecretSource(credential))
    throw new TrawlError("bad-config", "credential: must be file:/PATH, or credential:NAME, or nothing");
  return { url, credential };
}

function isTextOrNothing(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

function readFolder(body: unknown): string {
  const folder = typeof body === "object" && body !== null && "folder" in body ? body.folder : undefined;
  if (typeof folder !== "string" || folder.includes("\0"))
    throw new TrawlError("bad-request", 'backup takes {"folder": PATH}');
  return folder;
}

function readExplain(body: unknown): { query: string; patternType: string } {
  if (typeof body === "object" && body !== null && "query" in body && typeof body.query === "string") {
    const patternType = "patternType" in body && typeof body.patternType === "string" ? body.patternType : "";
    return { query: body.query, patternType };
  }
  throw new TrawlError("bad-request", 'explain takes {"query": TEXT, "patternType": TEXT}');
}

function readProfileSeconds(body: unknown): number {
  const seconds = typeof body === "object" && body !== null && "seconds" in body ? body.seconds : undefined;
  if (typeof seconds === "number" && Number.isInteger(seconds) && seconds >= 1 && seconds <= profileSecondsMax)
    return seconds;
  throw new TrawlError("bad-request", `a profile takes {"seconds": N}, from 1 to ${profileSecondsMax}`);
}

function isTrue(body: unknown, field: string): boolean {
  return (
    typeof body === "object" &&
    body !== null &&
    Object.hasOwn(body, field) &&
    (body as Readonly<Record<string, unknown>>)[field] === true
  );
}
