import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import type { QueryState } from "../query/query-state.js";
import { viewer } from "../route/viewer.js";

const descriptionLengthMax = 200;

const ownerQuery = "query SaveSearchOwner { currentUser { id } }";
const saveMutation = `mutation SaveSearch($owner: ID!, $description: String!, $query: String!) {
  createSavedSearch(input: { owner: $owner, description: $description, query: $query, draft: false, visibility: SECRET }) { id }
}`;

/** Saves the query under a name, for the start page. Only for those who have an account. */
export function SaveSearch({ query }: { readonly query: QueryState }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const message = useSignal("");
  if (viewer.name === "") return null;
  const text = `${query.text}${query.caseSensitive ? " case:yes" : ""} patterntype:${query.patternType}`;
  const save = async (description: string): Promise<void> => {
    try {
      const { currentUser } = await graphql<{ currentUser: { id: string } | null }>("SaveSearchOwner", ownerQuery);
      await graphql("SaveSearch", saveMutation, { owner: currentUser?.id, description, query: text });
      dialog.current?.close();
      message.value = "Saved";
    } catch (error) {
      message.value = error instanceof Error ? error.message : String(error);
    }
  };
  return (
    <>
      <button type="button" class="button quiet" onClick={() => dialog.current?.showModal()}>
        Save
      </button>
      <span class="soft small" role="status">
        {message.value}
      </span>
      <dialog ref={dialog} aria-labelledby="save-title">
        <form
          class="save-form"
          onSubmit={(event) => {
            event.preventDefault();
            void save(String(new FormData(event.currentTarget).get("description")));
          }}
        >
          <h2 id="save-title">Save this search</h2>
          <code>{text}</code>
          <label>
            Name
            <input class="field" name="description" required maxLength={descriptionLengthMax} />
          </label>
          <div>
            <button type="submit" class="button main">
              Save
            </button>
            <button type="button" class="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
