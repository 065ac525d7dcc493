import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { QueryState } from "../query/query-state.js";
import { viewer } from "../route/viewer.js";
import type { SaveDialogProps } from "./save-dialog.js";

/** Saves the query under a name, for the start page. Only for those who have an account. */
export function SaveSearch({ query }: { readonly query: QueryState }) {
  const dialog = useSignal<ComponentType<SaveDialogProps> | undefined>(undefined);
  const message = useSignal("");
  if (viewer.name === "") return null;
  const open = async (): Promise<void> => {
    try {
      const { SaveDialog } = await import("./save-dialog.js");
      dialog.value = SaveDialog;
    } catch {
      message.value = "The server cannot be reached.";
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
          text={`${query.text}${query.caseSensitive ? " case:yes" : ""} patterntype:${query.patternType}`}
          close={(isSaved) => {
            dialog.value = undefined;
            message.value = isSaved ? "Saved" : "";
          }}
        />
      )}
    </>
  );
}
