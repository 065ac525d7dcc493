import { open } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { ConvertedResults, ConvertResults } from "../../protocol/export-messages.js";
import type { StreamMatch } from "../../model/stream-events.js";
import type { ReadContext } from "./context.js";
import { csvHeader, csvLine } from "./csv-table.js";
import { LineReader } from "./line-reader.js";
import { makeRows } from "./result-rows.js";

/** A part ends after the result that reaches one of these: it takes about 100 ms, and 100 MB of memory at most. */
const partSourceBytes = 8 << 20;
const partTargetBytes = 16 << 20;

/** Converts one part, so that parts of several exports, and other reads, take turns. */
export async function answerConvertResults(request: ConvertResults, context: ReadContext): Promise<ConvertedResults> {
  const { from, to } = request;
  const source = from === to ? undefined : await open(request.source, "r");
  try {
    const reader = new LineReader(source, from, to);
    const bytes = await convert(request, reader, context);
    return { to: reader.at, targetBytes: await append(request, bytes) };
  } finally {
    await source?.close();
  }
}

async function convert({ from, baseUrl, targetBytes }: ConvertResults, reader: LineReader, { stop }: ReadContext) {
  const parts: Buffer[] = targetBytes === 0 ? [Buffer.from(csvHeader)] : [];
  let byteCount = 0;
  while (byteCount < partTargetBytes && reader.at - from < partSourceBytes) {
    const line = await reader.next();
    if (line === undefined) break;
    if (stop()) throw new TrawlError("cancelled", "the conversion of the results was stopped");
    const match = JSON.parse(line.toString()) as StreamMatch;
    const part = Buffer.from([...makeRows(match, baseUrl)].map(csvLine).join(""));
    parts.push(part);
    byteCount += part.length;
  }
  return Buffer.concat(parts);
}

/** Returns the size of the file. */
async function append(request: ConvertResults, bytes: Buffer): Promise<number> {
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
