import type { ArchiveFormat } from "../../git/objects/content.js";
import { noContent } from "../../browse/mirror-reads.js";
import type { RequestContext } from "../../browse/request-context.js";
import { BlobSource, type CommitSource } from "../../browse/git-sources.js";
import { TrawlError } from "../../base/errors.js";
import { shownPath } from "../../base/path-text.js";
import { FairSemaphore, shareLimits } from "../../base/fair-semaphore.js";
import { clientKey } from "../../model/client.js";
import { sendOutput, type OutputRange, type ReadingLimits } from "../stream/child-output.js";
import { acceptedFormat, isKnown, wantedBytes } from "./conditional.js";
import { findEntry, withContext, type ContentServices, type FoundEntry, type Visit } from "./named-content.js";
import { takePermit } from "../access/concurrency.js";
import { mediaType } from "../../model/media-type.js";
import type { PagePath } from "../../model/page-path.js";
import { plainText, type Headers } from "../server/headers.js";
import { sendBytes } from "./send-file.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/** Limit on files sent concurrently. Each uses a child process, and 64 KiB in the daemon. */
const filesMax = 64;

/**
 * Limit on archives sent concurrently; one client may have half of them. Each uses one core, up to 16 MiB in git, and
 * 64 KiB in the daemon.
 */
const archivesMax = 8;
const archivesOfClientMax = 4;

/** Limit on lists of all files sent concurrently. Each has up to 32 MiB in the daemon until the client has taken it. */
const listsMax = 6;

/** Limit on queued requests for files, for lists of files, or for archives; a further one is refused. */
const waitingMax = 1024;

/** Limits on the size of the listing of a directory, and on that of all files below it. The paths of Linux have 3 MiB. */
const listingBytesMax = 4 << 20;
const filesBytesMax = 32 << 20;

const whole: OutputRange = { from: 0, to: Infinity };

/** Responds with the repository content at a path. */
export type RawHandler = (visit: Visit, pagePath: PagePath) => Promise<void>;

/** A response under construction. */
interface Answer {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly client: string;
  /** Headers for every status. */
  readonly headers: Headers;
  readonly context: RequestContext;
}

/**
 * `GET /NAME[@REVISION]/-/raw[/PATH]`: a file's bytes, a directory's names, or an archive of either.
 *
 * Bytes are written by a git child process and sent at the client's pace, so no file is held in memory completely. A
 * symbolic link is returned as its own text and never followed; a submodule has no content. Nothing is interpreted as a
 * page: all files are served as plain text, whatever they contain. With `as=media`, an image or a PDF has the type that its
 * name tells; an image that is opened by itself runs and loads nothing. A tag identifies the state of each response, so a
 * client that already has it gets 304. With `maxBytes=`, anything but a file of at most that many bytes is answered with
 * 204, so that a page can ask for a text before it knows what is there. With `as=text`, the answer is the text that a
 * search finds in the file: decoded, in UTF-8 without a byte order mark; 204 if the file is not text. With `list=files`, a
 * directory is answered with the paths of all files below it.
 */
export function rawHandler(services: ContentServices, sharePercent: number): RawHandler {
  const files = new FairSemaphore(shareLimits(filesMax, waitingMax, sharePercent));
  const lists = new FairSemaphore(shareLimits(listsMax, waitingMax, sharePercent));
  const archives = new FairSemaphore({
    ...shareLimits(archivesMax, waitingMax, sharePercent),
    clientCountMax: archivesOfClientMax,
  });
  return (visit, pagePath) => {
    const { request, response } = visit;
    // Permissions can change, so caches must revalidate.
    const headers = { "Cache-Control": "private, no-cache", Vary: "Accept, Authorization, Cookie, Origin" };
    return withContext(services, visit, headers, async (context) => {
      const byteCountMax = readByteCountMax(request);
      const found = await findEntry(context, pagePath).catch((error: unknown) => {
        if (byteCountMax !== undefined && error instanceof TrawlError && error.code === "not-found") return undefined;
        throw error;
      });
      if (found === undefined || !isWithin(found, byteCountMax)) return response.replyHead(204, headers, undefined);
      const answer = { request, response, client: clientKey(visit.viewer, request.remoteAddress), headers, context };
      const { entry } = found;
      if (entry.kind === "submodule") {
        return response.reply(
          404,
          { ...plainText, ...headers },
          `${shownPath(entry.path)} is a submodule, at commit ${entry.oid} of another repository\n`,
        );
      }
      if (entry.byteCount < 0) throw noContent(entry.path);
      const parameters = new URLSearchParams(request.query);
      const format = negotiateFormat(request);
      if (format !== "text") return sendArchive(services, archives, answer, found, format);
      if (entry.kind !== "file")
        return parameters.get("list") === "files"
          ? withPermit(lists, "lists of files", answer, () => sendFileNames(services, lists, answer, found))
          : sendDirectory(answer, found);
      const form = parameters.get("as");
      if (form === "text") return sendText(services, files, answer, found);
      return sendFile(services, files, answer, found, form === "media" ? mediaHeaders(entry.path) : plainText);
    });
  };
}

/** An image is sandboxed, as everything is unless a handler says otherwise. */
function mediaHeaders(path: string): Headers {
  const type = mediaType(path);
  if (type === undefined) return plainText;
  const headers = { "Content-Type": type, "X-Content-Type-Options": "nosniff" };
  if (type === "application/pdf") return { ...headers, ...documentHeaders };
  return type === "image/svg+xml" ? { ...headers, "Content-Security-Policy": vectorPolicy } : headers;
}

/** For an SVG: its own styles and images apply, and nothing runs. */
const vectorPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'none'; sandbox";

/**
 * For a PDF, which the page of its file shows in a frame. No browser shows one that is sandboxed; its viewer is a page of
 * the browser, in which the scripts of a document reach nothing of this site.
 */
const documentHeaders: Headers = {
  "Content-Security-Policy": "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'",
  "X-Frame-Options": "SAMEORIGIN",
};

/** `format=` takes precedence over what the client accepts. */
function negotiateFormat(request: HttpRequest): ArchiveFormat | "text" {
  const named = new URLSearchParams(request.query).get("format");
  return named === "zip" || named === "tar" ? named : acceptedFormat(request.headers.get("accept"));
}

/** What the client accepts at most; undefined is no limit, as is anything but a number in decimal. */
function readByteCountMax({ query }: HttpRequest): number | undefined {
  const given = new URLSearchParams(query).get("maxBytes") ?? "";
  return /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}

function isWithin({ entry }: FoundEntry, byteCountMax: number | undefined): boolean {
  return byteCountMax === undefined || (entry.kind === "file" && entry.byteCount <= byteCountMax);
}

async function sendFile(
  services: ContentServices,
  permits: FairSemaphore,
  answer: Answer,
  { commit, entry }: FoundEntry,
  typeHeaders: Headers,
): Promise<void> {
  const { request, response, context } = answer;
  const etag = `"${entry.oid}"`;
  const headers = { ...answer.headers, ...typeHeaders, ETag: etag, "Accept-Ranges": "bytes" };
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
  const range = wanted.kind === "part" ? { from: wanted.from, to: wanted.to } : { from: 0, to: entry.byteCount };
  const partHeaders =
    wanted.kind === "part"
      ? { ...headers, "Content-Range": `bytes ${range.from}-${range.to - 1}/${entry.byteCount}` }
      : headers;
  await withPermit(permits, "files", answer, async () => {
    const child = await context.git.open(commit.repository, { kind: "blob", oid: entry.oid, ...range });
    response.onClosed(() => child.kill());
    await sendOutput(child, range, readingLimits(services, permits), () =>
      response.startSizedStream(wanted.kind === "part" ? 206 : 200, partHeaders, range.to - range.from),
    );
  });
}

/** The text is in memory: the permit is held until the client has it. */
async function sendText(
  services: ContentServices,
  permits: FairSemaphore,
  answer: Answer,
  { commit, entry }: FoundEntry,
): Promise<void> {
  const { request, response, headers, context } = answer;
  const etag = `"${entry.oid}-text"`;
  const textHeaders = { ...headers, ...plainText, ETag: etag };
  if (isKnown(request.headers, etag)) return response.replyHead(304, textHeaders, undefined);
  const blob = new BlobSource(commit, entry.path, entry, undefined);
  await withPermit(permits, "files", answer, async () => {
    const { isBinary, text } = await context.git.file(blob, { kind: "text" }, undefined, undefined);
    if (isBinary) return response.replyHead(204, headers, undefined);
    const bytes = Buffer.from(text);
    if (request.method === "HEAD") return response.replyHead(200, textHeaders, bytes.length);
    if (bytes.length === 0) return response.reply(200, textHeaders, "");
    const stream = response.startSizedStream(200, textHeaders, bytes.length);
    await sendBytes(bytes, stream, readingLimits(services, permits));
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
    recursive: false,
    byteCountMax: listingBytesMax,
  });
  response.reply(200, { ...headers, ...plainText, ETag: etag }, text);
}

/** The text is in memory: the permit is held until the client has it. */
async function sendFileNames(
  services: ContentServices,
  permits: FairSemaphore,
  { request, response, headers, context }: Answer,
  { commit, entry }: FoundEntry,
): Promise<void> {
  const etag = tagOfTree(commit, entry.oid, "files");
  const namesHeaders = { ...headers, ...plainText, ETag: etag };
  if (isKnown(request.headers, etag)) return response.replyHead(304, namesHeaders, undefined);
  const { text } = await context.git.run({
    kind: "print-directory",
    repositoryId: commit.repository.record.id,
    commit: commit.oid,
    path: entry.path,
    recursive: true,
    byteCountMax: filesBytesMax,
  });
  if (request.method === "HEAD") return response.replyHead(200, namesHeaders, text.length);
  if (text.length === 0) return response.reply(200, namesHeaders, "");
  const stream = response.startSizedStream(200, namesHeaders, text.length);
  await sendBytes(text, stream, readingLimits(services, permits));
}

async function sendArchive(
  services: ContentServices,
  permits: FairSemaphore,
  answer: Answer,
  { commit, entry }: FoundEntry,
  format: ArchiveFormat,
): Promise<void> {
  const { request, response, context } = answer;
  const { commit: archived } = await context.git.run({
    kind: "find-content-commit",
    repositoryId: commit.repository.record.id,
    commit: commit.oid,
  });
  // Its entries carry the time of the commit.
  const etag = tagOfTree(commit, archived, format);
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
    const wanted = { kind: "archive", commit: archived, format, path: entry.path } as const;
    const child = await context.git.open(commit.repository, wanted);
    response.onClosed(() => child.kill());
    await sendOutput(child, whole, readingLimits(services, permits), () => response.startStream(200, headers));
  });
}

function readingLimits({ stallMs }: ContentServices, permits: FairSemaphore): ReadingLimits {
  return { stallMs, isContended: () => permits.waitingCount > 0 };
}

/** A tree is identified by its oid, except for the root, whose oid has not been read: the commit's is used instead. */
function tagOfTree(commit: CommitSource, oid: string, form: ArchiveFormat | "text" | "files"): string {
  return `"${oid === "" ? commit.oid : oid}-${form}"`;
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

/** Names with special characters are encoded so that no client misinterprets part of a name. */
function disposition(fileName: string): string {
  return /^[\w.+-]+$/.test(fileName)
    ? `Attachment; filename=${fileName}`
    : `Attachment; filename*=UTF-8''${encodeURIComponent(fileName).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`;
}
