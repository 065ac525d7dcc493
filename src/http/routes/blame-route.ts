import { TrawlError } from "../../base/errors.js";
import { readBlame, type BlamedLines } from "../../browse/blame.js";
import { commitSubject } from "../../browse/git-sources.js";
import type { EventSink } from "../../model/event-sink.js";
import { findEntry, withContext, type ContentServices } from "./content.js";
import { refuseHead, startEvents, type EventServices } from "../stream/event-response.js";
import type { ViewerHandler } from "../access/guard.js";
import { readPagePath } from "./page-path.js";
import { plainText } from "../server/headers.js";

const root = "/.api/blame";

/** The path of each such request; what it names is read from the path as sent. */
export const blamePattern = `${root}/NAME`;

/** Of events that wait for their client, so many bytes are made at a time. */
const pendingBytesMax = 256 << 10;

/** Past the end of every file. */
const lastLine = 2 ** 31 - 1;

/**
 * `GET /.api/blame/NAME[@REVISION]/-/stream/PATH`: where the lines of a file come from, an event for each run of lines
 * from the same commit, then `done`. What is not there is a plain 404.
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

/** No faster than the client takes them. */
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

/** The names of the author's fields are written as clients of this interface know them. */
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
