import type { ShardReader } from "./shard-reader.js";

/**
 * Texts with posting lists, as a shard has them: contents, the units of each, and the lists that name units. What finds
 * a pattern in the contents of a shard also finds it in the texts of a history shard.
 */
export type TextIndex = Pick<
  ShardReader,
  | "contentCount"
  | "contentStart"
  | "contentFirstUnit"
  | "foldExceptions"
  | "hasPostings"
  | "keys"
  | "postingStart"
  | "postings"
  | "content"
  | "unitBytes"
  | "requireUnits"
>;

/** Paths as a shard has them, one per document, and the languages of the documents. */
export type PathTable = Pick<
  ShardReader,
  "documentCount" | "pathStart" | "paths" | "path" | "plainPath" | "languages" | "languageNumber"
>;
