import type { SearchPhase } from "./revision-phases.js";

/** The phases of a search after its first, each prepared while the one before it runs. */
export class PhaseQueue {
  readonly #phases: AsyncGenerator<SearchPhase, undefined>;
  /** The phase after the one that runs; of undefined after the last one. */
  #next: Promise<SearchPhase | undefined>;
  #current: SearchPhase | undefined;
  #isEnded = false;

  constructor(phases: AsyncGenerator<SearchPhase, undefined>) {
    this.#phases = phases;
    this.#next = this.#prepare();
  }

  /** Releases the phase that ran, and resolves with the next one when it is ready; with undefined after the last. */
  async take(): Promise<SearchPhase | undefined> {
    this.#current?.release();
    this.#current = undefined;
    const next = this.#next;
    // What is awaited here is released here.
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

  /** Releases all phases, when nobody reads the current one any more. Reads for later ones end by the stop flag. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#current?.release();
    this.#next.then((phase) => phase?.release()).catch(() => undefined);
    this.#phases.return(undefined).catch(() => undefined);
  }

  #prepare(): Promise<SearchPhase | undefined> {
    const next = this.#phases.next().then(({ value }) => value);
    // Whoever takes the phase is told of an error; nobody may.
    next.catch(() => undefined);
    return next;
  }
}
