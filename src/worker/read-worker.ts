import { join } from "node:path";
import { workerData } from "node:worker_threads";
import { serializeError, TrawlError } from "../base/errors.js";
import { stopWhenSet } from "../base/stop-signal.js";
import { loadKernel } from "../native/kernel/load.js";
import { ReaderCache } from "../shard/reader-cache.js";
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
import { answerCommitAttributes } from "./read/commit-attributes.js";
import { answerFindDocuments } from "./read/find-documents.js";
import { answerHighlightTexts } from "./read/highlight.js";
import { answerKeepDocuments } from "./read/cache-documents.js";
import { answerExtractSymbols } from "./read/extract-symbols.js";
import { answerBuildHistory, answerListCommits } from "./read/history.js";
import { answerGitRead } from "./read/git-reads.js";
import { answerResolveRevisions } from "./read/resolve-revisions.js";
import { IdleCollector, interactiveHeapBytesMax } from "./idle-collector.js";
import { serveTasks } from "./serve.js";
import { readSettings } from "../protocol/settings.js";

const { dataFolder, arena, ctagsCommand, kernel: kernelName } = readSettings<ReadWorkerSettings>(workerData);
const kernel = loadKernel(kernelName);
const rest = new IdleCollector(interactiveHeapBytesMax, () => undefined);
const readers = new ReaderCache();
let opened: ShardStore | undefined;
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
    case "commit-attributes":
      return answerCommitAttributes(request, context);
    case "resolve-revisions":
      return answerResolveRevisions(request, context);
    case "find-documents":
      return answerFindDocuments(request, context);
    case "highlight-texts":
      return answerHighlightTexts(request, context);
    case "cache-documents":
      return answerKeepDocuments(request, context);
    case "extract-symbols":
      return answerExtractSymbols(request, context);
    case "list-commits":
      return answerListCommits(request, context);
    case "build-history":
      return answerBuildHistory(request, context);
    default:
      return answerGitRead(request, context);
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
