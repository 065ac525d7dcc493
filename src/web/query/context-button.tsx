import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { scan } from "../../query/syntax/scan.js";
import { loadPart } from "../route/load-part.js";
import { typedQuery, type QueryState } from "./query-state.js";
import type { ContextPickerProps } from "./context-picker.js";

const field = "context:";

/** The part of the code that the query searches, and a list of others, which is loaded when it is first opened. */
export function ContextButton({ change }: { readonly change: (text: string) => void }) {
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
