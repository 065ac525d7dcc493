import { errorMessage } from "../base/errors.js";
import { workInSteps } from "../base/yielding.js";

/** Who has the work done. */
export interface PacedWorkOwner {
  readonly isStopped: () => boolean;
  /** False when the client has to read before more is made. */
  readonly hasRoom: () => boolean;
  readonly onFailure: (sentence: string) => void;
  /** Called whenever the work is parked. */
  readonly onParked: () => void;
}

/** Work on the main thread that makes results: it is done in steps, and is parked while the client does not read. */
export class PacedWork {
  readonly #work: Iterator<undefined, void>;
  readonly #owner: PacedWorkOwner;
  #state: "active" | "parked" | "done" = "done";
  #resolve: () => void = () => undefined;

  constructor(work: Iterator<undefined, void>, owner: PacedWorkOwner) {
    this.#work = work;
    this.#owner = owner;
  }

  get isActive(): boolean {
    return this.#state === "active";
  }

  get isParked(): boolean {
    return this.#state === "parked";
  }

  /** Does the work. Resolves when it is done, has failed, or is given up; never rejects. */
  run(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#goOn();
    });
  }

  /** Goes on after it was parked. */
  resume(): void {
    if (this.isParked) this.#goOn();
  }

  /** Gives up what is parked. */
  drop(): void {
    if (this.isParked) this.#end();
  }

  #goOn(): void {
    this.#state = "active";
    workInSteps({ step: () => this.#step() });
  }

  /** True when the work rests: it is done, cannot go on, or is parked. */
  #step(): boolean {
    if (this.#owner.isStopped() || this.#advance()) {
      this.#end();
      return true;
    }
    if (this.#owner.hasRoom()) return false;
    this.#state = "parked";
    this.#owner.onParked();
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

  #end(): void {
    this.#state = "done";
    this.#resolve();
  }
}
