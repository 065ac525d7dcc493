import { useEffect, useRef } from "preact/hooks";
import type { CompletionState } from "./completion-state.js";
import "./completion-list.css";

export const completionListId = "completions";

export function completionId(index: number): string {
  return `completion-${index}`;
}

interface ListProps {
  readonly state: CompletionState;
  readonly onTake: (index: number) => void;
}

/** The proposals under the search field. The focus stays in the field. */
export function CompletionList({ state, onTake }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  const chosen = state.chosen.value;
  useEffect(() => {
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
