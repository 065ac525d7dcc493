import type { CatalogView, LiveShard } from "../catalog/catalog.js";
import type { RepositorySelection } from "../task/search-options.js";

/** The places in the view's table of the shards that hold a repository of some selection, in the catalog's order. */
export function placesOf(view: CatalogView, selections: readonly RepositorySelection[]): Uint32Array {
  if (selections.length === 0) return new Uint32Array(0);
  const searchesAll = selections.some(({ repositoryIds }) => repositoryIds === undefined);
  const holdsChosen = ({ record }: LiveShard): boolean => searchesAll || record.repositoryIds.some((id) =>
    selections.some(({ repositoryIds }) => hasBit(repositoryIds, id)));
  return Uint32Array.from(view.shards.flatMap((shard, place) => (holdsChosen(shard) ? [place] : [])));
}

function hasBit(bits: Uint32Array | undefined, id: number): boolean {
  return bits !== undefined && ((bits[id >>> 5] >>> (id & 31)) & 1) === 1;
}
