import { TrawlError } from "../base/errors.js";
import { crc32, populate } from "../native/memory/memory.js";
import {
  headerWords,
  countHeaderBytes,
  headerCrc,
  headerWordCount,
  sectionWordCount,
  withoutPostings,
  type SectionFormat,
} from "./section-layout.js";

/**
 * The header and the sections of a shard of any kind, without copying.
 *
 * Contract: the constructor checks the header, and `section` and `words` the bounds of each section, so that no later
 * read can leave the value. What they return is valid as long as the bytes passed in (until the read transaction ends),
 * and must not be trusted before `verify` has read it.
 */
export class SectionReader<Section extends string> {
  readonly id: number;
  readonly bytes: Uint8Array;
  /**
   * The checksum of the header, which covers those of the sections: different shards have the same checksum with a
   * probability of one in four billion.
   */
  readonly checksum: number;
  /** Words 5 to 7 of the header; their meaning depends on the kind of shard. */
  readonly counts: Uint32Array;
  readonly oidBytes: number;
  /** False if the shard was built without posting lists. */
  readonly hasPostings: boolean;
  readonly #format: SectionFormat<Section>;
  readonly #words: Uint32Array;

  /** Throws `corrupt-shard`, or `format-version` if another version of the program wrote the shard. */
  constructor(format: SectionFormat<Section>, id: number, bytes: Uint8Array) {
    this.#format = format;
    this.id = id;
    // Typed arrays of words need an aligned start; a copied value may be anywhere in its buffer.
    this.bytes = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
    this.#words = this.#checkHeader();
    this.checksum = this.#words[headerWords.headerCrc];
    this.counts = this.#words.subarray(headerWords.firstCount, headerWords.oidBytes);
    this.oidBytes = this.#words[headerWords.oidBytes];
    this.hasPostings = (this.#words[headerWords.flags] & withoutPostings) === 0;
  }

  section(section: Section): Buffer {
    const entry = this.#entry(section);
    const offset = this.#words[entry];
    const length = this.#words[entry + 1];
    if (offset % 8 !== 0 || offset + length > this.bytes.length)
      this.fail(`section ${section} extends beyond the value`);
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + offset, length);
  }

  /** A section of words; `count` is undefined if any number of them is right. */
  words(section: Section, count: number | undefined): Uint32Array {
    const bytes = this.section(section);
    if (bytes.length % 4 !== 0 || (count !== undefined && bytes.length !== count * 4))
      this.fail(`section ${section} has ${bytes.length} bytes`);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  /** A section of 64-bit floating-point numbers. */
  doubles(section: Section, count: number): Float64Array {
    const bytes = this.section(section);
    if (bytes.length !== count * 8) this.fail(`section ${section} has ${bytes.length} bytes`);
    return new Float64Array(bytes.buffer, bytes.byteOffset, count);
  }

  /** Reads these sections into memory. Throws `corrupt-shard` if the checksum of one differs. */
  verify(isVerified: (section: Section) => boolean): void {
    for (const section of this.#format.sections.filter(isVerified)) {
      const bytes = this.section(section);
      populate(bytes);
      if (crc32(bytes) !== this.#words[this.#entry(section) + 2]) this.fail(`section ${section} has a wrong checksum`);
    }
  }

  /**
   * Throws `corrupt-shard` if this is not the shard to which the catalog refers; `expected` is undefined if the catalog
   * has no checksum.
   */
  requireChecksum(expected: number | undefined): void {
    if (expected !== undefined && expected !== this.checksum) this.fail("another shard is stored under its id");
  }

  /** Throws `corrupt-shard` unless all of these units, which are ascending, are less than `unitCount`. */
  requireUnits(units: Uint32Array, unitCount: number): void {
    if (units.length > 0 && units[units.length - 1] >= unitCount)
      this.fail("a posting list names a unit that does not exist");
  }

  /** Throws `corrupt-shard`. */
  fail(what: string): never {
    throw new TrawlError(
      "corrupt-shard",
      `${this.#format.name} ${this.id} is damaged: ${what}. \`trawl check --repair\` rebuilds it.`,
    );
  }

  #entry(section: Section): number {
    return headerWordCount + this.#format.sections.indexOf(section) * sectionWordCount;
  }

  #checkHeader(): Uint32Array {
    const { bytes } = this;
    const { name, magic, version, sections, remedy } = this.#format;
    const headerBytes = countHeaderBytes(sections.length);
    if (bytes.length < headerBytes) this.fail(`it has ${bytes.length} bytes, fewer than a header`);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
    if (words[headerWords.magic0] !== magic[0] || words[headerWords.magic1] !== magic[1])
      this.fail(`it does not begin like a ${name}`);
    if (words[headerWords.headerCrc] !== headerCrc(bytes, sections.length))
      this.fail("its header has a wrong checksum");
    if (words[headerWords.version] !== version) {
      throw new TrawlError(
        "format-version",
        `${name} ${this.id} has format version ${words[headerWords.version]}; this program supports ${version}. ${remedy}, or use the program that wrote it.`,
      );
    }
    if (words[headerWords.sectionCount] !== sections.length) this.fail("it has the wrong number of sections");
    if (words[headerWords.totalBytes] > bytes.length)
      this.fail(`it should have ${words[headerWords.totalBytes]} bytes and has ${bytes.length}`);
    return words;
  }
}
