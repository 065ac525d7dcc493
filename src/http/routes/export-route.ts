import { open, type FileHandle } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { SearchJobs } from "../../jobs/search-jobs.js";
import type { ViewerHandler } from "../access/guard.js";
import { blockBytesMax, type ByteStream } from "../server/byte-stream.js";
import { type Headers, plainText } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import { callEvery } from "../../base/deadline.js";
import { wantedBytes } from "./conditional.js";

export interface ExportServices {
  readonly jobs: SearchJobs;
  readonly log: Log;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

/** A committed part of a file. */
interface Exported {
  readonly path: string;
  readonly byteCount: number;
  readonly type: string;
  readonly name: string;
}

/** The patterns of paths, and what FILE is in each: the number of a job and the ending of a file, or its name. */
export const exportPaths: readonly (readonly [pattern: string, file: RegExp, example: string])[] = [
  ["/.api/search/export/FILE", /^([0-9]{1,15})\.(jsonl|log)$/, "1.jsonl or 1.log"],
  // A link of a page sends no header of its own, without which a session is not valid below `/.api/`.
  ["/-/search-jobs/FILE", /^([0-9]{1,15})\.(jsonl|log)$/, "1.jsonl or 1.log"],
  ["/api/users/-/searchJobs/FILE", /^([0-9]{1,15})\/(results\.jsonl|logs\.log)$/, "1/results.jsonl or 1/logs.log"],
];

/**
 * The results and the log of a search job, as far as they are committed, also while it runs. A range can be requested,
 * because committed bytes never change until the job is deleted.
 */
export function exportHandler(services: ExportServices, file: RegExp, example: string): ViewerHandler {
  return async (request, response, viewer) => {
    const [, id, ending = ""] = file.exec(request.params["FILE"] ?? "") ?? [];
    if (id === undefined)
      return response.reply(400, plainText, `the path ends with the number of a search job and a file: ${example}\n`);
    try {
      const job = services.jobs.get(Number(id), viewer);
      const files = services.jobs.files(job.id);
      const exported = ending.endsWith("log")
        ? { path: files.log, byteCount: job.logBytes, type: "text/csv", name: `search-jobs_${id}.log.csv` }
        : {
            path: files.results,
            byteCount: job.resultBytes,
            type: "application/jsonl",
            name: `search-jobs_${id}.jsonl`,
          };
      await sendExport(request, response, exported, `"${id}-${job.startedAt}"`, services.stallMs);
    } catch (error) {
      if (error instanceof TrawlError && error.code === "not-found")
        return response.reply(404, plainText, `${error.message}\n`);
      if ((error as NodeJS.ErrnoException).code === "ENOENT" && !response.closed)
        return response.reply(
          404,
          plainText,
          `the results of search job ${id} are not on the disk: retry it (trawl job retry ${id}), or start it again (trawl job restart ${id})\n`,
        );
      services.log.warn({ job: id, error: errorMessage(error) }, "an export failed");
      response.fail();
    }
  };
}

async function sendExport(
  request: HttpRequest,
  response: HttpResponse,
  { path, byteCount, type, name }: Exported,
  etag: string,
  stallMs: number,
): Promise<void> {
  const headers: Headers = {
    "Content-Type": `${type}; charset=utf-8`,
    "Content-Disposition": `attachment; filename="${name}"`,
    "Cache-Control": "private, no-cache",
    "Accept-Ranges": "bytes",
    ETag: etag,
  };
  if (request.method === "HEAD") return response.replyHead(200, headers, byteCount);
  const wanted = wantedBytes(request.headers, etag, byteCount);
  if (wanted.kind === "unsatisfiable")
    return response.reply(
      416,
      { ...headers, "Content-Range": `bytes */${byteCount}` },
      `there are ${byteCount} bytes\n`,
    );
  if (byteCount === 0) return response.reply(200, headers, "");
  const { from, to } = wanted.kind === "part" ? wanted : { from: 0, to: byteCount };
  const part: Headers = wanted.kind === "part" ? { "Content-Range": `bytes ${from}-${to - 1}/${byteCount}` } : {};
  const file = await open(path, "r");
  try {
    const stream = response.startSizedStream(wanted.kind === "part" ? 206 : 200, { ...headers, ...part }, to - from);
    await sendFile(file, from, to, stream, stallMs);
  } finally {
    await file.close();
  }
}

/** Sends a block when the socket has room for it. */
async function sendFile(
  file: FileHandle,
  from: number,
  to: number,
  stream: ByteStream,
  stallMs: number,
): Promise<void> {
  const block = new Uint8Array(blockBytesMax);
  let resume: () => void = () => undefined;
  let hasProgress = true;
  const watch = callEvery(stallMs, () => {
    if (!hasProgress) stream.cut();
    hasProgress = false;
  });
  stream.onWritable(() => resume());
  stream.onClosed(() => resume());
  try {
    for (let at = from; at < to && !stream.closed; ) {
      const { bytesRead } = await file.read(block, 0, Math.min(block.length, to - at), at);
      if (bytesRead === 0) return stream.cut();
      const writable = new Promise<void>((resolve) => {
        resume = resolve;
      });
      at += bytesRead;
      const hasRoom = stream.write(block.subarray(0, bytesRead));
      if (!hasRoom && at < to && !stream.closed) await writable;
      hasProgress = true;
    }
    stream.end();
  } finally {
    watch.cancel();
  }
}
