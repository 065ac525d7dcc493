import { join } from "node:path";
import type { StopSignal } from "../../git/run/run.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { ReaderCache } from "../../shard/shard-reader.js";
import type { ShardStore } from "../../store/shard-store.js";
import { mirrorName, mirrorsFolder } from "../../model/repository.js";

/** Services for the handlers of the read pool. */
export interface ReadContext {
  readonly dataFolder: string;
  readonly kernel: Kernel;
  /** The memory of the revision cache. */
  readonly arena: SharedArrayBuffer;
  /** Universal Ctags; undefined if symbols are not wanted. */
  readonly ctagsCommand: string | undefined;
  /** Opened on the first call. Throws `corrupt-shard` once the store has lost data under the running process. */
  readonly store: () => ShardStore;
  /** Readers of live shards. */
  readonly readers: ReaderCache;
  /** True if the caller is gone or the time is over: must be checked often. */
  readonly stop: StopSignal;
}

/** Directory of a repository's mirror. */
export function mirrorPath({ dataFolder }: ReadContext, repositoryId: number): string {
  return join(dataFolder, mirrorsFolder, mirrorName(repositoryId));
}
