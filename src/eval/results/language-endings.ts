import type { ShardReader } from "../../shard/shard-reader.js";

/** The last part of match objects, for each language of a shard: part i is `bytes[starts[i], starts[i + 1])`. */
export interface LanguageEndings {
  /** "" means unknown. */
  readonly names: readonly string[];
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
}

/** By reader, as long as it is in use: a search processes all shards, and most of them have few results to write. */
const known = new WeakMap<ShardReader, LanguageEndings>();

export function makeLanguageEndings(reader: ShardReader): LanguageEndings {
  const tails = known.get(reader) ?? makeEndings(reader);
  known.set(reader, tails);
  return tails;
}

function makeEndings(reader: ShardReader): LanguageEndings {
  const names = reader.languages();
  const starts = [0];
  const parts = names.map((name) => Buffer.from(name === "" ? "}" : `,"language":${JSON.stringify(name)}}`));
  for (const part of parts) starts.push(starts[starts.length - 1] + part.length);
  return { names, bytes: Buffer.concat(parts), starts: Uint32Array.from(starts) };
}
