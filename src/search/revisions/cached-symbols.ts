import { callAfter } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { CachedBlock, CachedShard } from "./revision-cache.js";
import type { PhaseContext } from "./search-phase.js";

/** A search waits this long for memory that others use, then it does without the symbols of the shard. */
const roomMs = 5000;

/** A first value may have this share of its shard: usual ones have 2 % of the text. A larger one is written again. */
const usualShare = 1 / 8;

const valueBytesMin = 64 * 1024;

/** The first value may turn out to be too large, the second has the right size. */
const attemptsMax = 2;

/**
 * The value of the symbols of a shard of the revision cache, pinned once; they are extracted if they are not known.
 * Undefined if they cannot be had, which is reported. Throws if the search is stopped. Caller guarantees: the shard is
 * pinned.
 */
export async function findCachedSymbols(shard: CachedShard, context: PhaseContext): Promise<CachedBlock | undefined> {
  const known = context.cache.symbolsOf(shard);
  if (known !== undefined) {
    context.cache.pin([known]);
    return known;
  }
  try {
    return await extract(shard, context);
  } catch (error) {
    if (context.control.isStopped) throw error;
    context.problems.symbolFaults.add(errorMessage(error));
    return undefined;
  }
}

async function extract(shard: CachedShard, context: PhaseContext): Promise<CachedBlock | undefined> {
  const { cache, problems } = context;
  let byteCount = valueBytesMin + (shard.to - shard.from) * usualShare;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const block = await reserve(byteCount, context);
    if (block === undefined) {
      problems.symbolFaults.add("the revision cache has no room for them: `search.revisionCacheBytes` limits it");
      return undefined;
    }
    const needed = await extractTo(block, shard, context);
    if (needed === undefined) {
      shard.symbols = block;
      return block;
    }
    cache.unpin([block]);
    if (typeof needed === "string") {
      problems.symbolFaults.add(needed);
      return undefined;
    }
    byteCount = needed;
  }
  return undefined;
}

/** Returns the number of bytes that are needed if the block is too small, and otherwise why there are no symbols. */
async function extractTo(
  block: CachedBlock,
  { id, from, to }: CachedShard,
  { cache, reads, timeoutMs, control, client }: PhaseContext,
): Promise<number | string | undefined> {
  try {
    const value = { from: block.from, to: block.to };
    const request = { kind: "extract-symbols", shard: { id, from, to }, value } as const;
    const answer = await reads.run<"extract-symbols">(request, { timeoutMs, stop: control.memory, client });
    if (answer.kind === "lack") return answer.reason;
    if (answer.kind === "larger") return answer.byteCount;
    cache.settle(block, answer.byteCount);
    return undefined;
  } catch (error) {
    cache.unpin([block]);
    throw error;
  }
}

/** The memory of the search's earlier phases is released while it waits. */
async function reserve(byteCount: number, { cache, control }: PhaseContext): Promise<CachedBlock | undefined> {
  let isLate = false;
  let wake: () => void = () => undefined;
  const late = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const timer = callAfter(roomMs, () => {
    isLate = true;
    wake();
  });
  try {
    let block = cache.reserveSymbols(byteCount);
    while (block === undefined && !isLate && !control.isStopped) {
      await Promise.race([cache.released(), late]);
      block = cache.reserveSymbols(byteCount);
    }
    return block;
  } finally {
    timer.cancel();
  }
}
