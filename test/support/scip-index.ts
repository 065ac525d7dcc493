/** Indexes in the SCIP format, as indexers write them. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export interface ScipOccurrence {
  readonly range: readonly number[];
  readonly symbol: string;
  /** 1 for a definition. */
  readonly roles?: number;
}

export interface ScipSymbolText {
  readonly symbol: string;
  readonly documentation?: readonly string[];
  readonly signature?: string;
  readonly kind?: number;
  readonly implements?: string;
}

export interface ScipFile {
  readonly path: string;
  readonly language?: string;
  readonly encoding?: number;
  readonly occurrences: readonly ScipOccurrence[];
  readonly symbols?: readonly ScipSymbolText[];
}

const message = (writer: BinaryWriter, field: number, bytes: Uint8Array): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).bytes(bytes);
const text = (writer: BinaryWriter, field: number, value: string): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).string(value);
const number = (writer: BinaryWriter, field: number, value: number): BinaryWriter =>
  writer.tag(field, WireType.Varint).int32(value);

export function encodeScipSymbol(symbol: ScipSymbolText): Uint8Array {
  const writer = text(new BinaryWriter(), 1, symbol.symbol);
  for (const line of symbol.documentation ?? []) text(writer, 3, line);
  if (symbol.implements !== undefined) {
    const relation = text(new BinaryWriter(), 1, symbol.implements);
    message(writer, 4, number(number(relation, 2, 1), 3, 1).finish());
  }
  if (symbol.kind !== undefined) number(writer, 5, symbol.kind);
  if (symbol.signature !== undefined) message(writer, 7, text(new BinaryWriter(), 5, symbol.signature).finish());
  return writer.finish();
}

export function encodeScipFile({ path, language, encoding, occurrences, symbols = [] }: ScipFile): Uint8Array {
  const writer = text(new BinaryWriter(), 1, path);
  for (const { range, symbol, roles = 0 } of occurrences) {
    const packed = new BinaryWriter();
    for (const value of range) packed.int32(value);
    const occurrence = text(message(new BinaryWriter(), 1, packed.finish()), 2, symbol);
    message(writer, 2, number(occurrence, 3, roles).finish());
  }
  for (const symbol of symbols) message(writer, 3, encodeScipSymbol(symbol));
  if (language !== undefined) text(writer, 4, language);
  if (encoding !== undefined) number(writer, 6, encoding);
  return writer.finish();
}

export function encodeScipIndex(files: readonly ScipFile[], toolName = "scip-test"): Buffer {
  const tool = text(text(new BinaryWriter(), 1, toolName), 2, "1.0").finish();
  const writer = message(new BinaryWriter(), 1, message(new BinaryWriter(), 2, tool).finish());
  for (const file of files) message(writer, 2, encodeScipFile(file));
  return Buffer.from(writer.finish());
}

/** The index of texts in which each word is a symbol that is defined where it stands first, in whichever file. */
export function indexWords(texts: Readonly<Record<string, string>>): ScipFile[] {
  const known = new Set<string>();
  return Object.entries(texts).map(([path, whole]) => ({
    path,
    encoding: 2,
    occurrences: whole.split("\n").flatMap((line, row) =>
      [...line.matchAll(/\w+/g)].map(({ index, 0: word }) => {
        const symbol = `test npm words 1.0 ${word}.`;
        const roles = Number(!known.has(symbol));
        known.add(symbol);
        return { range: [row, index, index + word.length], symbol, roles };
      }),
    ),
  }));
}
