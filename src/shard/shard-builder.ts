import { assert } from "../base/assert.js";
import { uninitializedBytes } from "../base/bytes.js";
import { hasText, type SkipReason, skipReasons } from "../model/skip-reason.js";
import type { Kernel } from "../native/kernel/kernel.js";
import { crc32 } from "../native/memory/memory.js";
import {
  contentPaddingBytes,
  headerBytes,
  newlineStepBytes,
  packDocumentInfo,
  type Section,
  sections,
  shardFormat,
  unitBytes,
} from "./format.js";
import { withoutPostings } from "./section-layout.js";
import { type HeaderValues, layOut, type SectionBytes, writeSections } from "./section-writer.js";
import { findFoldExceptions, makeUnits, noPostings } from "./text-sections.js";
import { fileKindMask } from "../model/file-kind.js";

/** Initial size of the text buffer; it is doubled as needed. */
const textBytesMin = 1024 * 1024;

/**
 * Collects contents and documents and builds one shard of them.
 *
 * Contract: `addContent` or `reuseContent` selects the content, and `addDocument` then attaches documents to it;
 * documents without content are added with `addSkipped`. Contents with the same oid are stored once. After `build` the
 * builder is empty and can be reused; it keeps its text buffer.
 */
export class ShardBuilder {
  readonly #kernel: Kernel;
  /** Destination of the shard, if it is known in advance. */
  readonly #target: Buffer | undefined;
  #text: Buffer;
  #textBytes = 0;
  #contentStart: number[] = [];
  #documentsOfContent: DocumentInput[][] = [];
  #skipped: DocumentInput[] = [];
  /** Contents of which it is known that they are ASCII. */
  #asciiContents = new Set<number>();
  #contentOfOid = new Map<string, number>();

  /**
   * With a `target` buffer, aligned to 8 bytes, contents are copied directly to their final location in the shard. The
   * caller ensures that the shard fits.
   */
  constructor(kernel: Kernel, target: Buffer | undefined) {
    this.#kernel = kernel;
    this.#target = target;
    this.#text = target?.subarray(headerBytes) ?? uninitializedBytes(textBytesMin);
  }

  get contentBytes(): number {
    return this.#textBytes;
  }

  get documentCount(): number {
    return this.#documentsOfContent.reduce((sum, documents) => sum + documents.length, this.#skipped.length);
  }

  get isEmpty(): boolean {
    return this.#contentStart.length === 0 && this.#skipped.length === 0;
  }

  /** The number of the content with this oid, or -1. */
  findContent(oid: string): number {
    return this.#contentOfOid.get(oid) ?? -1;
  }

  /** The bytes of a content; valid until the next `addContent`. */
  contentText(content: number): Buffer {
    return this.#text.subarray(this.#contentStart[content], this.#contentStart[content + 1] ?? this.#textBytes);
  }

  /**
   * Room for further contents in the target buffer: what is written to its beginning need not be copied, and is added by
   * `addWritten`.
   */
  get room(): Buffer {
    assert(this.#target !== undefined, "the shard has a target buffer");
    return this.#text.subarray(this.#textBytes, Math.max(this.#textBytes, this.#text.length - contentPaddingBytes));
  }

  /** Copies `content`; returns its number. */
  addContent(oid: string, content: Uint8Array): number {
    const known = this.#contentOfOid.get(oid);
    if (known !== undefined) return known;
    this.#reserve(content.length);
    this.#text.set(content, this.#textBytes);
    return this.#addText(oid, content.length);
  }

  /** Adds a content that was written to the beginning of `room`, and was not added before; returns its number. */
  addWritten(oid: string, byteCount: number, isAscii: boolean): number {
    assert(byteCount <= this.room.length && !this.#contentOfOid.has(oid), "a content that was written is added once");
    const number = this.#addText(oid, byteCount);
    if (isAscii) this.#asciiContents.add(number);
    return number;
  }

  #addText(oid: string, byteCount: number): number {
    const number = this.#contentStart.length;
    this.#contentStart.push(this.#textBytes);
    this.#documentsOfContent.push([]);
    this.#textBytes += byteCount;
    this.#contentOfOid.set(oid, number);
    return number;
  }

  addDocument(content: number, document: DocumentInput): void {
    assert(content < this.#contentStart.length, "the content was added before its document");
    assert(hasText(document.skipReason), "a document with content is not skipped");
    this.#documentsOfContent[content].push(document);
  }

  addSkipped(document: DocumentInput): void {
    assert(!hasText(document.skipReason), "a document without content says why");
    this.#skipped.push(document);
  }

  /**
   * Builds the shard in the memory that `allocate` returns for its size, and fills any excess with zeros. The builder
   * is empty afterwards.
   */
  build(allocate: (byteCount: number) => Buffer): Buffer {
    assert(!this.isEmpty, "a shard holds at least one document");
    assert(this.#target === undefined, "the shard has no target buffer");
    const parts = this.#makeSections("with-postings");
    const layout = layOut(sections, parts.bytes);
    const bytes = allocate(layout.totalBytes);
    writeSections(bytes, shardFormat, parts.header, parts.bytes, layout, sections, crc32);
    bytes.fill(0, layout.totalBytes);
    this.#reset();
    return bytes;
  }

  /**
   * Builds the shard at its destination, and returns its size. It has no posting lists and no checksums, which are most
   * of the work: it stays in memory and is searched a few times. Its text comes first.
   */
  buildInPlace(): number {
    assert(!this.isEmpty && this.#target !== undefined, "a shard has a document and a target buffer");
    const parts = this.#makeSections("without-postings");
    const others = sections.filter((section) => section !== "content");
    const layout = layOut(["content", ...others], parts.bytes);
    writeSections(this.#target, shardFormat, parts.header, parts.bytes, layout, others, () => 0);
    this.#reset();
    return layout.totalBytes;
  }

  #hasRoomFor(byteCount: number): boolean {
    return this.#textBytes + byteCount + contentPaddingBytes <= this.#text.length;
  }

  #reserve(byteCount: number): void {
    if (this.#hasRoomFor(byteCount)) return;
    const needed = this.#textBytes + byteCount + contentPaddingBytes;
    assert(this.#target === undefined, "the contents fit into the shard's target buffer");
    const grown = uninitializedBytes(Math.max(needed, Math.min(this.#text.length * 2, this.#text.length + 2 ** 27)));
    this.#text.copy(grown, 0, 0, this.#textBytes);
    this.#text = grown;
  }

  #reset(): void {
    if (this.#target !== undefined) this.#text = this.#target.subarray(0, 0);
    this.#textBytes = 0;
    this.#contentStart = [];
    this.#documentsOfContent = [];
    this.#skipped = [];
    this.#contentOfOid = new Map();
    this.#asciiContents = new Set();
  }

  #makeSections(kind: "with-postings" | "without-postings"): Parts {
    const text = this.#text.subarray(0, this.#textBytes);
    const contentStart = Uint32Array.from([...this.#contentStart, this.#textBytes]);
    const { contentFirstUnit, units } = makeUnits(contentStart, unitBytes);
    const postings =
      kind === "without-postings" ? noPostings : this.#kernel.buildPostings(text, units, units.length / 2);
    const newlines = new Uint32Array(Math.floor(text.length / newlineStepBytes) + 1);
    this.#kernel.newlineTable(text, newlineStepBytes, newlines);
    const documents = makeDocuments(this.#documentsOfContent, this.#skipped);
    this.#text.fill(0, this.#textBytes, this.#textBytes + contentPaddingBytes);
    return {
      header: {
        counts: [this.#contentStart.length, documents.documentCount, units.length / 2],
        oidBytes: documents.oidBytes,
        flags: kind === "without-postings" ? withoutPostings : 0,
      },
      bytes: {
        ...documents.bytesOf,
        contentStart: toBytes(contentStart),
        contentFirstUnit: toBytes(contentFirstUnit),
        contentFirstLine: toBytes(this.#firstLines(text, contentStart, newlines)),
        foldExceptions: toBytes(findFoldExceptions(text, contentStart, this.#asciiContents)),
        keys: toBytes(postings.keys),
        postingStart: toBytes(postings.offsets),
        postings: postings.bytes,
        newlines: toBytes(newlines),
        content: this.#text.subarray(0, this.#textBytes + contentPaddingBytes),
      },
    };
  }

  #firstLines(text: Buffer, contentStart: Uint32Array, newlines: Uint32Array): Uint32Array {
    const firstLine = new Uint32Array(contentStart.length - 1);
    for (let i = 0; i < firstLine.length; i++) {
      const start = contentStart[i];
      const step = Math.floor(start / newlineStepBytes);
      firstLine[i] = newlines[step] + this.#kernel.countNewlines(text, step * newlineStepBytes, start);
    }
    return firstLine;
  }
}

interface Parts {
  readonly header: HeaderValues;
  readonly bytes: SectionBytes<Section>;
}

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
function makeDocuments(
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
      document.flags ?? 0,
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

/** One document as passed to the builder. */
export interface DocumentInput {
  readonly repositoryId: number;
  readonly path: Buffer;
  /** Bit mask of the repository's branches that have this document. */
  readonly branchMask: number;
  /** Hex oid of the blob (of the commit, for a submodule). */
  readonly oid: string;
  /** Language name; "" if unknown. */
  readonly language: string;
  /** See `documentFlags`; none if undefined. */
  readonly flags?: number;
  readonly skipReason: SkipReason;
}

export function toBytes(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
