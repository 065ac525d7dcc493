import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { addKeys } from "../../ui/keys.js";
import { ErrorText } from "../../ui/states.js";
import { directoryUrl } from "../code-urls.js";
import { findTree, showTree, type TreeRow, type TreeState } from "./tree-state.js";

/** The folders of the revision beside what is shown, each read when it is opened. */
export function FileTree({ path }: { readonly path: PagePath }) {
  const { name, revision, path: shown } = path;
  const tree = findTree({ name, revision });
  const list = useRef<HTMLDivElement>(null);
  const focused = useSignal("");
  const rows = tree.rows(shown);
  useLayoutEffect(() => {
    tree.refresh();
    tree.reveal(shown);
    focused.value = shown;
  }, [tree, shown, focused]);
  useLayoutEffect(() => tree.load());
  const isThere = rows.some((row) => row.kind === "entry" && row.entry.path === shown);
  useLayoutEffect(() => {
    const host = list.current;
    const row = host?.querySelector<HTMLElement>('[aria-current="page"]');
    // The page itself stays where it is.
    if (host !== null && row) host.scrollTop = row.offsetTop - host.clientHeight / 2;
  }, [isThere, shown]);
  // One item is reached by the Tab key, the others from it.
  const stop = rows.some((row) => row.kind === "entry" && row.entry.path === focused.value)
    ? focused.value
    : pathOfRow(rows[0]);
  return (
    <nav class="panel file-tree" aria-label="Files of the revision">
      <div class="panel-head">
        Files
        <button type="button" class="button quiet" onClick={() => showTree(false)}>
          Hide
        </button>
      </div>
      <div
        ref={list}
        class="tree-rows"
        role="tree"
        aria-label="Files"
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const to = step(event.key, rows, stop, tree);
          if (to === undefined) return;
          event.preventDefault();
          focused.value = to;
          list.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(to)}"]`)?.focus();
        }}
      >
        {rows.map((row) => (
          <Row
            key={`${row.kind} ${pathOfRow(row)}`}
            row={row}
            path={path}
            tree={tree}
            isStop={row.kind === "entry" && row.entry.path === stop}
          />
        ))}
      </div>
    </nav>
  );
}

/** The key that shows the tree and goes to it. */
export function useTreeKey(): void {
  useLayoutEffect(
    () =>
      addKeys([
        {
          key: "f",
          what: "Go to the tree of files",
          act: () => {
            showTree(true);
            requestAnimationFrame(() => document.querySelector<HTMLElement>('.tree-rows [tabindex="0"]')?.focus());
          },
        },
      ]),
    [],
  );
}

function pathOfRow(row: TreeRow | undefined): string {
  return row === undefined ? "" : row.kind === "entry" ? row.entry.path : row.folder;
}

/** The path of the row that a key leads to; undefined if it leads nowhere. */
function step(key: string, all: readonly TreeRow[], from: string, tree: TreeState): string | undefined {
  const rows = all.filter((row) => row.kind === "entry");
  const at = rows.findIndex(({ entry }) => entry.path === from);
  const row = rows[at];
  const pathAt = (index: number): string | undefined => rows[index]?.entry.path ?? from;
  switch (key) {
    case "ArrowDown":
      return pathAt(at + 1);
    case "ArrowUp":
      return pathAt(at - 1);
    case "Home":
      return pathAt(0);
    case "End":
      return pathAt(rows.length - 1);
    case "ArrowRight":
      if (row?.entry.kind !== "directory") return from;
      if (row.isOpen) return rows[at + 1]?.level === row.level + 1 ? pathAt(at + 1) : from;
      tree.toggle(from, true);
      return from;
    case "ArrowLeft":
      if (row?.isOpen === true) {
        tree.toggle(from, false);
        return from;
      }
      return from.includes("/") ? from.slice(0, from.lastIndexOf("/")) : from;
    default:
      return undefined;
  }
}

interface RowProps {
  readonly row: TreeRow;
  readonly path: PagePath;
  readonly tree: TreeState;
  readonly isStop: boolean;
}

function Row({ row, path, tree, isStop }: RowProps) {
  const style = { "--level": row.level };
  if (row.kind === "waiting")
    return (
      <p class="tree-note soft" role="none" style={style}>
        Loading…
      </p>
    );
  if (row.kind === "more")
    return (
      <p class="tree-note soft" role="none" style={style}>
        <a href={directoryUrl(path, row.folder)}>More files</a>: <kbd>t</kbd> finds them
      </p>
    );
  if (row.kind === "failed")
    return (
      <p class="tree-note" role="none" style={style}>
        <ErrorText error={row.error} />{" "}
        <button type="button" class="button" onClick={() => tree.retry(row.folder)}>
          Try again
        </button>
      </p>
    );
  const { entry, level, isOpen } = row;
  const isDirectory = entry.kind === "directory";
  const url = isDirectory ? directoryUrl(path, entry.path) : entry.url || pageUrl(path, "blob", entry.path);
  return (
    <a
      class={`tree-row ${entry.kind}`}
      role="treeitem"
      data-path={entry.path}
      style={style}
      href={entry.kind === "submodule" ? undefined : url}
      tabIndex={isStop ? 0 : -1}
      aria-level={level}
      aria-expanded={isDirectory ? isOpen : undefined}
      aria-current={entry.path === path.path ? "page" : undefined}
      onClick={(event) => {
        if (!isDirectory || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        tree.toggle(entry.path);
      }}
    >
      <bdi>{entry.name}</bdi>
    </a>
  );
}
