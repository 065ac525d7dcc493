import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { PagePath } from "../../model/page-path.js";
import type { UsedAnswer } from "../api/use-graphql.js";
import { Found, State } from "../ui/states.js";
import { searchUrl } from "./code-urls.js";

/** The answer to a question about a commit of a repository: null where the viewer sees none. */
export interface RepositoryAnswer<Commit> {
  readonly repository: { readonly commit: Commit | null } | null;
}

interface FoundCommitProps<Commit> {
  readonly path: PagePath;
  readonly used: UsedAnswer<RepositoryAnswer<Commit>>;
  readonly what: string;
  readonly children: (commit: Commit) => ComponentChildren;
}

/** Shows what a commit answered, or why there is nothing: no such repository, no such revision, or an error. */
export function FoundCommit<Commit>({ path, used, what, children }: FoundCommitProps<Commit>) {
  return (
    <Found used={used} what={what}>
      {({ repository }) => {
        if (repository === null) return <MissingRepository name={path.name} />;
        if (repository.commit === null) return <MissingCommit path={path} />;
        return children(repository.commit);
      }}
    </Found>
  );
}

/** The name of the repository that is shown and does not exist, "" for none: it has no pages to go to. */
export const missingName = signal("");

export function MissingRepository({ name }: { readonly name: string }) {
  useLayoutEffect(() => {
    missingName.value = name;
    return () => {
      missingName.value = "";
    };
  }, [name]);
  return (
    <State title="There is no such repository">
      <p>
        No repository is named <code>{name}</code>, or you may not see it.
      </p>
      <p>
        <a href={searchUrl(`repo:${name.split("/").at(-1) ?? ""}`)}>Search for repositories with a similar name</a>
      </p>
    </State>
  );
}

function MissingCommit({ path: { name, revision } }: { readonly path: PagePath }) {
  return revision === "" ? (
    <State title="There is nothing here yet">
      <p>
        <code>{name}</code> has no commits, or has not been fetched yet.
      </p>
    </State>
  ) : (
    <State title="There is no such revision">
      <p>
        <code>{name}</code> has no branch, tag or commit <code>{revision}</code>.
      </p>
    </State>
  );
}
