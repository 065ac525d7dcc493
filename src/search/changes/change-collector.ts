import {
  BaseListener,
  type ChangeListener,
  type JsonElements,
  releaseAll,
  takeArray,
} from "../../model/search-listener.js";
import type { Alert, Progress } from "../../model/stream-events.js";

/** Limit on the JSON of the matches that are compared, which are in memory. */
const matchBytesMax = 64 << 20;

/**
 * Collects the matches of a search for changes; its other events, except the last ones and filters, go to the client.
 */
export class ChangeCollector extends BaseListener {
  readonly #client: ChangeListener;
  #matches: Uint8Array[] = [];
  #matchBytes = 0;
  #resolve: () => void = () => undefined;
  #alert: Alert | undefined;
  #error: string | undefined;
  /** Resolves when the search has ended, or its results are not wanted any more. */
  readonly ended = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  constructor(client: ChangeListener) {
    super();
    this.#client = client;
    client.onClosed(() => this.end());
  }

  /** Arrays of match objects. */
  get found(): readonly Uint8Array[] {
    return this.#matches;
  }

  /** True if there were more matches than can be compared. */
  get isFull(): boolean {
    return this.#matchBytes > matchBytesMax;
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  /** Gives the client what follows the last progress. */
  sendLast(): void {
    if (this.#alert !== undefined) this.#client.alert(this.#alert);
    if (this.#error !== undefined) this.#client.error(this.#error);
  }

  override matches(parts: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(parts);
    const joined = takeArray(parts);
    this.#matchBytes += joined.length;
    if (!this.isFull) this.#matches.push(joined);
    else {
      this.#matches = [];
      this.end();
    }
  }

  /** The last one is made from the end of the search. */
  override progress(progress: Progress): void {
    if (!this.closed && !progress.done && this.#client.pendingBytes === 0) this.#client.progress(progress);
  }

  override alert(alert: Alert): void {
    this.#alert = alert;
  }

  override error(message: string): void {
    this.#error = message;
  }

  override end(): void {
    this.close();
    this.#resolve();
  }
}
