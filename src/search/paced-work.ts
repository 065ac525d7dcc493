import { errorMessage } from "../base/errors.js";
import { workInSteps } from "../base/yielding.js";

/** Who has the work done. */
export interface PacedWorkOwner {
  readonly isStopped: () => boolean;
  /** False when the client has to read before more is made. */
  readonly hasRoom: () => boolean;
  readonly onFailure: (sentence: string) => void;
  /** Called whenever the work ends or is parked. */
  readonly onRest: () => void;
}

/** Work on the main thread that makes results: it is done in turns, and is parked while the client does not read. */
export class PacedWork {
  readonly #work: Iterator<undefined, void>;
  readonly #owner: PacedWorkOwner;
  #isParked = false;

  constructor(work: Iterator<undefined, void>, owner: PacedWorkOwner) {
    this.#work = work;
    this.#owner = owner;
  }

  get isParked(): boolean {
    return this.#isParked;
  }

  /** Begins, or goes on after it was parked. */
  run(): void {
    this.#isParked = false;
    workInSteps({ step: () => this.#step() });
  }

  /** Gives up what is parked. */
  drop(): void {
    this.#isParked = false;
  }

  /** True when the work rests: it is done, cannot go on, or is parked. */
  #step(): boolean {
    const rests = this.#owner.isStopped() || this.#advance();
    this.#isParked = !rests && !this.#owner.hasRoom();
    if (!rests && !this.#isParked) return false;
    this.#owner.onRest();
    return true;
  }

  /** True when the work is done, or cannot go on. */
  #advance(): boolean {
    try {
      return this.#work.next().done === true;
    } catch (error) {
      this.#owner.onFailure(errorMessage(error));
      return true;
    }
  }
}
