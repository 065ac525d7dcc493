import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { type PagePath, pageUrl, repositoryUrl } from "../../model/page-path.js";
import { missingName } from "./found.js";
import { RevisionMenu } from "./revision-menu.js";
import { FileTree, useTreeKey } from "./tree/file-tree.js";
import { showTree, treeIsShown } from "./tree/tree-state.js";
import { finderScope } from "../finder/finder-state.js";
import { directoryUrl, repositoryFilter, searchUrl } from "./code-urls.js";

interface FrameProps {
  readonly path: PagePath;
  readonly children: ComponentChildren;
}

/** What all pages of a repository have: where one is, and the way to the other pages. */
export function RepositoryFrame({ path, children }: FrameProps) {
  const { name } = path;
  useLayoutEffect(() => {
    document.title = `${path.path === "" ? "" : `${path.path} · `}${name} · Trawl`;
  }, [name, path.path]);
  return (
    <div class="code-page">
      <div class="code-head">
        <Trail path={path} />
        {missingName.value !== name && <Tabs path={path} />}
      </div>
      {hasTree(path) && missingName.value !== name ? <WithTree path={path}>{children}</WithTree> : children}
    </div>
  );
}

/** On the pages of files, and of directories that have others above them. */
function hasTree({ page, path }: PagePath): boolean {
  return (page === "blob" || page === "tree") && path !== "";
}

function WithTree({ path, children }: FrameProps) {
  useTreeKey();
  const isShown = treeIsShown.value;
  return (
    <div class={isShown ? "with-tree" : "without-tree"}>
      {isShown ? (
        <FileTree path={path} />
      ) : (
        <button
          type="button"
          class="button quiet tree-button"
          title="Show the files (f)"
          onClick={() => showTree(true)}
        >
          Show the files
        </button>
      )}
      <div class="beside-tree">{children}</div>
    </div>
  );
}

function Tabs({ path }: { readonly path: PagePath }) {
  const { name, revision, page } = path;
  const isCode = page === "" || page === "tree" || page === "blob";
  return (
    <nav class="code-tabs" aria-label="Repository">
      <Tab href={repositoryUrl(path)} isCurrent={isCode} label="Code" />
      <Tab href={pageUrl(path, "commits")} isCurrent={page === "commits" || page === "commit"} label="Commits" />
      <Tab href={pageUrl({ name, revision: "" }, "branches")} isCurrent={page === "branches"} label="Branches" />
      <Tab href={pageUrl({ name, revision: "" }, "tags")} isCurrent={page === "tags"} label="Tags" />
      <Tab href={pageUrl(path, "stats", "contributors")} isCurrent={page === "stats"} label="Contributors" />
      <Tab
        href={pageUrl({ name, revision: "" }, "code-intelligence")}
        isCurrent={page === "code-intelligence"}
        label="Indexes"
      />
      <a href={searchUrl(`${repositoryFilter({ name, revision })} `)}>Search here</a>
      <button
        type="button"
        title="Find a file (t)"
        onClick={() => {
          finderScope.value = "files";
        }}
      >
        Find a file
      </button>
    </nav>
  );
}

interface TabProps {
  readonly href: string;
  readonly label: string;
  readonly isCurrent: boolean;
}

function Tab({ href, label, isCurrent }: TabProps) {
  return (
    <a href={href} aria-current={isCurrent ? "page" : undefined}>
      {label}
    </a>
  );
}

/** The repository, the revision, and each directory above what is shown. */
function Trail({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const parts = path.page === "tree" || path.page === "blob" || path.page === "commits" ? splitPath(path.path) : [];
  return (
    <nav class="code-trail" aria-label="Path">
      <a href={repositoryUrl(path)}>{name}</a>
      {missingName.value !== name && <RevisionMenu path={path} />}
      {parts.map((part, i) => {
        const to = parts.slice(0, i + 1).join("/");
        const isLast = i === parts.length - 1;
        return (
          <span key={to}>
            <span class="soft"> / </span>
            {isLast ? (
              <strong>
                <bdi>{part}</bdi>
              </strong>
            ) : (
              <a href={directoryUrl({ name, revision }, to)}>
                <bdi>{part}</bdi>
              </a>
            )}
          </span>
        );
      })}
    </nav>
  );
}

function splitPath(path: string): readonly string[] {
  return path === "" ? [] : path.split("/");
}
