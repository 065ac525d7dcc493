import { isUtf8 } from "node:buffer";
import { lastAtMost, lowerBoundBy } from "../base/sorted-search.js";
import { isPlainText } from "../base/bytes.js";
import { documentSections, type Section, shardFormat, unitBytes, unpackLanguage } from "./format.js";
import { SectionReader } from "./section-reader.js";
import { documentFault, structureFault } from "./structure.js";
import { BoundedMap } from "../base/bounded-map.js";

/** Bytes of a SHA-1 oid. */
const shortOidBytes = 20;

/**
 * The sections of one shard as typed arrays over its bytes, without copying.
 *
 * Contract: the arrays are valid as long as the bytes passed in (until the read transaction ends). The constructor checks
 * the header and the bounds of each section, so that no later read can leave the value; `verify` checks the checksums of
 * the sections. Data read before `verify` must not be trusted.
 */
export class ShardReader {
  readonly id: number;
  /** See `SectionReader`. */
  readonly checksum: number;
  readonly contentCount: number;
  readonly documentCount: number;
  readonly unitCount: number;
  readonly oidBytes: number;
  /** False if the shard was built without posting lists. */
  readonly hasPostings: boolean;
  readonly unitBytes: number = unitBytes;
  /** Repository ids, indexed by the values of `documentRepository`. */
  readonly repositories: Uint32Array;
  /** Content i is `content[contentStart[i], contentStart[i + 1])`. */
  readonly contentStart: Uint32Array;
  /** Units of content i are `[contentFirstUnit[i], contentFirstUnit[i + 1])`. */
  readonly contentFirstUnit: Uint32Array;
  /** Newlines before the start of content i. */
  readonly contentFirstLine: Uint32Array;
  /**
   * Documents of content i are `[contentFirstDocument[i], contentFirstDocument[i + 1])`; for i = contentCount, the
   * documents without content.
   */
  readonly contentFirstDocument: Uint32Array;
  readonly documentRepository: Uint32Array;
  readonly documentBranches: Uint32Array;
  readonly documentInfo: Uint32Array;
  readonly documentOids: Uint8Array;
  /** Document ids sorted by repository number, then path. */
  readonly documentsByPath: Uint32Array;
  /** Path of document i is `paths[pathStart[i], pathStart[i + 1] - 1)`; a NUL follows each. */
  readonly pathStart: Uint32Array;
  readonly paths: Buffer;
  /** Numbers of the contents that contain a character that folds into ASCII from outside ASCII. */
  readonly foldExceptions: Uint32Array;
  readonly keys: Uint32Array;
  readonly postingStart: Uint32Array;
  readonly postings: Buffer;
  /** Newlines before each multiple of `newlineStepBytes`. */
  readonly newlines: Uint32Array;
  /** The concatenated contents, then padding. */
  readonly content: Buffer;
  readonly #sections: SectionReader<Section>;
  /** Whether all paths are plain; undefined before this has been computed. */
  #hasPlainPaths: boolean | undefined;
  #hasUtf8Paths: boolean | undefined;
  /** By repository number, 1 if its oids fill their entries; undefined before it is computed. */
  #hasWideOids: Uint8Array | undefined;

  constructor(id: number, bytes: Uint8Array) {
    const sections = new SectionReader(shardFormat, id, bytes);
    this.#sections = sections;
    this.id = id;
    this.checksum = sections.checksum;
    [this.contentCount, this.documentCount, this.unitCount] = sections.counts;
    this.oidBytes = sections.oidBytes;
    this.hasPostings = sections.hasPostings;
    const contentCount = this.contentCount;
    const documentCount = this.documentCount;
    this.repositories = sections.words("repositories", undefined);
    this.contentStart = sections.words("contentStart", contentCount + 1);
    this.contentFirstUnit = sections.words("contentFirstUnit", contentCount + 1);
    this.contentFirstLine = sections.words("contentFirstLine", contentCount);
    this.contentFirstDocument = sections.words("contentFirstDocument", contentCount + 2);
    this.documentRepository = sections.words("documentRepository", documentCount);
    this.documentBranches = sections.words("documentBranches", documentCount);
    this.documentInfo = sections.words("documentInfo", documentCount);
    this.documentOids = sections.section("documentOids");
    this.documentsByPath = sections.words("documentsByPath", documentCount);
    this.pathStart = sections.words("pathStart", documentCount + 1);
    this.paths = sections.section("paths");
    this.foldExceptions = sections.words("foldExceptions", undefined);
    this.keys = sections.words("keys", undefined);
    this.postingStart = sections.words("postingStart", this.keys.length + 1);
    this.postings = sections.section("postings");
    this.newlines = sections.words("newlines", undefined);
    this.content = sections.section("content");
    if (this.documentOids.length !== documentCount * this.oidBytes)
      sections.fail("document oids have the wrong length");
  }

  /** All bytes of the shard. */
  get bytes(): Uint8Array {
    return this.#sections.bytes;
  }

  /** Size of the text, without the padding. */
  get contentBytes(): number {
    return this.contentStart[this.contentCount];
  }

  /** Language names, indexed by the numbers in `documentInfo`; "" means unknown. */
  languages(): string[] {
    return this.#sections.section("languages").toString().split("\n");
  }

  /** The number of the language of a document in `languages`. */
  languageNumber(document: number): number {
    return unpackLanguage(this.documentInfo[document]);
  }

  /**
   * Throws `corrupt-shard` if the checksum of a section differs, or if an offset points outside the section that it
   * refers to. `part` selects the text, everything else, or of that only what describes documents, which is a fiftieth.
   */
  verify(part: "index" | "content" | "documents"): void {
    if (part === "documents") this.#sections.verify((section) => documentSections.has(section));
    else this.#sections.verify((section) => (section === "content") === (part === "content"));
    const fault = part === "index" ? structureFault(this) : part === "documents" ? documentFault(this) : undefined;
    if (fault !== undefined) this.#sections.fail(fault);
  }

  /** Throws `corrupt-shard` unless the shard has all of these units, which are ascending. */
  requireUnits(units: Uint32Array): void {
    this.#sections.requireUnits(units, this.unitCount);
  }

  /** Throws `corrupt-shard` if this is not the shard to which the catalog refers; see `SectionReader`. */
  requireChecksum(expected: number | undefined): void {
    this.#sections.requireChecksum(expected);
  }

  path(document: number): Buffer {
    return this.paths.subarray(this.pathStart[document], this.pathStart[document + 1] - 1);
  }

  /** Whether the path is ASCII without newlines. */
  isPlainPath(document: number): boolean {
    this.#hasPlainPaths ??= isPlainText(this.paths);
    return this.#hasPlainPaths || isPlainText(this.path(document));
  }

  /** Whether the path is UTF-8. */
  isUtf8Path(document: number): boolean {
    return this.hasUtf8Paths || isUtf8(this.path(document));
  }

  /** Whether all paths are UTF-8, which is the case in nearly all shards. */
  get hasUtf8Paths(): boolean {
    this.#hasUtf8Paths ??= isUtf8(this.paths);
    return this.#hasUtf8Paths;
  }

  /** The path if it is plain, so that its characters are its bytes; otherwise undefined. */
  plainPath(document: number): string | undefined {
    return this.isPlainPath(document)
      ? this.paths.toString("latin1", this.pathStart[document], this.pathStart[document + 1] - 1)
      : undefined;
  }

  oid(document: number): string {
    const from = document * this.oidBytes;
    return Buffer.from(this.documentOids.subarray(from, from + this.#oidLength(document))).toString("hex");
  }

  /** Bytes of the document's oid: that of a SHA-1 repository is shorter than its entry in a shard with SHA-256. */
  #oidLength(document: number): number {
    if (this.oidBytes <= shortOidBytes) return this.oidBytes;
    this.#hasWideOids ??= this.#findWideOids();
    return this.#hasWideOids[this.documentRepository[document]] === 0 ? shortOidBytes : this.oidBytes;
  }

  /**
   * All oids of a repository have the same length. That many zeros at the end of an oid are padding, unless somebody has
   * made up the oid of a submodule; but then other files of the repository have longer ones.
   */
  #findWideOids(): Uint8Array {
    const isWide = new Uint8Array(this.repositories.length);
    for (let document = 0; document < this.documentCount; document++) {
      const repository = this.documentRepository[document];
      if (isWide[repository] !== 0) continue;
      const end = (document + 1) * this.oidBytes;
      for (let at = end - this.oidBytes + shortOidBytes; at < end; at++)
        if (this.documentOids[at] !== 0) isWide[repository] = 1;
    }
    return isWide;
  }

  /** The content of a document; `contentCount` for a document without content. */
  contentId(document: number): number {
    return lastAtMost(this.contentFirstDocument, document, this.contentCount + 1);
  }

  /** Document ids with this path and repository in this shard; usually one or none. */
  documentsAt(repositoryId: number, path: Buffer): number[] {
    const repository = this.repositories.indexOf(repositoryId);
    if (repository < 0) return [];
    const count = this.documentsByPath.length;
    const first = lowerBoundBy(count, (i) => this.#compareAt(this.documentsByPath[i], repository, path) < 0);
    const found: number[] = [];
    for (let i = first; i < count; i++) {
      const document = this.documentsByPath[i];
      if (this.#compareAt(document, repository, path) !== 0) break;
      found.push(document);
    }
    return found;
  }

  #compareAt(document: number, repository: number, path: Buffer): number {
    return this.documentRepository[document] - repository || Buffer.compare(this.path(document), path);
  }
}

/** Maximum number of cached readers per thread; each consists of some kilobytes of views. */
const readerCountMax = 1024;

/**
 * Caches readers of mapped shards, so that a search does not check header and bounds again.
 *
 * Sound because shards never change and their ids are never reused: bytes at the same address under the same id are the
 * same bytes. Bytes at another address, such as those of a small shard, which is copied each time, get a new reader.
 */
export class ReaderCache {
  #readers = newMap();
  #faultCount = 0;

  /**
   * The reader is valid as long as `bytes` are. Readers created before a fault of the store are dropped, because their
   * bytes may be zeros by now.
   */
  open(id: number, bytes: Buffer, faultCount: number): ShardReader {
    if (faultCount !== this.#faultCount) this.#readers = newMap();
    this.#faultCount = faultCount;
    const known = this.#readers.get(id);
    if (known !== undefined && known.bytes.buffer === bytes.buffer && known.bytes.byteOffset === bytes.byteOffset)
      return known.reader;
    const reader = new ShardReader(id, bytes);
    this.#readers.set(id, { bytes, reader });
    return reader;
  }
}

function newMap(): BoundedMap<number, { readonly bytes: Uint8Array; readonly reader: ShardReader }> {
  return new BoundedMap(readerCountMax, () => 1);
}
