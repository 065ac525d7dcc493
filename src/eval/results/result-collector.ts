import type { Kernel } from "../../native/kernel/kernel.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import { NameScore } from "../ranking/name-score.js";
import { type ControlBlock, isOver, takeMatches, type ResultLimits } from "../../protocol/control-block.js";
import { isDocumentSelect, type DocumentSelect } from "../../query/plan/plan.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import type { BasicQueryEvaluator } from "../match/basic-query-evaluator.js";
import type { Hit } from "../match/blocks.js";
import { isBefore, type ResultPosition, type ResultCut } from "../../protocol/messages.js";
import type { Rows } from "../match/rows.js";

/** Receives the selected value of a document, such as its directory, instead of the document. */
export type SelectSink = (select: DocumentSelect, optionsIndex: number) => void;

/**
 * Collects the rows of a result if the basic queries of a search differ in their `select:` or their limit: each of them
 * selects first, then takes what its own limit leaves, and what all of them took is combined into one result.
 *
 * A result that is collected again after a pause must be the same as when it was counted: the cuts record where in the
 * block a limit was reached, and thus what each basic query took of every result.
 */
export class ResultCollector {
  readonly #plan: SearchPlan;
  readonly #limits: ResultLimits;
  readonly #control: ControlBlock;
  readonly #optionsIndexes: ReadonlyMap<BasicQueryEvaluator, number>;
  readonly #kernel: Kernel;
  #cuts: ResultCut[] = [];

  constructor(
    plan: SearchPlan,
    limits: ResultLimits,
    control: ControlBlock,
    optionsIndexes: ReadonlyMap<BasicQueryEvaluator, number>,
    kernel: Kernel,
  ) {
    this.#plan = plan;
    this.#limits = limits;
    this.#control = control;
    this.#optionsIndexes = optionsIndexes;
    this.#kernel = kernel;
  }

  /** The cuts of the block so far. */
  get cuts(): readonly ResultCut[] {
    return this.#cuts;
  }

  /**
   * `cuts` are those of a block that goes on. In one that does not, options whose limit is reached get nothing from its
   * start.
   */
  startBlock(cuts: readonly ResultCut[] | undefined): void {
    this.#cuts =
      cuts === undefined
        ? this.#plan.resultOptions.flatMap((_, optionsIndex) =>
            isOver(this.#limits, optionsIndex) ? [{ optionsIndex, at: { document: 0, revision: 0 }, taken: 0 }] : [],
          )
        : [...cuts];
  }

  isOver(evaluator: BasicQueryEvaluator): boolean {
    return isOver(this.#limits, this.#optionsIndex(evaluator));
  }

  /** Appends the rows of one result; `isKnown` says that it was counted before. False when nothing of it is left. */
  gather(
    hits: readonly Hit[],
    revision: RevisionChoice,
    at: ResultPosition,
    isKnown: boolean,
    rows: Rows,
    pathRows: Rows,
    select: SelectSink,
  ): boolean {
    const rowFrom = rows.count;
    pathRows.clear();
    let keptCount = 0;
    for (const hit of hits) {
      if (!hit.evaluator.revisions(hit.index).some(({ typed }) => typed === revision.typed)) continue;
      if (this.#gatherHit(hit, at, isKnown, rows, pathRows, select)) keptCount++;
    }
    if (keptCount > 1) rows.makeDisjoint(rowFrom);
    if (pathRows.count > 1) pathRows.makeDisjoint(0);
    return keptCount > 0;
  }

  #gatherHit(
    { evaluator, index }: Hit,
    at: ResultPosition,
    isKnown: boolean,
    rows: Rows,
    pathRows: Rows,
    sink: SelectSink,
  ): boolean {
    const optionsIndex = this.#optionsIndex(evaluator);
    const { select } = this.#plan.resultOptions[optionsIndex];
    if (isDocumentSelect(select)) {
      sink(select, optionsIndex);
      return false;
    }
    const rowFrom = rows.count;
    const pathRowFrom = pathRows.count;
    if (select === undefined || select === "content" || select.startsWith("symbol")) {
      if (evaluator.addRows(index, rows) > 1) rows.makeDisjoint(rowFrom);
      if (select === undefined) evaluator.addPathRows(index, pathRows);
    }
    const rowCount = rows.count - rowFrom;
    const wanted = select === "content" ? rowCount : Math.max(1, rowCount);
    const taken = wanted === 0 ? 0 : this.#take(optionsIndex, wanted, at, isKnown);
    if (taken < rowCount) this.#cut(evaluator, index, rows, rowFrom, taken);
    if (taken === 0) pathRows.count = pathRowFrom;
    return taken > 0;
  }

  /** Of symbols the best are kept; of lines the first. */
  #cut(evaluator: BasicQueryEvaluator, index: number, rows: Rows, rowFrom: number, countMax: number): void {
    const { reader } = evaluator;
    if (!(reader instanceof SymbolView)) {
      rows.count = rowFrom + countMax;
      return;
    }
    const optionsIndex = this.#optionsIndex(evaluator);
    const own = this.#plan.basicQueries.filter((basic) => basic.optionsIndex === optionsIndex);
    const names = NameScore.forCuts(
      own.flatMap(({ text }) => text ?? []),
      this.#control,
    );
    const part = reader.contentId(evaluator.documents[index]);
    names.keepBest(reader, part, rows, rowFrom, countMax, this.#kernel);
  }

  #take(optionsIndex: number, wanted: number, at: ResultPosition, isKnown: boolean): number {
    const cut = this.#cuts.find((one) => one.optionsIndex === optionsIndex);
    if (cut !== undefined) {
      if (isBefore(at, cut.at.document, cut.at.revision)) return wanted;
      return at.document === cut.at.document && at.revision === cut.at.revision ? Math.min(wanted, cut.taken) : 0;
    }
    if (isKnown) return wanted;
    const taken = takeMatches(this.#limits, optionsIndex, wanted, this.#control);
    if (taken < wanted) this.#cuts.push({ optionsIndex, at, taken });
    return taken;
  }

  #optionsIndex(evaluator: BasicQueryEvaluator): number {
    return this.#optionsIndexes.get(evaluator) ?? 0;
  }
}
