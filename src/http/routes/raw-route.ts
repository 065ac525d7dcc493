import { openArchive, openBlob, type ArchiveFormat } from "../../git/objects/content.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { CommitSource } from "../../browse/git-sources.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import { clientKey } from "../../model/client.js";
import { sendOutput, type OutputRange, type ReadingLimits } from "../stream/child-output.js";
import { acceptedFormat, isKnown, wantedBytes } from "./conditional.js";
import { findEntry, mirrorPath, withContext, type ContentServices, type FoundEntry, type Visit } from "./content.js";
import { takePermit } from "../access/permits.js";
import type { PagePath } from "./page-path.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/** Files that are sent at the same time. Each is a child, and 64 KiB here. */
const filesMax = 64;

/**
 * Archives, likewise; half of them for one client. Each keeps a core busy, at most 16 MiB of a file in git, and 64 KiB
 * here.
 */
const archivesMax = 8;
const archivesOfClientMax = 4;

/** Requests for files, or for archives, that wait; a further one is refused. */
const waitingMax = 1024;

/** The longest list of a directory. */
const listingBytesMax = 4 << 20;

const whole: OutputRange = { from: 0, to: Infinity };

/** Answers for what is in a repository at a path. */
export type RawHandler = (visit: Visit, pagePath: PagePath) => Promise<void>;

/** One answer in the making. */
interface Answer {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly client: string;
  /** Headers of every status. */
  readonly headers: Headers;
  readonly context: RequestContext;
}

/**
 * `GET /NAME[@REVISION]/-/raw[/PATH]`: a file's bytes, a directory's names, or an archive of either.
 *
 * Bytes come from a child of git and go to the client at its pace, so no file is held whole. A link is its own text and
 * is never followed; a submodule has nothing to show. Nothing is taken for a page of ours: all files are plain text,
 * whatever they hold. A tag says the state of each answer, so a client that has it already gets 304.
 */
export function rawHandler(services: ContentServices, sharePercent: number): RawHandler {
  const files = new FairSemaphore(shareLimits(filesMax, waitingMax, sharePercent));
  const archives = new FairSemaphore({
    ...shareLimits(archivesMax, waitingMax, sharePercent),
    clientCountMax: archivesOfClientMax,
  });
  return (visit, pagePath) => {
    const { request, response } = visit;
    // Who may read it can change, so whoever keeps it asks again.
    const headers = { "Cache-Control": "private, no-cache", Vary: "Accept, Authorization, Cookie, Origin" };
    return withContext(services, visit, headers, async (context) => {
      const found = await findEntry(context, pagePath);
      const answer = { request, response, client: clientKey(visit.viewer, request.remoteAddress), headers, context };
      const { entry } = found;
      if (entry.kind === "submodule") {
        return response.reply(
          404,
          { ...plainText, ...headers },
          `${entry.path} is a submodule, at commit ${entry.oid} of another repository\n`,
        );
      }
      const format = negotiateFormat(request);
      if (format !== "text") return sendArchive(services, archives, answer, found, format);
      return entry.kind === "file" ? sendFile(services, files, answer, found) : sendDirectory(answer, found);
    });
  };
}

/** `format=` wins over what the client accepts. */
function negotiateFormat(request: HttpRequest): ArchiveFormat | "text" {
  const named = new URLSearchParams(request.query).get("format");
  return named === "zip" || named === "tar" ? named : acceptedFormat(request.headers.get("accept"));
}

async function sendFile(
  services: ContentServices,
  permits: FairSemaphore,
  answer: Answer,
  { commit, entry }: FoundEntry,
): Promise<void> {
  const { request, response } = answer;
  const etag = `"${entry.oid}"`;
  const headers = { ...answer.headers, ...plainText, ETag: etag, "Accept-Ranges": "bytes" };
  if (isKnown(request.headers, etag)) return response.replyHead(304, headers, undefined);
  if (request.method === "HEAD") return response.replyHead(200, headers, entry.byteCount);
  const wanted = wantedBytes(request.headers, etag, entry.byteCount);
  if (wanted.kind === "unsatisfiable") {
    return response.reply(
      416,
      { ...headers, "Content-Range": `bytes */${entry.byteCount}` },
      `the file has ${entry.byteCount} bytes\n`,
    );
  }
  if (entry.byteCount === 0) return response.reply(200, headers, "");
  const range = wanted.kind === "part" ? wanted : { from: 0, to: entry.byteCount };
  const partHeaders =
    wanted.kind === "part"
      ? { ...headers, "Content-Range": `bytes ${range.from}-${range.to - 1}/${entry.byteCount}` }
      : headers;
  await withPermit(permits, "files", answer, async () => {
    const child = openBlob(mirrorPath(services, commit), entry.oid);
    response.onClosed(() => child.kill());
    await sendOutput(child, range, readingLimits(services, permits), () =>
      response.startSizedStream(wanted.kind === "part" ? 206 : 200, partHeaders, range.to - range.from),
    );
  });
}

async function sendDirectory(
  { request, response, headers, context }: Answer,
  { commit, entry }: FoundEntry,
): Promise<void> {
  const etag = tagOfTree(commit, entry.oid, "text");
  if (isKnown(request.headers, etag)) return response.replyHead(304, { ...headers, ETag: etag }, undefined);
  const { text } = await context.git.run({
    kind: "print-directory",
    repositoryId: commit.repository.record.id,
    commit: commit.oid,
    path: entry.path,
    byteCountMax: listingBytesMax,
  });
  response.reply(200, { ...headers, ...plainText, ETag: etag }, text);
}

async function sendArchive(
  services: ContentServices,
  permits: FairSemaphore,
  answer: Answer,
  { commit, entry }: FoundEntry,
  format: ArchiveFormat,
): Promise<void> {
  const { request, response } = answer;
  // Its entries carry the time of the commit.
  const etag = tagOfTree(commit, "", format);
  const headers = {
    ...answer.headers,
    "Content-Type": format === "zip" ? "application/zip" : "application/x-tar",
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": disposition(`${lastPart(commit.repository.name)}.${format}`),
    ETag: etag,
  };
  if (isKnown(request.headers, etag)) return response.replyHead(304, headers, undefined);
  if (request.method === "HEAD") return response.replyHead(200, headers, undefined);
  await withPermit(permits, "archives", answer, async () => {
    const child = openArchive(mirrorPath(services, commit), commit.oid, format, entry.path);
    response.onClosed(() => child.kill());
    await sendOutput(child, whole, readingLimits(services, permits), () => response.startStream(200, headers));
  });
}

function readingLimits({ stallMs }: ContentServices, permits: FairSemaphore): ReadingLimits {
  return { stallMs, isContended: () => permits.waitingCount > 0 };
}

/** A tree is known by its oid, but for the root, whose oid nobody has read: the commit's stands for it. */
function tagOfTree(commit: CommitSource, oid: string, format: ArchiveFormat | "text"): string {
  return `"${oid === "" ? commit.oid : oid}-${format}"`;
}

async function withPermit(
  permits: FairSemaphore,
  what: string,
  { response, client, headers }: Answer,
  work: () => Promise<void>,
): Promise<void> {
  const release = await takePermit(permits, client, what, response, headers);
  if (release === undefined) return;
  try {
    await work();
  } finally {
    release();
  }
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** Other than plain names are written so that no reader takes a part of one for something else. */
function disposition(fileName: string): string {
  return /^[\w.+-]+$/.test(fileName)
    ? `Attachment; filename=${fileName}`
    : `Attachment; filename*=UTF-8''${encodeURIComponent(fileName).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`;
}
