import type { Repository } from "../../model/repository.js";
import { isSymbolFault, symbolFaults } from "../../model/shard-record.js";
import type { BuiltHistory } from "../../protocol/history-messages.js";
import type { Coverage, ExcludedFile, FinishedWork, UnsearchedFile } from "../../protocol/messages.js";
import { addStats, noStats } from "../../protocol/search-options.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import {
  type ChoiceCounts,
  type CostEstimate,
  type ExcludedRepository,
  listed,
  type MissingRevision,
  namesMax,
  type SearchPart,
  sentencesMax,
  symbolFaultsMax,
} from "../source/search-part.js";
import type { LateQueries } from "../source/search-source.js";

/** Files without a searchable text are listed up to this number in total, and counted beyond it. */
const listedFilesMax = 100_000;

/** Files without a searchable text, for one reason. Only the first ones are listed. */
export interface UnsearchedGroup {
  count: number;
  readonly files: UnsearchedFile[];
}

/** Adds up what slices cover while the search runs. */
class ReceiptCoverage {
  documentCount = 0;
  /** By reason. */
  readonly files = new Map<string, UnsearchedGroup>();
  #listedCount = 0;

  add({ documentCount, unsearched }: Coverage): void {
    this.documentCount += documentCount;
    for (const file of unsearched) {
      const group = this.files.get(file.reason) ?? { count: 0, files: [] };
      this.files.set(file.reason, group);
      group.count++;
      if (this.#listedCount++ < listedFilesMax) group.files.push(file);
    }
  }
}

/**
 * What is known about the course of a search in this process, apart from its results: what it cost, what it covers, and
 * what was left out and why. Plain state: the parts of the search add to it, and `SourceReport` describes it.
 */
export class SourceRecord {
  readonly stats = noStats();
  /** What the slices cover; undefined if there is no receipt. */
  coverage: ReceiptCoverage | undefined;
  /** Sentences, one per failure. */
  readonly failures: string[] = [];
  /** Repositories about which information could not be obtained. */
  readonly excluded: ExcludedRepository[] = [];
  /** Revisions that do not exist, found out while the search runs. */
  readonly missingRevisions: MissingRevision[] = [];
  /** Commits and files of histories that were not searched completely. */
  readonly historyGaps = {
    repositories: new Set<string>(),
    cutRepositories: new Set<string>(),
    brokenCommits: 0,
    largeFiles: 0,
    cutMessages: 0,
  };
  /** Names of repositories in which git objects of commits that are not indexed are missing. */
  readonly incompleteRevisions = new Set<string>();
  /** Files that take too much work, by shard and document, without duplicates. */
  readonly costlyFiles = new Map<string, ExcludedFile>();
  /** Files for which ctags has failed, likewise. */
  readonly failedFiles = new Map<string, ExcludedFile>();
  /** Why symbols of revisions that are not indexed could not be extracted. */
  readonly symbolFaults = new Set<string>();
  /** Shards that could not be searched for symbols yet. */
  shardsWithoutSymbols = 0;
  /** Shards that were still being searched when the search ended. */
  unfinishedShards: readonly number[] = [];
  /** What is indexed and may contain a result, if the client asked for it. */
  estimate: CostEstimate = { shards: 0, shardsRuledOut: 0, documents: 0, textBytes: 0 };

  /** Adds everything but the failures, which may concern the query itself. */
  addWork({ stats, excluded, shardsWithoutSymbols = 0, coverage }: FinishedWork): void {
    addStats(this.stats, stats);
    this.shardsWithoutSymbols += shardsWithoutSymbols;
    for (const file of excluded) {
      const files = isSymbolFault(file.reason) ? this.failedFiles : this.costlyFiles;
      files.set(`${file.shardId}:${file.document}`, file);
    }
    if (coverage === undefined) return;
    this.coverage ??= new ReceiptCoverage();
    this.coverage.add(coverage);
  }

  /** The history of the repository, which is searched, is cut off. */
  addCut(repository: string): void {
    this.historyGaps.cutRepositories.add(repository);
  }

  addHistory(repository: string, counts: Omit<BuiltHistory, "shard" | "next">): void {
    const { brokenCount, largeFileCount, cutMessageCount } = counts;
    if (brokenCount + largeFileCount + cutMessageCount > 0) this.historyGaps.repositories.add(repository);
    this.historyGaps.brokenCommits += brokenCount;
    this.historyGaps.largeFiles += largeFileCount;
    this.historyGaps.cutMessages += cutMessageCount;
  }
}

/** Names of repositories that were not searched, or not completely, by reason. */
export interface LeftOutNames {
  readonly missing: readonly string[];
  readonly cloning: readonly string[];
  readonly timedOut: readonly string[];
  readonly quarantined: readonly string[];
  readonly incomplete: readonly string[];
}

/** The viewer's repositories, and what the source knows of the search besides. */
interface SourceState {
  readonly visibleCount: number;
  readonly seesAll: boolean;
  readonly isRepeatable: boolean;
}

/** What a source says when it has chosen, and before it searches; and the names of all repositories that it has chosen. */
export function firstWords(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  state: SourceState,
): { readonly part: SearchPart; readonly names: readonly string[] } {
  const late = { all: false, options: new Set<number>() };
  const part = new SourceReport(plan, new SourceRecord(), () => resolutions).part(late, false, state);
  return { part, names: repositoriesOfAll(resolutions).map(({ name }) => name) };
}

/** Says what a source searches and what it leaves out, from its choice of repositories and its record. */
export class SourceReport {
  readonly #plan: SearchPlan;
  readonly #record: SourceRecord;
  readonly #resolutions: () => readonly Resolution[];
  /** Counts and names derived from resolutions, by kind: a hundred basic queries may each have all repositories. */
  #derived = { from: [] as readonly Resolution[], values: new Map<string, unknown>() };

  /** `resolutions` returns what was chosen to be searched so far, by basic query. */
  constructor(plan: SearchPlan, record: SourceRecord, resolutions: () => readonly Resolution[]) {
    this.#plan = plan;
    this.#record = record;
    this.#resolutions = resolutions;
  }

  /** Some lists need a look at each repository: they are empty unless `isLast` is true. */
  part(late: LateQueries, isLast: boolean, { visibleCount, seesAll, isRepeatable }: SourceState): SearchPart {
    const record = this.#record;
    const { repositories, cutRepositories, brokenCommits, largeFiles, cutMessages } = record.historyGaps;
    const quarantined = isLast ? this.#quarantinedNames() : [];
    const incomplete = isLast ? this.#incompleteNames() : [];
    const missingRevisions = isLast ? this.#missingRevisions() : [];
    return {
      visibleCount,
      seesAll,
      choices: this.#choices(),
      missing: listed(this.#missingNames(), namesMax),
      cloning: listed(this.#cloningNames(), namesMax),
      timedOut: listed(this.#timedOutNames(late), namesMax),
      quarantined: listed(quarantined, namesMax),
      incomplete: listed(incomplete, namesMax),
      partlyIndexedCount: countDistinct(quarantined, incomplete),
      excludedForkCount: this.#once("forks", () =>
        countIds(this.#resolutions().map(({ excludedForks }) => excludedForks)),
      ),
      excludedArchivedCount: this.#once("archived", () =>
        countIds(this.#resolutions().map(({ excludedArchived }) => excludedArchived)),
      ),
      excluded: listed(record.excluded, sentencesMax),
      missingRevisions: listed(missingRevisions, sentencesMax),
      missingRevisionRepositoryCount:
        missingRevisions.length === 0 ? 0 : new Set(missingRevisions.map(({ repository }) => repository)).size,
      failures: listed(record.failures, sentencesMax),
      historyGaps: {
        repositories: listed(sorted(repositories), namesMax),
        cutRepositories: listed(sorted(cutRepositories), namesMax),
        brokenCommits,
        largeFiles,
        cutMessages,
      },
      costlyFiles: listFiles(record.costlyFiles),
      filesWithoutSymbols: listFiles(record.failedFiles),
      symbolFaults: record.symbolFaults.size === 0 ? [] : [...record.symbolFaults].slice(0, symbolFaultsMax),
      shardsWithoutSymbols: record.shardsWithoutSymbols,
      unfinishedShards: listed(record.unfinishedShards, sentencesMax),
      stats: record.stats,
      estimate: record.estimate,
      isRepeatable: isRepeatable && record.excluded.length + record.unfinishedShards.length === 0,
    };
  }

  /** The names in full, for a receipt. */
  names(late: LateQueries): LeftOutNames {
    return {
      missing: this.#missingNames(),
      cloning: this.#cloningNames(),
      timedOut: this.#timedOutNames(late),
      quarantined: this.#quarantinedNames(),
      incomplete: this.#incompleteNames(),
    };
  }

  #choices(): readonly ChoiceCounts[] {
    const { basicQueries } = this.#plan;
    return this.#once("choices", () =>
      this.#resolutions().map(({ repositories, missing, cloning }, i) => ({
        chosen: repositories.length,
        cloning: cloning.length,
        missing: missing.length,
        namesMissing: missing.length > 0 && namesOne(basicQueries[i], missing),
      })),
    );
  }

  #missingNames(): readonly string[] {
    const known = this.#once("missing", () => namesIn(this.#resolutions().map(({ missing }) => missing)));
    return withMore(known, this.#excludedNames(false));
  }

  #cloningNames(): readonly string[] {
    return this.#once("cloning", () => namesIn(this.#resolutions().map(({ cloning }) => cloning)));
  }

  #timedOutNames({ all, options }: LateQueries): readonly string[] {
    return withMore(all || options.size > 0 ? this.#lateNames(all, options) : [], this.#excludedNames(true));
  }

  #lateNames(all: boolean, options: ReadonlySet<number>): readonly string[] {
    return this.#once(all ? "late" : `late by ${options.size} options`, () => {
      const late = this.#resolutions().filter((_, i) => all || options.has(this.#plan.basicQueries[i].optionsIndex));
      return repositoriesOfAll(late).map(({ name }) => name);
    });
  }

  #partlyIndexed(): PartlyIndexed {
    return this.#once("partly indexed", () => findPartlyIndexed(repositoriesOfAll(this.#resolutions())));
  }

  #quarantinedNames(): readonly string[] {
    return this.#partlyIndexed().quarantined;
  }

  #incompleteNames(): readonly string[] {
    const known = this.#partlyIndexed().incomplete;
    const { incompleteRevisions } = this.#record;
    return incompleteRevisions.size === 0 ? known : [...new Set([...known, ...incompleteRevisions])];
  }

  /** Each once: an ambiguous one is ambiguous for every query. */
  #missingRevisions(): readonly MissingRevision[] {
    const all = this.missingRevisions();
    if (all.length === 0) return [];
    const byKey = new Map<string, MissingRevision>();
    for (const one of all) {
      const key = `${one.repository}@${one.revision}`;
      if (!byKey.has(key) || one.isAmbiguous === true) byKey.set(key, one);
    }
    return [...byKey.values()];
  }

  /** As often as a query asks for it. */
  missingRevisions(): readonly MissingRevision[] {
    return [...this.#resolutions().flatMap((one) => one.missingRevisions), ...this.#record.missingRevisions];
  }

  #once<T>(key: string, find: () => T): T {
    const from = this.#resolutions();
    if (this.#derived.from !== from) this.#derived = { from, values: new Map() };
    const known = this.#derived.values.get(key) as T | undefined;
    if (known !== undefined) return known;
    const found = find();
    this.#derived.values.set(key, found);
    return found;
  }

  #excludedNames(isLate: boolean): readonly string[] {
    const { excluded } = this.#record;
    if (excluded.length === 0) return [];
    return excluded.filter((one) => one.isLate === isLate).map(({ repository }) => repository);
  }
}

/** Names of those of some repositories that are indexed, but not as a whole. */
type PartlyIndexed = Pick<LeftOutNames, "quarantined" | "incomplete">;

/** By a list of a resolution: searches that choose the same repositories share it, and there may be thousands in it. */
const knownPartlyIndexed = new WeakMap<readonly Repository[], PartlyIndexed>();

function findPartlyIndexed(repositories: readonly Repository[]): PartlyIndexed {
  const known = knownPartlyIndexed.get(repositories);
  if (known !== undefined) return known;
  const names = (isWanted: (repository: Repository) => boolean): readonly string[] =>
    repositories.filter(isWanted).map(({ name }) => name);
  const found: PartlyIndexed = {
    quarantined: names(({ quarantine }) => quarantine !== undefined),
    incomplete: names(({ skippedCounts }) => (skippedCounts["missing"] ?? 0) > 0),
  };
  knownPartlyIndexed.set(repositories, found);
  return found;
}

function namesOne({ repositories }: SearchPlan["basicQueries"][number], missing: readonly string[]): boolean {
  const named = repositories.include.map(({ exactName }) => exactName);
  return missing.some((name) => named.includes(name));
}

/** The union of the repositories of all resolutions. Alternatives with the same choice share their lists. */
export function repositoriesOfAll(resolutions: readonly Resolution[]): readonly Repository[] {
  const [first = [], ...others] = new Set(resolutions.map(({ repositories }) => repositories));
  if (others.length === 0) return first;
  const seen: Uint8Array[] = [];
  const all: Repository[] = [];
  for (const list of [first, ...others]) {
    for (const repository of list) if (markNew(seen, repository.id)) all.push(repository);
  }
  return all;
}

/** The number of distinct ids in the lists, each of which contains no duplicates. */
function countIds(lists: readonly (readonly number[])[]): number {
  const [first = [], ...others] = new Set(lists);
  if (others.length === 0) return first.length;
  const seen: Uint8Array[] = [];
  let count = 0;
  for (const list of [first, ...others]) for (const id of list) if (markNew(seen, id)) count++;
  return count;
}

/** Marks by id, in pages: a `Set` of numbers takes ten times as long, and there may be millions of ids. */
const pageBits = 12;

/** Returns false if the id is already marked. */
function markNew(pages: Uint8Array[], id: number): boolean {
  const page = (pages[id >>> pageBits] ??= new Uint8Array(1 << pageBits));
  const at = id & (page.length - 1);
  if (page[at] === 1) return false;
  page[at] = 1;
  return true;
}

function namesIn(lists: readonly (readonly string[])[]): readonly string[] {
  if (lists.every(({ length }) => length === 0)) return [];
  const names = new Set<string>();
  for (const list of new Set(lists)) for (const name of list) names.add(name);
  return [...names];
}

function withMore(names: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? names : [...new Set([...names, ...more])];
}

function countDistinct(a: readonly string[], b: readonly string[]): number {
  return a.length === 0 || b.length === 0 ? a.length + b.length : new Set([...a, ...b]).size;
}

function sorted(names: ReadonlySet<string>): readonly string[] {
  return names.size === 0 ? [] : [...names].sort();
}

function listFiles(files: ReadonlyMap<string, ExcludedFile>): SearchPart["costlyFiles"] {
  if (files.size === 0) return listed([], sentencesMax);
  const first = [...files.values()].slice(0, sentencesMax);
  return { count: files.size, first: first.map(describeExcluded) };
}

export function describeExcluded({ repository, path, reason }: ExcludedFile): string {
  return `\`${repository}\` ${path}: ${describeReason(reason)}`;
}

function describeReason(reason: ExcludedFile["reason"]): string {
  if (reason === "work") return "matching the pattern takes too many passes over the text";
  return isSymbolFault(reason) ? `ctags ${symbolFaults[reason]}` : "too many matches on one line";
}
