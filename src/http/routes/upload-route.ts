import { auditEntry, type AuditLog } from "../../account/records/audit-log.js";
import type { Authenticator } from "../../account/sign-in/authenticator.js";
import { callAfter } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { RequestContext } from "../../browse/request-context.js";
import { isOid } from "../../git/objects/refs.js";
import type { RequestOrigin } from "../../model/request-origin.js";
import type { PreciseIndexRecord } from "../../model/precise-index.js";
import type { Viewer } from "../../model/viewer.js";
import type { ArrivingPart } from "../../precise/arriving-part.js";
import type { PreciseIndexes } from "../../precise/precise-indexes.js";
import { userShareMax } from "../../precise/unfinished-uploads.js";
import { guarded, guardedStream } from "../access/guard.js";
import { retryAfter } from "../access/concurrency.js";
import type { BodySink } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";

/** What uploads need. */
export interface UploadServices {
  readonly precise: PreciseIndexes;
  readonly audit: AuditLog;
  readonly contextFor: (viewer: Viewer, origin: RequestOrigin) => RequestContext;
  /** Who may upload indexes. */
  readonly uploaders: "site-admins" | "users" | "nobody";
}

/** How long an answer waits for the index to be built: most are, and then the client learns at once what is wrong with it. */
const builtMsMax = 20_000;

/** Bodies that arrive at the same time; further ones are refused, and clients try again. */
const concurrentMax = 16;

const partsMax = 1_000;
const nameUnitsMax = 1_000;

const json: Headers = { "Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff" };

/**
 * The routes to which `src code-intel upload` sends indexes: in one request, or in one that begins, one for each part, and one that
 * ends. Tokens of code hosts in the query are ignored.
 */
export function addUploadRoutes(
  server: HttpServer,
  services: UploadServices,
  authenticator: Pick<Authenticator, "authenticate">,
): void {
  // A client that gets a 404 for this path falls back to an older one.
  server.route(
    "GET",
    "/.api/scip/upload",
    guarded(authenticator, ({ method }, response) =>
      method === "HEAD"
        ? response.replyHead(200, plainText, undefined)
        : response.reply(405, { ...plainText, Allow: "HEAD, POST" }, "send an index with POST\n"),
    ),
  );
  let openCount = 0;
  const openOfUser = new Map<number, number>();
  const admission = guardedStream(authenticator, (request, response, viewer) => {
    try {
      const upload = readUpload(request, viewer, services);
      if (openCount >= concurrentMax)
        throw new TrawlError("overloaded", `${openCount} uploads are arriving; try again in a moment`);
      const userId = viewer.userId ?? 0;
      const own = openOfUser.get(userId) ?? 0;
      if (own >= concurrentMax * userShareMax)
        throw new TrawlError("overloaded", `${own} uploads of yours are arriving; try again in a moment`);
      openCount++;
      openOfUser.set(userId, own + 1);
      response.onClosed(() => {
        openCount--;
        const left = (openOfUser.get(userId) ?? 0) - 1;
        if (left > 0) openOfUser.set(userId, left);
        else openOfUser.delete(userId);
      });
      return new UploadSink(upload, services, response);
    } catch (error) {
      replyFailure(response, error);
      return undefined;
    }
  });
  for (const path of ["/.api/scip/upload", "/.api/lsif/upload"]) server.routeWithStream("POST", path, admission);
}

function replyFailure(response: HttpResponse, error: unknown): void {
  if (!(error instanceof TrawlError)) throw error;
  const headers = error.httpStatus === 503 ? { ...plainText, ...retryAfter } : plainText;
  response.reply(error.httpStatus, headers, `${error.message}\n`);
}

/** What a request is for. */
type Upload = { readonly context: RequestContext; readonly repository: string } & (
  | { readonly kind: "whole" | "begin"; readonly described: Parameters<PreciseIndexes["begin"]>[0] }
  | { readonly kind: "part"; readonly record: PreciseIndexRecord; readonly part: number }
  | { readonly kind: "end"; readonly record: PreciseIndexRecord }
);

/** Throws `bad-request`, `unauthenticated`, `forbidden` and `not-found`. */
function readUpload(request: HttpRequest, viewer: Viewer, { precise, uploaders, contextFor }: UploadServices): Upload {
  if (viewer.userId === undefined)
    throw new TrawlError("unauthenticated", "uploading an index needs an access token: send Authorization: token …");
  const context = contextFor(viewer, request);
  requireUploader(context, uploaders);
  const query = new URLSearchParams(request.query);
  const given = (name: string): string => query.get(name) ?? "";
  const id = given("uploadId");
  if (id !== "") {
    const record = precise.requireUploading(readNumber(id, "uploadId", Number.MAX_SAFE_INTEGER), viewer);
    const { name } = requireRepository((table) => table.byId(record.repositoryId), context);
    if (given("done") === "true") return { kind: "end", context, repository: name, record };
    const part = readNumber(given("index"), "index", record.partCount - 1);
    return { kind: "part", context, repository: name, record, part };
  }
  const repository = given("repository");
  if (repository === "") throw new TrawlError("bad-request", "repository is missing in the query: name the repository");
  const { id: repositoryId } = requireRepository((table) => table.byName(repository), context);
  const commit = given("commit").toLowerCase();
  if (!isOid(commit))
    throw new TrawlError("bad-request", "commit in the query must be the full id of the commit that was indexed");
  const isInParts = given("multiPart") === "true";
  return {
    kind: isInParts ? "begin" : "whole",
    context,
    repository,
    described: {
      repositoryId,
      commit,
      root: readRoot(given("root")),
      indexer: readName(given("indexerName"), "indexerName"),
      indexerVersion: readName(given("indexerVersion"), "indexerVersion"),
      uploaderId: viewer.userId ?? 0,
      partCount: isInParts ? Math.max(1, readNumber(given("numParts"), "numParts", partsMax)) : 0,
    },
  };
}

function requireUploader(context: RequestContext, uploaders: UploadServices["uploaders"]): void {
  if (uploaders === "nobody") throw new TrawlError("forbidden", "this server accepts no indexes (precise.uploaders)");
  context.requireAllRights();
  if (uploaders === "site-admins" && !context.viewer.isSiteAdmin)
    throw new TrawlError(
      "forbidden",
      "only site admins may upload indexes here; the operator can allow it to all users (precise.uploaders)",
    );
}

function requireRepository<T>(
  find: (table: RequestContext["repositories"]) => T | undefined,
  context: RequestContext,
): T {
  const found = find(context.repositories);
  if (found === undefined)
    throw new TrawlError("not-found", "there is no repository with this name, or you may not see it");
  return found;
}

function readNumber(text: string, name: string, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= max) return value;
  throw new TrawlError("bad-request", `${name} in the query must be a number from 0 to ${max}`);
}

function readName(text: string, name: string): string {
  if (text.length <= nameUnitsMax) return text;
  throw new TrawlError("bad-request", `${name} in the query has more than ${nameUnitsMax} characters`);
}

/** "" or a folder with a slash at its end. */
function readRoot(text: string): string {
  const parts = readName(text, "root").split("/");
  if (parts.includes(".."))
    throw new TrawlError("bad-request", "root in the query must be a folder of the repository, without ..");
  const folders = parts.filter((part) => part !== "" && part !== ".");
  return folders.map((folder) => `${folder}/`).join("");
}

/** Receives the body of one request. */
class UploadSink implements BodySink {
  readonly bytesMax: number;
  readonly #upload: Upload;
  readonly #services: UploadServices;
  readonly #response: HttpResponse;
  /** Undefined until the first bytes arrive. */
  #opened: Promise<{ readonly part: ArrivingPart; readonly record: PreciseIndexRecord }> | undefined;
  #isFinished = false;

  constructor(upload: Upload, services: UploadServices, response: HttpResponse) {
    this.#upload = upload;
    this.#services = services;
    this.#response = response;
    const hasBody = upload.kind === "whole" || upload.kind === "part";
    this.bytesMax = hasBody ? services.precise.limits.uploadBytesMax : 0;
  }

  async write(chunk: Uint8Array): Promise<void> {
    try {
      this.#opened ??= this.#open();
      await (await this.#opened).part.write(chunk);
    } catch (error) {
      // There may be no room for it.
      replyFailure(this.#response, error);
    }
  }

  async end(): Promise<void> {
    try {
      await this.#end();
    } catch (error) {
      replyFailure(this.#response, error);
    }
  }

  async abort(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    if (opened === undefined || this.#isFinished) return;
    const { part, record } = opened;
    await part.discard();
    // Parts are sent again.
    if (this.#upload.kind === "whole") await this.#services.precise.remove([record.id]);
  }

  async #open(): Promise<{ readonly part: ArrivingPart; readonly record: PreciseIndexRecord }> {
    const { precise } = this.#services;
    const upload = this.#upload;
    const record = "described" in upload ? await precise.begin(upload.described) : upload.record;
    try {
      return { record, part: await precise.openPart(record, upload.kind === "part" ? upload.part : 0) };
    } catch (error) {
      if ("described" in upload) await precise.remove([record.id]);
      throw error;
    }
  }

  async #end(): Promise<void> {
    const { precise } = this.#services;
    const upload = this.#upload;
    switch (upload.kind) {
      case "begin":
        return this.#accept(await precise.begin(upload.described));
      case "part": {
        const { part, record } = await (this.#opened ??= this.#open());
        await part.finish();
        this.#isFinished = true;
        return this.#accept(record);
      }
      case "end":
        return this.#build(upload.record);
      case "whole": {
        if (this.#opened === undefined)
          throw new TrawlError("bad-request", "the body is empty: send the index that an indexer has written");
        const { part, record } = await this.#opened;
        await part.finish();
        this.#isFinished = true;
        return this.#build(record);
      }
    }
  }

  async #build(record: PreciseIndexRecord): Promise<void> {
    const { precise, audit } = this.#services;
    const { context, repository } = this.#upload;
    const { id, commit, root, indexer } = record;
    const entry = auditEntry("index-uploaded", context.actor, { index: id, repository, commit, root, indexer });
    await audit.record(entry);
    const built = precise.finish(record).then(
      (ended) => {
        if (ended.state === "ERRORED") audit.recordFailure(entry, new TrawlError("bad-request", ended.failure));
        return ended;
      },
      (error: unknown) => {
        audit.recordFailure(entry, error);
        throw error;
      },
    );
    const ended = await withinTime(built);
    if (ended?.state === "ERRORED") throw new TrawlError("bad-request", `the index was not accepted: ${ended.failure}`);
    this.#accept(record);
  }

  #accept({ id }: PreciseIndexRecord): void {
    this.#response.reply(202, json, JSON.stringify({ id: String(id) }));
  }
}

/** Undefined if the index is not built within the time; then it will be later. */
async function withinTime(built: Promise<PreciseIndexRecord>): Promise<PreciseIndexRecord | undefined> {
  let timer: { cancel(): void } | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = callAfter(builtMsMax, () => resolve(undefined));
  });
  try {
    return await Promise.race([built, late]);
  } finally {
    timer?.cancel();
    built.catch(() => undefined);
  }
}
