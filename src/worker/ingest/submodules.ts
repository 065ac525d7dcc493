import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { BoundedMap } from "../../base/bounded-map.js";
import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { oneLine } from "../../base/text.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { dropSubmodules, keepSubmodules, markForeignCommits, readKept } from "../../git/mirror/kept-submodules.js";
import { MirrorCommands, RedirectError } from "../../git/mirror/mirror-commands.js";
import { trustSubmoduleSource } from "../../git/mirror/mirror-directory.js";
import { type SubmoduleRemote, SubmoduleRules } from "../../git/mirror/submodule-rules.js";
import {
  type ComposedTree,
  type FoundSubmodule,
  submoduleLimits,
  TreeComposer,
} from "../../git/objects/composed-tree.js";
import { redactUrl, redirectedUrl, type RemoteUrl } from "../../git/run/remote-url.js";
import type { ContentTreeMap } from "../../indexer/index-changes.js";
import type { Repository, SubmodulePolicy } from "../../model/repository.js";
import type { FetchSettings } from "../../protocol/ingest-messages.js";

/** What is indexed of a repository with the contents of its submodules. */
export interface SubmoduleContents {
  /** Empty if it is without them. */
  readonly trees: ContentTreeMap;
  /** Sentences about submodules that are left out. */
  readonly warnings: readonly string[];
}

/** The fetch of a repository, of which this is the end. */
export interface SubmoduleFetch {
  readonly dataFolder: string;
  readonly repository: Repository;
  /** Of the mirror. */
  readonly directory: string;
  /** Of the repository, with its credentials. */
  readonly url: RemoteUrl;
  /** Those that are indexed. */
  readonly commits: readonly string[];
  /** Whether remotes may be asked for what the mirror lacks. */
  readonly mayFetch: boolean;
  /** Whether somebody waits, who may have repaired what had failed. */
  readonly isRequested: boolean;
  readonly fetch: FetchSettings;
  readonly stop: StopSignal;
}

/** A remote that says nothing for this long holds up the repository no longer. */
const silenceMsMax = 30_000;
const listTimeoutMs = 30_000;

/** Remotes are asked until those that failed have taken so long together; the others follow with the next sync. */
const failingMsMax = 60_000;

/** After a failure that took long, this many times as long passes before the next request. */
const failureShare = 20;
const longMs = 5_000;

/** A remote that does not send commits by their oids has to list references; more are not asked for. */
const listedMax = 2_000;

/** Commits of one remote that are asked for one by one, if it refuses some of them. */
const singleMax = 32;

/** Commits that are named to a remote so that it sends only what is new. */
const knownMax = 16;

/** Redirects within a host. */
const redirectsMax = 3;

const lackingReason = "its remote does not have that commit";

const warningsMax = 20;
const reasonLengthMax = 500;

/** A commit that a remote did not give. */
interface Refusal {
  readonly reason: string;
  /** On the monotonic clock. */
  readonly againMs: number;
  readonly waitMs: number;
}

/** By repository, URL and commit; without a commit, all of the URL. */
const refusals = new BoundedMap<string, Refusal>(100_000, () => 1);

/** It is asked for again after this, and then twice as long each time. */
const refusalMs = { first: 60_000, most: 3_600_000 };

function refuseFor(key: string, reason: string, tookMs: number): void {
  const waitMs = Math.min((refusals.get(key)?.waitMs ?? refusalMs.first / 2) * 2, refusalMs.most);
  const longerMs = tookMs > longMs ? tookMs * failureShare : 0;
  refusals.set(key, { reason, againMs: monotonicMs() + Math.max(waitMs, longerMs), waitMs });
}

/**
 * Brings the commits of submodules into the mirror of a repository that is to have them, and makes the trees that are indexed. A submodule that cannot be had is
 * left out and told; only a stop and a disk that cannot be written are errors. Caller guarantees: nothing else writes to the mirror.
 */
export async function fetchSubmodules(given: SubmoduleFetch): Promise<SubmoduleContents> {
  const { repository, directory, commits, stop } = given;
  const policy = repository.submodules;
  if (policy === undefined) {
    await dropSubmodules(directory, stop);
    return { trees: new Map(), warnings: [] };
  }
  markForeignCommits(directory);
  if (commits.length === 0) return { trees: new Map(), warnings: [] };
  return await new SubmoduleSync(given, policy).run();
}

class SubmoduleSync {
  readonly #given: SubmoduleFetch;
  readonly #rules: SubmoduleRules;
  /** Why a commit is not there, by URL and commit; "" if it came. */
  readonly #asked = new Map<string, string>();
  readonly #kept: ReadonlyMap<string, readonly string[]>;
  readonly #endMs: number;
  #failingMs = 0;
  #bytesLeft: number;

  constructor(given: SubmoduleFetch, policy: SubmodulePolicy) {
    this.#given = given;
    const { source } = given.repository;
    this.#rules = new SubmoduleRules(given.url, source, policy, given.dataFolder, given.fetch.networks);
    this.#kept = readKept(given.directory).pins;
    this.#bytesLeft = given.fetch.bytesMax;
    this.#endMs = monotonicMs() + given.fetch.timeoutMs;
  }

  async run(): Promise<SubmoduleContents> {
    const { commits, mayFetch } = this.#given;
    let composed = await this.#compose();
    // What a submodule contains is known when it is there.
    for (let depth = 0; mayFetch && depth <= submoduleLimits.depthMax; depth++) {
      const missing = this.#missing(composed);
      if (missing.size === 0) break;
      for (const [url, pins] of missing)
        for (const [pin, reason] of await this.#ask(url, pins)) this.#asked.set(commitName(url, pin), reason);
      composed = await this.#compose();
    }
    const trees = new Map(commits.map((commit, i) => [commit, composed[i].tree]));
    const warnings = this.#describe(composed);
    try {
      if (mayFetch) await this.#keep(composed);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "git") throw error;
      warnings.push(`submodules: they are not kept in the mirror: ${oneLine(errorMessage(error), reasonLengthMax)}`);
    }
    return { trees, warnings };
  }

  async #compose(): Promise<readonly ComposedTree[]> {
    const { commits, url } = this.#given;
    return await this.#withComposer(async (composer) => {
      const composed: ComposedTree[] = [];
      for (const commit of commits) composed.push(await composer.compose(commit, url.text));
      return composed;
    });
  }

  async #withComposer<T>(use: (composer: TreeComposer) => Promise<T>): Promise<T> {
    const { commits, directory, fetch, stop } = this.#given;
    const room = { reserveBytes: fetch.reserveBytes, isBounded: false };
    const composer = new TreeComposer(directory, commits[0].length, submoduleLimits, room, stop);
    try {
      return await use(composer);
    } finally {
      composer.close();
    }
  }

  /** The commits that the mirror lacks, by URL, of those that were not asked yet. */
  #missing(composed: readonly ComposedTree[]): ReadonlyMap<string, ReadonlySet<string>> {
    const missing = new Map<string, Set<string>>();
    for (const { state, url, pin } of composed.flatMap(({ submodules }) => submodules)) {
      if (state !== "missing" || this.#asked.has(commitName(url, pin))) continue;
      const pins = missing.get(url) ?? new Set();
      missing.set(url, pins.add(pin));
    }
    return missing;
  }

  /** Fetches the commits. Returns for each why it is not there, or "". */
  async #ask(url: string, pins: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
    const { repository, isRequested, directory } = this.#given;
    const key = (pin: string): string => `${repository.id} ${commitName(url, pin)}`;
    const startMs = monotonicMs();
    const reasons = new Map<string, string>();
    const findRefusal = (pin: string): Refusal | undefined => {
      const refusal = isRequested ? undefined : refusals.get(key(pin));
      return refusal !== undefined && startMs < refusal.againMs ? refusal : undefined;
    };
    for (const pin of pins) {
      const refusal = findRefusal(pin) ?? findRefusal(allPins);
      if (refusal !== undefined) reasons.set(pin, refusal.reason);
    }
    const due = [...pins].filter((pin) => !reasons.has(pin));
    if (due.length === 0) return reasons;
    const refuse = (reason: string): ReadonlyMap<string, string> =>
      new Map([...reasons, ...due.map((pin) => [pin, reason] as const)]);
    if (this.#failingMs > failingMsMax || startMs >= this.#endMs)
      return refuse("other submodules took too long: it is tried with the next sync");
    if (this.#bytesLeft <= 0) return refuse("the submodules have more than git.maxFetchBytes in all");
    const before = packBytes(directory);
    let reason = "";
    let tookMs = 0;
    try {
      await this.#fetch(await this.#rules.require(url), due, this.#kept.get(redactUrl(url)) ?? []);
      refusals.delete(key(allPins));
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code === "storage") throw error;
      const isLate = error.code === "cancelled" && !this.#given.stop();
      if (error.code === "cancelled" && !isLate) throw error;
      tookMs = monotonicMs() - startMs;
      this.#failingMs += tookMs;
      if (tookMs > longMs)
        refuseFor(key(allPins), "its remote took long and failed the last time: it is tried again later", tookMs);
      reason = isLate ? "the submodules took longer than sync.timeoutSeconds in all" : errorMessage(error);
      // It costs nothing to find out, and depends on the configuration.
      if (error.code === "forbidden" || error.code === "bad-config") return refuse(reason);
    } finally {
      this.#bytesLeft -= Math.max(0, packBytes(directory) - before);
    }
    const areThere = await this.#withComposer((composer) => composer.hasCommits(due));
    for (const [i, pin] of due.entries()) {
      reasons.set(pin, areThere[i] ? "" : reason);
      if (areThere[i]) refusals.delete(key(pin));
      else refuseFor(key(pin), reason || lackingReason, tookMs);
    }
    return reasons;
  }

  async #fetch(allowed: SubmoduleRemote, pins: readonly string[], known: readonly string[]): Promise<void> {
    const stop = (): boolean => this.#given.stop() || monotonicMs() >= this.#endMs;
    for (let redirectCount = 0, place = allowed; ; redirectCount++) {
      const commands = this.#commands(place);
      const areThere = await this.#withComposer((composer) => composer.hasCommits(known));
      const here = known.filter((_, i) => areThere[i]).slice(0, knownMax);
      try {
        await fetchAll(commands, pins, here, stop);
        return;
      } catch (error) {
        const { remote } = place;
        const target =
          error instanceof RedirectError && remote.kind === "http" ? redirectedUrl(remote, error.location) : undefined;
        if (target === undefined || redirectCount >= redirectsMax) throw error;
        place = await this.#rules.require(target.text);
      }
    }
  }

  #commands({ remote, resolvedHosts, isNamed }: SubmoduleRemote): MirrorCommands {
    const { directory, fetch } = this.#given;
    const access = {
      home: (isNamed && fetch.home) || null,
      sshCommand: fetch.sshCommand || null,
      credentialHelper: (isNamed && fetch.credentialHelper) || null,
      followRedirects: false,
      resolvedHosts,
    };
    const options = {
      access,
      listTimeoutMs,
      fetchTimeoutMs: fetch.timeoutMs,
      silenceMs: Math.min(fetch.silenceMs, silenceMsMax),
      fetchBytesMax: Math.min(fetch.bytesMax, this.#bytesLeft),
      memoryBytesMax: fetch.memoryBytesMax,
      reserveBytes: fetch.reserveBytes,
      onProgress: null,
    };
    const trusted = remote.kind === "local" ? trustSubmoduleSource(directory, remote.path) : undefined;
    return new MirrorCommands(directory, remote, options, trusted);
  }

  async #keep(composed: readonly ComposedTree[]): Promise<void> {
    const { directory, commits, fetch, stop } = this.#given;
    const pins = new Map<string, string[]>();
    for (const { state, url, pin } of composed.flatMap(({ submodules }) => submodules)) {
      if (state !== "present") continue;
      const name = redactUrl(url);
      const known = pins.get(name) ?? [];
      if (!known.includes(pin)) pins.set(name, [...known, pin]);
    }
    const trees = composed.flatMap(({ tree }, i) => (tree === commits[i] ? [] : [tree]));
    await this.#withComposer((composer) =>
      keepSubmodules(directory, composer, trees, { pins }, fetch.reserveBytes, stop),
    );
  }

  #describe(composed: readonly ComposedTree[]): string[] {
    const sentences = new Set<string>();
    for (const { submodules, problems } of composed) {
      for (const submodule of submodules) {
        const reason = this.#reason(submodule);
        if (reason !== undefined) sentences.add(describe(submodule, oneLine(reason, reasonLengthMax)));
      }
      for (const problem of problems) sentences.add(`submodules: ${oneLine(problem, reasonLengthMax)}`);
    }
    const all = [...sentences];
    const more = all.length - warningsMax;
    return more <= 0 ? all : [...all.slice(0, warningsMax), `submodules: ${more} more are not searched`];
  }

  /** Undefined if it is there. */
  #reason({ state, url, pin, reason }: FoundSubmodule): string | undefined {
    if (state === "present") return undefined;
    if (state === "left-out") return reason;
    const asked = this.#asked.get(commitName(url, pin));
    return asked === undefined ? "the mirror does not have its commit" : asked || lackingReason;
  }
}

/** In place of a commit. */
const allPins = "all";

function commitName(url: string, pin: string): string {
  return `${pin} ${url}`;
}

/** A remote refuses all of the commits if it lacks one, or may send only what references name. */
async function fetchAll(
  commands: MirrorCommands,
  pins: readonly string[],
  known: readonly string[],
  stop: StopSignal,
): Promise<void> {
  const isRefused = async (oids: readonly string[]): Promise<boolean> => {
    try {
      await commands.fetchCommits(oids, known, stop);
      return false;
    } catch (error) {
      if (!isRefusedByOid(error)) throw error;
      return true;
    }
  };
  if (!(await isRefused(pins))) return;
  let isSomeRefused = pins.length === 1;
  if (pins.length > 1)
    for (const pin of pins.slice(0, singleMax)) isSomeRefused = (await isRefused([pin])) || isSomeRefused;
  if (!isSomeRefused) return;
  const { refs } = await commands.listRemote(stop);
  const listed = [...new Set(refs.values())].slice(0, listedMax);
  if (listed.length > 0) await commands.fetchCommits(listed, known, stop);
}

function describe({ path, pin }: FoundSubmodule, reason: string): string {
  const shown = JSON.stringify(oneLine(Buffer.from(path, "latin1").toString(), reasonLengthMax));
  return `the submodule ${shown} at ${pin.slice(0, 10)} is not searched: ${reason}`;
}

/** As git says it of a server that sends only what references name, and of one without the commit. */
function isRefusedByOid(error: unknown): boolean {
  return (
    error instanceof TrawlError &&
    error.code === "git" &&
    /not our ref|unadvertised object|does not allow request/.test(error.message)
  );
}

/** The size of all packs of the mirror. */
function packBytes(directory: string): number {
  const folder = join(directory, "objects", "pack");
  try {
    return readdirSync(folder).reduce(
      (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  } catch {
    return 0;
  }
}
