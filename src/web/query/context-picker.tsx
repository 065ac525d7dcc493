import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useGraphql } from "../api/use-graphql.js";
import { viewer } from "../route/viewer.js";

export interface ContextPickerProps {
  /** "" for the global one. */
  readonly chosen: string;
  readonly choose: (spec: string) => void;
  readonly close: () => void;
}

const shownMax = 100;

const contextsQuery = `query PickContext($query: String!) {
  searchContexts(first: ${shownMax}, query: $query) { nodes { spec description viewerHasStarred } }
}`;

/** The contexts that can be searched, starred ones first. */
export function ContextPicker({ chosen, choose, close }: ContextPickerProps) {
  const panel = useRef<HTMLDivElement>(null);
  const wanted = useSignal("");
  const { answer } = useGraphql("PickContext", contextsQuery, { query: wanted.value });
  useLayoutEffect(() => {
    panel.current?.querySelector("input")?.focus();
    const leave = (event: Event): void => {
      if (panel.current?.contains(event.target as Node) === false) close();
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, []);
  const nodes = answer.kind === "ready" ? answer.value.searchContexts.nodes : [];
  const sorted = [...nodes].sort((one, other) => Number(other.viewerHasStarred) - Number(one.viewerHasStarred));
  return (
    <div
      ref={panel}
      class="context-picker panel"
      role="dialog"
      aria-label="Search context"
      onKeyDown={(event) => {
        // Enter in the field must not run the search, whose form this is in.
        if (event.key === "Escape") close();
        if (event.key === "Enter" && event.target instanceof HTMLInputElement) event.preventDefault();
      }}
    >
      <input
        class="field"
        type="search"
        aria-label="Part of its name"
        placeholder="Part of its name"
        onInput={({ currentTarget }) => {
          wanted.value = currentTarget.value;
        }}
      />
      {answer.kind === "failed" && <p class="small">{answer.error instanceof Error ? answer.error.message : ""}</p>}
      <ul>
        {sorted.map(({ spec, description, viewerHasStarred }) => (
          <li key={spec}>
            <button
              type="button"
              aria-pressed={spec === (chosen === "" ? "global" : chosen)}
              onClick={() => {
                choose(spec);
                close();
              }}
            >
              <code>
                {viewerHasStarred && "★ "}
                {spec}
              </code>
              {description !== "" && <span class="soft small">{description}</span>}
            </button>
          </li>
        ))}
      </ul>
      {answer.kind === "ready" && nodes.length === 0 && <p class="soft small">No context has such a name.</p>}
      <p class="small">
        <a href="/contexts">{viewer.name === "" ? "All contexts" : "Make and edit contexts"}</a>
      </p>
    </div>
  );
}
