import { setBit } from "../../src/base/bits.js";
import { encodeSummaries } from "../../src/protocol/repository-summaries.js";
import { batchBufferBytes, ResultWriter } from "../../src/eval/results/result-writer.js";
import { type MarkOptions, type ResultBatch, type SelectedResult, SentMarks } from "../../src/protocol/result-batch.js";
import {
  noStats,
  type RepositorySelection,
  type SearchOptions,
  type SearchStats,
} from "../../src/protocol/search-options.js";
import { ContentClaims } from "../../src/protocol/content-claims.js";
import { ControlBlock, StopCheck, makeResultLimits, type ResultLimits } from "../../src/protocol/control-block.js";
import { SearchedRevisions } from "../../src/eval/match/searched-revisions.js";
import { ShardSearch, shardStart, writeFound } from "../../src/eval/shard-search.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import type { RankedDocument } from "../../src/protocol/rank-messages.js";
import { detectLanguageName } from "../../src/indexer/classify.js";
import type { Repository } from "../../src/model/repository.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import type { SkipReason } from "../../src/model/skip-reason.js";
import type { SearchPlan } from "../../src/query/plan/plan.js";
import { ShardBuilder } from "../../src/shard/shard-builder.js";
import { ShardReader } from "../../src/shard/shard-reader.js";

/** A document, as tests specify it. */
export interface TestDocument {
  /** Bytes if it is not UTF-8. */
  readonly path: string | Buffer;
  readonly content: string | Buffer;
  readonly repositoryId?: number;
  readonly branchMask?: number;
  /** By default that which the indexer finds. */
  readonly language?: string;
  /** See `documentFlags`. */
  readonly flags?: number;
  readonly skipReason?: SkipReason;
  /** Without it, each document has its own, although its content may be that of another. */
  readonly oid?: string;
}

/** A shard in memory. `dead` has a bit for each invisible document. */
export interface TestShard {
  readonly reader: ShardReader;
  readonly summaries: Uint8Array;
  readonly tombstones: Uint32Array | undefined;
  readonly sets: undefined;
}

/** The control block of a search that is never stopped. */
export const neverStopped = new StopCheck(ControlBlock.allocate(0, 0, 0));

export function testRepository(id: number, name: string, fields: Partial<Repository> = {}): Repository {
  return {
    id,
    name,
    url: `/${name}`,
    credential: "",
    branches: [],
    fork: false,
    archived: false,
    private: false,
    readers: [],
    stars: 0,
    description: "",
    topics: [],
    metadata: {},
    intervalSeconds: 0,
    history: "all",
    generation: 1,
    indexedBranches: [{ name: "main", bit: 0, commit: "c".repeat(40) }],
    defaultBranch: "main",
    lastFetched: "",
    lastChanged: "",
    lastError: "",
    documentCount: 0,
    contentBytes: 0,
    skippedCounts: {},
    addedMetadata: {},
    configured: false,
    removedAt: "",
    ...fields,
  };
}

/** Builds one shard; documents whose index is in `dead` get a tombstone. */
export function testShard(
  kernel: Kernel,
  documents: readonly TestDocument[],
  repositories: readonly Repository[],
  dead: ReadonlySet<number> = new Set(),
): TestShard {
  const builder = new ShardBuilder(kernel, undefined);
  documents.forEach((document, i) => {
    const input = {
      repositoryId: document.repositoryId ?? repositories[0].id,
      path: typeof document.path === "string" ? Buffer.from(document.path) : document.path,
      branchMask: document.branchMask ?? 1,
      oid: document.oid ?? i.toString(16).padStart(40, "0"),
      flags: document.flags ?? 0,
      language: document.language ?? detectLanguageName(Buffer.from(document.path), Buffer.from(document.content)),
      skipReason: document.skipReason ?? "none",
    };
    if (input.skipReason === "none")
      builder.addDocument(builder.addContent(input.oid, Buffer.from(document.content)), input);
    else builder.addSkipped(input);
  });
  const reader = new ShardReader(
    1,
    builder.build((byteCount) => Buffer.alloc(byteCount)),
  );
  reader.verify("index");
  reader.verify("content");
  const summaries = encodeSummaries(
    [...reader.repositories].map((id) => repositories.find((repository) => repository.id === id)),
  );
  const tombstones = dead.size === 0 ? undefined : new Uint32Array(Math.ceil(reader.documentCount / 32));
  for (let document = 0; document < reader.documentCount; document++) {
    if (tombstones !== undefined && dead.has(Number.parseInt(reader.oid(document), 16))) setBit(tombstones, document);
  }
  return { reader, summaries, tombstones, sets: undefined };
}

/** A match object of a document, as clients receive it. */
export type MatchObject = StreamMatch & Required<Pick<StreamMatch, "repository" | "path" | "branches">>;

export interface EngineResult {
  readonly matches: readonly MatchObject[];
  readonly selected: readonly SelectedResult[];
  readonly matchCount: number;
  readonly duplicates: { readonly places: number; readonly matches: number };
  readonly limitHit: boolean;
  readonly stats: SearchStats;
  /** Paths of files that take too much work. */
  readonly excluded: readonly string[];
}

export interface EngineOptions {
  readonly useIndex?: boolean;
  readonly chunkMatches?: boolean;
  readonly contextLines?: number;
  readonly lineBytesMax?: number;
  readonly cutsAround?: boolean;
  readonly matchCountMax?: number;
  readonly displayCountMax?: number;
  readonly selections?: readonly RepositorySelection[];
  readonly people?: SharedArrayBuffer;
  /** Credit in bytes per slice. Small values make the search pause and resume. */
  readonly credit?: number;
  /** Instead of all documents, these, one after the other: their ranges are known, or they are searched. */
  readonly found?: readonly { readonly shard: TestShard; readonly found: FoundRanges }[];
  /** Whether results with the same content and matches are grouped. */
  readonly groupsContents?: boolean;
  /** Called with the digest of each batch, if the results shall have one. */
  readonly onDigest?: (digest: Uint32Array) => void;
  readonly marks?: MarkOptions;
  readonly onBatch?: (batch: ResultBatch) => void;
  /** A batch is sent at this size. */
  readonly batchBytes?: number;
  /** Called with the control block before the first content of a shard is read. */
  readonly onContent?: (control: ControlBlock) => void;
}

/** What ranking knows of a document. */
type FoundRanges = Pick<RankedDocument, "document" | "ranges">;

const all = 99_999_999;

/** The limits of the daemon; the limit of the whole search is the largest. */
function makeLimits({ resultOptions }: SearchPlan): ResultLimits | undefined {
  const counts = resultOptions.map(({ count }) => count ?? all);
  return resultOptions.length === 1
    ? undefined
    : makeResultLimits(counts.map((count) => (count < Math.max(...counts) ? count : undefined)));
}

/** Runs a plan over shards in this thread, and resumes after each pause, as the daemon does. */
export function runEngine(
  kernel: Kernel,
  shards: readonly TestShard[],
  plan: SearchPlan,
  given: EngineOptions,
): EngineResult {
  const options: SearchOptions = {
    plan,
    chunkMatches: given.chunkMatches ?? true,
    contextLines: given.contextLines ?? 0,
    lineBytesMax: given.lineBytesMax ?? 1_000_000,
    cutsAround: given.cutsAround ?? false,
    matchCountMax: given.matchCountMax ?? all,
    displayCountMax: given.displayCountMax ?? all,
    resultLimits: makeLimits(plan),
    people: given.people,
    selections: given.selections ?? plan.basicQueries.map(() => ({ repositoryIds: undefined, revisions: undefined })),
    useIndex: given.useIndex ?? true,
    receipt: given.onDigest !== undefined,
    claims: given.groupsContents === true ? ContentClaims.allocate().memory : undefined,
    tellsContents: given.groupsContents === true,
    group: undefined,
    commitSets: undefined,
    idBase: 0,
    marks: given.marks,
  };
  const control = ControlBlock.allocate(0, 0, 0);
  if (given.marks?.sent !== undefined) control.awaitSent(new SentMarks(given.marks.sent).unwrittenCount);
  const matches: MatchObject[] = [];
  const selected: SelectedResult[] = [];
  const stats = noStats();
  const excluded = new Set<string>();
  const wholeShards = shards.map((shard) => ({ shard, found: undefined }));
  for (const { shard, found } of given.found ?? wholeShards) {
    const only = found?.document;
    let position: Parameters<ShardSearch["run"]>[0] | undefined = shardStart;
    while (position !== undefined && (!control.isStopped || position.counted !== undefined)) {
      control.giveCredit((given.credit ?? 2 ** 30) - control.credit);
      const writer = new ResultWriter(
        kernel,
        options,
        control,
        given.batchBytes ?? 64 * 1024,
        { take: () => Buffer.alloc(batchBufferBytes), put: () => undefined },
        (batch) => {
          matches.push(...(JSON.parse(`[${Buffer.from(batch.bytes).toString()}]`) as MatchObject[]));
          selected.push(...batch.selected);
          given.onBatch?.(batch);
          if (batch.digest !== undefined) given.onDigest?.(batch.digest);
        },
      );
      if (found?.ranges !== undefined && position === shardStart) {
        const searched = new SearchedRevisions(shard.reader, shard, options.selections[0]!);
        const whole = { document: found.document, ranges: found.ranges, debug: undefined };
        position = writeFound(whole, shard.reader, searched, writer);
        writer.close();
        continue;
      }
      const search = new ShardSearch(
        shard.reader,
        shard,
        options,
        kernel,
        writer,
        { only, except: undefined, debug: undefined },
        () => given.onContent?.(control),
        (document) => excluded.add(shard.reader.path(document).toString()),
        position.counted !== undefined,
      );
      position = search.run(position, stats, () => given.credit !== undefined);
      writer.close();
    }
  }
  return {
    matches,
    selected,
    matchCount: control.matchCount,
    duplicates: { places: control.duplicateCount, matches: control.duplicateMatches },
    limitHit: control.isLimitHit,
    stats,
    excluded: [...excluded],
  };
}
