import { hash, verify } from "@node-rs/argon2";
import { randomBytes } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import { FairSemaphore } from "../../base/fair-semaphore.js";

/**
 * argon2id with 19 MiB and two passes, the minimum that OWASP recommends: 20 ms on one core. `algorithm` 2 is argon2id.
 */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Limit on passwords waiting to be checked; a further one is refused. 100 of them take two seconds. */
const waitingMax = 100;

/** Of one client, so that it cannot fill the queue. */
const clientWaitingMax = 20;

/**
 * Additional limit for users signing in from a network from which they have signed in before: a flood of other attempts
 * does not lock them out.
 */
const waitingOfKnownMax = 50;

/**
 * Computes and compares password hashes one at a time, on a thread other than the main thread: many simultaneous
 * sign-ins use one core and 19 MiB, and wait for each other. Clients take turns: many passwords of one delay another's by
 * one hash.
 */
export class PasswordHasher {
  readonly #turns = new FairSemaphore({
    countMax: 1,
    clientCountMax: 1,
    waitingMax: waitingMax + waitingOfKnownMax,
    clientWaitingMax,
  });
  /**
   * A hash that matches no password, for users without one: they are refused after the same time as users who have one.
   */
  readonly #ofNothing =
    `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${unpadded(16)}$${unpadded(32)}`;

  /** The stored form of a password: parameters, salt and hash. */
  hash(password: string, client: string): Promise<string> {
    return this.#inTurn(client, waitingMax, () => hash(password, cost));
  }

  /** Whether the hash matches the password; undefined stands for a user without a password. */
  matches(kept: string | undefined, password: string, client: string, isKnown: boolean): Promise<boolean> {
    const max = isKnown ? waitingMax + waitingOfKnownMax : waitingMax;
    return this.#inTurn(client, max, () => verify(kept ?? this.#ofNothing, password));
  }

  /** Rejects with `overloaded` if too many are waiting, of this client or of all. */
  async #inTurn<T>(client: string, max: number, work: () => Promise<T>): Promise<T> {
    const { waitingCount } = this.#turns;
    if (waitingCount >= max || this.#turns.refusal(client) !== undefined)
      throw new TrawlError("overloaded", `${waitingCount} passwords are waiting to be checked; try again in a moment`);
    return await new Promise((resolve, reject) => {
      this.#turns.acquire(client, (release) => {
        work().finally(release).then(resolve, reject);
      });
    });
  }
}

/** Random bytes in the base64 variant of argon2's text format. */
function unpadded(byteCount: number): string {
  return randomBytes(byteCount).toString("base64").replaceAll("=", "");
}
