import { personTexts, type HistoryReader, type Person } from "../../history/history-reader.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { HistoryPlan, PersonFilter } from "../../query/plan/history-plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";

/** The conditions on persons and dates of a plan, and on the commits that are searched, bound to one history shard. */
export class CommitFilters {
  readonly #reader: HistoryReader;
  readonly #after: number;
  readonly #before: number;
  readonly #visible: Uint32Array | undefined;
  /** Undefined if there are no filters. */
  readonly #authors: PersonTests | undefined;
  readonly #committers: PersonTests | undefined;

  /** `visible` has one bit per commit; undefined for all. */
  constructor(plan: HistoryPlan, reader: HistoryReader, visible: Uint32Array | undefined, stop: StopCheck) {
    this.#reader = reader;
    this.#after = plan.committedAfter ?? -Infinity;
    this.#before = plan.committedBefore ?? Infinity;
    this.#visible = visible;
    this.#authors = makeTests(plan, "author", reader, stop);
    this.#committers = makeTests(plan, "committer", reader, stop);
  }

  pass(commit: number): boolean {
    const { committerDates, authors, committers } = this.#reader;
    if (this.#visible !== undefined && ((this.#visible[commit >>> 5] >>> (commit & 31)) & 1) === 0) return false;
    const date = committerDates[commit];
    if (!(date > this.#after && date < this.#before)) return false;
    if (this.#authors !== undefined && !this.#authors.pass(authors[commit])) return false;
    return this.#committers === undefined || this.#committers.pass(committers[commit]);
  }
}

/** The filters of one role. A person is tested when the first commit needs it: the newest results need few of them. */
class PersonTests {
  readonly #filters: readonly PersonFilter[];
  readonly #reader: HistoryReader;
  readonly #stop: StopCheck;
  /** By person number: 0 is not known yet, 1 satisfies all filters, 2 does not. */
  readonly #known: Uint8Array;

  constructor(filters: readonly PersonFilter[], reader: HistoryReader, stop: StopCheck) {
    this.#filters = filters;
    this.#reader = reader;
    this.#stop = stop;
    this.#known = new Uint8Array(reader.personCount);
  }

  pass(number: number): boolean {
    if (this.#known[number] === 0) {
      this.#stop.check();
      const person = this.#reader.person(number);
      const passes = this.#filters.every((filter) => isMatch(filter, person) !== filter.negated);
      this.#known[number] = passes ? 1 : 2;
    }
    return this.#known[number] === 1;
  }
}

/** Undefined if the plan has no filters of this role. */
function makeTests(
  { persons }: HistoryPlan,
  role: PersonFilter["role"],
  reader: HistoryReader,
  stop: StopCheck,
): PersonTests | undefined {
  const filters = persons.filter((filter) => filter.role === role);
  return filters.length === 0 ? undefined : new PersonTests(filters, reader, stop);
}

function isMatch({ source, foldCase }: PersonFilter, person: Person): boolean {
  const regexp = compileRegexp(source, foldCase);
  return personTexts(person).some((text) => regexp.test(text));
}
