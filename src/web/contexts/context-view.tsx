import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { navigate } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Failure, Waiting } from "../ui/states.js";
import { ContextForm, type ContextDraft } from "./context-form.js";
import { contextAddress, contextSearch, type SearchContext } from "./search-context.js";

const createMutation = `mutation CreateContext($context: SearchContextInput!, $repositories: [SearchContextRepositoryRevisionsInput!]!) {
  createSearchContext(searchContext: $context, repositories: $repositories) { spec }
}`;
const updateMutation = `mutation UpdateContext($id: ID!, $context: SearchContextEditInput!, $repositories: [SearchContextRepositoryRevisionsInput!]!) {
  updateSearchContext(id: $id, searchContext: $context, repositories: $repositories) { spec }
}`;
const deleteMutation = "mutation DeleteContext($id: ID!) { deleteSearchContext(id: $id) { alwaysNil } }";

export function NewContext() {
  const { answer, retry } = useGraphql(
    "ContextOwners",
    "query ContextOwners { currentUser { id username organizations { nodes { id name } } } }",
    {},
  );
  if (answer.kind === "waiting") return <Waiting what="your organizations" />;
  if (answer.kind === "failed")
    return <Failure what="Your organizations could not be read" error={answer.error} retry={retry} />;
  const { currentUser } = answer.value;
  const owners = [
    ...(currentUser === null ? [] : [{ id: currentUser.id, name: `${currentUser.username} (you)` }]),
    ...(currentUser?.organizations.nodes ?? []),
    ...(viewer.isSiteAdmin ? [{ id: "", name: "everyone (the instance)" }] : []),
  ];
  const create = async ({ owner, repositories, ...context }: ContextDraft): Promise<void> => {
    const { createSearchContext } = await graphql("CreateContext", createMutation, {
      context: { ...context, namespace: owner },
      repositories,
    });
    navigate(contextAddress(createSearchContext.spec));
  };
  return (
    <>
      <h1>New context</h1>
      <ContextForm
        initial={{ name: "", description: "", public: true, query: "", list: "" }}
        owners={owners}
        submitLabel="Create the context"
        submit={create}
      />
    </>
  );
}

interface ViewProps {
  readonly context: SearchContext;
  readonly changed: () => void;
}

export function ContextView({ context, changed }: ViewProps) {
  const { id, spec, name, description, query, repositories = [], viewerCanManage } = context;
  const action = useAction();
  const list = repositories.map(({ repository, revisions }) => `${repository.name} ${revisions.join(" ")}`).join("\n");
  const update = async ({ owner: _, repositories: listed, ...edited }: ContextDraft): Promise<void> => {
    const { updateSearchContext } = await graphql("UpdateContext", updateMutation, {
      id,
      context: edited,
      repositories: listed,
    });
    if (updateSearchContext.spec === spec) changed();
    else navigate(contextAddress(updateSearchContext.spec), "replace");
  };
  return (
    <>
      <h1>{spec}</h1>
      {description !== "" && <p>{description}</p>}
      <p class="context-links">
        <a class="button main" href={contextSearch(spec)}>
          Search here
        </a>
        <a class="button" href="/contexts">
          All contexts
        </a>
      </p>
      {query !== "" && (
        <p>
          The repositories that match <code>{query}</code>
        </p>
      )}
      {repositories.length > 0 && (
        <ul class="rows panel" aria-label="Repositories">
          {repositories.map(({ repository, revisions }) => (
            <li key={repository.name}>
              <div class="row-main">
                <a href={repository.url}>{repository.name}</a>
                <span class="soft small">{revisions.join(", ")}</span>
              </div>
            </li>
          ))}
        </ul>
      )}
      {viewerCanManage && (
        <section class="panel context-edit" aria-labelledby="edit">
          <h2 id="edit">Edit</h2>
          <ContextForm
            key={JSON.stringify(context)}
            initial={{ name, description, public: context.public, query, list }}
            owners={[]}
            submitLabel="Save"
            submit={update}
          />
          <ActionError action={action} />
          <p>
            <ConfirmButton
              isFinal
              label="Delete"
              about={spec}
              act={() =>
                void action.run(async () => {
                  await graphql("DeleteContext", deleteMutation, { id });
                  navigate("/contexts");
                })
              }
            >
              Queries that name it find nothing from then on. This cannot be undone.
            </ConfirmButton>
          </p>
        </section>
      )}
    </>
  );
}
