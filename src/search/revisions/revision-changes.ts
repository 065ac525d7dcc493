import { eachInSteps } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import { keptBytes, type RevisionChange, type RevisionChanges } from "../source/found-changes.js";
import type { Repository } from "../../model/repository.js";
import { commitAt, type Resolution, searchedChoices } from "../repositories/repository-resolver.js";
import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";

/**
 * Compares what a search chooses with what an earlier one covered. In steps, because there may be a million
 * repositories. The numbers of its changes begin at `sideFrom`.
 *
 * Sound: the text of a revision depends only on its commit, so revisions at the same commit have the same results.
 */
export function* findRevisionChanges(
  resolutions: readonly Resolution[],
  base: BaseRevisions,
  table: Pick<RepositoryTable, "byName">,
  sideFrom: number,
): Generator<void, RevisionChanges> {
  const changes = new Map<string, RevisionChange>();
  const chosen = new Set<string>();
  const add = (repository: Repository, revision: string, commit: string | undefined, basicQuery: number): void => {
    const earlier = base.get(repository.name)?.get(revision);
    const baseCommit = earlier === "" ? undefined : earlier;
    if (baseCommit === commit) return;
    const key = `${repository.id} ${revision}`;
    const known = changes.get(key);
    if (known !== undefined) return void known.basicQueries.add(basicQuery);
    const basicQueries = new Set<number>([basicQuery]);
    changes.set(key, { repository, revision, base: baseCommit, commit, side: sideFrom + changes.size, basicQueries });
  };
  for (const [i, resolution] of resolutions.entries()) {
    yield* eachInSteps(resolution.repositories, (repository) => {
      chosen.add(repository.name);
      for (const choice of searchedChoices(resolution, repository))
        add(repository, choice.typed, commitAt(repository, choice)?.commit, i);
    });
    yield* eachInSteps(resolution.missingRevisions, ({ repository: name, revision }) => {
      const repository = base.has(name) ? table.byName(name) : undefined;
      if (repository === undefined) return;
      chosen.add(name);
      add(repository, revision, undefined, i);
    });
  }
  const kept = new Uint8Array(keptBytes(base));
  let i = 0;
  yield* eachInSteps([...base.keys()], (name) => {
    if (chosen.has(name)) kept[i >>> 3] |= 1 << (i & 7);
    i++;
  });
  return { changes: [...changes.values()], kept };
}

const repositoriesMax = 100_000;

const revisionsMax = 100_000;

const nameLengthMax = 1_024;

/**
 * The revisions in a receipt that a client sends: JSON that anybody may have written. It can only choose with which
 * commits of repositories that the viewer sees the results are compared, which a search with `rev:` can as well. Throws
 * `bad-request` if it is not a receipt, or lists only the first repositories.
 */
export function parseReceipt(receipt: unknown): BaseRevisions {
  const list = readObject(readObject(receipt, "the receipt")["repositories"], "`repositories` of the receipt");
  const { items, count } = list;
  if (!Array.isArray(items)) throw malformed("`repositories.items` of the receipt", "an array");
  if (items.length > repositoriesMax) throw tooMany("repositories", repositoriesMax);
  if (typeof count === "number" && count > items.length) {
    throw new TrawlError(
      "bad-request",
      `since: the receipt lists ${items.length} of ${count} repositories; add the rest from its \`url\`, with ?list=repositories, or use its id`,
    );
  }
  let revisionCount = 0;
  const base = new Map<string, Map<string, string>>();
  for (const [i, item] of items.entries()) {
    const where = `\`repositories.items[${i}]\` of the receipt`;
    const { repository, revisions } = readObject(item, where);
    if (!Array.isArray(revisions)) throw malformed(`\`revisions\` of ${where}`, "an array");
    if ((revisionCount += revisions.length) > revisionsMax) throw tooMany("revisions", revisionsMax);
    base.set(readName(repository, `\`repository\` of ${where}`), readRevisions(revisions, where));
  }
  return base;
}

function readRevisions(revisions: readonly unknown[], where: string): Map<string, string> {
  return new Map(
    revisions.map((one) => {
      const { revision, commit } = readObject(one, `a revision of ${where}`);
      const name = readName(revision, `\`revision\` of ${where}`);
      if (typeof commit !== "string" || !/^(?:[0-9a-f]{40}|[0-9a-f]{64}|)$/.test(commit))
        throw malformed(`\`commit\` of ${where}`, 'the full id of a commit, or ""');
      return [name, commit];
    }),
  );
}

function readObject(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (isObject(value)) return value;
  throw malformed(where, "an object");
}

function readName(value: unknown, where: string): string {
  if (typeof value === "string" && value.length <= nameLengthMax) return value;
  throw malformed(where, `a string of at most ${nameLengthMax} characters`);
}

function malformed(where: string, expected: string): TrawlError {
  return new TrawlError("bad-request", `since: ${where} must be ${expected}`);
}

function tooMany(what: string, countMax: number): TrawlError {
  return new TrawlError("bad-request", `since: the receipt has more than ${countMax} ${what}`);
}
