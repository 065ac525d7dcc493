import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { address } from "../../route/router.js";
import { Found } from "../../ui/states.js";
import type { FileView } from "./file-view.js";
import { withLineRange } from "./line-range.js";
import { itemAtLine, leaveOutLocals, type OutlineItem } from "./outline-items.js";

const outlineQuery = `query FileOutline($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) { outline { depth symbol { name kind containerName location { range { start { line } } } } } }
    }
  }
}`;

interface OutlineProps {
  readonly path: PagePath;
  readonly text: string;
  readonly view: FileView | undefined;
}

/** The symbols of a file in its order, without locals. The one that is being read is marked. */
export function Outline({ path, text, view }: OutlineProps) {
  const { name, revision } = path;
  const used = useGraphql("FileOutline", outlineQuery, { name, revision, path: path.path });
  return (
    <nav class="outline" aria-label="Outline">
      <Found used={used} what="the outline">
        {({ repository }) => <OutlineList all={repository?.commit?.blob?.outline ?? noItems} text={text} view={view} />}
      </Found>
    </nav>
  );
}

const noItems: readonly OutlineItem[] = [];

interface OutlineListProps {
  readonly all: readonly OutlineItem[];
  readonly text: string;
  readonly view: FileView | undefined;
}

function OutlineList({ all, text, view }: OutlineListProps) {
  const list = useRef<HTMLUListElement>(null);
  const wanted = useSignal("");
  const known = useMemo(() => leaveOutLocals(all, text.split("\n")), [all, text]);
  const part = wanted.value.trim().toLowerCase();
  const items = useMemo(() => known.filter(({ symbol }) => symbol.name.toLowerCase().includes(part)), [known, part]);
  // Also while it is left out: then none is marked.
  const reading = known[useReadItem(known, view)];
  const read = reading === undefined ? -1 : items.indexOf(reading);
  useLayoutEffect(() => {
    const host = list.current?.parentElement;
    const item = list.current?.children[read];
    if (host === null || host === undefined || !(item instanceof HTMLElement)) return;
    const { offsetTop, offsetHeight } = item;
    if (offsetTop < host.scrollTop || offsetTop + offsetHeight > host.scrollTop + host.clientHeight)
      host.scrollTop = offsetTop - host.clientHeight / 3;
  }, [read]);
  if (known.length === 0) return <p class="soft">No symbols were found in this file.</p>;
  return (
    <>
      <input
        class="field"
        type="search"
        aria-label="Part of a name in the outline"
        placeholder="Filter"
        onInput={({ currentTarget }) => (wanted.value = currentTarget.value)}
      />
      {items.length === 0 && <p class="soft">No symbol has such a name.</p>}
      <ul ref={list}>
        {items.map(({ depth, symbol: { name, kind, location } }, i) => {
          const line = (location.range?.start.line ?? 0) + 1;
          return (
            <li key={i} style={{ "--depth": depth }}>
              <a
                href={withLineRange(address.value, { from: line, to: line })}
                title={kind.toLowerCase()}
                aria-current={i === read ? "true" : undefined}
              >
                <bdi>{name}</bdi>
              </a>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** The index of the item at the top of the window, which changes as one scrolls. */
function useReadItem(items: readonly OutlineItem[], view: FileView | undefined): number {
  const read = useSignal(-1);
  useLayoutEffect(() => {
    if (view === undefined) return undefined;
    let frame = 0;
    const look = (): void => {
      frame = 0;
      read.value = itemAtLine(items, view.topLine());
    };
    const schedule = (): void => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    schedule();
    window.addEventListener("scroll", schedule, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("scroll", schedule);
    };
  }, [items, view, read]);
  return read.value;
}
