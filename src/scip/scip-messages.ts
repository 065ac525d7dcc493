import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { errorMessage, TrawlError } from "../base/errors.js";

/** How characters are counted in the ranges of a document. */
export type PositionEncoding = "utf8" | "utf16" | "utf32";

export interface ScipMetadata {
  readonly toolName: string;
  readonly toolVersion: string;
}

export interface ScipRelation {
  readonly symbol: string;
  readonly isReference: boolean;
  readonly isImplementation: boolean;
  readonly isDefinition: boolean;
}

/** What an index says about a symbol. */
export interface ScipSymbol {
  readonly symbol: string;
  /** In Markdown. */
  readonly documentation: readonly string[];
  readonly relations: readonly ScipRelation[];
  /** The number of a kind; 0 if it has none. */
  readonly kind: number;
  readonly displayName: string;
  /** "" if it is not known; some indexers have it in a code block of the documentation. */
  readonly signature: string;
}

/** Receives the parts of a document. */
export interface DocumentVisitor {
  /** The range has three or four numbers, and is valid only during the call. */
  occurrence(range: readonly number[], symbol: string, roles: number): void;
  symbol(symbol: ScipSymbol): void;
}

export interface ScipDocument {
  readonly path: string;
  readonly language: string;
  readonly encoding: PositionEncoding;
}

/** The role of an occurrence that defines its symbol, as a bit of its roles. */
export const definitionRole = 1;

/** Longer names of tools are cut: they are in the record of the index. */
const toolUnitsMax = 1_000;

/** Longer texts about a symbol are cut. */
const documentationUnitsMax = 16_384;

/** Relations of one symbol beyond these are ignored. */
const relationsMax = 1_000;

/** Throws `bad-request` if the bytes are no such message. */
export function decodeMetadata(bytes: Uint8Array): ScipMetadata {
  let toolName = "";
  let toolVersion = "";
  readFields(bytes, "its metadata", (field, reader) => {
    if (field !== 2) return false;
    readFields(reader.bytes(), "its metadata", (inner, tool) => {
      if (inner === 1) toolName = tool.string().slice(0, toolUnitsMax);
      else if (inner === 2) toolVersion = tool.string().slice(0, toolUnitsMax);
      else return false;
      return true;
    });
    return true;
  });
  return { toolName, toolVersion };
}

/** The properties of a document, without what is in it. Throws like `decodeMetadata`. */
export function decodeDocument(bytes: Uint8Array): ScipDocument {
  let path = "";
  let language = "";
  let encoding = 0;
  readFields(bytes, "a document", (field, reader) => {
    if (field === 1) path = reader.string();
    else if (field === 4) language = reader.string();
    else if (field === 6) encoding = reader.int32();
    else return false;
    return true;
  });
  return { path, language, encoding: chooseEncoding(encoding, language) };
}

/** Visits what is in a document, in its order. Throws like `decodeMetadata`, and what the visitor throws. */
export function visitDocument(bytes: Uint8Array, what: string, visitor: DocumentVisitor): void {
  const range: number[] = [];
  readFields(bytes, what, (field, reader) => {
    if (field === 3) visitor.symbol(decodeSymbol(reader.bytes(), what));
    else if (field === 2) {
      range.length = 0;
      let symbol = "";
      let roles = 0;
      readFields(reader.bytes(), what, (inner, occurrence, wireType) => {
        if (inner === 1) readNumbers(occurrence, wireType, range);
        else if (inner === 2) symbol = occurrence.string();
        else if (inner === 3) roles = occurrence.int32();
        else return false;
        return true;
      });
      visitor.occurrence(range, symbol, roles);
    } else return false;
    return true;
  });
}

/** Throws like `decodeMetadata`. */
export function decodeSymbol(bytes: Uint8Array, what: string): ScipSymbol {
  let symbol = "";
  let kind = 0;
  let displayName = "";
  let signature = "";
  const documentation: string[] = [];
  const relations: ScipRelation[] = [];
  let room = documentationUnitsMax;
  const cut = (text: string): string => {
    const kept = text.slice(0, room);
    room -= kept.length;
    return kept;
  };
  readFields(bytes, what, (field, reader) => {
    if (field === 1) symbol = reader.string();
    else if (field === 3) {
      const text = cut(reader.string());
      if (text !== "") documentation.push(text);
    } else if (field === 4) {
      const relation = decodeRelation(reader.bytes(), what);
      if (relations.length < relationsMax) relations.push(relation);
    } else if (field === 5) kind = reader.int32();
    else if (field === 6) displayName = cut(reader.string());
    else if (field === 7) {
      readFields(reader.bytes(), what, (inner, text) => {
        if (inner !== 5) return false;
        signature = cut(text.string());
        return true;
      });
    } else return false;
    return true;
  });
  return { symbol, documentation, relations, kind, displayName, signature };
}

function decodeRelation(bytes: Uint8Array, what: string): ScipRelation {
  let symbol = "";
  const flags = [false, false, false, false, false, false];
  readFields(bytes, what, (field, reader) => {
    if (field === 1) symbol = reader.string();
    else if (field >= 2 && field <= 5) flags[field] = reader.bool();
    else return false;
    return true;
  });
  return { symbol, isReference: flags[2], isImplementation: flags[3], isDefinition: flags[5] };
}

/** At most four numbers: a range has no more, and whatever follows makes it invalid. */
function readNumbers(reader: BinaryReader, wireType: WireType, into: number[]): void {
  const end = wireType === WireType.LengthDelimited ? reader.uint32() + reader.pos : reader.pos + 1;
  while (reader.pos < end) {
    const value = reader.int32();
    if (into.length <= 4) into.push(value);
  }
}

/**
 * Newer indexers say how they count. Of the others, those for languages whose compilers have their texts in UTF-8 count bytes,
 * and the rest, which run on Node or a JVM, units of UTF-16.
 */
function chooseEncoding(number: number, language: string): PositionEncoding {
  if (number === 1) return "utf8";
  if (number === 2) return "utf16";
  if (number === 3) return "utf32";
  return /^(?:go|rust|c|cpp|cuda)$/i.test(language) ? "utf8" : "utf16";
}

/** Reads the fields of a message; those that `read` does not know are skipped. */
function readFields(
  bytes: Uint8Array,
  what: string,
  read: (field: number, reader: BinaryReader, wireType: WireType) => boolean,
): void {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      const start = reader.pos;
      if (!read(field, reader, wireType)) {
        reader.pos = start;
        reader.skip(wireType, field);
      }
      if (reader.pos > reader.len) throw new RangeError("premature end");
    }
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("bad-request", `the index is damaged in ${what}: ${errorMessage(error)}`, { cause: error });
  }
}
