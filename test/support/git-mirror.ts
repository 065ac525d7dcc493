import { spawnSync } from "node:child_process";
import type { Test } from "tap";
import { TrawlError } from "../../src/base/errors.js";
import { BlobReader } from "../../src/git/objects/blob-reader.js";
import { strictRemoteAccess } from "../../src/git/run/environment.js";
import { Mirror, type SyncResult } from "../../src/git/mirror/mirror.js";
import type { MirrorOptions } from "../../src/git/mirror/mirror-commands.js";
import { listTree } from "../../src/git/objects/objects.js";
import { parseRemoteUrl } from "../../src/git/run/remote-url.js";
import { neverStop } from "../../src/git/run/run.js";
import { GitFixture } from "./git-fixture.js";
import { until } from "./waiting.js";

/** Limits that a normal test does not reach. */
export const testMirrorOptions: MirrorOptions = {
  access: strictRemoteAccess,
  listTimeoutMs: 20_000,
  fetchTimeoutMs: 20_000,
  silenceMs: 20_000,
  fetchBytesMax: 1 << 30,
  memoryBytesMax: 2 ** 32,
  reserveBytes: 0,
  onProgress: null,
};

/** The mirror of a fixture, in its folder. Opening it twice returns the same directory. */
export async function openMirror(source: GitFixture, url: string = source.path, name = "mirror"): Promise<Mirror> {
  return Mirror.open(source.sibling(name), parseRemoteUrl(url), testMirrorOptions);
}

/** A synced mirror of the fixture. */
export async function mirrorOf(source: GitFixture, name = "mirror"): Promise<Mirror> {
  const mirror = await openMirror(source, source.path, name);
  await mirror.sync(neverStop);
  return mirror;
}

/** A fixture that is deleted at the end of the test. */
export function fixture(t: Test, kind: "bare" | "worktree" = "bare", format: "sha1" | "sha256" = "sha1"): GitFixture {
  const repository = GitFixture.create(kind, format);
  t.teardown(() => repository.remove());
  return repository;
}

/** A sync in one line: what changed, the default branch, then branches and tags by name. */
export function printSync({ changed, defaultBranch, branches, tags }: SyncResult): string {
  const names = (map: ReadonlyMap<string, string>): string => [...map.keys()].sort().join(",");
  return `${changed ? "changed" : "same"} ${defaultBranch} [${names(branches)}] [${names(tags)}]`;
}

/** The error with which the work ends; fails if there is none. */
export async function errorOf(work: Promise<unknown>): Promise<TrawlError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof TrawlError) return error;
  throw error ?? new TrawlError("internal", "no error");
}

/** Asserts that every file of every branch can be read. */
export async function isWhole(mirror: Mirror): Promise<boolean> {
  const { branches } = await mirror.state(neverStop);
  const reader = new BlobReader({
    directory: mirror.directory,
    contentBytesMax: 1 << 20,
    silenceMs: 10_000,
    stop: neverStop,
  });
  let missing = 0;
  for (const commit of branches.values()) {
    const entries = await listTree(mirror.directory, commit, "without-sizes", neverStop);
    await reader.read(
      entries.map(({ oid }) => oid),
      (_, { kind }) => {
        if (kind === "missing") missing++;
      },
    );
  }
  reader.close();
  return missing === 0 && branches.size > 0;
}

/**
 * Deletes from the mirror of a running daemon all objects that no reference keeps. The daemon may repack it at the same moment and
 * take away what git has written: then again.
 */
export async function pruneMirror(mirror: string): Promise<void> {
  const args = [`--git-dir=${mirror}`, "-c", "gc.cruftPacks=false", "gc", "--quiet", "--prune=now"];
  await until("git gc succeeds", () => spawnSync("git", args).status === 0);
}
