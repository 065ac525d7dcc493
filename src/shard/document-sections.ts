import { fileKindMask } from "../model/file-kind.js";
import { skipReasons } from "../model/skip-reason.js";
import { packDocumentInfo, type Section } from "./format.js";
import { type DocumentInput, toBytes } from "./document-input.js";

interface DocumentSections {
  readonly documentCount: number;
  readonly oidBytes: number;
  readonly bytesOf: Pick<
    Record<Section, Uint8Array>,
    | "repositories"
    | "languages"
    | "contentFirstDocument"
    | "documentRepository"
    | "documentBranches"
    | "documentInfo"
    | "documentOids"
    | "documentsByPath"
    | "pathStart"
    | "paths"
  >;
}

/**
 * Arranges documents in the order of their contents; documents without content come last, under a content number past
 * the end.
 */
export function makeDocuments(
  documentsOfContent: readonly DocumentInput[][],
  skipped: readonly DocumentInput[],
): DocumentSections {
  const groups = [...documentsOfContent, skipped];
  const contentFirstDocument = new Uint32Array(groups.length + 1);
  groups.forEach((group, i) => {
    contentFirstDocument[i + 1] = contentFirstDocument[i] + group.length;
  });
  const documents = groups.flat();
  const repositories = numberDistinct(documents.map((document) => document.repositoryId));
  const languages = numberDistinct(documents.map((document) => document.language));
  const count = documents.length;
  const oidBytes = documents.reduce((longest, document) => Math.max(longest, document.oid.length), 40) / 2;
  const documentRepository = new Uint32Array(count);
  const documentBranches = new Uint32Array(count);
  const documentInfo = new Uint32Array(count);
  const documentOids = Buffer.alloc(count * oidBytes);
  const pathStart = new Uint32Array(count + 1);
  documents.forEach((document, i) => {
    documentRepository[i] = repositories.numberOf.get(document.repositoryId) ?? 0;
    documentBranches[i] = document.branchMask;
    documentInfo[i] = packDocumentInfo(
      languages.numberOf.get(document.language) ?? 0,
      fileKindMask(document.path.toString("latin1")),
      skipReasons[document.skipReason].code,
    );
    documentOids.write(document.oid, i * oidBytes, "hex");
    pathStart[i + 1] = pathStart[i] + document.path.length + 1;
  });
  const paths = Buffer.alloc(pathStart[count]);
  documents.forEach((document, i) => document.path.copy(paths, pathStart[i]));
  const byPath = Uint32Array.from(documents.keys()).sort(
    (a, b) => documentRepository[a] - documentRepository[b] || Buffer.compare(documents[a].path, documents[b].path),
  );
  return {
    documentCount: count,
    oidBytes,
    bytesOf: {
      repositories: toBytes(Uint32Array.from(repositories.values)),
      languages: Buffer.from(languages.values.join("\n")),
      contentFirstDocument: toBytes(contentFirstDocument),
      documentRepository: toBytes(documentRepository),
      documentBranches: toBytes(documentBranches),
      documentInfo: toBytes(documentInfo),
      documentOids,
      documentsByPath: toBytes(byPath),
      pathStart: toBytes(pathStart),
      paths,
    },
  };
}

function numberDistinct<T>(values: readonly T[]): { values: T[]; numberOf: Map<T, number> } {
  const numberOf = new Map<T, number>();
  for (const value of values) if (!numberOf.has(value)) numberOf.set(value, numberOf.size);
  return { values: [...numberOf.keys()], numberOf };
}
