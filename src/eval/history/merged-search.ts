import { isUtf8 } from "node:buffer";
import type { HistoryReader } from "../../history/history-reader.js";
import type { HistoryPlanWithOptions, HistoryPosition } from "../../protocol/history-messages.js";
import type { CommitResult, PersonAndTime } from "./commit-match.js";
import { compareCommits, HistorySearch, type HistoryTarget } from "./history-search.js";
import type { HighlightRange, HistoryText } from "./diff-text.js";
import type { HistoryKind } from "../../query/plan/plan.js";

const newlineByte = 10;

/** A result, and the number of its matches by the result options of the plans that found it. */
export interface FoundResult {
  readonly result: CommitResult;
  readonly matches: readonly { readonly optionsIndex: number; readonly count: number }[];
  readonly matchCount: number;
  /** The position after this result. */
  readonly next: HistoryPosition;
}

/** One plan, and the commit that it has found; -1 at its end. */
interface RunningPlan extends HistoryPlanWithOptions {
  readonly search: HistorySearch;
  commit: number;
}

/** Several plans on one history shard: a commit, or a diff, that several of them find is one result. */
export class MergedHistorySearch {
  readonly #reader: HistoryReader;
  readonly #running: readonly RunningPlan[];
  /** By number: most results have one of a few authors. */
  readonly #persons = new Map<number, Pick<PersonAndTime, "name" | "email">>();
  /** Plans that have found the next results, which are of one commit; those of one kind are adjacent. */
  #found: RunningPlan[] = [];
  /** The last result. */
  #last: HistoryPosition;

  constructor(
    plans: readonly HistoryPlanWithOptions[],
    target: HistoryTarget,
    from: HistoryPosition = { at: 0, knownCount: 0 },
  ) {
    this.#reader = target.reader;
    this.#running = plans.map((one) => {
      const search = new HistorySearch(one.plan, { ...target, from: from.at });
      return { ...one, search, commit: search.next() };
    });
    this.#last = { at: from.at, knownCount: 0 };
    while (this.#last.knownCount < from.knownCount) {
      const plans = this.#nextPlans();
      if (plans.length === 0) break;
      this.#advance(plans);
    }
  }

  /** The next result; undefined at the end. Commits come before their diffs. */
  next(): FoundResult | undefined {
    const plans = this.#nextPlans();
    if (plans.length === 0) return undefined;
    const found = this.#render(plans);
    this.#advance(plans);
    return { ...found, next: this.#last };
  }

  /** After a result of these plans. */
  #advance(plans: readonly RunningPlan[]): void {
    const at = plans[0].search.position;
    this.#last = { at, knownCount: at === this.#last.at ? this.#last.knownCount + 1 : 1 };
    for (const plan of plans) plan.commit = plan.search.next();
  }

  /** The plans that have found the next result. */
  #nextPlans(): RunningPlan[] {
    if (this.#found.length === 0) {
      const waiting = this.#running.filter(({ commit }) => commit >= 0);
      const first = waiting.reduce<RunningPlan | undefined>(
        (best, one) => (best === undefined || this.#compare(one, best) < 0 ? one : best),
        undefined,
      );
      this.#found = waiting.filter(({ commit }) => commit === first?.commit);
    }
    const kind = this.#found.some(({ plan }) => plan.kind === "commit") ? "commit" : "diff";
    const plans = this.#found.filter(({ plan }) => plan.kind === kind);
    this.#found = this.#found.filter(({ plan }) => plan.kind !== kind);
    return plans;
  }

  #compare(a: RunningPlan, b: RunningPlan): number {
    return compareCommits(this.#reader, a.commit, this.#reader, b.commit);
  }

  #render(plans: readonly RunningPlan[]): Omit<FoundResult, "next"> {
    const texts = plans.map(({ search }) => withoutLastNewline(search.render()));
    const [{ plan, commit }] = plans;
    const merged: HistoryText = texts.length === 1 ? texts[0] : mergeTexts(plan.kind, texts);
    const { text, ranges, isCut } = merged;
    const counts = new Map<number, number>();
    plans.forEach(({ optionsIndex }, i) => {
      counts.set(optionsIndex, Math.max(counts.get(optionsIndex) ?? 1, texts[i].matchCount));
    });
    const matchCount = Math.max(1, merged.matchCount);
    if (counts.size === 1) counts.set(plans[0].optionsIndex, matchCount);
    return {
      result: { kind: plan.kind, ...this.#describe(commit), diff: text, ranges, isCut },
      matchCount,
      matches: [...counts].map(([optionsIndex, count]) => ({ optionsIndex, count })),
    };
  }

  #describe(commit: number): Pick<CommitResult, "oid" | "author" | "committer" | "message"> {
    const reader = this.#reader;
    return {
      oid: reader.oid(commit),
      author: this.#readPerson(reader.authors[commit], reader.authorDates[commit]),
      committer: this.#readPerson(reader.committers[commit], reader.committerDates[commit]),
      message: readMessage(reader, commit),
    };
  }

  #readPerson(number: number, unixSeconds: number): PersonAndTime {
    let known = this.#persons.get(number);
    if (known === undefined) {
      const { name, email } = this.#reader.person(number);
      this.#persons.set(number, (known = { name: name.toString("utf8"), email: email.toString("utf8") }));
    }
    return { name: known.name, email: known.email, unixSeconds };
  }
}

function withoutLastNewline(text: HistoryText): HistoryText {
  return text.text.endsWith("\n") ? { ...text, text: text.text.slice(0, -1) } : text;
}

/** Without newlines at its end, which a message has that was cut. */
function readMessage(reader: HistoryReader, commit: number): Uint8Array {
  const message = reader.message(commit);
  let end = message.length;
  while (end > 0 && message[end - 1] === newlineByte) end--;
  const text = end === message.length ? message : message.subarray(0, end);
  return isUtf8(text) ? text : Buffer.from(text.toString("utf8"));
}

/**
 * The text of a result that several basic queries have found. The message is the same for all of them. Diffs may show
 * different parts of the same commit: parts that are equal are shown once, the others one after another.
 */
function mergeTexts(kind: HistoryKind, texts: readonly HistoryText[]): HistoryText {
  const isCut = texts.some((one) => one.isCut);
  if (kind === "commit" || texts.every(({ text }) => text === texts[0].text)) {
    const ranges = mergeRanges(texts.flatMap((one) => one.ranges));
    return { text: texts[0].text, ranges, matchCount: ranges.length, isCut };
  }
  const files = new Map<string, FilePart>();
  for (const text of texts) {
    for (const part of splitFiles(text)) {
      const key = part.lines.join("\n");
      const known = files.get(key);
      files.set(key, known === undefined ? part : { ...part, ranges: mergeRanges([...known.ranges, ...part.ranges]) });
    }
  }
  const ordered = [...files.values()].sort((a, b) => (a.lines[0] < b.lines[0] ? -1 : a.lines[0] > b.lines[0] ? 1 : 0));
  const lines: string[] = [];
  const ranges: HighlightRange[] = [];
  for (const part of ordered) {
    ranges.push(...part.ranges.map(([line, from, length]) => [line + lines.length, from, length] as const));
    lines.push(...part.lines);
  }
  return { text: lines.join("\n"), ranges, matchCount: ranges.length, isCut };
}

/** One file of a diff; lines of ranges are counted from its first one. */
interface FilePart {
  readonly lines: readonly string[];
  readonly ranges: readonly HighlightRange[];
}

const hunkHeader = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

function splitFiles({ text, ranges }: HistoryText): FilePart[] {
  const lines = text.split("\n");
  const starts = findFileLines(lines);
  return starts.map((from, i) => {
    const to = starts[i + 1] ?? lines.length;
    return {
      lines: lines.slice(from, to),
      ranges: ranges.flatMap(([line, character, length]) =>
        line >= from && line < to ? [[line - from, character, length] as const] : [],
      ),
    };
  });
}

/** The lines that name a file: those outside hunks, whose lines are counted because a path may begin with a sign. */
function findFileLines(lines: readonly string[]): number[] {
  const found: number[] = [];
  let oldLeft = 0;
  let newLeft = 0;
  for (const [i, line] of lines.entries()) {
    if (oldLeft + newLeft > 0) {
      if (!line.startsWith("+")) oldLeft--;
      if (!line.startsWith("-")) newLeft--;
      continue;
    }
    const header = hunkHeader.exec(line);
    if (header === null) found.push(i);
    else [oldLeft, newLeft] = [Number(header[1] ?? 1), Number(header[2] ?? 1)];
  }
  return found;
}

/** Sorted, without duplicates; of two that overlap the earlier one, then the longer one, is kept. */
function mergeRanges(ranges: readonly HighlightRange[]): HighlightRange[] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0] || a[1] - b[1] || b[2] - a[2]);
  const merged: HighlightRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || last[0] !== range[0] || last[1] + last[2] <= range[1]) merged.push(range);
  }
  return merged;
}
