import type { SearchPhase } from "./search-phase.js";

/** The phases of a search after its first, each prepared while the previous one runs. */
export class PhaseQueue {
  readonly #phases: AsyncGenerator<SearchPhase, undefined>;
  /** The phase after the running one; resolves with undefined after the last one. */
  #next: Promise<SearchPhase | undefined>;
  #current: SearchPhase | undefined;
  #isEnded = false;

  constructor(phases: AsyncGenerator<SearchPhase, undefined>) {
    this.#phases = phases;
    this.#next = this.#prepare();
  }

  /**
   * Releases the phase that has run, and resolves with the next one when it is ready; with undefined after the last.
   */
  async take(): Promise<SearchPhase | undefined> {
    this.#current?.release();
    this.#current = undefined;
    const next = this.#next;
    // The phase awaited here is released here.
    this.#next = Promise.resolve(undefined);
    const phase = await next;
    if (phase === undefined) return undefined;
    if (this.#isEnded) {
      phase.release();
      return undefined;
    }
    this.#next = this.#prepare();
    this.#current = phase;
    return phase;
  }

  /**
   * Releases all phases, when the current one is no longer being read. Reads for later phases are ended by the stop
   * flag.
   */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#current?.release();
    this.#next.then((phase) => phase?.release()).catch(() => undefined);
    this.#phases.return(undefined).catch(() => undefined);
  }

  #prepare(): Promise<SearchPhase | undefined> {
    const next = this.#phases.next().then(({ value }) => value);
    // The error is reported to the caller that takes the phase, if there is one.
    next.catch(() => undefined);
    return next;
  }
}
