import { TrawlError } from "../../base/errors.js";
import {
  nothingFoundTitle,
  type Alert,
  type Progress,
  type Skipped,
  type StreamError,
  type StreamMatch,
} from "../../model/stream-events.js";
import type { ResultGroups } from "../../model/result-groups.js";
import { printCaret } from "../../query/syntax/query-error.js";
import { placeOfBytes } from "../../query/syntax/characters.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { parseData, type StreamEvent } from "../connection/sse-decoder.js";
import type { MatchPrinter } from "./plain-printer.js";
import { colour, type Style } from "./terminal-style.js";
import { visible, visibleLines } from "../terminal/output.js";

/** What is excluded unless the query asks for it: results without it are complete. */
const completeWithout: ReadonlySet<string> = new Set(["repository-fork", "excluded-archive", "display"]);

/** A repository that was never fetched is a gap only if the query asks for it: otherwise no search would be complete. */
function isGap({ reason, severity }: Skipped): boolean {
  return !completeWithout.has(reason) && (reason !== "repository-missing" || severity !== "info");
}

export interface ViewOptions {
  readonly query: string;
  readonly print: MatchPrinter;
  /** Formats what `print` has kept back, when all results have been reported. */
  readonly rest: () => string;
  readonly printGroups: (groups: ResultGroups) => string;
  /** Writes to standard error. */
  readonly note: (text: string) => void;
  /** Of standard error. */
  readonly style: Style;
  readonly hasSummary: boolean;
  /** Whether results and summary are on one terminal, where an empty line separates them. */
  readonly hasGap: boolean;
  /** Whether the user has given the limit on matches, as an option or in the query: reaching it then counts as complete. */
  readonly hasOwnLimit: boolean;
  /** Whether only the exit code matters. */
  readonly isQuiet: boolean;
  /** Whether whole lines are printed: a line that is cut then counts as incomplete. */
  readonly hasWholeLines: boolean;
}

/** Interprets the events of one search for the user. */
export class SearchView {
  readonly #options: ViewOptions;
  readonly #repositories = new Set<string>();
  #resultCount = 0;
  #failed = false;
  #cutCount = 0;
  /** Commits whose changes or highlights are shown in part. */
  #partCount = 0;
  #progress: Progress | undefined;
  #alert: Alert | undefined;
  #groups: ResultGroups | undefined;
  done = false;

  constructor(options: ViewOptions) {
    this.#options = options;
  }

  /** The matches that have been reported so far, whether printed yet or not. */
  get matchCount(): number {
    return this.#progress?.matchCount ?? 0;
  }

  get hasAlert(): boolean {
    return this.#alert !== undefined;
  }

  /** Results of any kind, such as files and commits. */
  get resultCount(): number {
    return this.#resultCount;
  }

  /** The text to print for this event. */
  show(event: StreamEvent): string {
    try {
      return this.#show(event);
    } catch (error) {
      if (error instanceof TrawlError) throw error;
      const told = `the event "${event.name}" does not have the form of a search result; is this a Trawl daemon?`;
      throw new TrawlError("bad-request", told, { cause: error });
    }
  }

  #show(event: StreamEvent): string {
    switch (event.name) {
      case "matches": {
        const matches = parseData<StreamMatch[]>(event);
        this.#resultCount += matches.length;
        for (const { repository } of matches) if (repository !== undefined) this.#repositories.add(repository);
        if (this.#options.hasWholeLines) {
          for (const match of matches) this.#cutCount += countCut(match);
          this.#partCount += matches.filter(({ contentTruncated }) => contentTruncated === true).length;
        }
        return matches.map((match) => this.#options.print(match)).join("");
      }
      case "groups":
        return this.#showGroups(parseData<ResultGroups>(event));
      case "progress":
        this.#progress = parseData<Progress>(event);
        return "";
      case "alert":
        this.#alert = parseData<Alert>(event);
        return "";
      case "error":
        this.#failed = true;
        this.note(visible(parseData<StreamError>(event).message));
        return "";
      case "done":
        this.done = true;
        return this.#options.rest();
      default:
        return "";
    }
  }

  #showGroups(groups: ResultGroups): string {
    this.#resultCount += groups.groups.length;
    this.#groups = groups;
    return this.#options.printGroups(groups);
  }

  /**
   * Reports what was excluded and why; returns the exit code. An alert without any progress means that the query was
   * not executed.
   */
  finish(): number {
    const progress = this.#progress;
    const skipped = (progress?.skipped ?? []).filter(
      ({ reason }) => !this.#options.hasOwnLimit || reason !== "shard-match-limit",
    );
    if (this.#options.hasGap && this.#options.hasSummary && this.#resultCount > 0) this.#options.note("\n");
    for (const one of skipped) this.note(visibleLines(skippedText(one)));
    if (this.#cutCount > 0)
      this.note("lines that are too long for one event are cut around their matches; `-o` prints the matches alone");
    if (this.#partCount > 0)
      this.note(
        `${printCount(this.#partCount, "commit is", "commits are")} shown in part; \`git show\` prints them whole`,
      );
    if (this.#alert && !(this.#options.isQuiet && this.#alert.title === nothingFoundTitle))
      this.note(alertText(this.#alert, this.#options));
    const { otherGroups = 0, otherMatches = 0 } = this.#groups ?? {};
    if (otherMatches > 0)
      this.note(
        `${printCount(otherMatches, "match is", "matches are")} in ${otherGroups > 0 ? printCount(otherGroups, "other group", "other groups") : "no group"}`,
      );
    const lacksGroups = this.#groups?.complete === false && !this.#options.hasOwnLimit;
    if (lacksGroups) this.note("these are not all matches or groups");
    const receipt = progress?.receipt;
    for (const told of [receipt, progress?.explain])
      if (told !== undefined) this.#options.note(`${JSON.stringify(told)}\n`);
    if (progress && this.#options.hasSummary) this.#options.note(`${this.#summary(progress)}\n`);
    if (this.#failed && receipt?.complete === false) return exitCodes.excluded;
    if (this.#failed || (this.#alert && !progress)) return exitCodes.failed;
    if (this.#cutCount > 0 || lacksGroups || skipped.some(isGap)) return exitCodes.incomplete;
    return this.#resultCount > 0 ? exitCodes.matches : exitCodes.noMatches;
  }

  #summary({ matchCount, durationMs }: Progress): string {
    const found = printCount(matchCount, "match", "matches");
    const where =
      this.#groups !== undefined
        ? ` in ${printCount(this.#groups.groups.length + this.#groups.otherGroups, "group", "groups")}`
        : this.#resultCount === 0
          ? ""
          : ` in ${printCount(this.#resultCount, "result", "results")} from ` +
            printCount(this.#repositories.size, "repository", "repositories");
    return this.#options.style.paint(colour.aside, `${found}${where}, ${durationMs} ms`);
  }

  /** Writes a message to standard error. */
  note(text: string): void {
    this.#options.note(`${this.#options.style.paint(colour.problem, "trawl:")} ${text}\n`);
  }
}

/** Elements of a match whose text is not that of the whole lines. */
function countCut({ lineMatches = [], chunkMatches = [] }: StreamMatch): number {
  let count = 0;
  for (const { lineTruncated } of lineMatches) if (lineTruncated === true) count++;
  for (const { contentTruncated } of chunkMatches) if (contentTruncated === true) count++;
  return count;
}

function printCount(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function skippedText({ title, message, suggested }: Skipped): string {
  const hint = suggested ? ` (${suggested.title}: ${suggested.queryExpression})` : "";
  return `${title}: ${message}${hint}`;
}

/** An invalid query is shown with a caret below the erroneous part. */
function alertText({ title, description, proposedQueries, place }: Alert, { query, style }: ViewOptions): string {
  const proposals = (proposedQueries ?? []).map((proposed) => `\n  try: ${visible(proposed.query)}`);
  return `${visibleLines(`${title}${description ? `: ${description}` : ""}`)}${caretText(place, query, style)}${proposals.join("")}`;
}

function caretText(place: Alert["place"], query: string, style: Style): string {
  if (place === undefined) return "";
  const [line = "", carets = ""] = printCaret(query, placeOfBytes(query, place.from, place.to)).split("\n");
  const at = carets.indexOf("^");
  return `\n\n${visible(line)}\n${carets.slice(0, at)}${style.paint(colour.problem, carets.slice(at))}`;
}
