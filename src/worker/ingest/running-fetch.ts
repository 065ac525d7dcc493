import { callAfter, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { RateLimitError, type RateLimit } from "../../base/rate-limit.js";
import { stopWhenSet, type StopSignal } from "../../base/stop-signal.js";
import type { Mirror } from "../../git/mirror/mirror.js";
import { RedirectError } from "../../git/mirror/mirror-commands.js";
import type { RefState } from "../../git/objects/refs.js";
import { hostAndPort } from "../../git/run/remote-url.js";
import { detachedName, type Repository } from "../../model/repository.js";
import type { FetchSettings, SyncInput, SyncTask } from "../../protocol/ingest-messages.js";
import { openMirror, openRedirected, requireRemote } from "./open-mirror.js";
import { admitExpected } from "./vanished.js";

/** A repository with a mirror that reflects its remote at a certain time. */
export interface Fetched {
  readonly mirror: Mirror;
  readonly state: RefState;
  /** Whether the mirror may have more objects of the same commits than before. */
  readonly recreated: boolean;
  /** ISO 8601. */
  readonly date: string;
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
    return { kind: "fetched", fetched: await fetchOne(dataFolder, input, task.fetch, stop, onListed) };
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
  fetch: FetchSettings,
  stop: StopSignal,
  onListed: (listed: Fetched) => void,
): Promise<Fetched> {
  const { repository, rebuild, recreate, isRequested } = input;
  if (rebuild && !recreate) {
    const mirror = await openMirror(dataFolder, repository, fetch, []);
    const known = await stateToRebuild(repository, mirror, stop);
    if (known !== undefined) return { mirror, state: known, recreated: false, date: new Date().toISOString() };
  }
  const resolvedHosts = await requireRemote(dataFolder, repository, fetch);
  let mirror = await openMirror(dataFolder, repository, fetch, resolvedHosts);
  const admit = admitExpected(input);
  for (let redirectCount = 0; ; redirectCount++) {
    const date = new Date().toISOString();
    const opened = mirror;
    const tell = (listed: RefState): void => onListed({ mirror: opened, state: listed, recreated: false, date });
    try {
      const state = recreate ? await mirror.refetch(stop, admit) : await mirror.sync(stop, isRequested, tell, admit);
      return { mirror, state, recreated: recreate || state.recreated, date };
    } catch (error) {
      if (!(error instanceof RedirectError) || redirectCount >= redirectsMax) throw error;
      const redirected = await openRedirected(dataFolder, repository, fetch, mirror.url, error.location);
      if (redirected === undefined) throw refuseRedirect(repository, error);
      mirror = redirected;
    }
  }
}

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
  const state = await mirror.state(stop).catch((error: unknown) => {
    if (error instanceof TrawlError && error.code === "git") return undefined;
    throw error;
  });
  const isKnown =
    state !== undefined &&
    repository.indexedBranches.every(({ name }) =>
      name === detachedName ? state.headCommit !== null : state.branches.has(name),
    );
  return isKnown ? state : undefined;
}
