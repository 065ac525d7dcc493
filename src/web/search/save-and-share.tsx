import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { ErrorText, Notice } from "../ui/states.js";
import { type QueryState, wholeText } from "../query/query-state.js";
import { copyRefusal, copyText, shellWord } from "../ui/copy.js";
import { callAfter } from "../ui/delay.js";
import { queryParameters } from "./search-run.js";

export interface SaveDialogProps {
  /** The query, with everything that decides what it finds. */
  readonly text: string;
  /** Called when the dialog is closed. */
  readonly close: (isSaved: boolean) => void;
}

const descriptionLengthMax = 200;

const ownerQuery = "query SaveSearchOwner { currentUser { id } }";
const saveMutation = `mutation SaveSearch($owner: ID!, $description: String!, $query: String!) {
  createSavedSearch(input: { owner: $owner, description: $description, query: $query, draft: false, visibility: SECRET }) { id }
}`;

/** Asks for a name, and saves the query under it. */
export function SaveDialog({ text, close }: SaveDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const error = useSignal<unknown>(undefined);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const save = async (description: string): Promise<void> => {
    try {
      const { currentUser } = await graphql("SaveSearchOwner", ownerQuery, {});
      await graphql("SaveSearch", saveMutation, { owner: currentUser?.id ?? "", description, query: text });
      close(true);
    } catch (reason) {
      error.value = reason;
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="save-title" onClose={() => close(false)}>
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
        {error.value !== undefined && (
          <Notice kind="bad">
            <span>
              <ErrorText error={error.value} />
            </span>
          </Notice>
        )}
        <div>
          <button type="submit" class="button main">
            Save
          </button>
          <button type="button" class="button" onClick={() => close(false)}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

const confirmationMs = 1500;

export interface ShareMenuProps {
  readonly query: QueryState;
}

/** Copies the search in the form of another tool. */
export function ShareMenu({ query }: ShareMenuProps) {
  const first = useRef<HTMLButtonElement>(null);
  // In place of the button that opened it, which had the focus.
  useLayoutEffect(() => first.current?.focus(), []);
  const said = useSignal("");
  const copy = async (what: string, text: string): Promise<void> => {
    said.value = (await copyText(text)) ? `Copied ${what}` : copyRefusal();
    callAfter(confirmationMs, () => {
      said.value = "";
    });
  };
  const forms = [
    ["Link", () => window.location.href],
    ["curl", () => curlCommand(query)],
    ["src", () => srcCommand(query)],
  ] as const;
  return (
    <span class="share">
      <span class="soft small" role="status">
        {said.value === "" ? "Copy as" : said.value}
      </span>
      {forms.map(([name, text], at) => (
        <button
          key={name}
          ref={at === 0 ? first : null}
          type="button"
          class="button quiet"
          onClick={() => copy(name, text())}
        >
          {name}
        </button>
      ))}
    </span>
  );
}

function curlCommand(query: QueryState): string {
  const url = `${window.location.origin}/.api/search/stream?${queryParameters(query)}`;
  return `curl --no-buffer -H "Authorization: token $SRC_ACCESS_TOKEN" ${shellWord(url)}`;
}

function srcCommand(query: QueryState): string {
  return `SRC_ENDPOINT=${shellWord(window.location.origin)} src search -stream ${shellWord(wholeText(query))}`;
}
