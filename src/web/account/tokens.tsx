import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { CopyButton } from "../ui/copy.js";
import { Form, type FormFields, TextField } from "../ui/form.js";
import { formatDay } from "../ui/numbers.js";
import { Found, ErrorText, Notice } from "../ui/states.js";

interface Token {
  readonly id: string;
  readonly note: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
}

const tokensQuery = `query Tokens($user: ID!) {
  node(id: $user) {
    ... on User { accessTokens(first: 1000) { nodes { id note scopes createdAt lastUsedAt expiresAt } } }
  }
}`;

const createMutation = `mutation CreateToken($user: ID!, $scopes: [String!]!, $note: String!, $seconds: Int) {
  createAccessToken(user: $user, scopes: $scopes, note: $note, durationSeconds: $seconds) { token }
}`;

const deleteMutation = "mutation DeleteToken($id: ID!) { deleteAccessToken(byID: $id) { alwaysNil } }";
const daySeconds = 86_400;

interface TokensProps {
  readonly userId: string;
  /** Whether a new token may have the scope with which it acts as any user. */
  readonly maySudo: boolean;
}

/** The access tokens of a user: a new one is shown once, and each can be revoked. */
export function Tokens({ userId, maySudo }: TokensProps) {
  const used = useGraphql("Tokens", tokensQuery, { user: userId });
  const created = useSignal("");
  const error = useSignal<unknown>(undefined);
  const scopeId = useId();
  const create = async (fields: FormFields): Promise<void> => {
    const days = Number(fields.get("days"));
    const { createAccessToken } = await graphql("CreateToken", createMutation, {
      user: userId,
      scopes: chosenScopes(fields),
      note: fields.get("note"),
      ...(days > 0 ? { seconds: Math.round(days * daySeconds) } : {}),
    });
    created.value = createAccessToken.token;
    used.retry();
  };
  const revoke = async (id: string): Promise<void> => {
    try {
      await graphql("DeleteToken", deleteMutation, { id });
      error.value = undefined;
    } catch (reason) {
      error.value = reason;
    }
    used.retry();
  };
  return (
    <section class="panel account-part" aria-labelledby="tokens">
      <h2 id="tokens">Access tokens</h2>
      <p class="soft">A token lets a program act as you. Send it in the header “Authorization: token TEXT”.</p>
      {created.value !== "" && <NewToken token={created.value} />}
      {error.value !== undefined && (
        <Notice kind="bad">
          <span>
            <ErrorText error={error.value} />
          </span>
        </Notice>
      )}
      <Found used={used} what="the tokens">
        {({ node }) => <TokenTable tokens={node?.accessTokens?.nodes ?? []} revoke={revoke} />}
      </Found>
      <h3>New token</h3>
      <Form submitLabel="Create the token" submit={create}>
        <TextField label="What it is for" name="note" />
        <TextField
          label="Days until it expires"
          name="days"
          type="number"
          isOptional
          hint="Empty: the lifetime that this server sets."
        />
        <div class="form-field">
          <label for={scopeId}>What it may do</label>
          <select id={scopeId} class="field" name="scope">
            <option value="user:all">Everything that you can</option>
            <option value="search">Search and read only</option>
            <option value="mcp">Tools for assistants only</option>
            <option value="search mcp">Search, read, and tools for assistants</option>
          </select>
        </div>
        <TextField
          label="Only these repositories"
          name="repositories"
          isOptional
          hint="Names separated by spaces, for a token that does not do everything. Empty: all that you can see."
        />
        {maySudo && (
          <label>
            <input type="checkbox" name="sudo" /> May act as any user (scope <code>site-admin:sudo</code>)
          </label>
        )}
      </Form>
    </section>
  );
}

/** A box that does not apply to the chosen scope is refused by the server, which says why. */
function chosenScopes(fields: FormFields): readonly string[] {
  const names = wordsIn(fields.get("repositories"));
  return [
    ...wordsIn(fields.get("scope")),
    ...(fields.get("sudo") === "on" ? ["site-admin:sudo"] : []),
    ...names.map((name) => `repository:${name}`),
  ];
}

function wordsIn(text: string): readonly string[] {
  return text.split(" ").filter((word) => word !== "");
}

function NewToken({ token }: { readonly token: string }) {
  return (
    <Notice kind="info">
      <span>This is your new token. It is shown only now:</span>
      <code class="token">{token}</code>
      <CopyButton text={token} />
    </Notice>
  );
}

interface TokenTableProps {
  readonly tokens: readonly Token[];
  readonly revoke: (id: string) => Promise<void>;
}

function TokenTable({ tokens, revoke }: TokenTableProps) {
  if (tokens.length === 0) return <p>There are no tokens yet.</p>;
  return (
    <div class="table-scroll">
      <table class="facts-table">
        <thead>
          <tr>
            <th scope="col">For</th>
            <th scope="col">Scopes</th>
            <th scope="col">Created</th>
            <th scope="col">Last used</th>
            <th scope="col">Expires</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map(({ id, note, scopes, createdAt, lastUsedAt, expiresAt }) => (
            <tr key={id}>
              <td>{note}</td>
              <td>{scopes.join(", ")}</td>
              <td>
                <Day date={createdAt} />
              </td>
              <td>
                <Day date={lastUsedAt} />
              </td>
              <td>
                <Day date={expiresAt} />
              </td>
              <td>
                <button type="button" class="button danger" onClick={() => void revoke(id)}>
                  Revoke<span class="unseen"> {note}</span>
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Day({ date }: { readonly date: string | null }) {
  return date === null ? <>never</> : <time dateTime={date}>{formatDay(date)}</time>;
}
