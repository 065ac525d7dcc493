import type { Catalog } from "../../catalog/catalog.js";
import { otherRemedy } from "./shard-faults.js";

/** Inconsistencies within the catalog. */
export function* catalogFaults(catalog: Catalog): Generator<string> {
  const byName = new Map<string, number>();
  for (const { id, name } of catalog.repositories()) {
    const other = byName.get(name);
    if (other !== undefined)
      yield `the catalog has two repositories named ${JSON.stringify(name)}, ${other} and ${id}: remove one with \`trawl repo remove\``;
    byName.set(name, id);
  }
  for (const { record, tombstones } of catalog.shards()) {
    const unknown = record.repositoryIds.filter((id) => id !== 0 && catalog.repository(id) === undefined);
    if (unknown.length > 0)
      yield `shard ${record.id} contains documents of repositories that the catalog does not know (${unknown.join(", ")}): they are not found, and are removed when the shard is merged`;
    if (tombstones !== undefined && tombstones.length !== Math.ceil(record.documentCount / 32)) {
      yield `the tombstones of shard ${record.id} have ${tombstones.length} words for ${record.documentCount} documents: ${otherRemedy}`;
    }
  }
}
