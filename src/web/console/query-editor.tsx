import { updateSchema, graphql } from "cm6-graphql";
import type { EditorView } from "@codemirror/view";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Editor } from "../editor/editor.js";
import { Notice } from "../ui/states.js";
import { loadSchema } from "./console-run.js";
import type { ConsoleState } from "./console-state.js";

interface QueryEditorProps {
  readonly text: string;
  readonly token: string;
  readonly change: (part: Partial<ConsoleState>) => void;
  readonly start: () => void;
  /** Ctrl+click on a field: shows its type in the documentation. */
  readonly showType: (name: string) => void;
}

/** The field for the query; it completes and checks with the schema that the server describes. */
export function QueryEditor({ text, token, change, start, showType }: QueryEditorProps) {
  const view = useRef<EditorView>(undefined);
  const failure = useSignal("");
  const round = useSignal(0);
  const show = useRef(showType);
  show.current = showType;
  const extensions = useMemo(
    () => [
      graphql(undefined, { onShowInDocs: (_field, type, parent) => show.current(bareName(type ?? parent ?? "Query")) }),
    ],
    [],
  );
  const wanted = round.value;
  useLayoutEffect(() => {
    const stop = new AbortController();
    loadSchema(token, stop.signal).then(
      (schema) => {
        failure.value = "";
        if (view.current !== undefined) updateSchema(view.current, schema);
      },
      (error: unknown) => {
        if (!stop.signal.aborted) failure.value = error instanceof Error ? error.message : String(error);
      },
    );
    return () => stop.abort();
  }, [token, wanted, failure]);
  return (
    <section class="console-part console-query" aria-label="Query">
      <h2>Query</h2>
      {failure.value !== "" && (
        <Notice kind="warn">
          <span>Nothing is completed or checked, because the schema could not be read. {failure.value}</span>
          <button
            type="button"
            class="button"
            onClick={() => {
              round.value += 1;
            }}
          >
            Try again
          </button>
        </Notice>
      )}
      <Editor
        label="Query"
        text={text}
        extensions={extensions}
        onChange={(query) => change({ query })}
        onRun={start}
        onView={(made) => {
          view.current = made;
        }}
      />
    </section>
  );
}

/** `[Repository!]!` as `Repository`. */
function bareName(type: string): string {
  return type.replace(/[^\w]/g, "");
}
