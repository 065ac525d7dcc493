import { TrawlError } from "../../base/errors.js";
import { shownPath } from "../../base/path-text.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import { streamOrigins, type OriginOfLines } from "../../browse/blame-source.js";
import { commitSubject } from "../../browse/git-sources.js";
import { takePermit } from "../access/concurrency.js";
import type { HttpResponse } from "../server/response.js";
import { type SseStream, refuseHead, startEvents, type EventServices } from "../stream/sse.js";
import { findEntry, withContext, type ContentServices } from "./named-content.js";
import type { ViewerHandler } from "../access/guard.js";
import { readPagePath } from "../../model/page-path.js";
import { plainText } from "../server/headers.js";

const root = "/.api/blame";

/** The pattern of these requests; the name is parsed from the path as sent. */
export const blamePattern = `${root}/NAME`;

/** Limit on the events produced in advance of the client, in bytes. */
const pendingBytesMax = 256 << 10;

/** Limits on files that are blamed at the same time, and on those that wait. */
const blamesMax = 4;
const waitingMax = 100;

/**
 * `GET /.api/blame/NAME[@REVISION]/-/stream/PATH`: the origin of the lines of a file, one event per run of lines from
 * the same commit as soon as git finds it, then `done`. A missing file is a plain 404.
 */
export function blameHandler(content: ContentServices, events: EventServices, sharePercent: number): ViewerHandler {
  const permits = new FairSemaphore(shareLimits(blamesMax, waitingMax, sharePercent));
  return async (request, response, viewer) => {
    if (request.method === "HEAD") return refuseHead(response);
    const pagePath = readPagePath(request.path.slice(root.length));
    if (pagePath === undefined)
      return response.reply(400, plainText, "the path is not percent-encoded, or contains a zero byte\n");
    if (pagePath.page !== "stream") return response.reply(404, plainText, "no route\n");
    await withContext(content, { request, response, viewer }, {}, async (context) => {
      const { commit, entry } = await findEntry(context, pagePath);
      if (entry.kind !== "file")
        throw new TrawlError("not-found", `${JSON.stringify(shownPath(entry.path))} is not a file`);
      const release = await takePermit(permits, context.client, "files to blame", response, {});
      if (release === undefined) return;
      try {
        const origins = streamOrigins(commit, entry.path, context);
        await sendOrigins(origins, response, () => startEvents(request, response, events));
      } finally {
        release();
      }
    });
  };
}

/** No faster than the client reads. An error before the first event is thrown. */
async function sendOrigins(
  origins: AsyncIterable<readonly OriginOfLines[]>,
  response: HttpResponse,
  start: () => SseStream,
): Promise<void> {
  let sink: SseStream | undefined;
  let goOn = (): void => undefined;
  const open = (): SseStream => {
    const opened = start();
    opened.onDrain(() => goOn());
    opened.onClosed(() => goOn());
    return opened;
  };
  try {
    for await (const found of origins) {
      if (response.closed) return;
      sink ??= open();
      for (const one of found) {
        if (sink.closed) return;
        sink.send("hunk", [JSON.stringify([shownHunk(one)])]);
        if (sink.pendingBytes > pendingBytesMax && !sink.closed)
          await new Promise<void>((resolve) => {
            goOn = resolve;
          });
      }
    }
  } catch (error) {
    if (sink === undefined || !(error instanceof TrawlError) || error.code === "internal") throw error;
    sink.fail(error.message);
    return;
  }
  if (response.closed) return;
  sink ??= start();
  sink.done();
}

/** The names of the author's properties are those that clients of this interface know. */
function shownHunk({ startLine, endLine, commit, data: { author, message, parents }, path }: OriginOfLines) {
  return {
    commitID: commit.oid,
    startLine,
    endLine,
    author: { Name: author.name, Email: author.email, Date: author.date },
    message: commitSubject(message),
    filename: shownPath(path),
    commit: { parents, url: commit.canonicalURL.slice(1) },
  };
}
