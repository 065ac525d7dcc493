import type { StreamMatch } from "../../model/stream-events.js";
import type { MatchPrinter } from "./plain-printer.js";
import { printName } from "./result-names.js";

/** Names of files that later results may refer to. */
const namesMax = 100_000;

/** Results that may wait for the file to which they refer. */
const waitingMax = 10_000;

/**
 * Prints results of a search with `duplicates=1`: the matches of each content once, and `NAME=FIRST` for each other file
 * with the content. A result that comes before its first file waits for it; if too many wait, or none comes, FIRST is the
 * key of the content.
 */
export class PlacePrinter {
  readonly #print: MatchPrinter;
  readonly #show: (name: string) => string;
  readonly #separators: readonly [between: string, end: string];
  readonly #firstNames = new Map<string, string>();
  readonly #waiting = new Map<string, string[]>();
  #waitingCount = 0;

  constructor(print: MatchPrinter, nul: boolean, show: (name: string) => string) {
    this.#print = print;
    this.#show = show;
    this.#separators = nul ? ["\0", "\0"] : ["=", "\n"];
  }

  /** Formats the match, and those that waited for it. */
  print(match: StreamMatch): string {
    const { contentKey, duplicate } = match;
    if (contentKey === undefined) return this.#print(match);
    const name = this.#show(printName(match));
    if (duplicate === true) return this.#printPlace(name, contentKey);
    this.#remember(contentKey, name);
    const waiting = this.#waiting.get(contentKey) ?? [];
    this.#waiting.delete(contentKey);
    this.#waitingCount -= waiting.length;
    return this.#print(match) + waiting.map((place) => this.#line(place, name)).join("");
  }

  /** Formats what still waits when the search has ended. */
  rest(): string {
    const lines = [...this.#waiting].flatMap(([key, names]) => names.map((name) => this.#line(name, key)));
    this.#waiting.clear();
    return lines.join("");
  }

  #printPlace(name: string, contentKey: string): string {
    const first = this.#firstNames.get(contentKey);
    if (first !== undefined || this.#waitingCount === waitingMax) return this.#line(name, first ?? contentKey);
    const waiting = this.#waiting.get(contentKey);
    if (waiting === undefined) this.#waiting.set(contentKey, [name]);
    else waiting.push(name);
    this.#waitingCount++;
    return "";
  }

  #remember(contentKey: string, name: string): void {
    if (this.#firstNames.size === namesMax && !this.#firstNames.has(contentKey))
      for (const oldest of this.#firstNames.keys()) {
        this.#firstNames.delete(oldest);
        break;
      }
    this.#firstNames.set(contentKey, name);
  }

  #line(name: string, first: string): string {
    const [between, end] = this.#separators;
    return `${name}${between}${first}${end}`;
  }
}
