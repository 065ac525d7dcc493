import type { ResultGroups } from "./result-groups.js";
import { BaseListener, type JsonElements, releaseAll } from "./search-listener.js";
import type { Alert, Filter, Progress, StreamError } from "./stream-events.js";

const comma = Buffer.from(",");

/** A part of the JSON of an event. */
export type EventPart = JsonElements | string;

/**
 * The wire format of a search: the names of its events and their JSON. Whoever writes events to clients or files
 * extends it; the bytes of matches pass through it as they are.
 */
export abstract class EventWriter extends BaseListener {
  override readonly filterEvents = "each";

  /** Writes one event. `data` is JSON on one line, as parts that are written one after another. */
  abstract send(event: string, data: readonly EventPart[]): void;

  override matches(parts: readonly JsonElements[]): void {
    this.#sendArray("matches", parts);
  }

  override changes(parts: readonly JsonElements[]): void {
    this.#sendArray("changes", parts);
  }

  override filters(filters: readonly Filter[]): void {
    this.send("filters", [JSON.stringify(filters)]);
  }

  override groups(groups: ResultGroups): void {
    this.send("groups", [JSON.stringify(groups)]);
  }

  override progress(progress: Progress): void {
    this.send("progress", [JSON.stringify(progress)]);
  }

  override alert(alert: Alert): void {
    this.send("alert", [JSON.stringify(alert)]);
  }

  override error(message: string): void {
    this.send("error", [JSON.stringify({ message } satisfies StreamError)]);
  }

  override done(): void {
    this.send("done", ["{}"]);
    this.end();
  }

  /** Nothing follows. What was sent is still written. */
  abstract override end(): void;

  #sendArray(event: string, elements: readonly JsonElements[]): void {
    if (this.closed) return releaseAll(elements);
    const parts: EventPart[] = ["["];
    elements.forEach((one, i) => {
      if (i > 0) parts.push(comma);
      parts.push(one);
    });
    parts.push("]");
    this.send(event, parts);
  }
}
