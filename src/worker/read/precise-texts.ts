import { BoundedMap } from "../../base/bounded-map.js";
import { decodePath } from "../../base/path-text.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { type FileDiffData, readDiff } from "../../git/history/file-diffs.js";
import { readEntries } from "../../git/objects/directories.js";
import { diffTrees } from "../../git/objects/objects.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { detectLanguageName } from "../../indexer/classify.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { LineMap } from "../../scip/line-map.js";
import { LinePositions } from "../../scip/line-positions.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";
import { readGivenLanguages } from "./path-languages.js";

/** What a thread keeps of the differences between indexed commits and those that were asked about. */
const keptBytesMax = 16 << 20;

/** Estimated memory of a path, and of a run of lines that are the same. */
const pathBytes = 200;
const runBytes = 64;

interface Differences {
  readonly paths: ReadonlySet<string>;
  readonly maps: ReadonlyMap<string, LineMap | undefined>;
  readonly byteCount: number;
}

const keptDifferences = new BoundedMap<string, Differences>(keptBytesMax, ({ byteCount }) => byteCount);

/** The oids of files that were looked at last; "" for what is no file. */
const keptOids = new BoundedMap<string, string>(20_000, () => 1);

/** Their texts. */
const keptTexts = new BoundedMap<string, CommitText>(keptBytesMax, ({ lines }) => 1024 + lines.byteCount);

/** A file of the commit that was asked about. */
export interface CommitText {
  readonly lines: LinePositions;
  readonly language: string;
}

const sameLines = new LineMap([]);

/** The texts of a commit, and which lines of them another commit has too, the indexed one. */
export class CommitTexts {
  readonly #context: ReadContext;
  readonly #mirror: string;
  readonly #indexed: string;
  readonly #commit: string;

  constructor(context: ReadContext, repositoryId: number, indexed: string, commit: string) {
    this.#context = context;
    this.#mirror = mirrorPath(context, repositoryId);
    this.#indexed = indexed;
    this.#commit = commit;
  }

  /** Of each file, which of its lines are which: from the indexed commit, as old, to the other. Undefined for one that only one of them has. */
  async lineMaps(paths: readonly string[]): Promise<ReadonlyMap<string, LineMap | undefined>> {
    if (this.#indexed === this.#commit) return new Map(paths.map((path) => [path, sameLines]));
    const known = await this.#differences();
    const { paths: changed } = known;
    const unknown = [...new Set(paths)].filter((path) => changed.has(path) && !known.maps.has(path));
    const { maps } = unknown.length === 0 ? known : await this.#withMaps(known, unknown);
    return new Map(paths.map((path) => [path, changed.has(path) ? maps.get(path) : sameLines]));
  }

  /** The paths of the files that the commits do not have in common. */
  async changedPaths(): Promise<ReadonlySet<string>> {
    return this.#indexed === this.#commit ? new Set() : (await this.#differences()).paths;
  }

  async lineMap(path: string): Promise<LineMap | undefined> {
    return (await this.lineMaps([path])).get(path);
  }

  /** Calls `onText` for each of these files that the commit has as a text. */
  async readTexts(paths: readonly string[], onText: (path: string, text: CommitText) => void): Promise<void> {
    const unknown: { readonly path: string; readonly oid: string; readonly given: string; readonly key: string }[] = [];
    const files = await this.#readOids(paths);
    const languages = await readGivenLanguages(
      this.#mirror,
      this.#commit,
      files.map(({ path }) => path),
      this.#stop,
    );
    files.forEach(({ path, oid }, i) => {
      const given = languages[i];
      const key = `${oid} ${given} ${path}`;
      const known = keptTexts.get(key);
      if (known === undefined) unknown.push({ path, oid, given, key });
      else onText(path, known);
    });
    await readBlobs(
      blobOptions(this.#mirror, this.#context),
      unknown.map(({ oid }) => oid),
      (index, outcome) => {
        if (outcome.kind !== "content") return;
        const { kind, text } = textOfBlob(outcome.content);
        const { path, given, key } = unknown[index];
        if (kind === "binary") return;
        // The memory of the content is used again.
        const lines = new LinePositions(Buffer.from(text));
        const found = { lines, language: given || detectLanguageName(Buffer.from(path), text) };
        keptTexts.set(key, found);
        onText(path, found);
      },
    );
  }

  /** A process lists the entries of a commit, which takes longer than everything else, so they are kept. */
  async #readOids(paths: readonly string[]): Promise<readonly { readonly path: string; readonly oid: string }[]> {
    const key = (path: string): string => `${this.#mirror} ${this.#commit} ${path}`;
    const unknown = paths.filter((path) => keptOids.get(key(path)) === undefined);
    const found = new Map<string, string>();
    if (unknown.length > 0) {
      const entries = await readEntries(this.#mirror, this.#commit, unknown, this.#stop);
      unknown.forEach((path, i) => {
        const entry = entries[i];
        const oid = entry?.kind === "file" ? entry.oid : "";
        found.set(path, oid);
        keptOids.set(key(path), oid);
      });
    }
    return paths.flatMap((path) => {
      const oid = found.get(path) ?? keptOids.get(key(path)) ?? "";
      return oid === "" ? [] : [{ path, oid }];
    });
  }

  /** Kept differences are replaced, never changed: their memory is counted when they are set. */
  async #withMaps({ paths, maps, byteCount }: Differences, unknown: readonly string[]): Promise<Differences> {
    const { files } = await readDiff(
      this.#mirror,
      { base: this.#indexed, head: this.#commit, paths: unknown, ignoreWhitespace: false },
      this.#stop,
    );
    const added = new Map<string, LineMap | undefined>(unknown.map((path) => [path, undefined]));
    let addedBytes = pathBytes * unknown.length;
    for (const file of files) {
      if (!hasLineMap(file)) continue;
      added.set(file.newPath, new LineMap(file.hunks));
      addedBytes += runBytes * runCountMax(file);
    }
    const found = { paths, maps: new Map([...maps, ...added]), byteCount: byteCount + addedBytes };
    keptDifferences.set(this.#key, found);
    return found;
  }

  async #differences(): Promise<Differences> {
    const known = keptDifferences.get(this.#key);
    if (known !== undefined) return known;
    const changes = await diffTrees(this.#mirror, this.#indexed, this.#commit, this.#stop);
    const paths = new Set(changes.map(({ path }) => decodePath(path)));
    const found = { paths, maps: new Map(), byteCount: pathBytes * (1 + paths.size) };
    keptDifferences.set(this.#key, found);
    return found;
  }

  get #key(): string {
    return `${this.#mirror} ${this.#indexed} ${this.#commit}`;
  }

  get #stop(): StopSignal {
    return this.#context.stop;
  }
}

/** Whether the hunks of a file say which of its lines are the same: they do not if it is new, of another type, or binary for git. */
function hasLineMap(file: FileDiffData): file is FileDiffData & { readonly newPath: string } {
  const { oldPath, newPath, oldOid, newOid, isTypeChange, hunks } = file;
  return newPath !== null && newPath === oldPath && !isTypeChange && (hunks.length > 0 || oldOid === newOid);
}

/** A run for each line that a hunk shows as the same, for those before each hunk, and for those behind the last. */
function runCountMax({ hunks }: FileDiffData): number {
  return hunks.reduce((sum, { oldCount, newCount }) => sum + 1 + Math.min(oldCount, newCount), 1);
}
