import { callAfter } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Repository } from "../../model/repository.js";
import { addMatch, emptyDigest, murmur } from "../../native/kernel/result-digest.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import { type Holdings, holdingsItemsMax, toCoordinatorMessage, toLeafMessage } from "./fleet-messages.js";

/** Differences that a line of the log names. */
const shownMax = 5;

/** Bytes of names and commits that cross; of more repositories only the number and digests do. */
const itemBytesMax = 1024 * 1024;

/** A node that is asked what it has answers within this time. */
const answerWaitMs = 20_000;

/** A difference lasts if it is there so many times in a row: syncs of two nodes are never at the same moment. */
const lastingMin = { here: 2, there: 2, commits: 5 } as const;

const noKey = new Uint8Array(16);

/** What a node has: which repositories, and at which commits. */
export function* holdingsInSteps(repositories: readonly Repository[]): Generator<void, Holdings> {
  const names = emptyDigest();
  const commits = emptyDigest();
  const items: (readonly [string, string])[] = [];
  let byteCount = 0;
  for (const [i, { name, indexedBranches }] of repositories.entries()) {
    const state = indexedBranches.map((branch) => `${branch.name} ${branch.commit}`).sort();
    const hash = murmur(noKey, Buffer.from(JSON.stringify([name, ...state])));
    addMatch(names, murmur(noKey, Buffer.from(name)), 0, 0);
    addMatch(commits, hash, 0, 0);
    byteCount += name.length + 40;
    if (i < holdingsItemsMax) items.push([name, [...hash].map((word) => word.toString(16)).join("-")]);
    if (i % 64 === 63) yield;
  }
  const isListed = repositories.length <= holdingsItemsMax && byteCount <= itemBytesMax;
  return { count: repositories.length, names: toWords(names), commits: toWords(commits), items: isListed ? items : [] };
}

function toWords([a, b, c, d, e]: Uint32Array): Holdings["names"] {
  return [a, b, c, d, e];
}

/** Repositories of which two nodes differ in the same way. */
export interface Difference {
  readonly kind: "here" | "there" | "commits";
  /** What is said before the names, or all that is said. */
  readonly text: string;
  /** Empty if they are not known. */
  readonly names: readonly string[];
}

/** How many repositories differ, and in what; undefined if none does. `there` is the name of the other node. */
export function compareHoldings(
  own: Holdings,
  other: Holdings,
  there: string,
): { readonly count: number; readonly parts: readonly Difference[] } | undefined {
  const isEqual = (a: readonly number[], b: readonly number[]): boolean => a.every((word, i) => word === b[i]);
  const haveSameNames = own.count === other.count && isEqual(own.names, other.names);
  if (haveSameNames && isEqual(own.commits, other.commits)) return undefined;
  const isListed = own.items.length === own.count && other.items.length === other.count;
  if (!isListed) {
    const count = Math.max(1, Math.abs(own.count - other.count));
    const text = haveSameNames
      ? "the same repositories are at other commits"
      : `there are ${own.count} repositories here, and ${other.count} or others on ${there}`;
    return { count, parts: [{ kind: haveSameNames ? "commits" : "here", text, names: [] }] };
  }
  const [mine, theirs] = [new Map(own.items), new Map(other.items)];
  const onlyHere = [...mine.keys()].filter((name) => !theirs.has(name));
  const onlyThere = [...theirs.keys()].filter((name) => !mine.has(name));
  const others = [...mine].filter(([name, state]) => theirs.has(name) && theirs.get(name) !== state);
  const parts: readonly Difference[] = [
    { kind: "here", text: "only here", names: onlyHere },
    { kind: "there", text: `only on ${there}`, names: onlyThere },
    { kind: "commits", text: "at other commits", names: others.map(([name]) => name) },
  ];
  return {
    count: onlyHere.length + onlyThere.length + others.length,
    parts: parts.filter(({ names }) => names.length > 0),
  };
}

/** A sentence without its subject. */
export function describeDifferences(parts: readonly Difference[]): string {
  return parts.map(describe).join("; ");
}

function describe({ text, names }: Difference): string {
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : "";
  return names.length === 0 ? text : `${text}: ${names.slice(0, shownMax).join(", ")}${more}`;
}

/** A node, as the one that compares itself with it sees it. */
export interface Peer {
  readonly name: string;
  readonly open: (receiver: FrameReceiver) => FrameChannel;
}

/** Asks a node what it has. Rejects if it does not say, or not in time. */
export function askHoldings(open: Peer["open"], waitMs = answerWaitMs): Promise<Holdings> {
  return new Promise((resolve, reject) => {
    const channel = open({
      frame: ({ head }) => {
        const message = toLeafMessage(head);
        if (message.kind !== "holds") throw new TrawlError("bad-request", `a message ${message.kind} out of turn`);
        wait.cancel();
        resolve(message);
        channel.close();
      },
      closed: (reason) => {
        wait.cancel();
        reject(new TrawlError("overloaded", reason ?? "it did not answer"));
      },
    });
    const wait = callAfter(waitMs, () => {
      channel.close();
      reject(new TrawlError("overloaded", `it did not answer within ${waitMs} ms`));
    });
    const message = { kind: "compare" } as const;
    toCoordinatorMessage(message);
    channel.send(message);
  });
}

/**
 * Compares this node with others, each for itself: one that does not answer is no reason to know nothing about the others. `note` gets
 * the number of repositories that differ; undefined if it is not known. Never rejects.
 */
export async function compareWithPeers(
  own: Holdings,
  peers: readonly Peer[],
  differences: ReplicaDifferences,
  note: (peer: string, count: number | undefined) => void,
  log: Log,
  waitMs?: number,
): Promise<void> {
  const compare = async ({ name, open }: Peer): Promise<void> => {
    try {
      const difference = compareHoldings(own, await askHoldings(open, waitMs), name);
      note(name, difference?.count ?? 0);
      differences.note(name, difference?.parts);
    } catch (error) {
      note(name, undefined);
      log.info({ node: name, error: errorMessage(error) }, "a node with the same repositories could not be compared");
    }
  };
  await Promise.all(peers.map(compare));
}

/** What was noted about a node. */
interface Noted {
  /** How many times in a row a repository has differed, by kind and name. */
  readonly ages: ReadonlyMap<string, number>;
  readonly isLogged: boolean;
}

/**
 * What differs between this node and others that should have the same repositories: a line when it lasts, and one when it is over. Each
 * repository has an age of its own, because others come and go with each sync.
 */
export class ReplicaDifferences {
  readonly #log: Log;
  readonly #noted = new Map<string, Noted>();

  constructor(log: Log) {
    this.#log = log;
  }

  note(node: string, parts: readonly Difference[] | undefined): void {
    const { ages: before, isLogged } = this.#noted.get(node) ?? { ages: new Map<string, number>(), isLogged: false };
    if (parts === undefined) {
      if (isLogged) this.#log.info({ node }, "this node and another have the same repositories again");
      this.#noted.delete(node);
      return;
    }
    const ages = new Map<string, number>();
    let isNew = false;
    const lasting = parts.flatMap((part): Difference[] => {
      const lasts = (name: string): boolean => {
        const key = `${part.kind} ${name}`;
        const age = (before.get(key) ?? 0) + 1;
        ages.set(key, age);
        isNew ||= age === lastingMin[part.kind];
        return age >= lastingMin[part.kind];
      };
      if (part.names.length === 0) return lasts("") ? [part] : [];
      const names = part.names.filter(lasts);
      return names.length === 0 ? [] : [{ ...part, names }];
    });
    this.#noted.set(node, { ages, isLogged: isLogged || isNew });
    if (isNew)
      this.#log.warn({ node }, `fleet.replicas: this node and ${node} differ: ${describeDifferences(lasting)}`);
  }
}
