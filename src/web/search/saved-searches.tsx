import { useSignal } from "@preact/signals";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { addressOfQuery, queryOfText } from "../query/query-state.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Form, TextField } from "../ui/form.js";
import { Found } from "../ui/states.js";
import { SearchNotification } from "./search-notification.js";

interface SavedSearch {
  readonly id: string;
  readonly description: string;
  readonly query: string;
  readonly viewerCanAdminister: boolean;
  readonly notify: boolean;
  readonly owner: { readonly namespaceName: string };
}

const shownMax = 200;

const savedQuery = `query SavedSearches {
  savedSearches(viewerIsAffiliated: true, first: ${shownMax}) {
    nodes { id description query viewerCanAdminister notify owner { namespaceName } }
  }
}`;
const updateMutation = `mutation UpdateSavedSearch($id: ID!, $description: String!, $query: String!) {
  updateSavedSearch(id: $id, input: { description: $description, query: $query }) { id }
}`;
const deleteMutation = "mutation DeleteSavedSearch($id: ID!) { deleteSavedSearch(id: $id) { alwaysNil } }";

/** The saved searches of the viewer, to be changed and deleted. */
export function SavedSearches() {
  const used = useGraphql("SavedSearches", savedQuery, {});
  return (
    <Found used={used} what="your saved searches">
      {(value, retry) => {
        const { nodes } = value.savedSearches;
        if (nodes.length === 0) return <p>None are left. “Save” beside the results of a search keeps it here.</p>;
        return (
          <ul class="rows panel" aria-label="Saved searches">
            {nodes.map((saved) => (
              <SavedRow key={saved.id} saved={saved} changed={retry} />
            ))}
          </ul>
        );
      }}
    </Found>
  );
}

function SavedRow({ saved, changed }: { readonly saved: SavedSearch; readonly changed: () => void }) {
  const { id, description, query, viewerCanAdminister, notify, owner } = saved;
  const action = useAction();
  const isOpen = useSignal(false);
  const showsNotification = useSignal(false);
  return (
    <li>
      <div class="row-main">
        <span class="row-title">
          <a href={addressOfQuery(queryOfText(query))}>{description}</a>
          <span class="badge">{owner.namespaceName}</span>
          {notify && <span class="badge">notifies</span>}
        </span>
        <code>{query}</code>
        {isOpen.value && (
          <Form
            submitLabel="Save"
            submit={async (fields) => {
              await graphql("UpdateSavedSearch", updateMutation, {
                id,
                description: fields.get("description"),
                query: fields.get("query"),
              });
              isOpen.value = false;
              changed();
            }}
          >
            <TextField label="Name" name="description" value={description} />
            <TextField label="Query" name="query" value={query} />
          </Form>
        )}
        {showsNotification.value && <SearchNotification id={id} description={description} changed={changed} />}
        <ActionError action={action} />
      </div>
      {viewerCanAdminister && (
        <div class="row-actions">
          <button
            type="button"
            class="button"
            aria-expanded={isOpen.value}
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            Edit<span class="unseen"> {description}</span>
          </button>
          <button
            type="button"
            class="button"
            aria-expanded={showsNotification.value}
            onClick={() => {
              showsNotification.value = !showsNotification.value;
            }}
          >
            Notify<span class="unseen"> {description}</span>
          </button>
          <ConfirmButton
            isFinal
            label="Delete"
            about={description}
            act={() =>
              void action.run(async () => {
                await graphql("DeleteSavedSearch", deleteMutation, { id });
                changed();
              })
            }
          >
            The saved search is deleted. This cannot be undone.
          </ConfirmButton>
        </div>
      )}
    </li>
  );
}
