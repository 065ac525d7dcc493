import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { addressOfQuery, emptyQuery } from "../query/query-state.js";
import { navigate } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Found } from "../ui/states.js";
import { useId } from "preact/hooks";
import { ApiError } from "../api/api-error.js";
import { Form, TextField } from "../ui/form.js";

const createMutation = `mutation CreateContext($context: SearchContextInput!, $repositories: [SearchContextRepositoryRevisionsInput!]!) {
  createSearchContext(searchContext: $context, repositories: $repositories) { spec }
}`;
const updateMutation = `mutation UpdateContext($id: ID!, $context: SearchContextEditInput!, $repositories: [SearchContextRepositoryRevisionsInput!]!) {
  updateSearchContext(id: $id, searchContext: $context, repositories: $repositories) { spec }
}`;
const deleteMutation = "mutation DeleteContext($id: ID!) { deleteSearchContext(id: $id) { alwaysNil } }";

export function NewContext() {
  const used = useGraphql(
    "ContextOwners",
    "query ContextOwners { currentUser { id username organizations { nodes { id name } } } }",
    {},
  );
  return (
    <Found used={used} what="your organizations">
      {({ currentUser }) => {
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
      }}
    </Found>
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

interface ContextDraft {
  readonly name: string;
  readonly description: string;
  readonly public: boolean;
  readonly query: string;
  readonly repositories: readonly { readonly repositoryID: string; readonly revisions: readonly string[] }[];
  /** The id of a user or an organization; null for the instance. */
  readonly owner: string | null;
}

interface ContextFormProps {
  readonly initial: {
    readonly name: string;
    readonly description: string;
    readonly public: boolean;
    readonly query: string;
    readonly list: string;
  };
  /** Who may own it; empty when the owner cannot change. */
  readonly owners: readonly { readonly id: string; readonly name: string }[];
  readonly submitLabel: string;
  readonly submit: (draft: ContextDraft) => Promise<void>;
}

const listLinesMax = 1000;

/** A context is either a query or a list of repositories, one a line with its revisions. */
function ContextForm({ initial, owners, submitLabel, submit }: ContextFormProps) {
  const id = useId();
  return (
    <Form
      submitLabel={submitLabel}
      submit={async (fields) => {
        const owner = fields.get("owner");
        await submit({
          name: fields.get("name"),
          description: fields.get("description"),
          public: fields.get("public") === "on",
          query: fields.get("query").trim(),
          repositories: await findRepositories(fields.get("list")),
          owner: owner === "" ? null : owner,
        });
      }}
    >
      {owners.length > 0 && (
        <div class="form-field">
          <label for={`${id}-owner`}>Owner</label>
          <select id={`${id}-owner`} class="field" name="owner">
            {owners.map((owner) => (
              <option key={owner.id} value={owner.id}>
                {owner.name}
              </option>
            ))}
          </select>
        </div>
      )}
      <TextField label="Name" name="name" value={initial.name} hint="Letters, digits, hyphens, dots and slashes." />
      <TextField label="Description" name="description" value={initial.description} isOptional />
      <TextField
        label="Query"
        name="query"
        value={initial.query}
        isOptional
        hint="Filters that choose repositories, such as repo:^example\.org/ -repo:old"
      />
      <div class="form-field">
        <label for={`${id}-list`}>Or repositories, one a line</label>
        <textarea
          id={`${id}-list`}
          class="field context-list"
          name="list"
          rows={4}
          spellcheck={false}
          aria-describedby={`${id}-hint`}
          defaultValue={initial.list}
        />
        <span id={`${id}-hint`} class="soft small">
          A name, and after a space its revisions: example.org/code main v1.2
        </span>
      </div>
      <label>
        <input type="checkbox" name="public" defaultChecked={initial.public} /> Everyone may see and use it
      </label>
    </Form>
  );
}

/** The ids of the repositories in a list. Throws for a name that no repository has. */
async function findRepositories(list: string): Promise<ContextDraft["repositories"]> {
  const lines = list
    .split("\n")
    .map((line) => line.split(/\s+/).filter((word) => word !== ""))
    .filter((words) => words.length > 0);
  if (lines.length === 0) return [];
  if (lines.length > listLinesMax)
    throw new ApiError(400, `A list holds at most ${listLinesMax} repositories; use a query.`);
  const names = lines.map(([name = ""]) => name);
  const { repositories } = await graphql(
    "ContextRepositories",
    `query ContextRepositories($names: [String!]) { repositories(first: ${listLinesMax}, names: $names) { nodes { id name } } }`,
    { names },
  );
  const ids = new Map((repositories?.nodes ?? []).map(({ id, name }) => [name, id]));
  return lines.map(([name = "", ...revisions]) => {
    const repositoryID = ids.get(name);
    if (repositoryID === undefined) throw new ApiError(400, `There is no repository named ${name}.`);
    return { repositoryID, revisions: revisions.length === 0 ? ["HEAD"] : revisions };
  });
}

/** A search context, as the pages show it. */
export interface SearchContext {
  readonly id: string;
  readonly spec: string;
  readonly name: string;
  readonly description: string;
  readonly query: string;
  readonly public: boolean;
  readonly autoDefined: boolean;
  readonly viewerCanManage: boolean;
  readonly viewerHasAsDefault: boolean;
  readonly viewerHasStarred: boolean;
  readonly repositories?: readonly {
    readonly revisions: readonly string[];
    readonly repository: { readonly name: string; readonly url: string };
  }[];
}

export const contextFields =
  "id spec name description query public autoDefined viewerCanManage viewerHasAsDefault viewerHasStarred";

export function contextAddress(spec: string): string {
  return `/contexts/${spec.split("/").map(encodeURIComponent).join("/")}`;
}

export function contextSearch(spec: string): string {
  return addressOfQuery({ ...emptyQuery, text: `context:${spec} ` });
}
