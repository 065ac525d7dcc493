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
export function findParts({
  contentCount,
  documentCount,
  contentFirstDocument,
  documentInfo,
}: Pick<ShardReader, "contentCount" | "documentCount" | "contentFirstDocument" | "documentInfo">): ShardParts {
  const documentsEnd = contentFirstDocument[contentCount];
  const contents = new Uint32Array(documentsEnd);
  const firstDocuments = new Uint32Array(documentsEnd + 2);
  const languages = new Uint32Array(documentsEnd);
  let count = 0;
  for (let content = 0; content < contentCount; content++) {
    let language = -1;
    for (let i = contentFirstDocument[content]; i < contentFirstDocument[content + 1]; i++) {
      const own = unpackLanguage(documentInfo[i]);
      if (own === language) continue;
      language = own;
      contents[count] = content;
      firstDocuments[count] = i;
      languages[count] = own;
      count++;
    }
  }
  firstDocuments[count] = documentsEnd;
  firstDocuments[count + 1] = documentCount;
  return {
    count,
    contents: contents.subarray(0, count),
    firstDocuments: firstDocuments.subarray(0, count + 2),
    languages: languages.subarray(0, count),
  };
}
