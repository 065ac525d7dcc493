import { hasBit } from "../base/bits.js";
import { TrawlError } from "../base/errors.js";
import { unpackFlags, unpackLanguage, unpackSkipCode } from "../shard/format.js";
import { KnownSymbols } from "../shard/symbols/known-symbols.js";
import { ShardReader } from "../shard/shard-reader.js";
import type { DocumentInput } from "../shard/shard-builder.js";
import { skipReasonFromCode } from "../model/skip-reason.js";
import type { ShardSnapshot } from "../store/shard-store.js";
import type { SourceShard } from "./index-changes.js";
import type { ShardOutput } from "./shard-output.js";

/** A shard to merge. `repositoryIds` is 0 for each repository number that is hidden in it. */
export interface CompactSource extends SourceShard {
  readonly repositoryIds: readonly number[];
  readonly hasSymbols: boolean;
}

/**
 * Copies the live documents of the sources to the output, each group of repositories into shards of its own. Every checksum of a source is verified first, so that damage
 * is not copied into a shard with valid checksums. Throws `corrupt-shard`, or `cancelled` if stopped.
 */
export async function compact(
  sources: readonly CompactSource[],
  groups: readonly (readonly number[])[],
  snapshot: ShardSnapshot,
  output: ShardOutput,
  stop: () => boolean,
): Promise<void> {
  const symbols = new KnownSymbols();
  output.useSymbols(symbols);
  const verified = new Set<number>();
  for (const group of groups) {
    const members = new Set(group);
    for (const source of sources) {
      const repositoryIds = source.repositoryIds.map((id) => (members.has(id) ? id : 0));
      if (repositoryIds.every((id) => id === 0)) continue;
      const isFirst = !verified.has(source.id);
      const value = source.hasSymbols && isFirst ? snapshot.symbols(source.id) : undefined;
      // Valid until the snapshot is asked for the next shard.
      const bytes = snapshot.get(source.id);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${source.id} is missing from the store`);
      const reader = new ShardReader(source.id, bytes);
      if (isFirst) {
        reader.requireChecksum(source.checksum);
        reader.verify("index");
        reader.verify("content");
        verified.add(source.id);
      }
      if (value !== undefined) addSymbols(symbols, reader, value);
      await copyLiving(reader, { ...source, repositoryIds }, output, stop);
    }
    await output.flush();
  }
}

/** Damaged symbols are not copied: those of the new shards are extracted again. */
function addSymbols(symbols: KnownSymbols, reader: ShardReader, value: Buffer): void {
  try {
    symbols.add(reader, value);
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
  }
}

async function copyLiving(
  reader: ShardReader,
  source: CompactSource,
  output: ShardOutput,
  stop: () => boolean,
): Promise<void> {
  const languages = reader.languages();
  for (let content = 0; content <= reader.contentCount; content++) {
    if (content % 256 === 0 && stop()) throw new TrawlError("cancelled", "the merge was stopped");
    const living = livingDocuments(reader, source, content, languages);
    if (living.length === 0) continue;
    if (content === reader.contentCount) {
      for (const document of living) output.addSkipped(document);
      continue;
    }
    const { oid } = living[0];
    const known = output.findContent(oid);
    const text = reader.content.subarray(reader.contentStart[content], reader.contentStart[content + 1]);
    const number = known >= 0 ? known : await output.addContent(oid, text);
    for (const document of living) output.addDocument(number, document);
  }
}

function livingDocuments(
  reader: ShardReader,
  source: CompactSource,
  content: number,
  languages: readonly string[],
): DocumentInput[] {
  const living: DocumentInput[] = [];
  const end = reader.contentFirstDocument[content + 1];
  for (let document = reader.contentFirstDocument[content]; document < end; document++) {
    const { tombstones } = source;
    if (tombstones !== undefined && hasBit(tombstones, document)) continue;
    const repositoryId = source.repositoryIds[reader.documentRepository[document]];
    if (repositoryId === 0) continue;
    const info = reader.documentInfo[document];
    living.push({
      repositoryId,
      path: Buffer.from(reader.path(document)),
      branchMask: reader.documentBranches[document],
      oid: reader.oid(document),
      language: languages[unpackLanguage(info)],
      flags: unpackFlags(info),
      skipReason: skipReasonFromCode(unpackSkipCode(info)),
    });
  }
  return living;
}
