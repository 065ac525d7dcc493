import { forgetKeptLists } from "../ui/kept-list.js";
import { useLayoutEffect } from "preact/hooks";
import { beginLink, sendForm } from "../api/api-error.js";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { type Action, ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Form, TextField } from "../ui/form.js";
import { formatDay } from "../ui/numbers.js";
import { Found, State } from "../ui/states.js";
import { graphql } from "../api/graphql.js";
import { SettingsEditor } from "../editor/settings-editor.js";
import { Tokens } from "./tokens.js";
import "../ui/lists-and-forms.css";

interface AccountUser {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly siteAdmin: boolean | null;
  readonly organizations: { readonly nodes: readonly { readonly name: string }[] };
}

const accountQuery = `query Account($name: String!) {
  user(username: $name) { id username email siteAdmin organizations { nodes { name } } }
}`;

/** A user's settings: profile, password, access tokens, sign-out. */
export function AccountPage() {
  const { pathname } = address.value;
  const name = decodeURIComponent(/^\/users\/([^/]+)\//.exec(pathname)?.[1] ?? "") || viewer.name;
  const used = useGraphql("Account", accountQuery, { name });
  useLayoutEffect(() => {
    document.title = "Settings · Trawl";
  }, []);
  if (name === "")
    return (
      <State title="Sign in to see your settings">
        <a class="button main" href={`/sign-in?returnTo=${encodeURIComponent(pathname)}`}>
          Sign in
        </a>
      </State>
    );
  return (
    <Found used={used} what="the settings">
      {({ user }) => {
        if (user === null) return <State title="There is no such user" />;
        return (
          <div class="column-page">
            <h1>Settings of {user.username}</h1>
            <Profile user={user} />
            <Tokens userId={user.id} maySudo={user.siteAdmin === true && user.username === viewer.name} />
            {user.username === viewer.name && <Password />}
            <Providers user={user} />
            <section class="panel account-part" aria-labelledby="settings-text">
              <h2 id="settings-text">Settings as JSON</h2>
              <p class="soft">They take precedence over those of your organizations and of the site.</p>
              <SettingsEditor subject={user.id} />
            </section>
          </div>
        );
      }}
    </Found>
  );
}

function Profile({ user }: { readonly user: AccountUser }) {
  return (
    <section class="panel account-part" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl class="facts">
        <dt>Name</dt>
        <dd>{user.username}</dd>
        <dt>E-mail address</dt>
        <dd>{user.email === "" ? "none" : user.email}</dd>
        <dt>Role</dt>
        <dd>{user.siteAdmin ? "site admin" : "user"}</dd>
        <dt>Organizations</dt>
        <dd>
          {user.organizations.nodes.length === 0 && "none"}
          {user.organizations.nodes.map(({ name }, at) => (
            <>
              {at > 0 && ", "}
              <a href={`/organizations/${encodeURIComponent(name)}`}>{name}</a>
            </>
          ))}
        </dd>
      </dl>
      <p class="account-links">
        <a href="/api/console">API console</a>
        <a href="/search-jobs">Search jobs</a>
        <a href="/contexts">Search contexts</a>
        <a href="/organizations">Organizations</a>
        {viewer.isSiteAdmin && <a href="/site-admin">Administration</a>}
      </p>
      {viewer.isSignedIn && user.username === viewer.name && (
        <button type="button" class="button" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </section>
  );
}

async function signOut(): Promise<void> {
  await sendForm("/-/sign-out", {});
  forgetKeptLists();
  window.location.assign("/");
}

const linkedQuery = `query LinkedAccounts($user: ID!) {
  node(id: $user) {
    ... on User { externalAccounts(first: 100) { nodes { id serviceID accountID provider createdAt } } }
  }
}`;

const unlinkMutation = "mutation Unlink($id: ID!) { deleteExternalAccount(externalAccount: $id) { alwaysNil } }";

interface LinkedAccount {
  readonly id: string;
  readonly serviceID: string;
  readonly accountID: string;
  readonly provider: string;
  readonly createdAt: string;
}

/** The accounts elsewhere with which the user may sign in: those that are linked, and where others could be. */
function Providers({ user }: { readonly user: AccountUser }) {
  const used = useGraphql("LinkedAccounts", linkedQuery, { user: user.id });
  const action = useAction();
  const mayLink = user.username === viewer.name && viewer.isSignedIn;
  const providers = viewer.signInWith ?? [];
  const unlink = (id: string) =>
    action.run(async () => {
      await graphql("Unlink", unlinkMutation, { id });
      // The session of this page may have begun with it.
      window.location.reload();
    });
  return (
    <Found used={used} what="the linked accounts">
      {({ node }) => {
        const linked = node?.externalAccounts?.nodes ?? [];
        if (linked.length === 0 && (!mayLink || providers.length === 0)) return null;
        return (
          <section class="panel account-part" aria-labelledby="providers">
            <h2 id="providers">Sign-in with other accounts</h2>
            <ActionError action={action} />
            {linked.length > 0 && <LinkedAccounts linked={linked} unlink={(id) => void unlink(id)} />}
            {mayLink && <LinkButtons action={action} />}
          </section>
        );
      }}
    </Found>
  );
}

interface LinkedAccountsProps {
  readonly linked: readonly LinkedAccount[];
  readonly unlink: (id: string) => void;
}

function LinkedAccounts({ linked, unlink }: LinkedAccountsProps) {
  const labels = new Map((viewer.signInWith ?? []).map(({ name, label }) => [name, label]));
  return (
    <ul class="rows" aria-label="Linked accounts">
      {linked.map(({ id, provider, serviceID, accountID, createdAt }) => (
        <li key={id}>
          <div class="row-main">
            <span class="row-title">{labels.get(provider) ?? provider}</span>
            <span title={serviceID}>{accountID}</span>
            <span class="soft">linked on {formatDay(createdAt)}</span>
          </div>
          <div class="row-actions">
            <ConfirmButton label="Unlink" about={accountID} act={() => unlink(id)}>
              It is then of no use to sign in here, and sessions that began with it end, perhaps this one too. It can be
              linked again.
            </ConfirmButton>
          </div>
        </li>
      ))}
    </ul>
  );
}

function LinkButtons({ action }: { readonly action: Action }) {
  const link = (name: string) => action.run(async () => window.location.assign(await beginLink(name)));
  return (
    <>
      <p class="soft">Link an account of yours to sign in here with it.</p>
      {(viewer.signInWith ?? []).map(({ name, label }) => (
        <button
          key={name}
          type="button"
          class="button"
          disabled={action.isRunning.value}
          onClick={() => void link(name)}
        >
          Link an account of {label}
        </button>
      ))}
    </>
  );
}

const passwordMutation = `mutation ChangePassword($old: String!, $new: String!) {
  updatePassword(oldPassword: $old, newPassword: $new) { alwaysNil }
}`;

function Password() {
  return (
    <section class="panel account-part" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <Form
        submitLabel="Change the password"
        submit={async (fields) => {
          await graphql("ChangePassword", passwordMutation, { old: fields.get("old"), new: fields.get("new") });
          // A new password ends all sessions.
          window.location.assign("/sign-in?returnTo=%2Fuser%2Fsettings");
        }}
      >
        <TextField label="Old password" name="old" type="password" autoComplete="current-password" />
        <TextField label="New password" name="new" type="password" autoComplete="new-password" />
      </Form>
    </section>
  );
}
