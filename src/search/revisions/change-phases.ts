import { setBit } from "../../base/bits.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import { sideName } from "../../protocol/change-messages.js";
import { RevisionBatches } from "./revision-batches.js";
import { type MissingRevision, readRevisions } from "../repositories/revision-resolver.js";
import type { PhaseContext, PhaseProblems, SearchPhase } from "./search-phase.js";
import type { RevisionChange } from "./revision-changes.js";

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
  for (const [index, change] of changes.entries()) {
    if (context.control.isStopped) return;
    const { repository, base, commit } = change;
    const batches = new RevisionBatches(repository, selectSides(change, index, context), context);
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
function selectSides(change: RevisionChange, index: number, { texts }: ChangeContext): RepositorySelection[] {
  const { repository, base, commit, basicQueries } = change;
  const choices: RevisionChoice[] = [];
  if (base !== undefined)
    choices.push({ typed: sideName(index, false), bit: -1, unindexed: { commit: base, number: -1 } });
  if (commit !== undefined) choices.push({ typed: sideName(index, true), bit: -1, unindexed: { commit, number: -1 } });
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
