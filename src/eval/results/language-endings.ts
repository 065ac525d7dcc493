import type { ShardReader } from "../../shard/shard-reader.js";

/** How match objects of each language of a shard end: tail i is `bytes[starts[i], starts[i + 1])`. */
export interface LanguageEndings {
  /** "" stands for unknown. */
  readonly names: readonly string[];
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}

/** Of each reader that is in use: a search goes through all shards, and most of them have few results to write. */
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
  return { names, bytes: Buffer.concat(parts), starts };
}
