import { callAfter, type PendingCall } from "../../base/deadline.js";
import { networkPrefix } from "./network.js";

const minuteMs = 60_000;

/** Lines of one kind per sender and minute; further ones are only counted. */
const linesOfKindMax = 3;

/**
 * Limit on senders, and on kinds for each, that are distinguished within a minute; the others share the rest. Therefore
 * a minute has at most about 3,600 lines, 0.7 MB.
 */
const sendersMax = 100;
const kindsOfSenderMax = 8;

interface Refusals {
  readonly event: string;
  readonly reason: string;
  /** The total number, and the number without a line. */
  count: number;
  untold: number;
  /** The first of those without a line. */
  first: string;
  last: string;
}

type Sender = Map<string, Refusals>;

/** The contents of a line. */
export type RefusalFields = Readonly<Record<string, unknown>> & { readonly from: string; readonly reason: string };

/**
 * Lines about refused credentials and passwords. A sender of many of them must neither fill the disk nor hide those of
 * others. Therefore each sender, which is an address or an IPv6 network, has a few lines of each kind per minute; the
 * rest are summarized in one line, with their number and the times of the first and the last.
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

  /** Ends the minute: writes the summaries. */
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
