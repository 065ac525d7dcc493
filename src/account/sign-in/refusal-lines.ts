import { callAfter, type PendingCall } from "../../base/deadline.js";
import { networkPrefix } from "./network.js";

const minuteMs = 60_000;

/** Lines of one kind from one sender in a minute; further ones are counted. */
const linesOfKindMax = 3;

/**
 * Senders, and kinds of each, that are told apart in a minute; the others share what is left. So a minute has at most
 * some 3,600 lines, 0.7 MB.
 */
const sendersMax = 100;
const kindsOfSenderMax = 8;

interface Refusals {
  readonly event: string;
  readonly reason: string;
  /** All, and those that have no line of their own. */
  count: number;
  untold: number;
  /** Of those without a line. */
  first: string;
  last: string;
}

type Sender = Map<string, Refusals>;

/** What a line says. */
export type RefusalFields = Readonly<Record<string, unknown>> & { readonly from: string; readonly reason: string };

/**
 * Lines about refused credentials and passwords. Whoever sends many must neither fill the disk nor hide those of
 * others, so each sender, an address or a network of IPv6, has a few lines of each kind in a minute; the rest is one
 * line, with their number and the times of the first and the last.
 */
export class RefusalLines {
  readonly #write: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly #senders = new Map<string, Sender>();
  #minute: PendingCall | undefined;

  constructor(write: (event: string, fields: Readonly<Record<string, unknown>>) => void) {
    this.#write = write;
  }

  note(event: string, fields: RefusalFields): void {
    this.#minute ??= callAfter(minuteMs, () => this.flush());
    const refusals = findRefusals(this.#findSender(networkPrefix(fields.from)), event, fields.reason);
    refusals.count++;
    if (refusals.count <= linesOfKindMax) this.#write(event, fields);
    else countUntold(refusals);
  }

  /** Ends the minute: writes what was only counted. */
  flush(): void {
    this.#minute?.cancel();
    this.#minute = undefined;
    for (const [from, sender] of this.#senders) {
      for (const { event, reason, untold, first, last } of sender.values()) {
        if (untold > 0) this.#write(event, { from, reason, untold, first, last });
      }
    }
    this.#senders.clear();
  }

  #findSender(network: string): Sender {
    const key = this.#senders.has(network) || this.#senders.size < sendersMax ? network : "other addresses";
    const known = this.#senders.get(key);
    if (known !== undefined) return known;
    const sender: Sender = new Map();
    this.#senders.set(key, sender);
    return sender;
  }
}

function findRefusals(sender: Sender, event: string, reason: string): Refusals {
  const kind = sender.has(`${event} ${reason}`) || sender.size < kindsOfSenderMax ? reason : "other reasons";
  const key = `${event} ${kind}`;
  let refusals = sender.get(key);
  if (refusals === undefined) {
    refusals = { event, reason: kind, count: 0, untold: 0, first: "", last: "" };
    sender.set(key, refusals);
  }
  return refusals;
}

function countUntold(refusals: Refusals): void {
  refusals.untold++;
  refusals.last = new Date().toISOString();
  refusals.first ||= refusals.last;
}
