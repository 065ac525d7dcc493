import { useSignal } from "@preact/signals";
import type { Filter } from "../../model/stream-events.js";
import { addressOfQuery, type QueryState } from "../query/query-state.js";
import { hasFilter, toggleFilter } from "../query/query-edits.js";
import type { SearchRun } from "./search-run.js";
import { formatCount } from "../ui/numbers.js";

const kinds: readonly (readonly [kind: string, title: string])[] = [
  ["type", "Kinds of results"],
  ["utility", "More"],
  ["repo", "Repositories"],
  ["lang", "Languages"],
  ["symbol type", "Symbols"],
  ["file", "Files"],
  ["author", "Authors"],
  ["commit date", "Dates"],
];

const shownMax = 6;

/** What the results have in common; a click narrows the search to it, or takes that back. */
export function FilterPanel({ run }: { readonly run: SearchRun }) {
  const filters = run.filters.value;
  const isOpen = useSignal(false);
  const count = filters.filter(({ value }) => hasFilter(run.query.text, value)).length;
  return (
    <aside class={isOpen.value ? "filters open" : "filters"} aria-label="Filters">
      <button
        type="button"
        class="button filters-button"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        Filters{count > 0 ? ` (${count})` : ""}
      </button>
      <div class="filter-groups">
        {kinds.map(([kind, title]) => (
          <FilterGroup
            key={kind}
            title={title}
            filters={filters.filter((filter) => filter.kind === kind)}
            query={run.query}
          />
        ))}
      </div>
    </aside>
  );
}

interface GroupProps {
  readonly title: string;
  readonly filters: readonly Filter[];
  readonly query: QueryState;
}

function FilterGroup({ title, filters, query }: GroupProps) {
  const isWhole = useSignal(false);
  if (filters.length === 0) return null;
  const shown = isWhole.value ? filters.slice(0, wholeMax) : filters.slice(0, shownMax);
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {shown.map((filter) => (
          <FilterRow key={filter.value} filter={filter} query={query} />
        ))}
      </ul>
      {filters.length > shownMax && (
        <button
          type="button"
          class="more"
          onClick={() => {
            isWhole.value = !isWhole.value;
          }}
        >
          {isWhole.value ? "Show fewer" : `${filters.length - shownMax} more`}
        </button>
      )}
    </section>
  );
}

/** The rest is found by typing. */
const wholeMax = 200;

function FilterRow({ filter, query }: { readonly filter: Filter; readonly query: QueryState }) {
  const isOn = hasFilter(query.text, filter.value);
  const text = toggleFilter(query.text, filter.value);
  const count = filter.count > 0 ? `${formatCount(filter.count)}${filter.exhaustive ? "" : "+"}` : "";
  return (
    <li>
      <a href={addressOfQuery({ ...query, text })} aria-current={isOn ? "true" : undefined} title={filter.value}>
        <span class="filter-label">{filter.label}</span>
        <span class="filter-count">{isOn ? "✕" : count}</span>
      </a>
    </li>
  );
}
