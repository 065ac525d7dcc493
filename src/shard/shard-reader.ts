import { isAscii } from "node:buffer";
import { TrawlError } from "../base/errors.js";
import { crc32, populate } from "../native/memory/memory.js";
import {
  formatVersion,
  headerBytes,
  headerWordCount,
  headerWords,
  magic,
  sections,
  sectionWordCount,
  unitBytes,
  withoutPostings,
  type Section,
} from "./format.js";
import { headerCrc } from "./shard-builder.js";
import { structureFault } from "./structure.js";
import { lastAtMost, lowerBoundBy } from "../base/sorted-search.js";

const newline = 10;

/**
 * The sections of one shard as typed arrays over its bytes, without copying.
 *
 * Contract: the arrays are valid as long as the bytes passed in (until the read transaction ends). `open` checks the
 * header and the bounds of each section, so that no later read can leave the value; `verify` checks the checksums of
 * the sections. Data read before `verify` must not be trusted.
 */
export class ShardReader {
  readonly id: number;
  /**
   * The checksum of the header, which covers those of the sections: different shards have the same checksum with a
   * probability of one in four billion.
   */
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
  readonly #bytes: Uint8Array;
  readonly #words: Uint32Array;
  /** Whether all paths are plain; undefined before this has been computed. */
  #hasPlainPaths: boolean | undefined;

  constructor(id: number, bytes: Uint8Array) {
    this.id = id;
    // Typed arrays of words need an aligned start; a copied value may be anywhere in its buffer.
    this.#bytes = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
    this.#words = this.#checkHeader();
    this.checksum = this.#words[headerWords.headerCrc];
    this.contentCount = this.#words[headerWords.contentCount];
    this.documentCount = this.#words[headerWords.documentCount];
    this.unitCount = this.#words[headerWords.unitCount];
    this.oidBytes = this.#words[headerWords.oidBytes];
    this.hasPostings = (this.#words[headerWords.flags] & withoutPostings) === 0;
    const contentCount = this.contentCount;
    const documentCount = this.documentCount;
    this.repositories = this.#readWords("repositories", undefined);
    this.contentStart = this.#readWords("contentStart", contentCount + 1);
    this.contentFirstUnit = this.#readWords("contentFirstUnit", contentCount + 1);
    this.contentFirstLine = this.#readWords("contentFirstLine", contentCount);
    this.contentFirstDocument = this.#readWords("contentFirstDocument", contentCount + 2);
    this.documentRepository = this.#readWords("documentRepository", documentCount);
    this.documentBranches = this.#readWords("documentBranches", documentCount);
    this.documentInfo = this.#readWords("documentInfo", documentCount);
    this.documentOids = this.#section("documentOids");
    this.documentsByPath = this.#readWords("documentsByPath", documentCount);
    this.pathStart = this.#readWords("pathStart", documentCount + 1);
    this.paths = this.#section("paths");
    this.foldExceptions = this.#readWords("foldExceptions", undefined);
    this.keys = this.#readWords("keys", undefined);
    this.postingStart = this.#readWords("postingStart", this.keys.length + 1);
    this.postings = this.#section("postings");
    this.newlines = this.#readWords("newlines", undefined);
    this.content = this.#section("content");
    if (this.documentOids.length !== documentCount * this.oidBytes) this.#fail("document oids have the wrong length");
  }

  /** All bytes of the shard. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Size of the text, without the padding. */
  get contentBytes(): number {
    return this.contentStart[this.contentCount];
  }

  /** Language names, indexed by the numbers in `documentInfo`; "" means unknown. */
  languages(): string[] {
    return this.#section("languages").toString().split("\n");
  }

  /**
   * Throws `corrupt-shard` if the checksum of a section differs, or if an offset points outside the section that it
   * refers to. `part` selects the text, or everything else.
   */
  verify(part: "index" | "content"): void {
    sections.forEach((section, i) => {
      if ((section === "content") !== (part === "content")) return;
      const entry = headerWordCount + i * sectionWordCount;
      const bytes = this.#section(section);
      populate(bytes);
      if (crc32(bytes) !== this.#words[entry + 2]) this.#fail(`section ${section} has a wrong checksum`);
    });
    const fault = part === "index" ? structureFault(this) : undefined;
    if (fault !== undefined) this.#fail(fault);
  }

  /** Throws `corrupt-shard` unless the shard has all of these units, which are ascending. */
  requireUnits(units: Uint32Array): void {
    if (units.length > 0 && units[units.length - 1] >= this.unitCount)
      this.#fail("a posting list names a unit that does not exist");
  }

  /**
   * Throws `corrupt-shard` if this is not the shard to which the catalog refers; `expected` is undefined if the catalog
   * has no checksum.
   */
  requireChecksum(expected: number | undefined): void {
    if (expected !== undefined && expected !== this.checksum) this.#fail("another shard is stored under its id");
  }

  path(document: number): Buffer {
    return this.paths.subarray(this.pathStart[document], this.pathStart[document + 1] - 1);
  }

  /** Whether the path is ASCII without newlines. */
  isPlainPath(document: number): boolean {
    this.#hasPlainPaths ??= isPlainText(this.paths);
    return this.#hasPlainPaths || isPlainText(this.path(document));
  }

  /** The path if it is plain, so that its characters are its bytes; otherwise undefined. */
  plainPath(document: number): string | undefined {
    return this.isPlainPath(document)
      ? this.paths.toString("latin1", this.pathStart[document], this.pathStart[document + 1] - 1)
      : undefined;
  }

  oid(document: number): string {
    const from = document * this.oidBytes;
    return Buffer.from(this.documentOids.subarray(from, from + this.oidBytes)).toString("hex");
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

  #checkHeader(): Uint32Array {
    const bytes = this.#bytes;
    if (bytes.length < headerBytes) this.#fail(`it has ${bytes.length} bytes, fewer than a header`);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
    if (words[headerWords.magic0] !== magic[0] || words[headerWords.magic1] !== magic[1])
      this.#fail("it does not begin like a shard");
    if (words[headerWords.headerCrc] !== headerCrc(bytes)) this.#fail("its header has a wrong checksum");
    if (words[headerWords.version] !== formatVersion) {
      throw new TrawlError(
        "format-version",
        `shard ${this.id} has format version ${words[headerWords.version]}; this program supports ${formatVersion}. Index it again, or use the program that wrote it.`,
      );
    }
    if (words[headerWords.sectionCount] !== sections.length) this.#fail("it has the wrong number of sections");
    if (words[headerWords.totalBytes] > bytes.length)
      this.#fail(`it should have ${words[headerWords.totalBytes]} bytes and has ${bytes.length}`);
    return words;
  }

  #section(section: Section): Buffer {
    const entry = headerWordCount + sections.indexOf(section) * sectionWordCount;
    const offset = this.#words[entry];
    const length = this.#words[entry + 1];
    if (offset % 8 !== 0 || offset + length > this.#bytes.length)
      this.#fail(`section ${section} extends beyond the value`);
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + offset, length);
  }

  #readWords(section: Section, count: number | undefined): Uint32Array {
    const bytes = this.#section(section);
    if (bytes.length % 4 !== 0 || (count !== undefined && bytes.length !== count * 4)) {
      this.#fail(`section ${section} has ${bytes.length} bytes`);
    }
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  #fail(what: string): never {
    throw new TrawlError(
      "corrupt-shard",
      `shard ${this.id} is damaged: ${what}. \`trawl check --repair\` rebuilds it.`,
    );
  }
}

function isPlainText(bytes: Buffer): boolean {
  return isAscii(bytes) && !bytes.includes(newline);
}
