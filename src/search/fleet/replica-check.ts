import { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Repository } from "../../model/repository.js";
import { addMatch, emptyDigest, murmur } from "../../native/kernel/result-digest.js";
import type { FrameChannel, FrameReceiver } from "../../wire/frame-channel.js";
import { type Holdings, holdingsItemsMax, toCoordinatorMessage, toLeafMessage } from "./fleet-messages.js";

/** Differences that a line of the log names. */
const shownMax = 5;

/** Bytes of names and commits that cross; of more repositories only the number and digests do. */
const itemBytesMax = 1024 * 1024;

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

/** How many repositories differ, and a sentence about them; undefined if none does. `there` is the name of the other node. */
export function compareHoldings(
  own: Holdings,
  other: Holdings,
  there: string,
): { readonly count: number; readonly sentence: string } | undefined {
  const isEqual = (a: readonly number[], b: readonly number[]): boolean => a.every((word, i) => word === b[i]);
  const haveSameNames = own.count === other.count && isEqual(own.names, other.names);
  if (haveSameNames && isEqual(own.commits, other.commits)) return undefined;
  const isListed = own.items.length === own.count && other.items.length === other.count;
  if (!isListed) {
    const count = Math.max(1, Math.abs(own.count - other.count));
    const sentence = haveSameNames
      ? "the same repositories are at other commits"
      : `there are ${own.count} repositories here, and ${other.count} or others on ${there}`;
    return { count, sentence };
  }
  const [mine, theirs] = [new Map(own.items), new Map(other.items)];
  const onlyHere = [...mine.keys()].filter((name) => !theirs.has(name));
  const onlyThere = [...theirs.keys()].filter((name) => !mine.has(name));
  const others = [...mine].filter(([name, state]) => theirs.has(name) && theirs.get(name) !== state);
  const parts = [
    describe("only here", onlyHere),
    describe(`only on ${there}`, onlyThere),
    describe(
      "at other commits",
      others.map(([name]) => name),
    ),
  ];
  return {
    count: onlyHere.length + onlyThere.length + others.length,
    sentence: parts.filter((part) => part !== "").join("; "),
  };
}

function describe(where: string, names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : "";
  return `${where}: ${names.slice(0, shownMax).join(", ")}${more}`;
}

/** Asks a node what it has. Rejects if it does not say. */
export function askHoldings(open: (receiver: FrameReceiver) => FrameChannel): Promise<Holdings> {
  return new Promise((resolve, reject) => {
    const channel = open({
      frame: ({ head }) => {
        const message = toLeafMessage(head);
        if (message.kind !== "holds") throw new TrawlError("bad-request", `a message ${message.kind} out of turn`);
        resolve(message);
        channel.close();
      },
      closed: (reason) => reject(new TrawlError("overloaded", reason ?? "it did not answer")),
    });
    const message = { kind: "compare" } as const;
    toCoordinatorMessage(message);
    channel.send(message);
  });
}

/** What differs between this node and others that should have the same repositories: a line when it lasts, and one when it is over. */
export class ReplicaDifferences {
  readonly #log: Log;
  readonly #last = new Map<string, { readonly sentence: string; isLogged: boolean }>();

  constructor(log: Log) {
    this.#log = log;
  }

  note(node: string, sentence: string | undefined): void {
    const last = this.#last.get(node);
    if (sentence === undefined) {
      if (last?.isLogged === true) this.#log.info({ node }, "this node and another have the same repositories again");
      this.#last.delete(node);
      return;
    }
    if (last?.sentence !== sentence) this.#last.set(node, { sentence, isLogged: false });
    // Their syncs are never at the same moment.
    else if (!last.isLogged) {
      last.isLogged = true;
      this.#log.warn({ node }, `fleet.replicas: this node and ${node} differ: ${sentence}`);
    }
  }
}
