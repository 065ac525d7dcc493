import { type FileHandle, open } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { SearchJobs } from "../../jobs/search-jobs.js";
import { clientKey } from "../../model/client.js";
import { originFields } from "../../model/request-origin.js";
import type { Viewer } from "../../model/viewer.js";
import type { ViewerHandler } from "../access/guard.js";
import { retryAfter } from "../access/concurrency.js";
import { type Headers, plainText } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import { acceptedEncoding } from "../stream/sse.js";
import { wantedBytes } from "./conditional.js";
import { sendFile, sendGzip } from "./send-file.js";

export interface ExportServices {
  readonly jobs: SearchJobs;
  readonly log: Log;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

/** What a path of the route ends with. */
type Ending = "jsonl" | "csv" | "parquet" | "log";

/** A committed part of a file. */
interface Exported {
  /** Undefined if nothing is committed: there may be no file then. */
  readonly file: FileHandle | undefined;
  readonly byteCount: number;
  readonly etag: string;
}

/** The patterns of paths, and what FILE is in each: the number of a job and the ending of a file's name. */
export const exportPaths: readonly (readonly [pattern: string, file: RegExp, example: string])[] = [
  ["/.api/search/export/FILE", /^([0-9]{1,15})\.(jsonl|csv|parquet|log)$/, "1.jsonl, 1.csv, 1.parquet or 1.log"],
  // A link of a page sends no header of its own, without which a session is not valid below `/.api/`.
  ["/-/search-jobs/FILE", /^([0-9]{1,15})\.(jsonl|csv|parquet|log)$/, "1.jsonl, 1.csv, 1.parquet or 1.log"],
  [
    "/api/users/-/searchJobs/FILE",
    /^([0-9]{1,15})\/(?:results\.(?=[jcp])|logs\.(?=log))(jsonl|csv|parquet|log)$/,
    "1/results.jsonl, 1/results.csv, 1/results.parquet or 1/logs.log",
  ],
];

interface Kind {
  readonly type: string;
  readonly fileEnding: string;
  /** Compressing it again is not worth the work. */
  readonly isCompressed: boolean;
}

const kinds: Readonly<Record<Ending, Kind>> = {
  jsonl: { type: "application/jsonl; charset=utf-8", fileEnding: "jsonl", isCompressed: false },
  csv: { type: "text/csv; charset=utf-8", fileEnding: "csv", isCompressed: false },
  parquet: { type: "application/vnd.apache.parquet", fileEnding: "parquet", isCompressed: true },
  log: { type: "text/csv; charset=utf-8", fileEnding: "log.csv", isCompressed: false },
};

/**
 * The results and the log of a search job, as far as they are committed, also while it runs.
 *
 * A range can be requested, because bytes that were committed do not change until the job is deleted. Ranges are of the
 * uncompressed file; a request without one is answered with gzip if it accepts that.
 */
export function exportHandler(services: ExportServices, file: RegExp, example: string): ViewerHandler {
  return async (request, response, viewer) => {
    const [, id, ending] = file.exec(request.params["FILE"] ?? "") ?? [];
    if (id === undefined || !isEnding(ending))
      return response.reply(400, plainText, `the path ends with the number of a search job and a file: ${example}\n`);
    try {
      const exported = await openExport(services, Number(id), ending, { request, response, viewer });
      try {
        const name = `search-jobs_${id}.${kinds[ending].fileEnding}`;
        const headers = { "Content-Type": kinds[ending].type, "Content-Disposition": `attachment; filename="${name}"` };
        const takesGzip = !kinds[ending].isCompressed && acceptsGzip(request);
        await sendExport(request, response, { ...exported, headers, takesGzip }, services.stallMs);
      } finally {
        await exported.file?.close();
      }
    } catch (error) {
      replyError(error, id, response, services.log);
    }
  };
}

function isEnding(text: string | undefined): text is Ending {
  return text !== undefined && Object.hasOwn(kinds, text);
}

interface Visit {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly viewer: Viewer;
}

async function openExport(
  { jobs }: ExportServices,
  id: number,
  ending: Ending,
  { request, response, viewer }: Visit,
): Promise<Exported> {
  const job = jobs.get(id, viewer);
  await jobs.requireReadable(job, viewer);
  const state = `${id}-${job.startedAt}`;
  if (ending === "jsonl" || ending === "log") {
    const [path, byteCount] =
      ending === "log" ? [jobs.files(id).log, job.logBytes] : [jobs.files(id).results, job.resultBytes];
    return { file: byteCount === 0 ? undefined : await open(path, "r"), byteCount, etag: `"${state}"` };
  }
  const { file, byteCount } = await jobs.openTable(job, ending, {
    client: clientKey(viewer, request.remoteAddress),
    isOpen: () => !response.closed,
    onClosed: (callback) => response.onClosed(callback),
  });
  // What a running job commits later changes the end of a Parquet file.
  return { file, byteCount, etag: ending === "csv" ? `"${state}-csv"` : `"${state}-parquet-${byteCount}"` };
}

function replyError(error: unknown, id: string, response: HttpResponse, log: Log): void {
  if (response.closed) return;
  if (error instanceof TrawlError) {
    const { code, httpStatus, message } = error;
    if (code === "not-found" || code === "bad-request" || code === "gone")
      return response.replyError(httpStatus, code, message);
    if (code === "storage") return response.replyError(507, "insufficient-storage", message);
    if (code === "too-many-requests") return response.replyError(429, code, message, retryAfter);
    if (code === "overloaded" || code === "cancelled") return response.replyError(503, code, message, retryAfter);
  }
  if ((error as NodeJS.ErrnoException).code === "ENOENT")
    return response.reply(
      404,
      plainText,
      `the results of search job ${id} are not on the disk: retry it (trawl job retry ${id}), or start it again (trawl job restart ${id})\n`,
    );
  log.warn({ ...originFields(response.origin), job: id, error: errorMessage(error) }, "an export failed");
  response.fail();
}

interface Sent extends Exported {
  readonly headers: Headers;
  readonly takesGzip: boolean;
}

function acceptsGzip({ headers }: HttpRequest): boolean {
  return !headers.has("range") && acceptedEncoding(headers.get("accept-encoding")) === "gzip";
}

async function sendExport(
  request: HttpRequest,
  response: HttpResponse,
  { file, byteCount, etag, headers: typeHeaders, takesGzip }: Sent,
  stallMs: number,
): Promise<void> {
  const headers: Headers = {
    ...typeHeaders,
    "Cache-Control": "private, no-cache",
    Vary: "Accept-Encoding, Authorization, Cookie",
  };
  const whole: Headers = { ...headers, "Accept-Ranges": "bytes", ETag: etag };
  if (request.method === "HEAD") return response.replyHead(200, whole, byteCount);
  const wanted = wantedBytes(request.headers, etag, byteCount);
  if (wanted.kind === "unsatisfiable")
    return response.replyError(416, "range-not-satisfiable", `there are ${byteCount} bytes`, {
      "Cache-Control": "private, no-cache",
      "Accept-Ranges": "bytes",
      ETag: etag,
      "Content-Range": `bytes */${byteCount}`,
    });
  if (file === undefined) return response.reply(200, whole, "");
  if (takesGzip) {
    // A tag of its own: with that of the file, a client could continue one with a range of the other.
    const compressed = { ...headers, ETag: `${etag.slice(0, -1)}-gzip"`, "Content-Encoding": "gzip" };
    return await sendGzip({ file, from: 0, to: byteCount }, response.startStream(200, compressed), stallMs);
  }
  const { from, to } = wanted.kind === "part" ? wanted : { from: 0, to: byteCount };
  const part: Headers = wanted.kind === "part" ? { "Content-Range": `bytes ${from}-${to - 1}/${byteCount}` } : {};
  const status = wanted.kind === "part" ? 206 : 200;
  await sendFile({ file, from, to }, response.startSizedStream(status, { ...whole, ...part }, to - from), stallMs);
}
