import type { Kernel } from "../native/kernel/kernel.js";
import type { TextPlan } from "../query/plan/plan.js";
import type { ShardReader } from "../shard/shard-reader.js";
import type { FindCondition, SearchStats } from "../protocol/search-options.js";
import type { StopCheck } from "../protocol/control-block.js";
import { BasicQueryEvaluator } from "./match/basic-query-evaluator.js";
import type { ShardVisibility } from "./match/searched-revisions.js";
import { Blocks } from "./match/blocks.js";
import type { ExcludedReceiver } from "./shard-search.js";

/** Bytes of text in a block: small, because one document per repository of the shard is enough. */
const blockBytesMax = 256 * 1024;
const blockContentCountMax = 1024;

/**
 * Finds the repositories of one shard, by branch, that contain a document which satisfies a condition, and records them
 * in `condition.found`, which other threads update as well. Once a repository has been found, it is not searched
 * further.
 */
export class ShardFind {
  readonly #reader: ShardReader;
  readonly #file: TextPlan;
  readonly #evaluator: BasicQueryEvaluator;
  readonly #found: Int32Array;
  readonly #checkContent: () => void;
  readonly #onExcluded: ExcludedReceiver;
  /** Numbers of the repositories with a branch in which nothing has been found. */
  #pending: readonly number[];

  /**
   * `checkContent` is called before the first content is read; it throws if the content is damaged. `stop` ends the
   * search, and `onExcluded` is called with documents that are excluded because they take too much work.
   */
  constructor(
    { file, selection, found }: FindCondition,
    reader: ShardReader,
    visibility: ShardVisibility,
    kernel: Kernel,
    checkContent: () => void,
    stop: StopCheck,
    onExcluded: ExcludedReceiver,
  ) {
    this.#onExcluded = onExcluded;
    this.#reader = reader;
    this.#file = file;
    this.#evaluator = new BasicQueryEvaluator(file, selection, reader, visibility, kernel, true, undefined, stop);
    this.#found = found;
    this.#checkContent = checkContent;
    this.#pending = [...reader.repositories.keys()].filter((number) =>
      this.#evaluator.excludeBranches(number, this.#repositoryMask(number)),
    );
  }

  /**
   * Continues from content `from` until no repository is left or the shard is finished (undefined), or until `pause`
   * returns true between blocks: then it returns the content at which to continue. Throws `cancelled` if the search is
   * stopped within a block.
   */
  run(from: number, stats: SearchStats, pause: () => boolean): number | undefined {
    if (this.#pending.length === 0) return undefined;
    const candidates = this.#evaluator.candidates();
    if (from === 0) stats.candidateContents += candidates?.length ?? this.#reader.contentCount;
    const blocks = new Blocks(this.#reader, candidates, from, blockContentCountMax);
    const next = this.#decideBlocks(blocks, stats, pause);
    this.#evaluator.addStats(stats);
    return next;
  }

  #decideBlocks(blocks: Blocks, stats: SearchStats, pause: () => boolean): number | undefined {
    const readsContent = this.#file.pattern !== undefined;
    const bytesMax = readsContent ? blockBytesMax : Number.POSITIVE_INFINITY;
    let block = blocks.next(bytesMax);
    if (block.length > 0 && readsContent) this.#checkContent();
    while (block.length > 0) {
      this.#evaluator.decide(block);
      stats.documentsTooCostly += this.#evaluator.tooCostly.length;
      for (const document of this.#evaluator.tooCostly)
        this.#onExcluded(document, this.#evaluator.repositorySummary(document).name, "work");
      stats.documentsFiltered += this.#evaluator.documents.length;
      this.#recordFound();
      this.#pending = this.#pending.filter(
        (number) =>
          this.#repositoryMask(number) === 0 || this.#evaluator.excludeBranches(number, this.#repositoryMask(number)),
      );
      if (this.#pending.length === 0) return undefined;
      const done = block[block.length - 1];
      block = blocks.next(bytesMax);
      if (block.length > 0 && pause()) return done + 1;
    }
    return undefined;
  }

  #recordFound(): void {
    const { documents, satisfied } = this.#evaluator;
    for (let i = 0; i < documents.length; i++) {
      if (satisfied[i] !== 1) continue;
      const id = this.#reader.repositories[this.#reader.documentRepository[documents[i]]];
      let mask = 0;
      for (const { bit } of this.#evaluator.revisions(i)) mask |= 1 << bit;
      Atomics.or(this.#found, id, mask);
    }
  }

  /** The branches in which something has been found. */
  #repositoryMask(number: number): number {
    const id = this.#reader.repositories[number];
    return id < this.#found.length ? Atomics.load(this.#found, id) : 0;
  }
}
