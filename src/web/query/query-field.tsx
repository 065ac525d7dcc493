import "./query-field.css";
import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { loadPart } from "../route/load-part.js";
import { address, navigate, page } from "../route/router.js";
import { callAfter } from "../ui/delay.js";
import { addKeys } from "../ui/keys.js";
import { CompletionState } from "./completion/completion-state.js";
import { splitQuery } from "./query-highlight.js";
import type { QueryProblem } from "./query-problem.js";
import {
  addressOfQuery,
  emptyQuery,
  type PatternType,
  queryOfAddress,
  type QueryState,
  takeKeptQuery,
  typedQuery,
} from "./query-state.js";
import type { ComponentType } from "preact";
import { scan } from "../../query/syntax/scan.js";
import type { ContextPickerProps } from "./context-picker.js";

/** Longer than the daemon accepts; a paste of a whole file stays harmless. */
const textLengthMax = 50_000;

/** An error is shown when nothing was typed for this long: every query is wrong while it is typed. */
const problemPauseMs = 600;

/** The search field of every page. Enter runs the search; the address is what was run. */
export function QueryField() {
  const field = useRef<HTMLTextAreaElement>(null);
  const completion = useMemo(() => new CompletionState(), []);
  useAddress();
  const query = typedQuery.value;
  const problem = useProblem(query);
  useLayoutEffect(
    () => addKeys([{ key: "/", what: "Go to the search field", act: () => field.current?.select() }]),
    [],
  );
  const run = (): void => {
    completion.close();
    if (query.text.trim() !== "") navigate(addressOfQuery(query));
  };
  const take = (index: number): void => {
    const isSearch = completion.list.peek()[index]?.search !== undefined;
    const taken = completion.accept(query, index);
    if (taken === undefined || field.current === null) return;
    const { text, patternType, caseSensitive } = taken.query;
    typedQuery.value = { text, patternType, caseSensitive };
    field.current.value = text;
    field.current.setSelectionRange(taken.cursor, taken.cursor);
    field.current.focus();
    if (isSearch) completion.close();
    else completion.update(text, taken.cursor, patternType);
  };
  return (
    <search>
      <form
        class="query-field"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <div class="query-text">
          <Highlighted query={query} problem={problem.value} />
          <QueryInput field={field} query={query} completion={completion} problem={problem} run={run} take={take} />
        </div>
        <QueryToggles />
        <button type="submit" class="button main" aria-label="Search" title="Search (Enter)">
          <span aria-hidden="true">→</span>
        </button>
        <div class="query-drop">
          <p id="query-problem" class="query-problem small" role="status" hidden={problem.value === undefined}>
            {problem.value?.message}
          </p>
          <CompletionList state={completion} onTake={take} />
          <CompletionHelp state={completion} />
        </div>
      </form>
    </search>
  );
}

interface InputProps {
  readonly field: { readonly current: HTMLTextAreaElement | null };
  readonly query: QueryState;
  readonly completion: CompletionState;
  readonly problem: Signal<QueryProblem | undefined>;
  readonly run: () => void;
  readonly take: (index: number) => void;
}

function QueryInput({ field, query, completion, problem, run, take }: InputProps) {
  const chosen = completion.chosen.value;
  const isOpen = completion.list.value.length > 0;
  return (
    <textarea
      ref={field}
      aria-label="Search query"
      aria-autocomplete="list"
      aria-controls={isOpen ? completionListId : undefined}
      aria-activedescendant={chosen >= 0 ? completionId(chosen) : undefined}
      aria-invalid={problem.value !== undefined}
      aria-describedby="query-problem completion-help"
      placeholder="Search code"
      rows={1}
      maxLength={textLengthMax}
      spellcheck={false}
      autocomplete="off"
      autocapitalize="off"
      value={query.text}
      onInput={({ currentTarget: { value, selectionStart } }) => {
        typedQuery.value = { ...query, text: value };
        completion.update(value, selectionStart, query.patternType);
      }}
      onBlur={() => completion.close()}
      onClick={() => {
        if (query.text === "") completion.openHistory("");
      }}
      onKeyDown={(event) => handleKey(event, completion, run, take)}
    />
  );
}

function handleKey(
  event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement },
  completion: CompletionState,
  run: () => void,
  take: (index: number) => void,
): void {
  const isOpen = completion.list.peek().length > 0;
  const chosen = completion.chosen.peek();
  if (event.isComposing) return;
  if (event.key === "Enter") {
    event.preventDefault();
    if (chosen >= 0) take(chosen);
    else run();
  } else if (event.key === "Tab" && isOpen && chosen >= 0 && !event.shiftKey) {
    event.preventDefault();
    take(chosen);
  } else if (isOpen && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    completion.step(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    // In a text of several lines they move the cursor.
    if (event.currentTarget.value.includes("\n")) return;
    completion.openHistory(event.currentTarget.value);
    if (completion.list.peek().length === 0) return;
    event.preventDefault();
    completion.step(1);
  } else if (event.key === "Escape") {
    if (isOpen || completion.help.peek().length > 0) completion.close();
    else event.currentTarget.blur();
  }
}

/**
 * The field shows what the address of the search page names, and nothing at first on other pages. It does so while it is
 * rendered: an effect runs later, and would replace what someone has typed by then.
 */
function useAddress(): void {
  const url = address.value;
  const isSearch = page.value?.name === "search";
  useMemo(() => {
    typedQuery.value = takeKeptQuery() ?? (isSearch ? queryOfAddress(url) : emptyQuery);
  }, [url, isSearch]);
}

/** What is wrong with the query, once nothing was typed for a while. */
function useProblem({ text, patternType }: QueryState): Signal<QueryProblem | undefined> {
  const problem = useSignal<QueryProblem | undefined>(undefined);
  useLayoutEffect(() => {
    problem.value = undefined;
    if (text === "") return undefined;
    let isCurrent = true;
    const pending = callAfter(problemPauseMs, () => {
      // The parser is loaded when it is first needed.
      loadPart(() => import("./query-problem.js")).then(
        ({ findProblem }) => {
          if (isCurrent) problem.value = findProblem(text, patternType);
        },
        () => undefined,
      );
    });
    return () => {
      isCurrent = false;
      pending.cancel();
    };
  }, [text, patternType, problem]);
  return problem;
}

interface HighlightedProps {
  readonly query: QueryState;
  readonly problem: QueryProblem | undefined;
}

/** The same text behind the field, in colours. */
function Highlighted({ query: { text, patternType }, problem }: HighlightedProps) {
  const isWrong = (from: number, to: number): boolean =>
    problem !== undefined && from < Math.max(problem.to, problem.from + 1) && to > problem.from;
  return (
    <div class="query-colours" aria-hidden="true">
      {splitQuery(text, patternType).map(({ kind, from, to }) => (
        <span key={from} class={`token-${kind}${isWrong(from, to) ? " token-wrong" : ""}`}>
          {text.slice(from, to)}
        </span>
      ))}
      {"\u200b"}
    </div>
  );
}

const patternTypes: readonly (readonly [type: PatternType, sign: string, what: string])[] = [
  ["keyword", "ab", "Words: each must be in the file"],
  ["standard", '"a b"', "One text, and regular expressions between slashes"],
  ["regexp", ".*", "Regular expressions"],
  ["literal", "'a'", "One text as it is, without any syntax"],
];

/** The way patterns are read, and whether case counts. A change runs the search again if one is shown. */
function QueryToggles() {
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

const field = "context:";

/** The part of the code that the query searches, and a list of others, which is loaded when it is first opened. */
function ContextButton({ change }: { readonly change: (text: string) => void }) {
  const picker = useSignal<ComponentType<ContextPickerProps> | undefined>(undefined);
  const isOpen = useSignal(false);
  const { spec, rest } = splitContext(typedQuery.value);
  const Picker = picker.value;
  const open = (): void => {
    isOpen.value = !isOpen.value;
    if (picker.peek() !== undefined) return;
    loadPart(() => import("./context-picker.js")).then(
      ({ ContextPicker }) => {
        picker.value = ContextPicker;
      },
      () => {
        isOpen.value = false;
      },
    );
  };
  return (
    <>
      <button type="button" class="context-choice" aria-expanded={isOpen.value} title="Search context" onClick={open}>
        <span class="unseen">Search context: </span>
        {spec === "" ? "global" : spec}
      </button>
      {isOpen.value && Picker !== undefined && (
        <Picker
          chosen={spec}
          close={() => {
            isOpen.value = false;
          }}
          choose={(next) => change(next === "global" ? rest : `${field}${next} ${rest}`)}
        />
      )}
    </>
  );
}

/** The context that the query names, "" for none, and the query without it. */
function splitContext({ text, patternType }: QueryState): { readonly spec: string; readonly rest: string } {
  for (const token of text.includes(field) ? scan(text, patternType, false) : []) {
    if (token.kind !== "field" || token.name !== "context") continue;
    const { from, to } = token.span;
    const spec = text.slice(text.indexOf(":", from) + 1, to);
    return { spec, rest: `${text.slice(0, from)}${text.slice(to).trimStart()}` };
  }
  return { spec: "", rest: text };
}

const completionListId = "completions";

function completionId(index: number): string {
  return `completion-${index}`;
}

interface ListProps {
  readonly state: CompletionState;
  readonly onTake: (index: number) => void;
}

/** The proposals under the search field. The focus stays in the field. */
function CompletionList({ state, onTake }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  const chosen = state.chosen.value;
  useLayoutEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  if (state.list.value.length === 0) return null;
  return (
    <div ref={list} id={completionListId} class="completions" role="listbox" aria-label="Completions">
      {state.list.value.map(({ label, note }, index) => (
        <div
          key={`${label} ${note}`}
          id={completionId(index)}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          onPointerDown={(event) => {
            event.preventDefault();
            onTake(index);
          }}
        >
          <code>{label}</code>
          <span>{note}</span>
        </div>
      ))}
    </div>
  );
}

/** What the filter at the cursor does, below the proposals. */
function CompletionHelp({ state }: { readonly state: CompletionState }) {
  const [own, ...predicates] = state.help.value;
  return (
    <div id="completion-help" class="completion-help small" role="status" hidden={own === undefined}>
      {own !== undefined && (
        <>
          <p>
            <strong>{own.names.join(" ")}</strong> {own.finds}. <span class="soft">Takes: {own.takes}.</span>
          </p>
          {own.examples.length > 0 && (
            <p class="soft">
              For example{" "}
              {own.examples.map((example, at) => (
                <span key={example}>
                  {at > 0 && ", "}
                  <code>{example}</code>
                </span>
              ))}
            </p>
          )}
          {predicates.length > 0 && (
            <p class="soft">
              Also{" "}
              {predicates.map(({ names: [name = ""] }, at) => (
                <span key={name}>
                  {at > 0 && ", "}
                  <code>{name}</code>
                </span>
              ))}
            </p>
          )}
        </>
      )}
    </div>
  );
}
