import { useId } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { ApiError } from "../api/api-error.js";
import { Form, TextField } from "../ui/form.js";

export interface ContextDraft {
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
export function ContextForm({ initial, owners, submitLabel, submit }: ContextFormProps) {
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
