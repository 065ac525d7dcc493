import { errorMessage } from "../../base/errors.js";
import { workInSteps } from "../../base/yielding.js";

/** The search for which the work is done. */
export interface PacedWorkOwner {
  readonly isStopped: () => boolean;
  /** False if the client has to read before more results are produced. */
  readonly hasRoom: () => boolean;
  readonly onFailure: (sentence: string) => void;
  /** Called whenever the work is parked. */
  readonly onParked: () => void;
}

/** Work on the main thread that produces results: it is done in steps, and parked while the client does not read. */
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

  /** Does the work. Resolves when it is done, has failed, or has been abandoned; never rejects. */
  run(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#goOn();
    });
  }

  /** Continues after it was parked. */
  resume(): void {
    if (this.isParked) this.#goOn();
  }

  /** Abandons parked work. */
  drop(): void {
    if (this.isParked) this.#end();
  }

  #goOn(): void {
    this.#state = "active";
    workInSteps({ step: () => this.#step() });
  }

  /** Returns true if the work is done, cannot continue, or is parked. */
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

  /** Returns true if the work is done or cannot continue. */
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
