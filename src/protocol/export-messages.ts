/** A format with one row for each result, made from the JSON lines of a search job. */
export type TableFormat = "csv" | "parquet";

/** Converts a part of the results of a search job, and appends it to a file. */
export interface ConvertResults {
  readonly kind: "convert-results";
  readonly format: TableFormat;
  /** The JSON lines: the part from `from` on, at most up to `to`. Both are byte offsets between lines. */
  readonly source: string;
  readonly from: number;
  readonly to: number;
  /** The file to append to. What follows `targetBytes` was written by a task that failed, and is removed. */
  readonly target: string;
  readonly targetBytes: number;
  /** The size that the file may get. */
  readonly targetBytesMax: number;
  /** What precedes the paths of pages in URLs. */
  readonly baseUrl: string;
  /** To end a Parquet file, after its last part: `rowGroup` of each part, in their order. */
  readonly rowGroups: readonly Uint8Array[] | undefined;
}

export interface ConvertedResults {
  /** Where the next part begins. */
  readonly to: number;
  readonly targetBytes: number;
  /** What the end of a Parquet file must say about this part. */
  readonly rowGroup: Uint8Array | undefined;
}
