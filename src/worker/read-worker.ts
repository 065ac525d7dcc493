import { join } from "node:path";
import { workerData } from "node:worker_threads";
import { callAfter } from "../base/deadline.js";
import { serializeError, TrawlError } from "../base/errors.js";
import { stopWhenSet } from "../base/stop-signal.js";
import { loadKernel } from "../native/kernel/load.js";
import { ReaderCache } from "../shard/shard-reader.js";
import { ShardStore } from "../store/shard-store.js";
import type {
  ReadAnswer,
  ReadKind,
  ReadOutcome,
  ReadRequest,
  ReadTask,
  ReadWorkerSettings,
} from "../protocol/read-messages.js";
import type { ReadContext } from "./read/context.js";
import { answerResolveRevisions } from "./read/resolve-revisions.js";
import { answerFindDocuments } from "./read/find-documents.js";
import { answerKeepDocuments } from "./read/cache-documents.js";
import { IdleCollector, interactiveGrowthMax, serveTasks } from "./serve.js";
import { readSettings } from "../protocol/task-message.js";

/** The thread loads the code of other reads this long after its start, or when the first of them arrives. */
const otherReadsDelayMs = 1_000;

const { dataFolder, arena, ctagsCommand, kernel: kernelName } = readSettings<ReadWorkerSettings>(workerData);
const kernel = loadKernel(kernelName);
const rest = new IdleCollector(interactiveGrowthMax, () => undefined, 0);
const readers = new ReaderCache();
let opened: ShardStore | undefined;
/** Their code is a third of this thread's, and a search of revisions does not wait for it. Errors concern the reads. */
const loadOtherReads = (): Promise<typeof import("./read/other-reads.js")> => import("./read/other-reads.js");
callAfter(otherReadsDelayMs, () => void loadOtherReads().catch(() => undefined));
export default serveTasks({ read: runReadTask });

/** Handles one request that reads mirrors. */
async function runReadTask({ request, stops }: ReadTask): Promise<ReadOutcome> {
  const stop = stopWhenSet(...stops);
  try {
    if (stop()) throw new TrawlError("cancelled", "the read was stopped before it began");
    const done = await answer(request, { dataFolder, kernel, arena, ctagsCommand, store, readers, stop });
    if (usesShards.has(request.kind)) requireNoFaults(opened);
    return { ok: true, answer: done };
  } catch (error) {
    return { ok: false, error: serializeError(error) };
  } finally {
    rest.recordTask();
  }
}

async function answer(request: ReadRequest, context: ReadContext): Promise<ReadAnswer<ReadKind>> {
  switch (request.kind) {
    case "resolve-revisions":
      return answerResolveRevisions(request, context);
    case "find-documents":
      return answerFindDocuments(request, context);
    case "cache-documents":
      return answerKeepDocuments(request, context);
    default:
      return (await loadOtherReads()).answerOtherRead(request, context);
  }
}

/** Kinds of requests whose results are derived from live shards. */
const usesShards: ReadonlySet<ReadKind> = new Set(["find-documents", "cache-documents"]);

function store(): ShardStore {
  opened ??= new ShardStore(join(dataFolder, "shards"));
  requireNoFaults(opened);
  return opened;
}

/** Texts of live shards are used here without verifying their checksums. */
function requireNoFaults(shards: ShardStore | undefined): void {
  if (shards === undefined || shards.guard.faultCount === 0) return;
  throw new TrawlError(
    "corrupt-shard",
    "part of the shard store could not be read; the next start of the daemon repairs it",
  );
}
