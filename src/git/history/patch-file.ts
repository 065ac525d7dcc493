/** How a file changed. A change of type, for example from file to symbolic link, is a "D" and an "A". */
export type PatchStatus = "A" | "M" | "D";

export const plusSign = 43;
export const minusSign = 45;
export const contextSign = 32;

const lineCountStart = 1024;
const hunkCountStart = 64;

/**
 * The change of one file in one commit: hunks with one line of context. Lines and hunks are numbers in arrays that are
 * reused for the next file, because a history has millions of them. Positions are byte offsets in `bytes`.
 */
export class PatchFile {
  path: Buffer = Buffer.alloc(0);
  status: PatchStatus = "M";
  /** git considers it binary, or does not look because it is too large: there are no hunks. */
  isBinary = false;
  #readOids: () => readonly string[] = () => [];
  /** Its hunks were left out because they are too large. */
  isTooLarge = false;
  bytes: Buffer = Buffer.alloc(0);
  lineCount = 0;
  /** The line without its sign and newline. */
  lineFrom = new Uint32Array(lineCountStart);
  lineTo = new Uint32Array(lineCountStart);
  /** FNV-1a of the line. */
  lineHash = new Int32Array(lineCountStart);
  /** `plusSign`, `minusSign` or `contextSign`. */
  lineSign = new Uint8Array(lineCountStart);
  hunkCount = 0;
  hunks: PatchHunk[] = Array.from({ length: hunkCountStart }, newHunk);

  /** The oids of its blobs before and after the change; zeros if there is none. */
  get oids(): readonly string[] {
    return this.#readOids();
  }

  /** `readOids` is called while the file is reported, if at all. */
  begin(path: Buffer, status: PatchStatus, bytes: Buffer, readOids: () => readonly string[]): void {
    this.path = path;
    this.status = status;
    this.isBinary = false;
    this.#readOids = readOids;
    this.isTooLarge = false;
    this.bytes = bytes;
    this.lineCount = 0;
    this.hunkCount = 0;
  }

  addHunk(
    oldStart: number,
    oldCount: number,
    newStart: number,
    newCount: number,
    sectionFrom: number,
    sectionTo: number,
  ): void {
    if (this.hunkCount === this.hunks.length) this.hunks.push(newHunk());
    const hunk = this.hunks[this.hunkCount++];
    // git gives the line before an empty range.
    hunk.oldStart = oldCount === 0 ? oldStart + 1 : oldStart;
    hunk.newStart = newCount === 0 ? newStart + 1 : newStart;
    hunk.sectionFrom = sectionFrom;
    hunk.sectionTo = sectionTo;
    hunk.firstLine = this.lineCount;
  }

  addLine(sign: number, from: number, to: number, hash: number): void {
    if (this.lineCount === this.lineFrom.length) this.#grow();
    const line = this.lineCount++;
    this.lineSign[line] = sign;
    this.lineFrom[line] = from;
    this.lineTo[line] = to;
    this.lineHash[line] = hash;
  }

  dropHunks(): void {
    this.isTooLarge = true;
    this.lineCount = 0;
    this.hunkCount = 0;
  }

  /** The bytes are at another place now. */
  move(bytes: Buffer, by: number): void {
    this.bytes = bytes;
    if (by === 0) return;
    for (let line = 0; line < this.lineCount; line++) {
      this.lineFrom[line] += by;
      this.lineTo[line] += by;
    }
    for (let i = 0; i < this.hunkCount; i++) {
      this.hunks[i].sectionFrom += by;
      this.hunks[i].sectionTo += by;
    }
  }

  #grow(): void {
    const count = this.lineFrom.length * 2;
    this.lineFrom = grown(this.lineFrom, new Uint32Array(count));
    this.lineTo = grown(this.lineTo, new Uint32Array(count));
    this.lineHash = grown(this.lineHash, new Int32Array(count));
    this.lineSign = grown(this.lineSign, new Uint8Array(count));
  }
}

/** Consecutive lines; they end where the next hunk begins. */
export interface PatchHunk {
  /** The first line of the hunk in the old and in the new file, from 1. */
  oldStart: number;
  newStart: number;
  /** The text that git writes after the numbers: usually the line with which a function begins. */
  sectionFrom: number;
  sectionTo: number;
  firstLine: number;
}

function newHunk(): PatchHunk {
  return { oldStart: 0, newStart: 0, sectionFrom: 0, sectionTo: 0, firstLine: 0 };
}

function grown<T extends Uint32Array | Int32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
