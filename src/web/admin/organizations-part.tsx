import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { CreateForm, TextField } from "../ui/form.js";
import { formatAmount } from "../ui/numbers.js";
import { Found } from "../ui/states.js";

const shownMax = 500;

const organizationsQuery = `query AdminOrganizations {
  organizations(first: ${shownMax}) { totalCount nodes { id name displayName members { totalCount } } }
}`;
const createMutation = `mutation CreateOrganization($name: String!, $displayName: String) {
  createOrganization(name: $name, displayName: $displayName) { id }
}`;
const deleteMutation = "mutation DeleteOrganization($id: ID!) { deleteOrganization(organization: $id) { alwaysNil } }";

/** All organizations. Their members and settings are on the page of each. */
export function OrganizationsPart() {
  const used = useGraphql("AdminOrganizations", organizationsQuery, {});
  const action = useAction();
  return (
    <>
      <details>
        <summary>Create an organization</summary>
        <CreateForm
          submitLabel="Create the organization"
          submit={async (fields) => {
            const displayName = fields.get("displayName");
            await graphql("CreateOrganization", createMutation, {
              name: fields.get("name"),
              displayName: displayName === "" ? null : displayName,
            });
            used.retry();
          }}
        >
          <TextField label="Name" name="name" hint="Letters, digits, hyphens and dots. It cannot change." />
          <TextField label="Display name" name="displayName" isOptional />
        </CreateForm>
      </details>
      <ActionError action={action} />
      <Found used={used} what="the organizations">
        {({ organizations }) => (
          <>
            <p class="soft small" role="status">
              {formatAmount(organizations.totalCount, "organization")}
            </p>
            {organizations.nodes.length > 0 && (
              <ul class="rows panel" aria-label="Organizations">
                {organizations.nodes.map(({ id, name, displayName, members }) => (
                  <li key={id}>
                    <div class="row-main">
                      <span class="row-title">
                        <a href={`/organizations/${encodeURIComponent(name)}`}>{name}</a>
                      </span>
                      <span class="soft small">
                        {displayName !== null && displayName !== "" && `${displayName} · `}
                        {members !== null && formatAmount(members.totalCount, "member")}
                      </span>
                    </div>
                    <div class="row-actions">
                      <ConfirmButton
                        isFinal
                        label="Delete"
                        about={name}
                        act={() =>
                          void action.run(async () => {
                            await graphql("DeleteOrganization", deleteMutation, { id });
                            used.retry();
                          })
                        }
                      >
                        Its settings, contexts and saved searches are deleted, and its members no longer see what only
                        it may see. This cannot be undone.
                      </ConfirmButton>
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Found>
    </>
  );
}
