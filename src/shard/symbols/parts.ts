import { unpackLanguage } from "../format.js";
import type { ShardReader } from "../shard-reader.js";

/**
 * A *part* is a content with some of its consecutive documents, which have the same language: a content whose documents
 * have several languages has symbols for each. Almost every content is one part.
 */
export interface ShardParts {
  readonly count: number;
  /** By part: its content. Ascending. */
  readonly contents: Uint32Array;
  /** By part: its first document; then the first document without content, and the number of documents. */
  readonly firstDocuments: Uint32Array;
  /** By part: the number of its language in the shard. */
  readonly languages: Uint32Array;
}

/** The parts of a shard. */
export function findParts(reader: ShardReader): ShardParts {
  const contents: number[] = [];
  const firstDocuments: number[] = [];
  const languages: number[] = [];
  for (let content = 0; content < reader.contentCount; content++) {
    let language = -1;
    for (let i = reader.contentFirstDocument[content]; i < reader.contentFirstDocument[content + 1]; i++) {
      const own = unpackLanguage(reader.documentInfo[i]);
      if (own === language) continue;
      language = own;
      contents.push(content);
      firstDocuments.push(i);
      languages.push(own);
    }
  }
  firstDocuments.push(reader.contentFirstDocument[reader.contentCount], reader.documentCount);
  return {
    count: contents.length,
    contents: Uint32Array.from(contents),
    firstDocuments: Uint32Array.from(firstDocuments),
    languages: Uint32Array.from(languages),
  };
}
