import { trimEndChars, withoutSuffix } from "../../base/text.js";
import { filterInSteps } from "../../base/yielding.js";
import type { Catalog } from "../../catalog/catalog.js";
import { parseRemoteUrl, redactUrl } from "../../git/run/remote-url.js";
import type { Repository, RepositoryConfig } from "../../model/repository.js";

/** A listed repository that is not mirrored, because another one has its name. */
export interface LeftOut {
  readonly name: string;
  readonly url: string;
  /** The connection that lists it; "" if that is the configuration file or the command line. */
  readonly list: string;
  /** Sentences that say so about its connection, and about the repository that has the name. */
  readonly forConnection: string;
  readonly forRepository: string;
}

/** Which of the listed repositories are mirrored, one for each name, and which are left out. */
export interface ChosenRepositories {
  readonly chosen: readonly RepositoryConfig[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Chooses one repository for each name, the same after a restart and in whichever order the lists were read:
 *
 * 1. that of the configuration file or the command line;
 * 2. the one that has the name already: one that was added by hand, or one that is indexed, also under a new URL in the same
 *    list;
 * 3. that of the first connection in the order of the configuration; within one list, the one whose URL sorts first.
 *
 * `leftOutBefore` has the keys of those that were left out until now: see `listedKey`.
 */
export function* chooseByName(
  catalog: Catalog,
  listed: readonly RepositoryConfig[],
  leftOutBefore: ReadonlySet<string>,
): Generator<void, ChosenRepositories> {
  const candidates = new Map<string, RepositoryConfig[]>();
  for (const [at, config] of listed.entries()) {
    if (at % 1000 === 999) yield;
    const others = candidates.get(config.name);
    if (others === undefined) candidates.set(config.name, [config]);
    else others.push(config);
  }
  const chosen: RepositoryConfig[] = [];
  const leftOut: LeftOut[] = [];
  let count = 0;
  for (const [name, all] of candidates) {
    if (++count % 1000 === 999) yield;
    const known = catalog.repositoryByName(name);
    const winner = yield* choose(all, known, leftOutBefore);
    if (winner !== undefined) chosen.push(winner);
    if (all.length === 1 && winner !== undefined) continue;
    for (const loser of all) {
      if (leftOut.length % 100 === 99) yield;
      if (loser !== winner) leftOut.push(leaveOut(loser, winner, known));
    }
  }
  return { chosen, leftOut };
}

/**
 * Undefined if the name is that of a repository that was added by hand. In steps, because a list may have one name tens of
 * thousands of times.
 */
function* choose(
  candidates: readonly RepositoryConfig[],
  known: Repository | undefined,
  leftOutBefore: ReadonlySet<string>,
): Generator<void, RepositoryConfig | undefined> {
  const [first] = candidates;
  if (first === undefined || first.source === undefined) return first;
  if (known !== undefined && !known.configured)
    // The list takes over a repository that was added by hand before it was listed.
    return (yield* filterInSteps(candidates, isAt(known.url)))[0];
  if (candidates.length === 1) return first;
  const holder = known !== undefined && (known.generation > 0 || known.removedAt !== "") ? known : undefined;
  if (holder !== undefined) {
    const held = yield* filterInSteps(candidates, isAt(holder.url));
    const isOwn = (one: RepositoryConfig): boolean => listName(one) === listName(holder);
    const own = held.find(isOwn);
    if (own !== undefined) return own;
    const isMoved = (one: RepositoryConfig): boolean => isOwn(one) && !leftOutBefore.has(listedKey(one));
    const moved = holder.removedAt === "" ? yield* filterInSteps(candidates, isMoved) : [];
    const found = firstByUrl(moved) ?? held[0];
    if (found !== undefined) return found;
  }
  return firstByUrl(yield* filterInSteps(candidates, (one) => listName(one) === listName(first)));
}

function firstByUrl(candidates: readonly RepositoryConfig[]): RepositoryConfig | undefined {
  let best: RepositoryConfig | undefined;
  for (const one of candidates) if (best === undefined || one.url < best.url) best = one;
  return best;
}

/** Identifies a listed repository among those that share its name. */
export function listedKey(one: RepositoryConfig | LeftOut): string {
  return [one.name, "list" in one ? one.list : listName(one), redactUrl(one.url)].join(" ");
}

/** The connection that lists a repository; "" for those of the configuration file and those that were added by hand. */
function listName({ source }: Pick<RepositoryConfig, "source">): string {
  return source?.connection ?? "";
}

/**
 * Whether the record is that of the listed repository, perhaps before its URL changed, so that what is indexed is its own.
 * Otherwise another repository has taken over the name.
 */
export function isSameRepository(
  known: Repository,
  config: RepositoryConfig,
  leftOutBefore: ReadonlySet<string>,
): boolean {
  if (isSameUrl(known.url, config.url)) return true;
  const isOfSameList = known.configured && known.removedAt === "" && listName(known) === listName(config);
  return isOfSameList && !leftOutBefore.has(listedKey(config));
}

/**
 * Whether the URLs differ at most in their spelling. `x` and `x.git` may be two repositories of one host, as may be names
 * that differ in case.
 */
function isSameUrl(a: string, b: string): boolean {
  return a === b || isAt(a)({ url: b });
}

/** Tells which repositories have the same URL; parses it once. */
function isAt(url: string): (one: Pick<RepositoryConfig, "url">) => boolean {
  const plain = plainUrl(url);
  return (one) => one.url === url || plainUrl(one.url) === plain;
}

function plainUrl(url: string): string {
  return trimEndChars(parseRemoteUrl(url).text, "/");
}

/** Without a `winner`, the name is that of a `known` repository that was added by hand. */
function leaveOut(
  loser: RepositoryConfig,
  winner: RepositoryConfig | undefined,
  known: Repository | undefined,
): LeftOut {
  const { name } = loser;
  const list = listName(loser);
  const url = redactUrl(loser.url);
  const other = winner ?? known ?? loser;
  const holder =
    winner === undefined
      ? "which was added by hand"
      : winner.source === undefined
        ? "of the configuration"
        : listName(winner) === list
          ? "of the same list"
          : `of connection ${listName(winner)}`;
  const spelling = isSameUrl(loser.url, other.url) ? ", the same in another spelling" : "";
  return {
    name,
    url,
    list,
    forConnection: `${name} (${url}) is left out: ${redactUrl(other.url)}, ${holder}, has this name${spelling}`,
    forRepository: `connection ${list} lists another repository of this name, ${url}, which is left out${spelling}: to search both, change the prefix of a connection, or rename one of them`,
  };
}

/**
 * For each name, sentences about repositories that may be confused with it: their names differ in case only, or their URLs in
 * spelling. All of them are searched.
 */
export function* findLookalikes(repositories: readonly Repository[]): Generator<void, Map<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  const tell = ({ name }: Repository, sentence: string): void => {
    const sentences = found.get(name);
    if (sentences === undefined) found.set(name, [sentence]);
    else if (sentences.length < sentencesMax) sentences.push(sentence);
  };
  const byName = new Map<string, Repository>();
  const byUrl = new Map<string, Repository>();
  for (const [at, one] of repositories.entries()) {
    if (at % 200 === 199) yield;
    if (one.removedAt !== "") continue;
    const lower = one.name.toLowerCase();
    const named = byName.get(lower);
    if (named === undefined) byName.set(lower, one);
    else
      for (const [a, b] of [
        [one, named],
        [named, one],
      ] as const)
        tell(a, `its name differs from that of ${b.name} in upper and lower case only`);
    const address = plainAddress(one.url);
    const located = byUrl.get(address);
    if (located === undefined) byUrl.set(address, one);
    else if (listName(one) !== "" || listName(located) !== "")
      for (const [a, b] of [
        [one, located],
        [located, one],
      ] as const)
        tell(a, `${b.name} has the same URL${a.url === b.url ? "" : " in another spelling"}: both are searched`);
  }
  return found;
}

const sentencesMax = 3;

/** Equal for URLs that probably lead to the same repository. */
function plainAddress(url: string): string {
  const plain = plainUrl(url);
  return parseRemoteUrl(url).kind === "local" ? plain : withoutSuffix(plain, ".git");
}
