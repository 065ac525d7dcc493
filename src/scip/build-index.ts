import { TrawlError } from "../base/errors.js";
import { PreciseIndexWriter, requireLimit, type WrittenIndex, type PlacedOccurrence } from "./index-writer.js";
import {
  decodeDocument,
  decodeMetadata,
  decodeSymbol,
  type ScipDocument,
  type ScipSymbol,
  visitDocument,
} from "./scip-messages.js";
import { indexFields, splitIndex } from "./scip-stream.js";
import { LinePositions } from "./line-positions.js";
import { isLocalSymbol, symbolName } from "./scip-symbol.js";

/** A larger document is refused: it is in memory as a whole while it is read. */
export const messageBytesMax = 64 << 20;

/** Documents whose files are read together, and their bytes. */
const documentsOfBatch = 256;
const bytesOfBatch = 4 << 20;

/** The commit that an index describes. */
export interface DescribedCommit {
  /** Passes the text of each of these files, in their order: undefined if the commit has no such file with a text. */
  readTexts(
    paths: readonly string[],
    onText: (index: number, text: Buffer | undefined) => Promise<void>,
  ): Promise<void>;
}

/** What is in an index, and what of it was left out. */
export interface BuiltIndex extends WrittenIndex {
  readonly toolName: string;
  readonly toolVersion: string;
  /** Documents whose files the commit does not have, or that are not texts. */
  readonly missingCount: number;
  /** Documents that describe another text than that of the file. */
  readonly unfitCount: number;
  /** Occurrences outside of their files. */
  readonly outsideCount: number;
}

interface PendingDocument {
  readonly document: ScipDocument;
  readonly bytes: Uint8Array;
}

/**
 * Builds a precise index from an uploaded one, a batch of documents after another. Throws `bad-request` if it is damaged, exceeds
 * a limit, or does not describe the commit.
 */
export async function buildIndex(
  chunks: AsyncIterable<Uint8Array>,
  commit: DescribedCommit,
  target: string,
  onProgress: (byteCount: number) => void,
): Promise<BuiltIndex> {
  const writer = await PreciseIndexWriter.create(target);
  try {
    const builder = new IndexBuilder(writer, commit, onProgress);
    for await (const { field, bytes, offset } of splitIndex(chunks, messageBytesMax)) {
      if (field === indexFields.metadata) builder.metadata = decodeMetadata(bytes);
      else if (field === indexFields.externalSymbol)
        await writer.describe(decodeSymbol(bytes, `the message at byte ${offset}`), "");
      else await builder.add(bytes);
    }
    return await builder.finish();
  } finally {
    await writer.close();
  }
}

class IndexBuilder {
  readonly #writer: PreciseIndexWriter;
  readonly #commit: DescribedCommit;
  readonly #onProgress: (byteCount: number) => void;
  readonly #paths = new Set<string>();
  #batch: PendingDocument[] = [];
  #batchBytes = 0;
  #documentCount = 0;
  #pathBytes = 0;
  #missingCount = 0;
  #unfitCount = 0;
  #outsideCount = 0;
  #firstMissing = "";
  #firstUnfit = "";
  metadata = { toolName: "", toolVersion: "" };

  constructor(writer: PreciseIndexWriter, commit: DescribedCommit, onProgress: (byteCount: number) => void) {
    this.#writer = writer;
    this.#commit = commit;
    this.#onProgress = onProgress;
  }

  async add(bytes: Uint8Array): Promise<void> {
    const document = decodeDocument(bytes);
    // The writer counts only those that it gets, but the paths of all are kept here.
    requireLimit("documents", ++this.#documentCount, "");
    // Of two documents with one path, which no indexer should write, the first counts.
    if (this.#paths.has(document.path)) return;
    this.#paths.add(document.path);
    requireLimit("pathBytes", (this.#pathBytes += Buffer.byteLength(document.path)), "");
    this.#batch.push({ document, bytes });
    this.#batchBytes += bytes.length;
    if (this.#batch.length >= documentsOfBatch || this.#batchBytes >= bytesOfBatch) await this.#flush();
  }

  async finish(): Promise<BuiltIndex> {
    await this.#flush();
    const written = await this.#writer.finish();
    if (written.documentCount === 0) throw this.#unfitError();
    return {
      ...written,
      ...this.metadata,
      missingCount: this.#missingCount,
      unfitCount: this.#unfitCount,
      outsideCount: this.#outsideCount,
    };
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    await this.#commit.readTexts(
      batch.map(({ document: { path } }) => path),
      async (index, text) => {
        const { document, bytes } = batch[index];
        this.#onProgress(bytes.length);
        if (text === undefined) {
          this.#missingCount++;
          this.#firstMissing ||= document.path;
          return;
        }
        const { occurrences, symbols, outsideCount, fits } = placeDocument(bytes, document, text);
        if (!fits) {
          this.#unfitCount++;
          this.#firstUnfit ||= document.path;
          return;
        }
        this.#outsideCount += outsideCount;
        await this.#writer.add(document.path, occurrences, symbols);
      },
    );
  }

  #unfitError(): TrawlError {
    const name = (path: string): string => JSON.stringify(path.slice(0, 300));
    if (this.#documentCount === 0)
      return new TrawlError(
        "bad-request",
        "the index has no documents: the indexer has found no files; run it in the folder of the project",
      );
    const what =
      this.#unfitCount > 0
        ? `its documents do not describe the files of this commit, for example ${name(this.#firstUnfit)}; upload it for the commit from which it was made`
        : `none of its ${this.#documentCount} documents is a file of this commit, for example ${name(this.#firstMissing)}; check the commit and the root`;
    return new TrawlError("bad-request", `the index does not fit the commit: ${what}`);
  }
}

/** A document of an index, as far as its occurrences are in the file. */
export interface PlacedDocument {
  readonly occurrences: PlacedOccurrence[];
  readonly symbols: readonly ScipSymbol[];
  /** Occurrences whose range is not in the file. */
  readonly outsideCount: number;
  /** Whether the index can have been made from this text. */
  readonly fits: boolean;
}

/** With fewer names, a document is believed. */
const checkedMin = 10;

/**
 * The least share of names that are in the text where the index has them: aliases and default exports have other names than their
 * symbols. In an index of another commit, a line more or less at the top of a file leaves almost none.
 */
const matchedShareMin = 0.25;

/**
 * Converts the positions in a document to those of the file that it describes. An index of another commit is recognized by its
 * names: what stands in the file at the place of a symbol is, in most places, the name of that symbol.
 */
export function placeDocument(bytes: Uint8Array, { path, encoding }: ScipDocument, text: Buffer): PlacedDocument {
  const lines = new LinePositions(text);
  const occurrences: PlacedOccurrence[] = [];
  const symbols: ScipSymbol[] = [];
  const place = (range: readonly number[]): Omit<PlacedOccurrence, "symbol" | "roles"> | undefined => {
    const [startLine, start, third, fourth] = range;
    const endLine = range.length === 4 ? third : startLine;
    const startCharacter = lines.codePoints(startLine, start, encoding);
    const endCharacter = lines.codePoints(endLine, range.length === 4 ? fourth : third, encoding);
    if (startCharacter < 0 || endCharacter < 0 || endLine < startLine) return undefined;
    if (endLine === startLine && endCharacter < startCharacter) return undefined;
    return { startLine, startCharacter, endLine, endCharacter };
  };
  let outsideCount = 0;
  let checkedCount = 0;
  let matchedCount = 0;
  visitDocument(bytes, JSON.stringify(path.slice(0, 300)), {
    occurrence: (range, symbol, roles) => {
      // Some occurrences only say how a range is coloured.
      if (symbol === "") return;
      const placed = range.length === 3 || range.length === 4 ? place(range) : undefined;
      if (placed === undefined) {
        outsideCount++;
        return;
      }
      const { startLine, startCharacter, endLine, endCharacter } = placed;
      const name = isLocalSymbol(symbol) || startLine !== endLine ? "" : symbolName(symbol);
      if (name !== "" && endCharacter > startCharacter) {
        checkedCount++;
        const found = lines.slice(startLine, startCharacter, endCharacter);
        // scip-typescript adds a number to the names of properties in literals.
        if (found.includes(name) || name.startsWith(found)) matchedCount++;
      }
      occurrences.push({ ...placed, symbol, roles });
      requireLimit("occurrences", occurrences.length, path);
    },
    symbol: (symbol) => {
      if (symbol.symbol === "") return;
      symbols.push(symbol);
      requireLimit("documentSymbols", symbols.length, path);
    },
  });
  const fits =
    (checkedCount < checkedMin || matchedCount >= checkedCount * matchedShareMin) &&
    (outsideCount === 0 || outsideCount <= occurrences.length);
  return { occurrences, symbols, outsideCount, fits };
}
