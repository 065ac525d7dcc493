import { TrawlError } from "../../base/errors.js";
import { readBlame, type BlamedLines } from "../../browse/blame.js";
import { commitSubject } from "../../browse/git-sources.js";
import type { EventSink } from "../../model/event-sink.js";
import { findEntry, withContext, type ContentServices } from "./content.js";
import { refuseHead, startEvents, type EventServices } from "../stream/event-response.js";
import type { ViewerHandler } from "../access/guard.js";
import { readPagePath } from "../../model/page-path.js";
import { plainText } from "../server/headers.js";

const root = "/.api/blame";

/** The pattern of these requests; the name is parsed from the path as sent. */
export const blamePattern = `${root}/NAME`;

/** Limit on the events produced in advance of the client, in bytes. */
const pendingBytesMax = 256 << 10;

/** Greater than the last line of any file. */
const lastLine = 2 ** 31 - 1;

/**
 * `GET /.api/blame/NAME[@REVISION]/-/stream/PATH`: the origin of the lines of a file, one event per run of lines from
 * the same commit, then `done`. A missing file is a plain 404.
 */
export function blameHandler(content: ContentServices, events: EventServices): ViewerHandler {
  return async (request, response, viewer) => {
    if (request.method === "HEAD") return refuseHead(response);
    const pagePath = readPagePath(request.path.slice(root.length));
    if (pagePath === undefined)
      return response.reply(400, plainText, "the path is not percent-encoded UTF-8, or contains a zero byte\n");
    if (pagePath.page !== "stream") return response.reply(404, plainText, "no route\n");
    await withContext(content, { request, response, viewer }, {}, async (context) => {
      const { commit, entry } = await findEntry(context, pagePath);
      if (entry.kind !== "file") throw new TrawlError("not-found", `${JSON.stringify(entry.path)} is not a file`);
      const lines = await readBlame(
        commit,
        { path: entry.path, startLine: 1, endLine: lastLine, ignoreWhitespace: false },
        context,
      );
      if (response.closed) return;
      sendHunks(lines, startEvents(request, response, events));
    });
  };
}

/** No faster than the client reads. */
function sendHunks(hunks: readonly BlamedLines[], sink: EventSink): void {
  let sent = 0;
  const goOn = (): void => {
    for (; sent < hunks.length; sent++) {
      if (sink.closed || sink.pendingBytes > pendingBytesMax) return;
      sink.send("hunk", [JSON.stringify([shownHunk(hunks[sent])])]);
    }
    sink.send("done", ["{}"]);
    sink.end();
  };
  sink.onDrain(goOn);
  goOn();
}

/** The names of the author's properties are those that clients of this interface know. */
function shownHunk({ startLine, endLine, commit, data: { author, message, parents }, path }: BlamedLines) {
  return {
    commitID: commit.oid,
    startLine,
    endLine,
    author: { Name: author.name, Email: author.email, Date: author.date },
    message: commitSubject(message),
    filename: path,
    commit: { parents, url: commit.canonicalURL.slice(1) },
  };
}
