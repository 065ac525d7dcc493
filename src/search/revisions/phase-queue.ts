import type { SearchPhase } from "./revision-phases.js";

/** The phases of a search after its first, each prepared while the one before it runs. */
export class PhaseQueue {
  readonly #phases: AsyncGenerator<SearchPhase, undefined>;
  /** The phase after the one that runs, or undefined in place of it. */
  #next: Promise<SearchPhase | undefined>;
  #current: SearchPhase | undefined;
  /** True while the next phase is awaited. */
  #isAdvancing = false;
  #isEnded = false;

  constructor(phases: AsyncGenerator<SearchPhase, undefined>) {
    this.#phases = phases;
    this.#next = this.#prepare();
  }

  /**
   * Lets go of the phase whose slices have ended, and gives the next one to `take` when it is ready; undefined after
   * the last. To ask again meanwhile does nothing, and after `end` nothing is given.
   */
  async advance(take: (phase: SearchPhase | undefined) => void): Promise<void> {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    this.#current?.release();
    this.#current = await this.#next;
    this.#isAdvancing = false;
    if (this.#isEnded) return this.#current?.release();
    if (this.#current !== undefined) this.#next = this.#prepare();
    take(this.#current);
  }

  /** Lets go of all. What is being read for a phase ends by the search's stop word. */
  end(): void {
    this.#isEnded = true;
    this.#current?.release();
    // While the next phase is awaited there, it is released there.
    if (!this.#isAdvancing) void this.#next.then((phase) => phase?.release());
    void this.#phases.return(undefined);
  }

  async #prepare(): Promise<SearchPhase | undefined> {
    return (await this.#phases.next()).value;
  }
}
