import { TrawlError } from "../base/errors.js";

/** Uploads whose index is not built yet; a further one is refused. */
const countMax = 50;

/** Their bytes together, in uploads of the largest size. */
const fullUploadsMax = 4;

/** The share that one user may have of what all may use together. */
export const userShareMax = 0.75;

/** An upload in parts of which none arrives for this long is given up. */
const silenceMsMax = 3_600_000;

/** The bytes of a part on the disk. The same part may arrive twice, because the client has lost its connection. */
export interface PartBytes {
  readonly part: number;
  byteCount: number;
  isArrived: boolean;
}

interface UnfinishedUpload {
  readonly uploaderId: number;
  readonly parts: Set<PartBytes>;
  /** Of all parts. */
  byteCount: number;
  /** When it began, or a part was complete. */
  touchedMs: number;
  /** Whether nothing more may arrive. */
  isComplete: boolean;
}

/** The uploads whose index is not built yet, and what they have on the disk. Times are those of the monotonic clock. */
export class UnfinishedUploads {
  readonly #uploadBytesMax: number;
  readonly #uploads = new Map<number, UnfinishedUpload>();

  constructor(uploadBytesMax: number) {
    this.#uploadBytesMax = uploadBytesMax;
  }

  /** Throws `overloaded` if there are too many, of this user or of all. */
  begin(id: number, uploaderId: number, nowMs: number): void {
    const own = [...this.#uploads.values()].filter((upload) => upload.uploaderId === uploaderId).length;
    if (this.#uploads.size >= countMax || own >= Math.floor(countMax * userShareMax))
      throw new TrawlError(
        "overloaded",
        `${this.#uploads.size} uploaded indexes have not been read yet, ${own} of them from you; try again in a minute`,
      );
    this.#uploads.set(id, { uploaderId, parts: new Set(), byteCount: 0, touchedMs: nowMs, isComplete: false });
  }

  /** One whose parts all arrived before the daemon started. */
  resume(id: number, uploaderId: number, byteCount: number): void {
    const parts = new Set([{ part: 0, byteCount, isArrived: true }]);
    this.#uploads.set(id, { uploaderId, parts, byteCount, touchedMs: 0, isComplete: true });
  }

  has(id: number): boolean {
    return this.#uploads.has(id);
  }

  /** Throws `not-found` if nothing may arrive for this upload. */
  requireOpen(id: number): void {
    this.#open(id);
  }

  /** A part begins to arrive. Throws like `requireOpen`. */
  openPart(id: number, part: number): PartBytes {
    const opened: PartBytes = { part, byteCount: 0, isArrived: false };
    this.#open(id).parts.add(opened);
    return opened;
  }

  /**
   * Bytes of a part will be written. Throws like `requireOpen`, `content-too-large` if the upload has too many, and `overloaded` if
   * those of this user or of all have.
   */
  grow(id: number, part: PartBytes, byteCount: number): void {
    const upload = this.#open(id);
    const replaced = arrivedBefore(upload, part);
    if (upload.byteCount - (replaced?.byteCount ?? 0) + byteCount > this.#uploadBytesMax)
      throw new TrawlError(
        "content-too-large",
        `the upload has more than precise.uploadBytes (${this.#uploadBytesMax}); index a part of the repository at a time, with a root for each`,
      );
    let all = byteCount;
    let own = byteCount;
    for (const other of this.#uploads.values()) {
      all += other.byteCount;
      if (other.uploaderId === upload.uploaderId) own += other.byteCount;
    }
    const bytesMax = fullUploadsMax * this.#uploadBytesMax;
    if (all > bytesMax || own > bytesMax * userShareMax)
      throw new TrawlError(
        "overloaded",
        `uploaded indexes that have not been read yet have ${all} bytes, ${own} of them from you; try again in a minute`,
      );
    part.byteCount += byteCount;
    upload.byteCount += byteCount;
  }

  /** The part is complete, and replaces an earlier one. */
  arrive(id: number, part: PartBytes, nowMs: number): void {
    const upload = this.#uploads.get(id);
    if (upload === undefined) return;
    const replaced = arrivedBefore(upload, part);
    if (replaced !== undefined) this.discardPart(id, replaced);
    part.isArrived = true;
    upload.touchedMs = nowMs;
  }

  /** The part will not arrive. */
  discardPart(id: number, part: PartBytes): void {
    const upload = this.#uploads.get(id);
    if (upload?.parts.delete(part) === true) upload.byteCount -= part.byteCount;
  }

  /** Nothing more may arrive. Throws like `requireOpen`, so that of two calls at the same time one does. */
  complete(id: number): void {
    this.#open(id).isComplete = true;
  }

  /** Takes `complete` back. */
  reopen(id: number): void {
    const upload = this.#uploads.get(id);
    if (upload !== undefined) upload.isComplete = false;
  }

  delete(id: number): void {
    this.#uploads.delete(id);
  }

  /** Those for which nothing has arrived for too long. */
  late(nowMs: number): number[] {
    return [...this.#uploads].flatMap(([id, { touchedMs, isComplete }]) =>
      !isComplete && touchedMs + silenceMsMax < nowMs ? [id] : [],
    );
  }

  #open(id: number): UnfinishedUpload {
    const upload = this.#uploads.get(id);
    if (upload === undefined || upload.isComplete) throw noUpload(id);
    return upload;
  }
}

export function noUpload(id: number): TrawlError {
  return new TrawlError("not-found", `there is no unfinished upload ${id}; begin it again`);
}

/** The same part, if it has arrived before: it will be replaced. */
function arrivedBefore({ parts }: UnfinishedUpload, { part }: PartBytes): PartBytes | undefined {
  for (const other of parts) if (other.isArrived && other.part === part) return other;
  return undefined;
}
