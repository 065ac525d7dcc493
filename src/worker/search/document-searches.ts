import type { ShardSearch } from "../../eval/shard-search.js";
import type { WantedDocuments } from "../../eval/wanted-documents.js";
import type { ShardReader } from "../../shard/shard-reader.js";

/**
 * The searches of single documents of one slice, by row of the table. The one of a shard is used again for the next
 * document of the shard, because binding the query to it takes longer than searching a document.
 */
export class DocumentSearches {
  readonly #searches = new Map<number, { readonly reader: ShardReader; readonly search: ShardSearch }>();

  /**
   * A search of the wanted document. `make` is called for the first one of a shard, and for all documents if they are not
   * single ones. It is also called if the shard has another reader: the bytes of the last one may have been overwritten.
   */
  find(row: number, reader: ShardReader, wanted: WantedDocuments, make: () => ShardSearch): ShardSearch {
    const known = this.#searches.get(row);
    if (wanted.only === undefined || known?.reader !== reader) {
      const search = make();
      if (wanted.only !== undefined) this.#searches.set(row, { reader, search });
      return search;
    }
    known.search.restart(wanted);
    return known.search;
  }
}
