import type { ShardText } from "../../protocol/shard-filter.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { holdsFoldException } from "./path-trigrams.js";

/** The texts with which the shard's column of the filter is filled. */
export function columnText(reader: ShardReader): ShardText {
  const { keys, paths, foldExceptions } = reader;
  return { keys, paths, hasFoldExceptions: foldExceptions.length > 0 || holdsFoldException(paths) };
}
