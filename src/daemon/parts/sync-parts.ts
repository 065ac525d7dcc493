import type { SyncServices, SyncSettings } from "../../sync/sync-settings.js";
import { SyncManager } from "../../sync/sync-manager.js";
import type { ResolvedOptions } from "../options.js";
import { programVersion } from "./program.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The limits that determine which content is indexed. */
export function indexLimits({ index }: ResolvedOptions): SyncSettings["limits"] {
  return {
    fileBytesMax: index.maxFileBytes,
    largeFiles: index.largeFiles,
    trigramCountMax: index.maxTrigramCount,
  };
}

export function createSync(
  options: ResolvedOptions,
  services: Omit<SyncServices, "settings">,
  onStoreLost: (reason: string) => void,
): SyncManager {
  const settings: SyncSettings = {
    dataFolder: options.data,
    limits: indexLimits(options),
    fetch: fetchSettings(options),
    symbols: { enabled: options.index.symbols, command: options.index.ctagsCommand },
    intervalMsMin: options.sync.intervalSeconds * 1000,
    intervalMsMax: options.sync.maxIntervalSeconds * 1000,
    acceptEmptyMs: options.sync.acceptEmptyHours * hourMs,
    removalGraceMs: options.sync.removalGraceDays * dayMs,
    historyBytesMax: options.index.historyBytes,
    program: programVersion(),
    onStoreLost,
  };
  return new SyncManager({ ...services, settings });
}

function fetchSettings({ sync, git }: ResolvedOptions): SyncSettings["fetch"] {
  return {
    silenceMs: sync.timeoutSeconds * 1000,
    timeoutMs: git.maxFetchSeconds * 1000,
    bytesMax: git.maxFetchBytes,
    memoryBytesMax: git.maxMemoryBytes,
    reserveBytes: git.reserveBytes,
    home: git.home,
    sshCommand: git.sshCommand,
    credentialHelper: git.credentialHelper,
    followRedirects: git.followRedirects,
    networks: git.networks,
  };
}
