import { join } from "node:path";
import type { StopSignal } from "../../git/run/run.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { ReaderCache } from "../../shard/reader-cache.js";
import type { ShardStore } from "../../store/shard-store.js";
import { mirrorName, mirrorsFolder } from "../../model/mirror-name.js";

/** What a handler of the read pool works with. */
export interface ReadContext {
  readonly dataFolder: string;
  readonly kernel: Kernel;
  /** The memory of the revision cache. */
  readonly arena: SharedArrayBuffer;
  /** Opened at the first call. Throws `corrupt-shard` once the store has lost a part under the running process. */
  readonly store: () => ShardStore;
  /** Of live shards. */
  readonly readers: ReaderCache;
  /** True when the caller has gone or time is over: to be looked at often. */
  readonly stop: StopSignal;
}

/** Directory of a repository's mirror. */
export function mirrorPath({ dataFolder }: ReadContext, repositoryId: number): string {
  return join(dataFolder, mirrorsFolder, mirrorName(repositoryId));
}
