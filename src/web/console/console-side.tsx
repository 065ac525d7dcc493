import { useSignal, type Signal } from "@preact/signals";
import { schemaTypes } from "virtual:schema";
import { clearHistory, type ConsoleState } from "./console-state.js";
import { examples } from "./examples.js";
import { findTypes, TypeView } from "./schema-view.js";

/** What the side shows. */
export type Side = "documentation" | "examples" | "history" | "none";

interface SideProps {
  readonly side: Signal<Side>;
  /** The type in the documentation. */
  readonly shownType: Signal<string>;
  readonly history: Signal<readonly ConsoleState[]>;
  readonly change: (part: Partial<ConsoleState>) => void;
}

const titleLengthMax = 80;
const foundMax = 30;

export function ConsoleSide({ side, shownType, history, change }: SideProps) {
  switch (side.value) {
    case "none":
      return null;
    case "documentation":
      return (
        <section class="console-side" aria-label="Documentation">
          <Documentation shownType={shownType} />
        </section>
      );
    case "examples":
      return (
        <section class="console-side" aria-label="Examples">
          <h2>Examples</h2>
          <ul class="console-list">
            {examples.map(({ title, state }) => (
              <li key={title}>
                <button type="button" onClick={() => change(state)}>
                  {title}
                </button>
              </li>
            ))}
          </ul>
        </section>
      );
    case "history":
      return (
        <section class="console-side" aria-label="History">
          <h2>What ran in this browser</h2>
          {history.value.length === 0 && <p class="soft">Nothing yet.</p>}
          <ul class="console-list">
            {history.value.map((state) => (
              <li key={`${state.query}\0${state.variables}`}>
                <button type="button" onClick={() => change(state)}>
                  <code>{summary(state)}</code>
                </button>
              </li>
            ))}
          </ul>
          {history.value.length > 0 && (
            <button
              type="button"
              class="button"
              onClick={() => {
                history.value = clearHistory();
              }}
            >
              Forget all
            </button>
          )}
        </section>
      );
  }
}

/** A line that tells a query from others. */
function summary({ query, variables }: ConsoleState): string {
  const whole = `${query} ${variables}`.replace(/\s+/g, " ").trim();
  return whole.length > titleLengthMax ? `${whole.slice(0, titleLengthMax)}…` : whole;
}

const known = new Map(schemaTypes.map((type) => [type.name, type]));

function Documentation({ shownType }: { readonly shownType: Signal<string> }) {
  const wanted = useSignal("");
  const type = known.get(shownType.value);
  const found = wanted.value.trim() === "" ? [] : findTypes(schemaTypes, wanted.value).slice(0, foundMax);
  const show = (name: string): void => {
    shownType.value = name;
    wanted.value = "";
  };
  return (
    <>
      <input
        class="field"
        type="search"
        aria-label="Find a type or a field"
        placeholder="Find a type or a field"
        value={wanted.value}
        onInput={({ currentTarget }) => {
          wanted.value = currentTarget.value;
        }}
      />
      <p class="small console-roots">
        <button type="button" class="schema-link" onClick={() => show("Query")}>
          Query
        </button>
        <button type="button" class="schema-link" onClick={() => show("Mutation")}>
          Mutation
        </button>
        <a href="/api/schema">Whole schema</a>
      </p>
      {wanted.value.trim() !== "" && (
        <ul class="console-list" aria-label="Found types">
          {found.length === 0 && <li class="soft">No type has a name, field or value with this text.</li>}
          {found.map(({ name, kind }) => (
            <li key={name}>
              <button type="button" onClick={() => show(name)}>
                <code>{name}</code> <span class="soft small">{kind}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {found.length === 0 && type === undefined && (
        <p class="soft">
          <code>{shownType.value}</code> is a type of GraphQL itself.
        </p>
      )}
      {found.length === 0 && type !== undefined && (
        <TypeView
          type={type}
          id="shown-type"
          link={(name, children) =>
            known.has(name) ? (
              <button type="button" class="schema-link" onClick={() => show(name)}>
                {children}
              </button>
            ) : (
              children
            )
          }
        />
      )}
    </>
  );
}
