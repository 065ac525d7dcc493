import { deserialize, serialize } from "node:v8";
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import { resultColumns, type ResultColumn } from "./result-columns.js";
import type { ResultRow } from "./result-rows.js";

type RowGroups = ParquetWriter["row_groups"];

/** What precedes the first row group: the constructor of the library's writer writes it. */
const magicBytes = 4;

/** Only of these is the smallest and the largest value stored in each row group, so that readers can leave out groups. */
const columnsWithStatistics: ReadonlySet<string> = new Set(["kind", "repository", "path"]);
const statisticsBytesMax = 64;

const schema: SchemaElement[] = [
  { name: "results", num_children: resultColumns.length },
  ...resultColumns.map(({ name, type }): SchemaElement => {
    const repetition_type = "OPTIONAL";
    if (type === "integer") return { name, repetition_type, type: "INT32" };
    if (type === "boolean") return { name, repetition_type, type: "BOOLEAN" };
    return { name, repetition_type, type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
  }),
];

/** Collects rows for one row group, as columns. */
export class RowGroup {
  readonly #columns = resultColumns.map((column) => ({ column, data: [] as ReturnType<ResultColumn["read"]>[] }));

  /** Returns the number of characters that were added. */
  add(row: ResultRow): number {
    let charCount = 0;
    for (const { column, data } of this.#columns) {
      const value = column.read(row);
      data.push(value);
      if (typeof value === "string") charCount += value.length;
    }
    return charCount;
  }

  /** Encodes the group as what follows `offset` of the file, and describes it for `encodeFooter`. */
  encode(offset: number): { readonly bytes: Uint8Array; readonly rowGroup: Uint8Array } {
    const { bytes, writer } = startAt(offset);
    const rowCount = this.#columns[0].data.length;
    const columnData = this.#columns.map(({ column: { name }, data }) => ({
      name,
      data,
      offsetIndex: false,
      statistics: columnsWithStatistics.has(name),
    }));
    if (rowCount > 0) void writer.write({ columnData, rowGroupSize: rowCount });
    return { bytes: bytes.getBytes(), rowGroup: serialize(writer.row_groups) };
  }
}

/** What follows the row groups, at `offset`. `groups` are those that `encode` returned, in their order. */
export function encodeFooter(offset: number, groups: readonly Uint8Array[]): Uint8Array {
  const { bytes, writer } = startAt(offset);
  writer.row_groups = groups.flatMap((group) => deserialize(group) as RowGroups);
  writer.num_rows = writer.row_groups.reduce((sum, group) => sum + group.num_rows, 0n);
  void writer.finish();
  return bytes.getBytes();
}

/** A writer of the library that continues a file. */
function startAt(offset: number): { readonly bytes: ByteWriter; readonly writer: ParquetWriter } {
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema,
    createdBy: "trawl",
    statisticsTruncateLength: statisticsBytesMax,
  });
  if (offset > 0) {
    bytes.index = 0;
    bytes.offset = offset;
  } else if (bytes.offset !== magicBytes) throw new RangeError("the library begins a file in another way");
  return { bytes, writer };
}
