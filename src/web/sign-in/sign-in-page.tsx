import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { sendForm } from "../api/api-error.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { Form, TextField } from "../ui/form.js";
import { Notice } from "../ui/states.js";
import "../ui/lists-and-forms.css";

/** `/sign-in`, `/sign-up` and `/password-reset`. */
export function SignInPage() {
  const { pathname } = address.value;
  return (
    <section class="sign-in panel" key={pathname}>
      {pathname === "/sign-up" ? <SignUp /> : pathname === "/password-reset" ? <PasswordReset /> : <SignIn />}
    </section>
  );
}

function SignIn() {
  useTitle("Sign in");
  return (
    <>
      <h1>Sign in</h1>
      <Form
        submitLabel="Sign in"
        submit={async (fields) => {
          await sendForm("/-/sign-in", { email: fields.get("name"), password: fields.get("password") });
          enter();
        }}
      >
        <TextField label="Name or e-mail address" name="name" autoComplete="username" />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" />
      </Form>
      <Providers />
      <p class="soft">
        No account? <a href="/sign-up">Create one</a>, if this server allows it. A forgotten password is set anew with a
        link that a site admin makes.
      </p>
    </>
  );
}

/** Links, because the provider has the next page. */
function Providers() {
  const query = new URLSearchParams({ returnTo: address.value.searchParams.get("returnTo") ?? "/" });
  return (viewer.signInWith ?? []).map(({ name, label }) => (
    <a key={name} class="button" href={`/-/oidc/${encodeURIComponent(name)}/sign-in?${query}`}>
      Sign in with {label}
    </a>
  ));
}

function SignUp() {
  useTitle("Create an account");
  return (
    <>
      <h1>Create an account</h1>
      <Form
        submitLabel="Create the account"
        submit={async (fields) => {
          await sendForm("/-/sign-up", fields.all);
          enter();
        }}
      >
        <TextField label="Name" name="username" autoComplete="username" hint="Letters, digits, hyphens and dots." />
        <TextField label="E-mail address" name="email" type="email" autoComplete="email" />
        <TextField label="Password" name="password" type="password" autoComplete="new-password" />
      </Form>
      <p class="soft">
        Have an account? <a href="/sign-in">Sign in</a>.
      </p>
    </>
  );
}

function PasswordReset() {
  useTitle("Set a password");
  const isDone = useSignal(false);
  const parameters = address.value.searchParams;
  if (isDone.value)
    return (
      <>
        <h1>The password is set</h1>
        <p>
          <a href="/sign-in">Sign in</a> with it.
        </p>
      </>
    );
  const code = parameters.get("code") ?? "";
  const userID = Number(parameters.get("userID"));
  return (
    <>
      <h1>Set a password</h1>
      {code === "" && (
        <Notice kind="warn">The address has no code. Use the whole link that a site admin gave you.</Notice>
      )}
      <Form
        submitLabel="Set the password"
        submit={async (fields) => {
          await sendForm("/-/reset-password-code", { userID, code, password: fields.get("password") });
          isDone.value = true;
        }}
      >
        <TextField label="New password" name="password" type="password" autoComplete="new-password" />
      </Form>
    </>
  );
}

/** Loads the page that the visitor came from again, now signed in. Only paths of this site are followed. */
function enter(): void {
  const returnTo = address.peek().searchParams.get("returnTo") ?? "/";
  const target = new URL(returnTo, window.location.origin);
  window.location.assign(target.origin === window.location.origin ? target.href : "/");
}

function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = `${title} · Trawl`;
  }, [title]);
}
