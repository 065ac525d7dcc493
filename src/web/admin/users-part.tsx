import { useSignal } from "@preact/signals";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { CopyButton } from "../ui/copy.js";
import { CreateForm, TextField } from "../ui/form.js";
import { formatAmount, formatTime } from "../ui/numbers.js";
import { Found, Notice } from "../ui/states.js";
import { viewer } from "../route/viewer.js";

interface SiteUser {
  readonly id: string;
  readonly username: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly createdAt: string;
  readonly lastActiveAt: string | null;
  readonly siteAdmin: boolean;
}

const shownMax = 200;

const usersQuery = `query AdminUsers($query: String!) {
  site { users(query: $query) {
    totalCount
    nodes(limit: ${shownMax}, orderBy: USERNAME) { id username displayName email createdAt lastActiveAt siteAdmin }
  } }
}`;

const createMutation = `mutation CreateUser($username: String!, $email: String!) {
  createUser(username: $username, email: $email) { resetPasswordURL }
}`;

/** All users, and what a site admin does for them. */
export function UsersPart() {
  const query = useSignal("");
  const link = useSignal("");
  const used = useGraphql("AdminUsers", usersQuery, { query: query.value });
  return (
    <>
      <details>
        <summary>Create a user</summary>
        <CreateForm
          submitLabel="Create the user"
          submit={async (fields) => {
            const { createUser } = await graphql("CreateUser", createMutation, {
              username: fields.get("username"),
              email: fields.get("email"),
            });
            link.value = createUser.resetPasswordURL ?? "";
            used.retry();
          }}
        >
          <TextField label="Name" name="username" hint="Letters, digits, hyphens and dots. It cannot change." />
          <TextField label="E-mail address" name="email" type="email" isOptional />
        </CreateForm>
      </details>
      {link.value !== "" && <PasswordLink link={link.value} />}
      <div class="admin-bar">
        <input
          class="field"
          type="search"
          aria-label="Part of the name or address"
          placeholder="Part of the name or address"
          onChange={({ currentTarget }) => {
            query.value = currentTarget.value;
          }}
        />
      </div>
      <Found used={used} what="the users">
        {({ site: { users } }) => (
          <>
            <p class="soft small" role="status">
              {formatAmount(users.totalCount, "user")}
              {users.totalCount > shownMax && `, of whom ${shownMax} are shown`}
            </p>
            <ul class="rows panel" aria-label="Users">
              {users.nodes.map((user) => (
                <UserRow key={user.id} user={user} changed={used.retry} setLink={(text) => (link.value = text)} />
              ))}
            </ul>
          </>
        )}
      </Found>
    </>
  );
}

function PasswordLink({ link }: { readonly link: string }) {
  return (
    <Notice kind="info">
      <span>With this link, and only once, the user sets a password. Send it in a safe way:</span>
      <code class="token">{link}</code>
      <CopyButton text={link} />
    </Notice>
  );
}

interface UserRowProps {
  readonly user: SiteUser;
  readonly changed: () => void;
  readonly setLink: (link: string) => void;
}

const adminMutation = `mutation SetAdmin($user: ID!, $admin: Boolean!) {
  setUserIsSiteAdmin(userID: $user, siteAdmin: $admin) { alwaysNil }
}`;
const resetMutation = "mutation ResetPassword($user: ID!) { randomizeUserPassword(user: $user) { resetPasswordURL } }";
const sessionsMutation = "mutation EndSessions($user: ID!) { invalidateSessionsByID(userID: $user) { alwaysNil } }";
const deleteMutation = "mutation DeleteUser($user: ID!) { deleteUser(user: $user) { alwaysNil } }";

function UserRow({
  user: { id, username, displayName, email, createdAt, lastActiveAt, siteAdmin },
  changed,
  setLink,
}: UserRowProps) {
  const action = useAction();
  const isSelf = username === viewer.name;
  const change = (ask: () => Promise<unknown>): Promise<void> =>
    action.run(async () => {
      await ask();
      changed();
    });
  const reset = async (): Promise<void> => {
    const { randomizeUserPassword } = await graphql("ResetPassword", resetMutation, { user: id });
    const link = randomizeUserPassword?.resetPasswordURL ?? null;
    if (link !== null) setLink(link);
  };
  return (
    <li>
      <div class="row-main">
        <span class="row-title">
          <a href={`/users/${encodeURIComponent(username)}/settings`}>{username}</a>
          {siteAdmin && <span class="badge good">site admin</span>}
        </span>
        <span class="soft small">
          {[displayName, email].filter((text) => text !== null && text !== "").map((text) => `${text} · `)}
          created {formatTime(createdAt)} · last request {formatTime(lastActiveAt)}
        </span>
        <ActionError action={action} />
      </div>
      <div class="row-actions">
        {!isSelf && (
          <button
            type="button"
            class="button"
            onClick={() => void change(() => graphql("SetAdmin", adminMutation, { user: id, admin: !siteAdmin }))}
          >
            {siteAdmin ? "Make a user" : "Make a site admin"}
            <span class="unseen"> {username}</span>
          </button>
        )}
        <ConfirmButton label="Reset the password" about={`of ${username}`} act={() => void change(reset)}>
          The old password stops working at once, and all sessions end. You get a link with which a new one is set.
        </ConfirmButton>
        <ConfirmButton
          label="End sessions"
          about={`of ${username}`}
          act={() => void change(() => graphql("EndSessions", sessionsMutation, { user: id }))}
        >
          Everyone who is signed in as {username} has to sign in again. Access tokens keep working.
        </ConfirmButton>
        {!isSelf && (
          <ConfirmButton
            isFinal
            label="Delete"
            about={username}
            act={() => void change(() => graphql("DeleteUser", deleteMutation, { user: id }))}
          >
            The user, its tokens, saved searches and settings are deleted. This cannot be undone.
          </ConfirmButton>
        )}
      </div>
    </li>
  );
}
