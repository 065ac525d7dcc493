import { callAfter, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { type RateLimit, RateLimitError } from "../../base/rate-limit.js";
import { type StopSignal, stopWhenSet } from "../../base/stop-signal.js";
import { type Admit, Mirror } from "../../git/mirror/mirror.js";
import { RedirectError } from "../../git/mirror/mirror-commands.js";
import type { RefState } from "../../git/objects/refs.js";
import { hostAndPort, parseRemoteUrl, redirectedUrl, type RemoteUrl } from "../../git/run/remote-url.js";
import type { ContentTreeMap } from "../../indexer/index-changes.js";
import {
  branchCountMax,
  detachedName,
  type Repository,
  type VanishedKind,
  mirrorName,
  mirrorsFolder,
  workingCopyName,
} from "../../model/repository.js";
import type { FetchSettings, SyncInput, SyncProgress, SyncTask } from "../../protocol/ingest-messages.js";
import { join } from "node:path";
import { readSecret, readSecretFile } from "../../base/secret-source.js";
import {
  captureWorkingCopy,
  dropWorkingCopy,
  knownWorkingCopy,
  workingCopyLimits,
} from "../../git/mirror/working-copy.js";
import { type FetchedLfs, fetchLfs, knownLfs } from "./lfs-fetch.js";
import { RemoteRules } from "../../git/mirror/remote-rules.js";
import { withSecret } from "../../git/mirror/url-secret.js";
import { SecretFiles } from "../../store/secret-files.js";
import { fetchSubmodules, type SubmoduleContents } from "./submodules.js";
import { parentPort } from "node:worker_threads";

/** A repository with a mirror that reflects its remote at a certain time. */
export interface Fetched {
  readonly mirror: Mirror;
  readonly state: RefState;
  /** Whether the mirror may have more objects of the same commits than before. */
  readonly recreated: boolean;
  /** ISO 8601. */
  readonly date: string;
  /** Sentences about what was left out. */
  readonly warnings: readonly string[];
  readonly lfs: FetchedLfs;
  /** See `SubmoduleContents`. */
  readonly trees: ContentTreeMap;
}

export type FetchOutcome =
  | { readonly kind: "fetched"; readonly fetched: Fetched }
  | { readonly kind: "failed"; readonly error: unknown };

/** A fetch that runs while other repositories are indexed. */
export class RunningFetch {
  /**
   * What the remote has listed while git fetches: its objects may still be missing, and nobody has verified them.
   * Undefined if the fetch has ended without that.
   */
  readonly listed: Promise<Fetched | undefined>;
  readonly #outcome: Promise<FetchOutcome>;
  readonly #startedMs = monotonicMs();
  #awaited: Promise<FetchOutcome | undefined> | undefined;
  #isOver = false;
  #isEnded = false;

  constructor(dataFolder: string, input: SyncInput, task: SyncTask) {
    const isStopped = stopWhenSet(task.stop);
    let tell: (listed: Fetched | undefined) => void = () => undefined;
    this.listed = new Promise((resolve) => (tell = resolve));
    this.#outcome = tryToFetch(dataFolder, input, task, () => this.#isOver || isStopped(), tell).finally(() => {
      this.#isEnded = true;
      tell(undefined);
    });
  }

  /** Whether git no longer runs. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Undefined if it has not finished this long after its start; it is then stopped. The first call decides. */
  within(patienceMs: number): Promise<FetchOutcome | undefined> {
    this.#awaited ??= this.#endWithin(patienceMs);
    return this.#awaited;
  }

  async #endWithin(patienceMs: number): Promise<FetchOutcome | undefined> {
    if (patienceMs === Infinity) return await this.#outcome;
    let timer: PendingCall | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = callAfter(Math.max(0, this.#startedMs + patienceMs - monotonicMs()), () => resolve(undefined));
    });
    const outcome = await Promise.race([this.#outcome, late]);
    timer?.cancel();
    this.#isOver = outcome === undefined;
    return outcome;
  }

  /** Stops it; resolves when it no longer accesses the mirror. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#outcome;
  }
}

async function tryToFetch(
  dataFolder: string,
  input: SyncInput,
  task: SyncTask,
  stop: StopSignal,
  onListed: (listed: Fetched) => void,
): Promise<FetchOutcome> {
  try {
    requireOpen(input.repository);
    return { kind: "fetched", fetched: await fetchOne(dataFolder, input, task, stop, onListed) };
  } catch (error) {
    if (error instanceof RateLimitError) {
      const { host, waitMs, isAsked, limit } = error;
      limits.set(host, { waitMs, isAsked, limit, untilMs: monotonicMs() + waitMs });
    }
    return { kind: "failed", error };
  }
}

/** Hosts that have refused requests of this thread until a time: the others of a task, which began before, do not ask. */
const limits = new BoundedMap<string, RateLimit & { readonly untilMs: number }>(1_000, () => 1);

function requireOpen({ url }: Repository): void {
  const host = hostAndPort(url);
  const limit = host === undefined ? undefined : limits.get(host);
  const waitMs = (limit?.untilMs ?? 0) - monotonicMs();
  if (host !== undefined && limit !== undefined && waitMs > 0) throw new RateLimitError(host, { ...limit, waitMs });
}

async function fetchOne(
  dataFolder: string,
  input: SyncInput,
  task: SyncTask,
  stop: StopSignal,
  onListed: (listed: Fetched) => void,
): Promise<Fetched> {
  const { repository, secret, rebuild, recreate, isRequested } = input;
  const { fetch } = task;
  if (rebuild && !recreate) {
    const mirror = await openMirror(dataFolder, repository, fetch, []);
    const known = await stateToRebuild(repository, mirror, stop);
    if (known !== undefined) {
      const contents = await readSubmodules(dataFolder, input, mirror, known, fetch, false, stop);
      const lfs = await knownLfs(input, mirror, stop);
      return { mirror, state: known, recreated: false, date: new Date().toISOString(), ...contents, lfs };
    }
  }
  const resolvedHosts = await requireRemote(dataFolder, repository, fetch);
  const url = secret === undefined ? undefined : withSecret(parseRemoteUrl(repository.url), secret);
  let mirror = await openMirror(dataFolder, repository, fetch, resolvedHosts, url);
  const admit = admitExpected(input);
  for (let redirectCount = 0; ; redirectCount++) {
    const date = new Date().toISOString();
    const opened = mirror;
    // The working copy, submodules and the contents of LFS are read when there is nothing to fetch any more.
    const isLast =
      repository.source?.workingCopySeconds === undefined &&
      repository.submodules === undefined &&
      !repository.lfs &&
      repository.lfsTree === undefined;
    const tell = (listed: RefState): void => {
      const nothing = { warnings: [], lfs: withoutLfs, trees: new Map<string, string>() };
      if (isLast) onListed({ mirror: opened, state: listed, recreated: false, date, ...nothing });
    };
    try {
      const state = recreate ? await mirror.refetch(stop, admit) : await mirror.sync(stop, isRequested, tell, admit);
      const read = await readWorkingCopy(dataFolder, input, mirror, state, fetch, stop);
      const { trees, warnings } = await readSubmodules(dataFolder, input, mirror, read.state, fetch, true, stop);
      const branches = [...new Set(wantedBranches(read.state, repository).values())];
      const lfs = await fetchLfs(dataFolder, input, task, mirror, branches, trees, read.state, stop);
      return {
        mirror,
        recreated: recreate || state.recreated,
        date,
        state: read.state,
        warnings: [...read.warnings, ...warnings],
        trees,
        lfs,
      };
    } catch (error) {
      if (!(error instanceof RedirectError) || redirectCount >= redirectsMax) throw error;
      const redirected = await openRedirected(dataFolder, repository, fetch, mirror.url, error.location);
      if (redirected === undefined) throw refuseRedirect(repository, error);
      mirror = redirected;
    }
  }
}

const withoutLfs: FetchedLfs = { contents: undefined, isLost: false, warnings: [] };

/** A host redirects once for a repository that was renamed, and once to https. */
const redirectsMax = 3;

/** The location may have secrets after the host. */
function refuseRedirect({ source }: Repository, error: RedirectError): TrawlError {
  if (source?.hosts === undefined) return error;
  const target = URL.canParse(error.location) ? new URL(error.location).origin : "another place";
  return new TrawlError(
    "forbidden",
    `the remote redirects to ${target.slice(0, 300)}, which is not the repository's own host: only redirects within the host are followed for what a connection lists; correct the URL in the list (${error.message})`,
  );
}

/**
 * The current state of the mirror, so that a damaged shard can be rebuilt while the remote is unavailable. Undefined if
 * the mirror does not contain what is indexed: then it was lost as well and has just been recreated, and what it lacks
 * must not be treated as deleted.
 */
async function stateToRebuild(repository: Repository, mirror: Mirror, stop: StopSignal): Promise<RefState | undefined> {
  const own = await mirror.state(stop).catch((error: unknown) => {
    if (error instanceof TrawlError && error.code === "git") return undefined;
    throw error;
  });
  const state = own && withWorkingCopy(own, await knownWorkingCopy(mirror.directory, stop));
  const isKnown =
    state !== undefined &&
    repository.indexedBranches.every(({ name }) =>
      name === detachedName ? state.headCommit !== null : state.branches.has(name),
    );
  return isKnown ? state : undefined;
}

/** The remote no longer lists something without which the index would lose all that it has of a repository. */
export class VanishedError extends TrawlError {
  readonly kind: VanishedKind;

  constructor(kind: VanishedKind, message: string) {
    super("git", message);
    this.kind = kind;
  }
}

/** After it took so long to read a working copy, and failed, it is left alone for this many times as long. */
const failureShare = 20;

/** When working copies may be read again, by repository, on the monotonic clock. */
const readAgainMs = new BoundedMap<number, number>(10_000, () => 1);

/** The state with the working copy, if the repository has one that is to be indexed. What cannot be read now stays as it was read last. */
async function readWorkingCopy(
  dataFolder: string,
  { repository }: SyncInput,
  { directory, url }: Mirror,
  state: RefState,
  { memoryBytesMax, reserveBytes }: FetchSettings,
  stop: StopSignal,
): Promise<Pick<Fetched, "state" | "warnings">> {
  const { workTree: folder } = repository.source ?? {};
  if (folder === undefined || url.kind !== "local") {
    await dropWorkingCopy(directory, stop);
    return { state, warnings: [] };
  }
  if (state.headCommit === null) return { state, warnings: [] };
  if (state.branches.has(workingCopyName))
    return { state, warnings: [`its working copy is not indexed, because it has a branch named ${workingCopyName}`] };
  const startedMs = monotonicMs();
  try {
    if (startedMs < (readAgainMs.get(repository.id) ?? 0))
      throw new TrawlError("git", "it is tried again later, because it took long and failed");
    const limits = { ...workingCopyLimits, memoryBytesMax, reserveBytes };
    const { commit, warnings } = await captureWorkingCopy(
      directory,
      { folder, dataFolder },
      state.headCommit,
      limits,
      stop,
    );
    return { state: withWorkingCopy(state, commit), warnings };
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code === "cancelled") throw error;
    const nowMs = monotonicMs();
    readAgainMs.set(
      repository.id,
      Math.max(readAgainMs.get(repository.id) ?? 0, nowMs + (nowMs - startedMs) * failureShare),
    );
    const known = await knownWorkingCopy(directory, stop);
    return {
      state: withWorkingCopy(state, known),
      warnings: [`the working copy cannot be read: ${errorMessage(error)}`],
    };
  }
}

/** The contents of submodules, after everything else of the repository has been fetched. */
function readSubmodules(
  dataFolder: string,
  { repository, isRequested }: SyncInput,
  { directory, url }: Mirror,
  state: RefState,
  fetch: FetchSettings,
  mayFetch: boolean,
  stop: StopSignal,
): Promise<SubmoduleContents> {
  const commits = [...new Set(wantedBranches(state, repository).values())];
  return fetchSubmodules({ dataFolder, repository, directory, url, commits, mayFetch, isRequested, fetch, stop });
}

/** A branch of that name comes first. */
export function withWorkingCopy(state: RefState, commit: string | undefined): RefState {
  if (commit === undefined || state.branches.has(workingCopyName)) return state;
  return { ...state, branches: new Map([...state.branches, [workingCopyName, commit]]) };
}

/** What of an indexed repository the remote no longer lists; undefined if what it lists can replace what is indexed. */
function findVanished(
  { indexedBranches, defaultBranch }: SyncInput["repository"],
  listed: RefState,
): VanishedKind | undefined {
  if (indexedBranches.length === 0) return undefined;
  if (listed.branches.size === 0 && listed.headCommit === null) return "everything";
  // Where HEAD names another branch, the default branch was renamed or chosen anew.
  return listed.isHeadKnown || (defaultBranch !== detachedName && listed.branches.has(defaultBranch))
    ? undefined
    : "default-branch";
}

/**
 * Throws if the remote has lost what was indexed, or lists nothing in a way that no git server does. A sign-in page, a
 * disk that is not mounted and a server that is being restored look like empty repositories.
 */
function admitExpected(input: SyncInput): Admit {
  return async (listed, hadRefs, isReallyEmpty) => {
    if (input.acceptsLoss === "asked") return;
    const { repository } = input;
    const isEmpty = listed.branches.size === 0 && listed.tags.size === 0 && listed.headCommit === null;
    const isNew = repository.generation === 0;
    if (isEmpty && (hadRefs || isNew || repository.indexedBranches.length > 0) && !(await isReallyEmpty()))
      throw new TrawlError("git", notGit(repository.name, isNew));
    requireExpected(input, listed, hadRefs && isEmpty);
  };
}

/** Throws `VanishedError` if what the remote lists, or what was fetched, lacks what was there, and this was not confirmed. */
export function requireExpected(input: SyncInput, state: RefState, lostRefs = false): void {
  const { repository, acceptsLoss } = input;
  const kind = lostRefs ? "everything" : findVanished(repository, state);
  if (kind === undefined || acceptsLoss === "asked") return;
  if (acceptsLoss === "confirmed" && repository.vanished?.kind === kind) return;
  throw new VanishedError(kind, vanished(kind, repository));
}

function notGit(name: string, isNew: boolean): string {
  return (
    "the remote answers without references, and not in git's protocol, as a sign-in page, a proxy or a captive portal does: " +
    (isNew ? "" : "the index and the mirror are kept; ") +
    `check the URL with \`git ls-remote\`; if it is an empty repository on a plain web server, run \`trawl repo sync ${name} --accept-empty\``
  );
}

function vanished(kind: VanishedKind, { name, defaultBranch }: SyncInput["repository"]): string {
  const loss = {
    everything: "the remote lists no branches any more",
    "default-branch": `the remote does not list the default branch ${JSON.stringify(defaultBranch)} any more, and its HEAD names no other`,
  };
  return (
    `${loss[kind]}: the index and the mirror are kept; if that is intended, run \`trawl repo sync ${name} --accept-empty\`; ` +
    "otherwise it is believed when all answers during sync.acceptEmptyHours are the same"
  );
}

/** The default branch, the configured branches and the working copy, if they exist. */
export function wantedBranches(
  state: RefState,
  { branches: configured, source }: Pick<Repository, "branches" | "source">,
): Map<string, string> {
  const wanted = new Map<string, string>();
  const own = source?.workingCopySeconds === undefined ? [] : [workingCopyName];
  for (const name of [state.defaultBranch ?? "", ...configured, ...own]) {
    const commit = state.branches.get(name);
    if (commit !== undefined) wanted.set(name, commit);
  }
  if (state.defaultBranch === null && state.headCommit !== null) wanted.set(detachedName, state.headCommit);
  if (wanted.size > branchCountMax) {
    throw new TrawlError(
      "bad-config",
      `${wanted.size} branches would be indexed, but the limit is ${branchCountMax}. Reduce \`branches\` of this repository.`,
    );
  }
  return wanted;
}

/** Time limit for a remote to list its refs. */
const listTimeoutMs = 60_000;

/**
 * Rejects with `forbidden` if the repository may not be fetched from its URL. Must be called before each fetch; resolves
 * with the addresses for `openMirror`.
 */
async function requireRemote(
  dataFolder: string,
  { url, source }: Repository,
  { networks }: FetchSettings,
): Promise<readonly string[]> {
  return await new RemoteRules(dataFolder, networks).requireForFetch(parseRemoteUrl(url), source);
}

export function openMirror(
  dataFolder: string,
  repository: Repository,
  fetch: FetchSettings,
  resolvedHosts: readonly string[],
  url: RemoteUrl = remoteUrl(dataFolder, repository),
): Promise<Mirror> {
  const directory = join(dataFolder, mirrorsFolder, mirrorName(repository.id));
  const access = {
    home: fetch.home || null,
    sshCommand: fetch.sshCommand || null,
    credentialHelper: fetch.credentialHelper || null,
    // A redirect could lead where the source may not.
    followRedirects: fetch.followRedirects && repository.source?.hosts === undefined,
    resolvedHosts,
  };
  return Mirror.open(directory, url, {
    access,
    listTimeoutMs,
    fetchTimeoutMs: fetch.timeoutMs,
    silenceMs: fetch.silenceMs,
    fetchBytesMax: fetch.bytesMax,
    memoryBytesMax: fetch.memoryBytesMax,
    reserveBytes: fetch.reserveBytes,
    onProgress: ({ percent }) =>
      postProgress({
        kind: "progress",
        repositoryId: repository.id,
        phase: "fetching",
        done: percent ?? 0,
        total: percent === null ? 0 : 100,
      }),
  });
}

/** The secret is read at each fetch, so that a new one takes effect without a restart. */
function remoteUrl(dataFolder: string, { name, url, credential }: Repository): RemoteUrl {
  const remote = parseRemoteUrl(url);
  if (credential === "") return remote;
  const stored = SecretFiles.path(join(dataFolder, "secrets"), credential);
  return withSecret(remote, stored === undefined ? readSecret(credential, name) : readSecretFile(stored, name));
}

/**
 * Opens the mirror of a repository that a connection lists, with the URL to which its host redirects: within the host, where
 * the source may name any repository. Undefined if it is not of a connection, or the redirect leads elsewhere.
 */
async function openRedirected(
  dataFolder: string,
  repository: Repository,
  fetch: FetchSettings,
  from: RemoteUrl,
  location: string,
): Promise<Mirror | undefined> {
  if (repository.source?.hosts === undefined || from.kind !== "http") return undefined;
  const target = redirectedUrl(from, location);
  if (target === undefined) return undefined;
  const resolvedHosts = await new RemoteRules(dataFolder, fetch.networks).requireForFetch(target, repository.source);
  return await openMirror(dataFolder, repository, fetch, resolvedHosts, target);
}

/** Reports the progress of a sync to the main thread. */
export function postProgress(progress: SyncProgress): void {
  parentPort?.postMessage(progress);
}
