import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { graphql } from "../../api/graphql.js";
import type { Operations } from "../../api/operation-types.js";
import { address } from "../../route/router.js";
import type { FileView } from "./file-view.js";
import { withLineRange } from "./line-range.js";
import { findScopes, type Scope, scopeKinds, scopesAbove, type ScopeSymbol } from "./scopes.js";

const symbolsQuery = `query FileScopes($name: String!, $revision: String!, $path: String!, $kinds: [SymbolKind!], $after: String) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) {
        symbols(first: 1000, after: $after, kinds: $kinds) {
          nodes { kind location { range { start { line } } } }
          pageInfo { endCursor hasNextPage }
        }
      }
    }
  }
}`;

type Variables = Operations["FileScopes"]["variables"];

/** Pages of symbols that are asked for: a file with more has scopes only at its beginning. */
const pagesMax = 10;

interface ScopeLinesProps {
  readonly path: PagePath;
  readonly text: string;
  readonly view: FileView;
}

/** The first lines of the functions and classes around what is read, below the bar of the file. */
export function ScopeLines({ path, text, view }: ScopeLinesProps) {
  const host = useRef<HTMLElement>(null);
  const lines = useMemo(() => text.split("\n"), [text]);
  const scopes = useScopes(path, lines);
  const shown = useSignal<readonly number[]>([]);
  const isColoured = useSignal(false);
  useLayoutEffect(() => {
    view.whenHighlighted = () => {
      isColoured.value = true;
    };
  }, [view, isColoured]);
  useLayoutEffect(() => {
    let frame = 0;
    const look = (): void => {
      frame = 0;
      const edge = host.current?.parentElement?.getBoundingClientRect().bottom ?? 0;
      const found = scopesAbove(scopes, view.topLine(edge));
      if (found.join() !== shown.peek().join()) shown.value = found;
    };
    const schedule = (): void => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    schedule();
    window.addEventListener("scroll", schedule, { passive: true });
    window.addEventListener("resize", schedule, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("scroll", schedule);
      window.removeEventListener("resize", schedule);
    };
  }, [scopes, view, shown]);
  const gutter = `${String(view.lineCount).length + 2}ch`;
  useLayoutEffect(() => {
    // Above it, a line is covered when one goes to it.
    view.coveredLines = shown.value.length;
  });
  return (
    <nav ref={host} class="scope-lines" aria-label="Around these lines" hidden={shown.value.length === 0}>
      {shown.value.map((line) => (
        <a key={line} class="scope-line" href={withLineRange(address.value, { from: line, to: line })}>
          <span class="scope-number" style={{ width: gutter }}>
            {line}
          </span>
          <ScopeCode view={view} line={line} isColoured={isColoured.value} />
        </a>
      ))}
    </nav>
  );
}

interface ScopeCodeProps {
  readonly view: FileView;
  readonly line: number;
  /** Whether the file has its colours. */
  readonly isColoured: boolean;
}

/** The line as it is in the file, with its colours if they are there. */
function ScopeCode({ view, line, isColoured }: ScopeCodeProps) {
  const host = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    host.current?.replaceChildren(view.copyOfLine(line));
  }, [view, line, isColoured]);
  return <code ref={host} />;
}

/** Asked for once: without an answer there are none, and the text is read as well. */
function useScopes({ name, revision, path }: PagePath, lines: readonly string[]): readonly Scope[] {
  const scopes = useSignal<readonly Scope[]>([]);
  useLayoutEffect(() => {
    const stop = new AbortController();
    readSymbols({ name, revision, path }, stop.signal).then(
      (symbols) => {
        if (!stop.signal.aborted) scopes.value = findScopes(symbols, lines);
      },
      () => undefined,
    );
    return () => stop.abort();
  }, [name, revision, path, lines, scopes]);
  return scopes.value;
}

async function readSymbols(
  place: Omit<Variables, "kinds" | "after">,
  signal: AbortSignal,
): Promise<readonly ScopeSymbol[]> {
  const found: ScopeSymbol[] = [];
  let after: string | null = null;
  for (let page = 0; page < pagesMax; page++) {
    const variables: Variables = { ...place, kinds: scopeKinds, after };
    const data: Operations["FileScopes"]["data"] = await graphql("FileScopes", symbolsQuery, variables, signal);
    const list = data.repository?.commit?.blob?.symbols;
    for (const { kind, location } of list?.nodes ?? []) found.push({ kind, line: location.range?.start.line ?? 0 });
    if (list?.pageInfo.hasNextPage !== true) break;
    after = list.pageInfo.endCursor;
  }
  return found;
}
