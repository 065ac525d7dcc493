import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { wholeText, type QueryState } from "../query/query-state.js";
import { loadPart } from "../route/load-part.js";
import { viewer } from "../route/viewer.js";
import type { SaveDialogProps } from "./save-dialog.js";

/** Saves the query under a name, for the start page. Only for those who have an account. */
export function SaveSearch({ query }: { readonly query: QueryState }) {
  const dialog = useSignal<ComponentType<SaveDialogProps> | undefined>(undefined);
  const message = useSignal("");
  if (viewer.name === "") return null;
  const open = async (): Promise<void> => {
    try {
      const { SaveDialog } = await loadPart(() => import("./save-dialog.js"));
      dialog.value = SaveDialog;
    } catch (error) {
      message.value = error instanceof Error ? error.message : String(error);
    }
  };
  const Dialog = dialog.value;
  return (
    <>
      <button type="button" class="button quiet" onClick={() => void open()}>
        Save
      </button>
      <span class="soft small" role="status">
        {message.value}
      </span>
      {Dialog !== undefined && (
        <Dialog
          text={wholeText(query)}
          close={(isSaved) => {
            dialog.value = undefined;
            message.value = isSaved ? "Saved" : "";
          }}
        />
      )}
    </>
  );
}
