import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { hasBit } from "../../base/bits.js";
import { decodeByteString } from "../../base/bytes.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { LiveShard } from "../../model/shard-record.js";
import { readBranchTips } from "../../git/mirror/branch-tips.js";
import { longReadLimits } from "../../git/run/child-limits.js";
import { readIncompleteness } from "../../git/mirror/mirror-directory.js";
import { localCommand } from "../../git/objects/objects.js";
import { neverStop, runGit } from "../../git/run/run.js";
import { readLfsContents } from "../../git/lfs/lfs-contents.js";
import { entriesOfBranches } from "../../indexer/index-repository.js";
import { type PathRules, rulesOfDocument } from "../../indexer/rules/path-rules.js";
import { detachedName, type Repository, mirrorName, mirrorsFolder, workingCopyName } from "../../model/repository.js";
import type { ShardStore } from "../../store/shard-store.js";
import { otherRemedy, withShard } from "./shard-faults.js";

/**
 * Mirrors that are missing, unknown or damaged, and files of indexed commits that differ from the documents of the
 * shards.
 */
export async function* mirrorFaults(
  folder: string,
  catalog: Catalog,
  store: ShardStore | undefined,
): AsyncGenerator<string> {
  for (const name of readdirSync(folder)) {
    if (catalog.repository(Number.parseInt(name, 10)) === undefined)
      yield `mirrors/${name} belongs to no repository: the next start deletes it`;
  }
  for (const repository of catalog.repositories()) {
    if (repository.generation === 0 || repository.indexedBranches.length === 0) continue;
    const name = `${mirrorsFolder}/${mirrorName(repository.id)}`;
    const directory = join(folder, mirrorName(repository.id));
    if (!existsSync(directory)) {
      yield `${name}, the mirror of ${repository.name}, is missing: the next start fetches it again`;
      continue;
    }
    const fault = await objectFault(directory, repository);
    if (fault !== undefined)
      yield `${name}, the mirror of ${repository.name}: ${fault}; delete it before the next start, which fetches it again`;
    else
      for (const difference of await branchFaults(directory, repository))
        yield `${name}, the mirror of ${repository.name}: ${difference}; the next sync indexes its contents`;
    if (store !== undefined)
      yield* documentFaults(directory, repository, catalog.shardsForRepository(repository.id), store);
  }
}

/** Whether the mirror has everything that is indexed according to the catalog. */
async function objectFault(
  directory: string,
  { indexedBranches, skippedCounts }: Repository,
): Promise<string | undefined> {
  const isKnown = (skippedCounts["missing"] ?? 0) > 0 || readIncompleteness(directory) !== null;
  const commits = indexedBranches.map(({ commit }) => commit);
  const { stdout } = await git(directory, ["cat-file", "--batch-check=%(objecttype)"], `${commits.join("\n")}\n`);
  const kinds = stdout.toString("latin1").split("\n");
  const lost = indexedBranches.filter((_, i) => kinds[i] !== "commit");
  if (lost.length > 0) return `the indexed commit ${lost[0].commit} of ${lost[0].name} is missing`;
  if (isKnown) return undefined;
  // Reads every object: object names are derived from their content.
  const {
    code,
    stdout: told,
    stderr,
  } = await git(directory, ["fsck", "--no-dangling", "--no-reflogs", "--no-progress", "--full"], null);
  if (code === 0) return undefined;
  const line = `${stderr}\n${told.toString("latin1")}`.split("\n").find(saysLost);
  return line === undefined ? undefined : `objects are missing or damaged (git fsck: ${line})`;
}

/** Branches that differ from their indexed commits, as after a daemon exited between a fetch and its indexing. */
async function branchFaults(directory: string, { indexedBranches }: Repository): Promise<string[]> {
  const named = indexedBranches.filter(({ name }) => name !== detachedName && name !== workingCopyName);
  const names = named.map(({ name }) => name);
  const tips = (await readBranchTips(directory, names)) ?? (await gitBranchTips(directory, names));
  return named.flatMap(({ name, commit }, i) =>
    tips[i] === commit
      ? []
      : [`its branch ${name} ${tips[i] === null ? "no longer exists" : `is at ${tips[i]}`}, but ${commit} is indexed`],
  );
}

/** What git says, where libgit2 cannot read the mirror. Its objects are not damaged: they have been checked. */
async function gitBranchTips(directory: string, names: readonly string[]): Promise<(string | null)[]> {
  const refs = names.map((name) => `refs/heads/${name}\n`).join("");
  const { stdout } = await git(directory, ["cat-file", "--batch-check=%(objectname)"], refs);
  const lines = stdout.toString("latin1").split("\n");
  return names.map((_, i) => (/^[0-9a-f]{40,64}$/.test(lines[i]) ? lines[i] : null));
}

const lossWords = ["missing", "corrupt", "mismatch", "unable", "broken", "garbage", "fatal", "truncated"];

/**
 * Whether a line of `git fsck` reports a missing object: other complaints are about the format of objects, are common
 * in old repositories, and lose nothing.
 */
function saysLost(line: string): boolean {
  return !/^(error|warning) in [a-z]+ /.test(line) && lossWords.some((word) => line.includes(word));
}

/** Reading all objects of a large mirror takes some minutes. */
const timeoutMs = 3_600_000;

function git(directory: string, args: readonly string[], stdin: string | null) {
  return runGit({
    ...localCommand(neverStop),
    timeoutMs,
    process: longReadLimits,
    args: [`--git-dir=${directory}`, ...args],
    stdin,
    exitCodes: Array.from({ length: 128 }, (_, i) => i + 1),
  });
}

/** Compares paths, blobs and branches of the commits with the documents that searches see. */
async function* documentFaults(
  directory: string,
  repository: Repository,
  shards: readonly LiveShard[],
  store: ShardStore,
): AsyncGenerator<string> {
  const wanted = new Map<string, number>();
  try {
    const { lfsTree, indexedBranches } = repository;
    const contents = lfsTree === undefined ? undefined : await readLfsContents(directory, lfsTree, neverStop);
    const { entries } = await entriesOfBranches(directory, indexedBranches, neverStop, contents);
    for (const { oid, path, rules, branchMask } of entries) {
      const key = documentKey(oid, path, rules);
      wanted.set(key, ((wanted.get(key) ?? 0) | branchMask) >>> 0);
    }
  } catch (error) {
    if (!(error instanceof TrawlError)) throw error;
    return yield `the files of ${repository.name} cannot be listed: ${errorMessage(error)}`;
  }
  let isWhole = true;
  const found = new Map<string, number>();
  for (const shard of shards)
    isWhole =
      withShard(store, shard, (reader) => void collect(reader, shard, repository.id, found)) === undefined && isWhole;
  // Unreadable shards are reported separately.
  if (!isWhole) return;
  const lacking = [...wanted].filter(([key, mask]) => found.get(key) !== mask).map(([key]) => key);
  const strange = [...found.keys()].filter((key) => !wanted.has(key));
  if (lacking.length > 0)
    yield `${lacking.length} files of ${repository.name} differ between the index and the mirror, the first is ${describe(lacking[0])}: ${otherRemedy}`;
  if (strange.length > 0)
    yield `the index has ${strange.length} files of ${repository.name} that are not in its commits, the first is ${describe(strange[0])}: ${otherRemedy}`;
  const { documentCount } = repository;
  if (found.size !== documentCount && lacking.length + strange.length === 0)
    yield `the catalog records ${documentCount} documents of ${repository.name}, but there are ${found.size}: ${otherRemedy}`;
}

function collect(
  reader: Parameters<Parameters<typeof withShard>[2]>[0],
  { record, tombstones }: LiveShard,
  repositoryId: number,
  found: Map<string, number>,
): void {
  for (let document = 0; document < reader.documentCount; document++) {
    if (record.repositoryIds[reader.documentRepository[document]] !== repositoryId) continue;
    if (tombstones !== undefined && hasBit(tombstones, document)) continue;
    const key = documentKey(reader.oid(document), reader.path(document), rulesOfDocument(reader, document));
    found.set(key, ((found.get(key) ?? 0) | reader.documentBranches[document]) >>> 0);
  }
}

/** A file with the rules of its commits, which decide about its language and whether it has a text. */
function documentKey(oid: string, path: Buffer, rules: PathRules): string {
  return `${oid}${rules.key === "" ? "" : `,${rules.key}`} ${path.toString("latin1")}`;
}

function describe(key: string): string {
  const at = key.indexOf(" ");
  return `${JSON.stringify(decodeByteString(key.slice(at + 1)))} (blob ${key.slice(0, at).split(",", 1)[0]})`;
}
