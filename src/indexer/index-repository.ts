import type { LfsContents } from "../git/lfs/lfs-contents.js";
import { parsePointer } from "../git/lfs/pointer.js";
import { fileMode, isRegular, type TreeEntry } from "../git/objects/objects.js";
import { Pace } from "../base/pace.js";
import { readBlobs, readByGit } from "../git/objects/read-blobs.js";
import { listReadable } from "../git/objects/readable-tree.js";
import type { StopSignal } from "../git/run/run.js";
import type { Kernel } from "../native/kernel/kernel.js";
import { type IndexedBranch, indexedTree } from "../model/repository.js";
import { hasText, type SkipReason } from "../model/skip-reason.js";
import {
  detectLanguageName,
  isTooLarge,
  markOfText,
  ownReadsMax,
  textToIndex,
  type ContentLimits,
} from "./classify.js";
import {
  type CommitRules,
  isRulePath,
  noLfsRule,
  readCommitRules,
  readLfsRule,
  type RuleFiles,
} from "./rules/commit-rules.js";
import { noRules, type PathRules } from "./rules/path-rules.js";
import type { ShardOutput } from "./shard-output.js";

/**
 * Larger files are never indexed, regardless of the options: they would come close to the limit of a shard's 32-bit
 * offsets.
 */
const contentBytesLimit = 1 << 30;

/** git is considered hung if one step of reading takes longer than this. */
const readSilenceMs = 120_000;

/** A path and blob on certain branches, which becomes a document. */
export interface Entry {
  readonly path: Buffer;
  /** Of the contents of a pointer of Git LFS, if they are in the mirror. */
  readonly oid: string;
  /** True for a file; false for a symbolic link or a submodule. */
  readonly isFile: boolean;
  readonly isSubmodule: boolean;
  /** Of a file, by the commits of these branches. */
  readonly rules: PathRules;
  /** Whether its blob may be a pointer of Git LFS that the list of contents does not have. */
  readonly mayBePointer: boolean;
  branchMask: number;
}

/** Counters of one repository's documents; those of a delta can be added to previous ones. */
export interface DocumentCounts {
  documentCount: number;
  contentBytes: number;
  readonly skippedCounts: Record<string, number>;
}

export function noCounts(): DocumentCounts {
  return { documentCount: 0, contentBytes: 0, skippedCounts: {} };
}

/** Blobs read for indexing, and their total size. */
export interface BlobReads {
  blobCount: number;
  byteCount: number;
}

/** Services and settings for indexing. */
export interface IndexContext {
  /** Directory of the mirror. */
  readonly mirror: string;
  /** Those of Git LFS, if the repository is indexed with them. */
  readonly contents?: LfsContents | undefined;
  readonly repositoryId: number;
  readonly output: ShardOutput;
  readonly kernel: Kernel;
  readonly limits: ContentLimits;
  readonly stop: StopSignal;
  /** Counts what is read from the mirror. */
  readonly reads: BlobReads;
  readonly onProgress: (done: number, total: number) => void;
  /** Called with each file before it is processed, and with the size of its content. */
  readonly onFile: (oid: string, path: Buffer, byteCount: number) => void;
  /** Oids that are indexed without their content, and without reading it. */
  readonly quarantined: ReadonlySet<string>;
  /** Whether the contents of submodules are wanted, so that a submodule without them is a gap. */
  readonly withSubmodules: boolean;
}

/** The contents of the branches' trees. */
export interface BranchEntries {
  readonly entries: readonly Entry[];
  /** Number of directories that cannot be read, summed over branches. */
  readonly missingTreeCount: number;
  /** What is wrong with the rules of the commits. */
  readonly problems: readonly string[];
}

/**
 * Every readable entry of the branches' trees, with `contents` instead of their pointers. The same path and blob on several branches is one entry, unless it is a
 * file on one and a link on another, or the commits have other rules for it.
 */
export async function entriesOfBranches(
  mirror: string,
  branches: readonly IndexedBranch[],
  stop: StopSignal,
  contents?: LfsContents,
): Promise<BranchEntries> {
  const known = new Map<string, Entry>();
  const entries: Entry[] = [];
  let missingTreeCount = 0;
  const problems: string[] = [];
  const pace = new Pace("the listing of files", stop);
  const found = new Map<CommitRules, Map<string, PathRules>>();
  for (const branch of branches) {
    const bit = 1 << branch.bit;
    const tree = await listReadable(mirror, indexedTree(branch), stop);
    missingTreeCount += tree.missingCount;
    const files = ruleFiles(tree.entries);
    const rules = await readCommitRules(mirror, files, stop);
    const lfs = contents === undefined || contents.isWhole ? noLfsRule : await readLfsRule(mirror, files, stop);
    problems.push(...describeProblems(branch.name, rules));
    // Branches with the same files with rules have the same for a path.
    const rulesOfPath = found.get(rules) ?? new Map<string, PathRules>();
    found.set(rules, rulesOfPath);
    for (const item of tree.entries) {
      if (pace.isDue) await pace.rest();
      const isFile = isRegular(item.mode);
      const path = branches.length > 1 ? item.path.toString("latin1") : "";
      const own = isFile ? (rulesOfPath.get(path) ?? rules.at(item.path)) : noRules;
      if (isFile && branches.length > 1 && !rules.isEmpty) rulesOfPath.set(path, own);
      const oid = (isFile ? contents?.find(item.oid) : undefined) ?? item.oid;
      const mayBePointer = isFile && lfs !== noLfsRule && lfs.holds(item.path.toString("latin1"));
      const key = branches.length > 1 ? `${oid} ${isFile} ${mayBePointer} ${own.key} ${path}` : "";
      const entry = branches.length > 1 ? known.get(key) : undefined;
      if (entry !== undefined) {
        entry.branchMask |= bit;
        continue;
      }
      const isSubmodule = item.mode === fileMode.gitlink;
      const added: Entry = { path: item.path, oid, isFile, isSubmodule, rules: own, mayBePointer, branchMask: bit };
      entries.push(added);
      if (branches.length > 1) known.set(key, added);
    }
  }
  return { entries, missingTreeCount, problems };
}

/** The files with rules among these. */
export function ruleFiles(entries: readonly TreeEntry[]): RuleFiles {
  const files = new Map<string, string>();
  for (const { path, oid, mode } of entries)
    if (isRegular(mode) && isRulePath(path)) files.set(path.toString("latin1"), oid);
  return files;
}

/** Of the commit of a branch; `isRuleProblem` knows such a text. */
export function describeProblems(branch: string, { problems }: CommitRules): string[] {
  return problems.map((problem) => `${problemStart}${JSON.stringify(branch)}: ${problem}`);
}

const problemStart = "rules of the branch ";

export function isRuleProblem(text: string): boolean {
  return text.startsWith(problemStart);
}

/**
 * Adds a document for each entry to the output, reading each blob once; contents are added in the order of their first
 * path. Throws `cancelled` if stopped.
 */
export async function indexEntries(
  entries: readonly Entry[],
  context: IndexContext,
  counts: DocumentCounts,
): Promise<void> {
  const { output } = context;
  const entriesOfBlob = new Map<string, Entry[]>();
  for (const entry of entries) {
    counts.documentCount++;
    if (entry.rules.isIgnored) {
      addSkipped(entry, "ignored", context, counts);
      continue;
    }
    // First of all, because it tells a link from a file, even from a file with rules.
    if (!entry.isFile) {
      addSkipped(entry, entry.isSubmodule && context.withSubmodules ? "submodule" : "not-regular", context, counts);
      continue;
    }
    if (context.contents?.lacks(entry.oid) === true) {
      addSkipped(entry, "lfs", context, counts);
      continue;
    }
    if (context.quarantined.has(entry.oid)) {
      addSkipped(entry, "quarantined", context, counts);
      continue;
    }
    const group = entriesOfBlob.get(entry.oid);
    if (group === undefined) entriesOfBlob.set(entry.oid, [entry]);
    else group.push(entry);
  }
  const wanted: string[] = [];
  for (const [oid, group] of entriesOfBlob) {
    const content = output.findContent(oid);
    if (content < 0) wanted.push(oid);
    else addToOpenShard(content, group, context, counts);
  }
  if (wanted.length > 0) await indexBlobs(wanted, entriesOfBlob, context, counts);
}

async function indexBlobs(
  wanted: readonly string[],
  entriesOfBlob: ReadonlyMap<string, Entry[]>,
  context: IndexContext,
  counts: DocumentCounts,
): Promise<void> {
  const { fileBytesMax, largeFiles } = context.limits;
  const contentBytesMax = largeFiles === undefined ? Math.min(fileBytesMax, contentBytesLimit) : contentBytesLimit;
  const read = wanted.length > ownReadsMax ? readByGit : readBlobs;
  await read(
    { directory: context.mirror, contentBytesMax, silenceMs: readSilenceMs, stop: context.stop },
    wanted,
    async (index, outcome) => {
      const group = entriesOfBlob.get(wanted[index]) ?? [];
      context.reads.blobCount++;
      if (outcome.kind === "content") context.reads.byteCount += outcome.content.length;
      if (outcome.kind === "content") await indexBlob(wanted[index], outcome.content, group, context, counts);
      else for (const entry of group) addSkipped(entry, outcome.kind, context, counts);
      if (index % 256 === 0) context.onProgress(index, wanted.length);
    },
  );
}

/** The open shard already has the blob, for example from a fork: it is not read again. */
function addToOpenShard(content: number, group: readonly Entry[], context: IndexContext, counts: DocumentCounts): void {
  const text = context.output.contentText(content);
  const searched = withoutPointers(group, text, context, counts);
  if (searched.length === 0) return;
  counts.contentBytes += text.length;
  for (const entry of searched) addDocument(content, entry, text, context, counts);
}

/** Adds the entries that are pointers of Git LFS without contents, and returns the others. */
function withoutPointers(
  group: readonly Entry[],
  text: Buffer,
  context: IndexContext,
  counts: DocumentCounts,
): readonly Entry[] {
  if (!group.some(({ mayBePointer }) => mayBePointer) || parsePointer(text) === undefined) return group;
  for (const entry of group) if (entry.mayBePointer) addSkipped(entry, "lfs", context, counts);
  return group.filter(({ mayBePointer }) => !mayBePointer);
}

async function indexBlob(
  oid: string,
  content: Buffer,
  group: readonly Entry[],
  context: IndexContext,
  counts: DocumentCounts,
): Promise<void> {
  const readable: Entry[] = [];
  for (const entry of withoutPointers(group, content, context, counts)) {
    context.onFile(oid, entry.path, content.length);
    if (isTooLarge(content.length, entry.path, context.limits)) addSkipped(entry, "too-large", context, counts);
    else readable.push(entry);
  }
  if (readable.length === 0) return;
  const { text, skipReason } = textToIndex(content, readable[0].path, context.limits, context.kernel);
  if (!hasText(skipReason)) {
    for (const entry of readable) addSkipped(entry, skipReason, context, counts);
    return;
  }
  counts.contentBytes += text.length;
  const number = await context.output.addContent(oid, text);
  for (const entry of readable) addDocument(number, entry, text, context, counts);
}

function addDocument(
  content: number,
  entry: Entry,
  text: Buffer,
  context: IndexContext,
  { skippedCounts }: DocumentCounts,
): void {
  const skipReason = markOfText(text);
  if (skipReason !== "none") skippedCounts[skipReason] = (skippedCounts[skipReason] ?? 0) + 1;
  context.onFile(entry.oid, entry.path, text.length);
  const language = entry.rules.language || detectLanguageName(entry.path, text);
  context.output.addDocument(content, {
    repositoryId: context.repositoryId,
    path: entry.path,
    branchMask: entry.branchMask,
    oid: entry.oid,
    language,
    flags: entry.rules.flags,
    skipReason,
  });
}

function addSkipped(entry: Entry, skipReason: SkipReason, context: IndexContext, counts: DocumentCounts): void {
  counts.skippedCounts[skipReason] = (counts.skippedCounts[skipReason] ?? 0) + 1;
  context.output.addSkipped({
    repositoryId: context.repositoryId,
    path: entry.path,
    branchMask: entry.branchMask,
    oid: entry.oid,
    skipReason,
    language: entry.rules.language || (skipReason === "quarantined" ? "" : languageOfSkipped(entry, context)),
    flags: entry.rules.flags,
  });
}

function languageOfSkipped(entry: Entry, context: IndexContext): string {
  context.onFile(entry.oid, entry.path, 0);
  return detectLanguageName(entry.path, Buffer.alloc(0));
}
