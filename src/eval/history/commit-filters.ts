import type { HistoryReader, Person } from "../../history/history-reader.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { HistoryPlan, PersonFilter } from "../../query/plan/history-plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";

/** The conditions on persons and dates of a plan, and on the commits that are searched, bound to one history shard. */
export class CommitFilters {
  readonly #reader: HistoryReader;
  readonly #after: number;
  readonly #before: number;
  readonly #visible: Uint32Array | undefined;
  /** By person: whether it satisfies all filters of the role. Undefined if there are none. */
  readonly #authors: Uint8Array | undefined;
  readonly #committers: Uint8Array | undefined;

  /** `visible` has one bit per commit; undefined for all. */
  constructor(plan: HistoryPlan, reader: HistoryReader, visible: Uint32Array | undefined, stop: StopCheck) {
    this.#reader = reader;
    this.#after = plan.committedAfter ?? -Infinity;
    this.#before = plan.committedBefore ?? Infinity;
    this.#visible = visible;
    this.#authors = testPersons(plan, "author", reader, stop);
    this.#committers = testPersons(plan, "committer", reader, stop);
  }

  pass(commit: number): boolean {
    const { committerDates, authors, committers } = this.#reader;
    if (this.#visible !== undefined && ((this.#visible[commit >>> 5] >>> (commit & 31)) & 1) === 0) return false;
    const date = committerDates[commit];
    if (!(date > this.#after && date < this.#before)) return false;
    return this.#authors?.[authors[commit]] !== 0 && this.#committers?.[committers[commit]] !== 0;
  }
}

function testPersons(
  { persons }: HistoryPlan,
  role: PersonFilter["role"],
  reader: HistoryReader,
  stop: StopCheck,
): Uint8Array | undefined {
  const filters = persons.filter((filter) => filter.role === role);
  if (filters.length === 0) return undefined;
  return Uint8Array.from({ length: reader.personCount }, (_, number) => {
    stop.check();
    const person = reader.person(number);
    return filters.every((filter) => isMatch(filter, person) !== filter.negated) ? 1 : 0;
  });
}

function isMatch({ source, foldCase }: PersonFilter, { name, email }: Person): boolean {
  const regexp = compileRegexp(source, foldCase);
  return regexp.test(name) || regexp.test(email);
}
