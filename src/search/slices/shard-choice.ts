import { hasBit } from "../../base/bits.js";
import { noColumn, type ShardFilter } from "../../protocol/shard-filter.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { LiveShard } from "../../model/shard-record.js";
import {
  requiredLiterals,
  type Leaf,
  type PathFilter,
  type SearchPlan,
  type TextNode,
  type TextPlan,
} from "../../query/plan/plan.js";
import type { RepositorySelection } from "../../protocol/search-options.js";

/** A basic query that examines documents, and the repositories that it examines. */
export interface TextChoice {
  readonly text: TextPlan;
  readonly selection: RepositorySelection;
}

export interface ChosenShards {
  /** Rows of the shards to open, in the view's order. */
  readonly rows: Uint32Array;
  /** Number of shards with a chosen repository that the filter rules out. */
  readonly ruledOutCount: number;
  /** Number of the shards to open that no thread has opened yet, so that the filter could not rule them out. */
  readonly unopenedCount: number;
}

/** The choices of a plan; `selections` are by basic query. */
export function textChoices(plan: SearchPlan, selections: readonly RepositorySelection[]): TextChoice[] {
  return plan.basicQueries.flatMap(({ text }, i) => (text === undefined ? [] : [{ text, selection: selections[i] }]));
}

/** The parts of a view that are used here. */
export interface ShardsInView {
  readonly shards: readonly { readonly record: Pick<LiveShard["record"], "repositoryIds"> }[];
  readonly table: Pick<CatalogView["table"], "filterColumns">;
  readonly filter: ShardFilter;
}

/**
 * The shards that may contain results: those with a chosen repository and, unless `all` is true, with all trigrams that
 * the query requires.
 */
export function chooseShards(view: ShardsInView, choices: readonly TextChoice[], all: boolean): ChosenShards {
  // Read first, because threads open shards meanwhile.
  const opened = view.filter.knownColumns();
  // Names of symbols need not be in the text that the filter knows.
  const masks = choices.map(({ text }) =>
    all || text.symbols !== undefined ? undefined : shardMask(text, view.filter),
  );
  const columns = view.table.filterColumns;
  if (choices.every(({ selection }) => selection.repositoryIds === undefined) && choices.length > 0)
    return chooseFromAll(columns, masks.every((mask) => mask !== undefined) ? masks.reduce(or) : undefined, opened);
  const rows = new Uint32Array(view.shards.length);
  let placeCount = 0;
  let ruledOutCount = 0;
  let unopenedCount = 0;
  // No object is created per shard, because there may be 100,000.
  for (let row = 0; row < view.shards.length; row++) {
    const column = columns[row];
    let isChosen = false;
    let mayHold = false;
    for (let i = 0; i < choices.length && !mayHold; i++) {
      if (!holdsChosen(view.shards[row], choices[i].selection)) continue;
      isChosen = true;
      const mask = masks[i];
      mayHold = column === noColumn || mask === undefined || hasBit(mask, column);
    }
    if (mayHold) {
      rows[placeCount++] = row;
      if (column !== noColumn && !hasBit(opened, column)) unopenedCount++;
    } else if (isChosen) ruledOutCount++;
  }
  return { rows: rows.slice(0, placeCount), ruledOutCount, unopenedCount };
}

/**
 * Of all shards, by their columns, those in the mask. Of 50,000 shards it takes a tenth of a millisecond, and the loop that looks at
 * the repositories of each shard one.
 */
function chooseFromAll(columns: Int32Array, mask: Int32Array | undefined, opened: Int32Array): ChosenShards {
  const rows: number[] = [];
  let unopenedCount = 0;
  for (let row = 0; row < columns.length; row++) {
    const column = columns[row];
    if (column !== noColumn && mask !== undefined && !hasBit(mask, column)) continue;
    rows.push(row);
    if (column !== noColumn && !hasBit(opened, column)) unopenedCount++;
  }
  return { rows: Uint32Array.from(rows), ruledOutCount: columns.length - rows.length, unopenedCount };
}

function holdsChosen({ record }: ShardsInView["shards"][number], { repositoryIds }: RepositorySelection): boolean {
  if (repositoryIds === undefined) return true;
  for (const id of record.repositoryIds) if (hasBit(repositoryIds, id)) return true;
  return false;
}

/** The columns of shards that may contain a document that satisfies the basic query. */
function shardMask(text: TextPlan, filter: ShardFilter): Int32Array {
  const mask = text.pattern === undefined ? allColumns(filter) : maskOfNode(text.pattern, text.leaves, filter);
  for (const fileFilter of text.fileFilters)
    if (fileFilter.kind === "path" && !fileFilter.negated) and(mask, maskOfLeaf(fileFilter, filter));
  return mask;
}

/**
 * Sound: a leaf matches only if the document's content or its path contains the leaf's literals, and a column covers
 * both.
 */
function maskOfNode(node: TextNode, leaves: readonly Leaf[], filter: ShardFilter): Int32Array {
  switch (node.kind) {
    case "leaf":
      return maskOfLeaf(leaves[node.leaf], filter);
    case "not":
      return allColumns(filter);
    case "and":
      return node.children.map((child) => maskOfNode(child, leaves, filter)).reduce(and);
    case "or":
      return node.children.map((child) => maskOfNode(child, leaves, filter)).reduce(or);
  }
}

function maskOfLeaf(leaf: Pick<Leaf | PathFilter, "analysis" | "foldCase">, filter: ShardFilter): Int32Array {
  const mask = allColumns(filter);
  for (const clause of requiredLiterals(leaf).clauses)
    and(
      mask,
      clause
        .map((literal) => {
          const holders = allColumns(filter);
          filter.keepHolding(literal, holders);
          return holders;
        })
        .reduce(or),
    );
  filter.addUncertain(mask, leaf.foldCase);
  return mask;
}

function allColumns(filter: ShardFilter): Int32Array {
  return new Int32Array(filter.maskWords).fill(-1);
}

function and(mask: Int32Array, other: Int32Array): Int32Array {
  for (let i = 0; i < mask.length; i++) mask[i] &= other[i];
  return mask;
}

function or(mask: Int32Array, other: Int32Array): Int32Array {
  for (let i = 0; i < mask.length; i++) mask[i] |= other[i];
  return mask;
}

/** What a search of these rows examines at most. */
export function estimateCost(
  { shards }: CatalogView,
  rows: Uint32Array,
  shardsRuledOut: number,
): { shards: number; shardsRuledOut: number; documents: number; textBytes: number } {
  const sum = { shards: rows.length, shardsRuledOut, documents: 0, textBytes: 0 };
  for (const row of rows) {
    const { documentCount, contentBytes } = shards[row].record;
    sum.documents += documentCount;
    sum.textBytes += contentBytes;
  }
  return sum;
}
