import { errorMessage, TrawlError } from "../../base/errors.js";
import type { RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import { type PhaseContext, type PhaseProblems, RevisionBatches, type SearchPhase } from "./revision-batches.js";
import type { Repository } from "../../model/repository.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { readRevisions, type Resolution } from "../repositories/repository-resolver.js";
import { setBit } from "../../base/bits.js";
import { sideName } from "../../protocol/read-messages.js";
import type { RevisionChange } from "../source/found-changes.js";
import type { MissingRevision } from "../source/search-part.js";

/** Commits that are searched together: the commit sets of documents are computed for them. */
const commitsPerBatch = 1024;

/**
 * The phases of a search in commits that are not indexed. Repositories are searched one at a time, their commits in
 * batches: first the existing shards for all commits of the batch, then each shard that is built of missing texts,
 * which are read while earlier shards are searched. So each text is searched once for all commits of a batch that have
 * it.
 *
 * A failure skips the rest of its repository. The phases end early when the search is stopped.
 */
async function* revisionPhases(
  selections: readonly RepositorySelection[],
  context: PhaseContext,
): AsyncGenerator<SearchPhase, undefined> {
  for (const [repositoryId, commits] of commitsByRepository(selections)) {
    const repository = context.repositories.byId(repositoryId);
    if (repository === undefined) continue;
    try {
      for (let left = commits; left.length > 0 && !context.control.isStopped; ) {
        const covered: ReadonlySet<string> = yield* new RevisionBatches(repository, selections, context).search(
          left.slice(0, commitsPerBatch),
        );
        left = left.filter((commit) => !covered.has(commit));
      }
    } catch (error) {
      if (!context.control.isStopped)
        context.problems.failures.push(`revisions of ${repository.name} could not be read: ${errorMessage(error)}`);
    }
  }
}

/** Describes for each batch what exists and what would be read, without reading it. */
export async function explainPhases(
  selections: readonly RepositorySelection[],
  context: PhaseContext,
): Promise<string[]> {
  const lines: string[] = [];
  for (const [repositoryId, commits] of commitsByRepository(selections)) {
    const repository = context.repositories.byId(repositoryId);
    if (repository === undefined) continue;
    const batches = new RevisionBatches(repository, selections, context);
    for (let left: readonly string[] = commits; left.length > 0 && !context.control.isStopped; ) {
      const { line, covered } = await batches.explain(left.slice(0, commitsPerBatch));
      lines.push(line);
      left = left.filter((commit) => !covered.has(commit));
    }
  }
  return lines;
}

/** Whether some revision is not indexed. */
export function hasUnindexed(selections: readonly RepositorySelection[]): boolean {
  return selections.some(({ revisions }) =>
    [...(revisions?.values() ?? [])].some((choices) => choices.some(({ unindexed }) => unindexed !== undefined)),
  );
}

/** Distinct commits that are not indexed, in the order asked. */
function commitsByRepository(selections: readonly RepositorySelection[]): Map<number, string[]> {
  const commits = new Map<number, Set<string>>();
  for (const { revisions } of selections) {
    for (const [id, choices] of revisions ?? []) {
      for (const { unindexed } of choices)
        if (unindexed !== undefined) commits.set(id, (commits.get(id) ?? new Set()).add(unindexed.commit));
    }
  }
  return new Map([...commits].map(([id, set]) => [id, [...set]]));
}

const noRepositories: RepositorySelection = { repositoryIds: new Uint32Array(0), revisions: undefined };

/**
 * The phases that search the commits of a plan that are not indexed, or undefined when all are indexed. `selections` and
 * `resolutions` are by basic query of the plan.
 */
export function phasesOfPlan(
  plan: SearchPlan,
  selections: readonly RepositorySelection[],
  resolutions: readonly Resolution[],
  context: Omit<PhaseContext, "texts" | "repositories">,
): AsyncGenerator<SearchPhase, undefined> | undefined {
  const texts = plan.basicQueries.map(({ text }) => text);
  const searched = selections.map((selection, i) => (texts[i] === undefined ? noRepositories : selection));
  if (!hasUnindexed(searched)) return undefined;
  const records = new Map<number, Repository>();
  for (const { repositories, selection } of resolutions) {
    const chosen = selection.revisions;
    if (chosen === undefined) continue;
    for (const repository of repositories) if (chosen.has(repository.id)) records.set(repository.id, repository);
  }
  return revisionPhases(searched, { ...context, texts, repositories: { byId: (id) => records.get(id) } });
}

/** The phases of a search after its first, each prepared while the previous one runs. */
export class PhaseQueue {
  readonly #phases: AsyncGenerator<SearchPhase, undefined>;
  /** The phase after the running one; resolves with undefined after the last one. */
  #next: Promise<SearchPhase | undefined>;
  #current: SearchPhase | undefined;
  #isEnded = false;

  constructor(phases: AsyncGenerator<SearchPhase, undefined>) {
    this.#phases = phases;
    this.#next = this.#prepare();
  }

  /**
   * Releases the phase that has run, and resolves with the next one when it is ready; with undefined after the last.
   */
  async take(): Promise<SearchPhase | undefined> {
    this.#current?.release();
    this.#current = undefined;
    const next = this.#next;
    // The phase awaited here is released here.
    this.#next = Promise.resolve(undefined);
    const phase = await next;
    if (phase === undefined) return undefined;
    if (this.#isEnded) {
      phase.release();
      return undefined;
    }
    this.#next = this.#prepare();
    this.#current = phase;
    return phase;
  }

  /**
   * Releases all phases, when the current one is no longer being read. Reads for later phases are ended by the stop
   * flag.
   */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#current?.release();
    this.#next.then((phase) => phase?.release()).catch(() => undefined);
    this.#phases.return(undefined).catch(() => undefined);
  }

  #prepare(): Promise<SearchPhase | undefined> {
    const next = this.#phases.next().then(({ value }) => value);
    // The error is reported to the caller that takes the phase, if there is one.
    next.catch(() => undefined);
    return next;
  }
}

export interface ChangeProblems extends PhaseProblems {
  readonly missingRevisions: MissingRevision[];
}

export interface ChangeContext extends PhaseContext {
  readonly problems: ChangeProblems;
  /** Gets the changes whose earlier commit does not exist any more. */
  readonly basesGone: RevisionChange[];
}

/**
 * The phases of a search for changes: for each changed revision the documents that differ between its two commits, each
 * under the `sideName` of its commit. A failure skips its revision.
 */
export async function* changePhases(
  changes: readonly RevisionChange[],
  context: ChangeContext,
): AsyncGenerator<SearchPhase, undefined> {
  for (const change of changes) {
    if (context.control.isStopped) return;
    const { repository, base, commit } = change;
    const batches = new RevisionBatches(repository, selectSides(change, context), context);
    const commits = [base, commit].filter((one) => one !== undefined);
    try {
      yield* batches.searchDifferent(commit === undefined ? undefined : base, commits);
    } catch (error) {
      if (context.control.isStopped) return;
      if (base !== undefined && (await isGone(change, base, context))) {
        context.basesGone.push(change);
        context.problems.missingRevisions.push({ repository: repository.name, revision: base });
      } else context.problems.failures.push(`changes of ${repository.name} could not be read: ${errorMessage(error)}`);
    }
  }
}

/** The choice of both commits of a change, by basic query. */
function selectSides(change: RevisionChange, { texts }: ChangeContext): RepositorySelection[] {
  const { repository, base, commit, side, basicQueries } = change;
  const choices: RevisionChoice[] = [];
  if (base !== undefined)
    choices.push({ typed: sideName(side, false), bit: -1, unindexed: { commit: base, number: -1 } });
  if (commit !== undefined) choices.push({ typed: sideName(side, true), bit: -1, unindexed: { commit, number: -1 } });
  const repositoryIds = new Uint32Array((repository.id >>> 5) + 1);
  setBit(repositoryIds, repository.id);
  return texts.map((text, i) =>
    text !== undefined && basicQueries.has(i)
      ? { repositoryIds, revisions: new Map([[repository.id, choices]]) }
      : { repositoryIds: new Uint32Array(0), revisions: new Map() },
  );
}

/** Whether the mirror lacks the commit, after a force-push and a repack. */
async function isGone({ repository }: RevisionChange, commit: string, context: ChangeContext): Promise<boolean> {
  const { reads, timeoutMs, control, client } = context;
  try {
    const specs = [{ kind: "name", typed: commit } as const];
    const answers = await readRevisions([{ repository, specs }], reads, { timeoutMs, stop: control.memory, client });
    return answers.get(repository.id)?.missing.includes(commit) === true;
  } catch (error) {
    if (error instanceof TrawlError) return false;
    throw error;
  }
}
