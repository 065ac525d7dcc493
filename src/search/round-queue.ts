import type { Round } from "./revision-rounds.js";

/** The rounds of a search after its first, each prepared while the one before it runs. */
export class RoundQueue {
  readonly #rounds: AsyncGenerator<Round, undefined>;
  /** The round after the one that runs, or undefined in place of it. */
  #next: Promise<Round | undefined>;
  #current: Round | undefined;
  /** True while the next round is awaited. */
  #isAdvancing = false;
  #isEnded = false;

  constructor(rounds: AsyncGenerator<Round, undefined>) {
    this.#rounds = rounds;
    this.#next = this.#prepare();
  }

  /**
   * Lets go of the round whose slices have ended, and gives the next one to `take` when it is ready; undefined after
   * the last. To ask again meanwhile does nothing, and after `end` nothing is given.
   */
  async advance(take: (round: Round | undefined) => void): Promise<void> {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    this.#current?.release();
    this.#current = await this.#next;
    this.#isAdvancing = false;
    if (this.#isEnded) return this.#current?.release();
    if (this.#current !== undefined) this.#next = this.#prepare();
    take(this.#current);
  }

  /** Lets go of all. What is being read for a round ends by the search's stop word. */
  end(): void {
    this.#isEnded = true;
    this.#current?.release();
    // While the next round is awaited there, it is released there.
    if (!this.#isAdvancing) void this.#next.then((round) => round?.release());
    void this.#rounds.return(undefined);
  }

  async #prepare(): Promise<Round | undefined> {
    return (await this.#rounds.next()).value;
  }
}
