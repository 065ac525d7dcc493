import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type PagePath, pageUrl, repositoryUrl } from "../../model/page-path.js";
import { useGraphql } from "../api/use-graphql.js";
import { callAfter, typingPauseMs } from "../ui/delay.js";
import { useDropDown } from "../ui/drop-down.js";
import { addKeys } from "../ui/keys.js";
import { Found } from "../ui/states.js";
import { When } from "../route/when.js";

/** Branches, tags and commits that are listed at once. */
const listedCount = 15;

const revisionsQuery = `query Revisions($name: String!, $revision: String!, $path: String!, $query: String!) {
  repository(name: $name) {
    defaultBranch { abbrevName }
    branches(first: ${listedCount}, query: $query, orderBy: AUTHORED_OR_COMMITTED_AT) { nodes { abbrevName } totalCount }
    tags: gitRefs(first: ${listedCount}, type: GIT_TAG, query: $query, orderBy: AUTHORED_OR_COMMITTED_AT) { nodes { abbrevName } totalCount }
    commit(rev: $revision) {
      ancestors(first: ${listedCount}, path: $path, query: $query) {
        nodes { oid abbreviatedOID subject author { date } }
      }
    }
  }
}`;

/** The revision that is shown, which opens a list of others. */
export function RevisionMenu({ path }: { readonly path: PagePath }) {
  const host = useRef<HTMLSpanElement>(null);
  const isOpen = useSignal(false);
  const { name, revision } = path;
  const isCommit = /^[0-9a-f]{40,64}$/.test(revision);
  useLayoutEffect(() => {
    isOpen.value = false;
  }, [name, revision, path.path, isOpen]);
  useLayoutEffect(
    () =>
      addKeys([
        {
          key: "v",
          what: "Choose another revision",
          act: () => {
            isOpen.value = true;
          },
        },
      ]),
    [isOpen],
  );
  useDropDown(host, isOpen);
  return (
    <span ref={host} class="revision-menu">
      <button
        type="button"
        class="revision"
        aria-expanded={isOpen.value}
        title="Choose another revision (v)"
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <span class="unseen">Revision: </span>
        <bdi>{revision === "" ? "default branch" : isCommit ? revision.slice(0, 10) : revision}</bdi> ▾
      </button>
      {isOpen.value && <RevisionList path={path} />}
    </span>
  );
}

function RevisionList({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const field = useRef<HTMLInputElement>(null);
  const text = useSignal("");
  const shownPath = path.page === "blob" || path.page === "tree" || path.page === "commits" ? path.path : "";
  const asked = useSignal("");
  const found = useRef<HTMLDivElement>(null);
  const used = useGraphql("Revisions", revisionsQuery, { name, revision, path: shownPath, query: asked.value });
  useLayoutEffect(() => field.current?.focus(), []);
  const typed = text.value;
  useLayoutEffect(() => {
    const pending = callAfter(typingPauseMs, () => {
      asked.value = typed;
    });
    return () => pending.cancel();
  }, [typed]);
  return (
    <section class="panel revision-list" aria-label="Revisions">
      <input
        ref={field}
        class="field"
        aria-label="Part of a name or a message"
        placeholder="Branch, tag, commit or message"
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => {
          text.value = event.currentTarget.value.trim();
        }}
        onKeyDown={({ key, currentTarget }) => {
          // The answer to what was typed before is no answer.
          if (key !== "Enter" || currentTarget.value.trim() !== asked.value) return;
          found.current?.querySelector("a")?.click();
        }}
      />
      <div ref={found}>
        <Found used={used} what="the revisions">
          {({ repository }) => {
            const branches = repository?.branches?.nodes ?? [];
            const tags = repository?.tags?.nodes ?? [];
            const commits = repository?.commit?.ancestors?.nodes ?? [];
            const isTyped = /^[\w./^~-]+$/.test(asked.value);
            return (
              <>
                {asked.value === "" && revision !== "" && (
                  <RevisionLinks title="">
                    <li>
                      <a href={urlAt(path, "")}>Default branch</a>
                    </li>
                  </RevisionLinks>
                )}
                <RevisionLinks title="Branches">
                  {branches.map(({ abbrevName }) => (
                    <RefItem
                      key={abbrevName}
                      path={path}
                      name={abbrevName}
                      note={abbrevName === repository?.defaultBranch?.abbrevName ? "default" : ""}
                    />
                  ))}
                </RevisionLinks>
                <RevisionLinks title="Tags">
                  {tags.map(({ abbrevName }) => (
                    <RefItem key={abbrevName} path={path} name={abbrevName} note="" />
                  ))}
                </RevisionLinks>
                <RevisionLinks title={shownPath === "" ? "Recent commits" : "Recent commits to this path"}>
                  {commits.map(({ oid, abbreviatedOID, subject, author }) => (
                    <li key={oid}>
                      <a href={urlAt(path, oid)}>
                        <span class="revision-subject">{subject}</span>
                        <span class="soft small">
                          <code>{abbreviatedOID}</code> {author !== null && <When date={author.date} />}
                        </span>
                      </a>
                    </li>
                  ))}
                </RevisionLinks>
                {isTyped && (
                  <RevisionLinks title="">
                    <li>
                      <a href={urlAt(path, asked.value)}>
                        Go to <code>{asked.value}</code>
                      </a>
                    </li>
                  </RevisionLinks>
                )}
              </>
            );
          }}
        </Found>
      </div>
      <p class="revision-more small">
        <a href={pageUrl({ name, revision: "" }, "branches")}>All branches</a>
        <a href={pageUrl({ name, revision: "" }, "tags")}>All tags</a>
      </p>
    </section>
  );
}

interface RevisionLinksProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

function RevisionLinks({ title, children }: RevisionLinksProps) {
  if (Array.isArray(children) && children.length === 0) return null;
  return (
    <>
      {title !== "" && <p class="revision-title soft small">{title}</p>}
      <ul>{children}</ul>
    </>
  );
}

interface RefItemProps {
  readonly path: PagePath;
  readonly name: string;
  readonly note: string;
}

function RefItem({ path, name, note }: RefItemProps) {
  return (
    <li>
      <a href={urlAt(path, name)} aria-current={name === path.revision ? "true" : undefined}>
        <bdi>{name}</bdi>
        {note !== "" && <span class="tag">{note}</span>}
      </a>
    </li>
  );
}

/** The same page at another revision. */
function urlAt({ name, page, path }: PagePath, revision: string): string {
  const place = { name, revision };
  if (page === "blob" || page === "tree" || page === "commits" || page === "stats") return pageUrl(place, page, path);
  return repositoryUrl(place);
}
