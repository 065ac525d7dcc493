import { open } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { ConvertedResults, ConvertResults } from "../../protocol/export-messages.js";
import type { StreamMatch } from "../../model/stream-events.js";
import type { ReadContext } from "./context.js";
import { csvHeader, csvLine } from "./csv-table.js";
import { LineReader } from "./line-reader.js";
import { encodeFooter, RowGroup } from "./parquet-table.js";
import { makeRows, type ResultRow } from "./result-rows.js";

/** A part ends after the result that reaches one of these: it takes about 100 ms, and 100 MB of memory at most. */
const partSourceBytes = 8 << 20;
const partTargetBytes = 16 << 20;

/** The encoded rows of one part. */
interface ConvertedPart {
  readonly bytes: Uint8Array;
  readonly rowGroup: Uint8Array | undefined;
}

/** Converts one part, so that parts of several exports, and other reads, take turns. */
export async function answerConvertResults(request: ConvertResults, context: ReadContext): Promise<ConvertedResults> {
  const { from, to, targetBytes, rowGroups } = request;
  if (rowGroups !== undefined) {
    const end = await append(request, encodeFooter(targetBytes, rowGroups));
    return { to: from, targetBytes: end, rowGroup: undefined };
  }
  const source = from === to ? undefined : await open(request.source, "r");
  try {
    const reader = new LineReader(source, from, to);
    const convert = request.format === "csv" ? convertToCsv : convertToParquet;
    const { bytes, rowGroup } = await convert(request, readRows(request, reader, context));
    return { to: reader.at, targetBytes: await append(request, bytes), rowGroup };
  } finally {
    await source?.close();
  }
}

/** The rows of the match objects on the next lines, until a part is complete or its reader wants no more. */
async function* readRows({ from, baseUrl }: ConvertResults, reader: LineReader, { stop }: ReadContext) {
  while (reader.at - from < partSourceBytes) {
    const line = await reader.next();
    if (line === undefined) return;
    if (stop()) throw new TrawlError("cancelled", "the conversion of the results was stopped");
    yield [...makeRows(JSON.parse(line.toString()) as StreamMatch, baseUrl)];
  }
}

type RowLists = AsyncGenerator<readonly ResultRow[]>;

async function convertToCsv({ targetBytes }: ConvertResults, lists: RowLists): Promise<ConvertedPart> {
  const parts: Buffer[] = targetBytes === 0 ? [Buffer.from(csvHeader)] : [];
  let byteCount = 0;
  for await (const rows of lists) {
    const part = Buffer.from(rows.map(csvLine).join(""));
    parts.push(part);
    byteCount += part.length;
    if (byteCount >= partTargetBytes) break;
  }
  return { bytes: Buffer.concat(parts), rowGroup: undefined };
}

async function convertToParquet({ targetBytes }: ConvertResults, lists: RowLists): Promise<ConvertedPart> {
  const group = new RowGroup();
  let charCount = 0;
  for await (const rows of lists) {
    for (const row of rows) charCount += group.add(row);
    if (charCount >= partTargetBytes) break;
  }
  return group.encode(targetBytes);
}

/** Returns the size of the file. */
async function append(request: ConvertResults, bytes: Uint8Array): Promise<number> {
  const { target, targetBytes, targetBytesMax } = request;
  if (targetBytes + bytes.length > targetBytesMax)
    throw new TrawlError("storage", "there is no room for the converted results (jobs.exportBytes)");
  try {
    const file = await open(target, targetBytes === 0 ? "w" : "r+", 0o600);
    try {
      await file.truncate(targetBytes);
      for (let at = 0; at < bytes.length; )
        at += (await file.write(bytes, at, bytes.length - at, targetBytes + at)).bytesWritten;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new TrawlError("storage", `the converted results could not be written: ${errorMessage(error)}`);
  }
  return targetBytes + bytes.length;
}
