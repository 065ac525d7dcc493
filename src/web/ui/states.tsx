import type { ComponentChildren } from "preact";
import { ApiError } from "../api/api-error.js";
import type { UsedAnswer } from "../api/use-graphql.js";

/** Shown only if something takes longer than a third of a second. */
export function Waiting({ what }: { readonly what: string }) {
  return (
    <p class="waiting" role="status">
      Loading {what}…
    </p>
  );
}

interface StateProps {
  readonly title: string;
  /** 1, unless the page has another heading of its own. */
  readonly level?: 1 | 2;
  readonly children?: ComponentChildren;
}

/** What a page shows when it has nothing else: why, and what to do. */
export function State({ title, level = 1, children }: StateProps) {
  return (
    <section class="state">
      {level === 1 ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </section>
  );
}

interface NoticeProps {
  readonly kind: "info" | "warn" | "bad";
  readonly children: ComponentChildren;
}

/** A message above what it is about; a warning or an error is read aloud at once. */
export function Notice({ kind, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === "info" ? "status" : "alert"}>
      {children}
    </div>
  );
}

interface FailureProps {
  /** What failed, as in "The file could not be read". */
  readonly what: string;
  readonly error: unknown;
  readonly retry?: () => void;
}

/** Why something failed, and the way to sign in if that is what it needs. */
export function ErrorText({ error }: { readonly error: unknown }) {
  const { pathname, search } = window.location;
  const needsSignIn = error instanceof ApiError && error.status === 401 && pathname !== "/sign-in";
  return (
    <>
      {error instanceof Error ? error.message : String(error)}
      {needsSignIn && (
        <>
          {" "}
          <a href={`/sign-in?returnTo=${encodeURIComponent(pathname + search)}`}>Sign in</a>
        </>
      )}
    </>
  );
}

/** A page or a part of one that could not be loaded. */
export function Failure({ what, error, retry }: FailureProps) {
  return (
    <State title={what}>
      <p role="alert">
        <ErrorText error={error} />
      </p>
      {retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </State>
  );
}

interface FoundProps<T> {
  readonly used: UsedAnswer<T>;
  /** What the answer is, as in "the file". */
  readonly what: string;
  readonly children: (value: T, retry: () => void) => ComponentChildren;
}

/** Shows an answer, or that it is being loaded, or why it could not be read, with a way to try again. */
export function Found<T>({ used: { answer, retry }, what, children }: FoundProps<T>) {
  switch (answer.kind) {
    case "waiting":
      return <Waiting what={what} />;
    case "failed":
      return <Failure what={`${capitalized(what)} could not be read`} error={answer.error} retry={retry} />;
    case "ready":
      return <>{children(answer.value, retry)}</>;
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
