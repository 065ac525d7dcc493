import { strictRemoteAccess } from "../../src/git/environment.js";
import { Mirror, type MirrorOptions } from "../../src/git/mirror.js";
import { parseRemoteUrl } from "../../src/git/remote-url.js";
import { neverStop } from "../../src/git/run.js";
import type { GitFixture } from "./git-fixture.js";

/** Limits that a healthy test never meets. */
export const testMirrorOptions: MirrorOptions = {
  access: strictRemoteAccess,
  listTimeoutMs: 20_000,
  fetchTimeoutMs: 20_000,
  silenceMs: 20_000,
  onProgress: null,
};

/** The mirror of a fixture, beside it; opening twice gives the same directory. */
export async function openMirror(source: GitFixture, url: string = source.path): Promise<Mirror> {
  return Mirror.open(source.sibling("mirror"), parseRemoteUrl(url), testMirrorOptions, neverStop);
}

/** A mirror of the fixture as it is. */
export async function mirrorOf(source: GitFixture): Promise<Mirror> {
  const mirror = await openMirror(source);
  await mirror.sync(neverStop);
  return mirror;
}
