/** The arguments of `encodeLineMatches` and `encodeChunkMatches`, which write the elements of one content's rows. */
export interface ElementsRequest {
  readonly text: Uint8Array;
  readonly contentFrom: number;
  readonly contentTo: number;
  readonly rows: Uint32Array;
  /** The first row of the content; those before `rowFrom` were written by earlier calls. */
  readonly rowBegin: number;
  readonly rowFrom: number;
  readonly rowTo: number;
  /** Start of a line at or before the first row to write, and the number of that line. */
  readonly lineHint: number;
  readonly firstLine: number;
  readonly contextLines: number;
  readonly lineBytesMax: number;
  readonly out: Uint8Array;
  readonly outFrom: number;
  /** Triples (start, end, label), sorted. */
  readonly labels: Uint32Array;
  readonly labelCount: number;
}

/** The end of the last whole element that fitted, and the next row to write. */
export interface ElementsEnd {
  readonly at: number;
  readonly row: number;
}
