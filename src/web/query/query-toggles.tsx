import { address, navigate } from "../route/router.js";
import { ContextButton } from "./context-button.js";
import { addressOfQuery, queryOfAddress, typedQuery, type PatternType, type QueryState } from "./query-state.js";

const patternTypes: readonly (readonly [type: PatternType, sign: string, what: string])[] = [
  ["keyword", "ab", "Words: each must be in the file"],
  ["standard", '"a b"', "One text, and regular expressions between slashes"],
  ["regexp", ".*", "Regular expressions"],
  ["literal", "'a'", "One text as it is, without any syntax"],
];

/** The way patterns are read, and whether case counts. A change runs the search again if one is shown. */
export function QueryToggles() {
  const query = typedQuery.value;
  const change = (part: Partial<QueryState>): void => {
    const next = { ...query, ...part };
    typedQuery.value = next;
    if (next.text.trim() !== "" && queryOfAddress(address.peek()).text === next.text) navigate(addressOfQuery(next));
  };
  return (
    <div class="query-toggles">
      <ContextButton
        change={(text) => {
          const isShown = query.text.trim() !== "" && queryOfAddress(address.peek()).text === query.text;
          typedQuery.value = { ...query, text };
          if (isShown && text.trim() !== "") navigate(addressOfQuery({ ...query, text }));
        }}
      />
      <button
        type="button"
        aria-pressed={query.caseSensitive}
        title="Case counts"
        aria-label="Case counts"
        onClick={() => change({ caseSensitive: !query.caseSensitive })}
      >
        Aa
      </button>
      <select
        aria-label="Pattern type"
        title={patternTypes.find(([type]) => type === query.patternType)?.[2]}
        value={query.patternType}
        onChange={(event) => change({ patternType: event.currentTarget.value as PatternType })}
      >
        {patternTypes.map(([type]) => (
          <option key={type} value={type}>
            {type}
          </option>
        ))}
      </select>
    </div>
  );
}
