import "./finder.css";
import { batch, type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { escapeRegexp } from "../../base/text.js";
import { type PagePath, pageUrl, readPagePath, repositoryUrl } from "../../model/page-path.js";
import { loadPart } from "../route/load-part.js";
import { address, navigate, page } from "../route/router.js";
import { callAfter, typingPauseMs } from "../ui/delay.js";
import { formatCount } from "../ui/numbers.js";
import { finish, startWork, type Work } from "../ui/slices.js";
import { ErrorText } from "../ui/states.js";
import type { FoundSymbol } from "../query/completion/completion-sources.js";
import { readFileNames, RepositoryNames } from "./finder-sources.js";
import { type FinderScope, finderScope, finderScopes } from "./finder-state.js";
import { NameRanking } from "./name-ranking.js";

type Place = Pick<PagePath, "name" | "revision">;

/** What is shown of each kind, alone and beside the others. */
const shownAlone = 50;
const shownBeside = 8;

interface FoundItem {
  readonly text: string;
  readonly marks: readonly number[];
  readonly note: string;
  readonly url: string;
}

interface FoundGroup {
  readonly title: string;
  readonly items: readonly FoundItem[];
  /** How many there are, shown or not. */
  readonly totalCount: number;
}

/** The dialog that finds files, symbols and repositories by what is typed of their names. */
export function Finder() {
  const dialog = useRef<HTMLDialogElement>(null);
  const scope = finderScope.value;
  const isOpen = scope !== undefined;
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog
      ref={dialog}
      class="finder"
      aria-label="Find"
      onClose={() => {
        finderScope.value = undefined;
      }}
      onPointerDown={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      {isOpen && <Search scope={scope} place={placeOfPage()} />}
    </dialog>
  );
}

/** The repository of the page, if it is one of a repository. */
function placeOfPage(): Place | undefined {
  const path = page.value?.name === "code" ? readPagePath(address.value.pathname) : undefined;
  return path === undefined || path.name === "" ? undefined : { name: path.name, revision: path.revision };
}

const scopeTexts: Readonly<Record<FinderScope, string>> = {
  all: "All",
  files: "Files",
  symbols: "Symbols",
  repositories: "Repositories",
};

interface SearchProps {
  readonly scope: FinderScope;
  readonly place: Place | undefined;
}

function Search({ scope, place }: SearchProps) {
  const field = useRef<HTMLInputElement>(null);
  const text = useSignal("");
  const chosen = useSignal(first);
  const sources = useSources(place, scope, text);
  const { found, findNow } = useGroups(sources, place, text);
  const groups = found.value;
  const items = listItems(groups);
  const chosenIndex = indexOfChosen(chosen.value, items);
  useLayoutEffect(() => field.current?.focus(), [scope]);
  useLayoutEffect(() => {
    document.getElementById(itemId(chosenIndex))?.scrollIntoView({ block: "nearest" });
  }, [chosenIndex]);
  const step = (count: number): void => {
    if (items.length === 0) return;
    const index = (chosenIndex + count + items.length) % items.length;
    chosen.value = { index, url: items[index]?.url };
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Enter: () => {
      const now = listItems(findNow());
      open(now[indexOfChosen(chosen.value, now)]?.url);
    },
  };
  return (
    <>
      <input
        ref={field}
        class="field"
        role="combobox"
        aria-label={place === undefined ? "Part of a name" : `Part of a name in ${place.name}`}
        aria-expanded={items.length > 0}
        aria-controls="finder-list"
        aria-activedescendant={items.length > 0 ? itemId(chosenIndex) : undefined}
        placeholder={placeholders[scope]}
        autoComplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          batch(() => {
            text.value = event.currentTarget.value;
            chosen.value = first;
          });
        }}
        onKeyDown={(event) => {
          const act = keys[event.key];
          if (act === undefined || event.isComposing) return;
          event.preventDefault();
          act();
        }}
      />
      <div class="finder-scopes">
        {finderScopes.map((one) => (
          <button
            key={one}
            type="button"
            class="button quiet"
            aria-pressed={one === scope}
            onClick={() => {
              batch(() => {
                finderScope.value = one;
                chosen.value = first;
              });
            }}
          >
            {scopeTexts[one]}
          </button>
        ))}
      </div>
      {wantedSources(sources, scope).map(
        ({ what, error }) =>
          error.value !== undefined && (
            <p key={what} class="finder-note" role="alert">
              {what} could not be read: <ErrorText error={error.value} />
            </p>
          ),
      )}
      <p class="finder-note soft small" role="status">
        {statusText(groups, sources, scope, place)}
      </p>
      <FoundList groups={groups} chosen={chosenIndex} />
    </>
  );
}

/** What was chosen by keys, and where it was. */
interface Chosen {
  readonly index: number;
  readonly url: string | undefined;
}

const first: Chosen = { index: 0, url: undefined };

/** Where it is now: answers that come later may have moved it, or taken it away. */
function indexOfChosen({ index, url }: Chosen, items: readonly FoundItem[]): number {
  const isThere = url === undefined || items[index]?.url === url;
  const at = isThere ? index : items.findIndex((item) => item.url === url);
  return Math.max(0, Math.min(at < 0 ? index : at, items.length - 1));
}

function listItems(groups: readonly FoundGroup[]): readonly FoundItem[] {
  return groups.flatMap((group) => group.items);
}

const placeholders: Readonly<Record<FinderScope, string>> = {
  all: "Files, symbols and repositories",
  files: "Files, as in schedcore or core.c:120",
  symbols: "Symbols",
  repositories: "Repositories",
};

interface FoundListProps {
  readonly groups: readonly FoundGroup[];
  readonly chosen: number;
}

function FoundList({ groups, chosen }: FoundListProps) {
  let before = 0;
  return (
    <div id="finder-list" class="finder-list" role="listbox" aria-label="Found">
      {groups.map(({ title, items }) => {
        const from = before;
        before += items.length;
        return (
          <div key={title}>
            {groups.length > 1 && (
              <p class="finder-title soft small" role="presentation">
                {title}
              </p>
            )}
            {items.map((item, i) => (
              <Item key={item.url} item={item} index={from + i} isChosen={from + i === chosen} />
            ))}
          </div>
        );
      })}
    </div>
  );
}

interface ItemProps {
  readonly item: FoundItem;
  readonly index: number;
  readonly isChosen: boolean;
}

function Item({ item: { text, marks, note, url }, index, isChosen }: ItemProps) {
  return (
    <a
      id={itemId(index)}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      href={url}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        open(url);
      }}
    >
      <span>
        <MarkedName text={text} marks={marks} />
      </span>
      {note !== "" && <span class="soft small">{note}</span>}
    </a>
  );
}

function itemId(index: number): string {
  return `finder-${index}`;
}

/** The name with what was typed in it. Each part of a path keeps its own direction, so that their order stays. */
function MarkedName({ text, marks }: Pick<FoundItem, "text" | "marks">) {
  const marked = new Set(marks);
  let at = 0;
  return (
    <>
      {text.split("/").map((part, i) => {
        const from = at;
        at += part.length + 1;
        return (
          <span key={from}>
            {i > 0 && (marked.has(from - 1) ? <b>/</b> : "/")}
            <bdi>{splitMarked(part, from, marked)}</bdi>
          </span>
        );
      })}
    </>
  );
}

function splitMarked(part: string, from: number, marked: ReadonlySet<number>) {
  const pieces = [];
  for (let at = 0; at < part.length; ) {
    const isMarked = marked.has(from + at);
    let end = at + 1;
    while (end < part.length && marked.has(from + end) === isMarked) end++;
    const piece = part.slice(at, end);
    pieces.push(isMarked ? <b key={at}>{piece}</b> : piece);
    at = end;
  }
  return pieces;
}

function open(url: string | undefined): void {
  if (url === undefined) return;
  finderScope.value = undefined;
  navigate(url);
}

/** What is known of one kind. */
interface Source<T> {
  /** At the start of a sentence. */
  readonly what: string;
  readonly value: Signal<T | undefined>;
  /** Why it could not be read. */
  readonly error: Signal<unknown>;
}

interface Sources {
  readonly files: Source<NameRanking>;
  readonly repositories: Source<NameRanking>;
  readonly symbols: Source<FoundSymbols>;
}

function wants(scope: FinderScope, one: FinderScope): boolean {
  return scope === "all" || scope === one;
}

function wantedSources({ files, symbols, repositories }: Sources, scope: FinderScope): readonly Source<unknown>[] {
  return [
    ...(wants(scope, "files") ? [files] : []),
    ...(wants(scope, "symbols") ? [symbols] : []),
    ...(wants(scope, "repositories") ? [repositories] : []),
  ];
}

interface FoundSymbols {
  readonly list: readonly FoundSymbol[];
  readonly ranking: NameRanking;
}

function useSource<T>(what: string): Source<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  return useMemo(() => ({ what, value, error }), []);
}

/** Reads what is looked for, when it is first looked for. */
function useSources(place: Place | undefined, scope: FinderScope, text: Signal<string>): Sources {
  const files = useSource<NameRanking>("The files");
  const repositories = useSource<NameRanking>("The repositories");
  const symbols = useSource<FoundSymbols>("The symbols");
  const repositoryNames = useMemo(() => new RepositoryNames(), []);
  const wantsFiles = wants(scope, "files") && place !== undefined;
  const wantsSymbols = wants(scope, "symbols");
  const wantsRepositories = wants(scope, "repositories");
  useLayoutEffect(() => {
    if (!wantsFiles) return undefined;
    return read((signal) => readFileNames(place, signal), files);
  }, [wantsFiles, place?.name, place?.revision]);
  const typed = text.value.trim();
  useLayoutEffect(() => {
    if (!wantsRepositories) return undefined;
    return read((signal) => repositoryNames.read(typed, signal), repositories, typingPauseMs);
  }, [wantsRepositories, typed]);
  useLayoutEffect(() => {
    if (!wantsSymbols || typed === "" || typed.includes("/")) {
      batch(() => {
        symbols.value.value = undefined;
        symbols.error.value = undefined;
      });
      return undefined;
    }
    return read((signal) => readSymbols(place, typed, signal), symbols, typingPauseMs);
  }, [wantsSymbols, typed, place?.name, place?.revision]);
  return useMemo(() => ({ files, repositories, symbols }), []);
}

/** Returns what stops it. */
function read<T>(ask: (signal: AbortSignal) => Promise<T>, { value, error }: Source<T>, delayMs = 0): () => void {
  const stop = new AbortController();
  const pending = callAfter(delayMs, () => {
    ask(stop.signal).then(
      (found) => {
        if (stop.signal.aborted) return;
        batch(() => {
          value.value = found;
          error.value = undefined;
        });
      },
      (reason: unknown) => {
        if (!stop.signal.aborted) error.value = reason;
      },
    );
  });
  return () => {
    pending.cancel();
    stop.abort();
  };
}

/** What is found, in slices that the next letter cancels; `findNow` is without a pause. */
function useGroups(sources: Sources, place: Place | undefined, text: Signal<string>) {
  const found = useSignal<readonly FoundGroup[]>([]);
  const begin = (): Work<readonly FoundGroup[]> => {
    const { files, repositories, symbols } = sources;
    const known = { files: files.value.value, repositories: repositories.value.value, symbols: symbols.value.value };
    return findGroups(known, finderScope.value ?? "all", place, text.value);
  };
  useSignalEffect(() => {
    const pending = startWork(begin(), (groups) => {
      found.value = groups;
    });
    return () => pending.cancel();
  });
  return { found, findNow: () => finish(begin()) };
}

async function readSymbols(place: Place | undefined, text: string, signal: AbortSignal): Promise<FoundSymbols> {
  const { findSymbols } = await loadPart(() => import("../query/completion/completion-sources.js"));
  const list = await findSymbols(text, place === undefined ? "" : filterOfPlace(place), signal);
  return { list, ranking: new NameRanking(list.map(({ name }) => name)) };
}

function filterOfPlace({ name, revision }: Place): string {
  return `repo:^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`;
}

interface Known {
  readonly files: NameRanking | undefined;
  readonly repositories: NameRanking | undefined;
  readonly symbols: FoundSymbols | undefined;
}

function* findGroups(
  { files, repositories, symbols }: Known,
  scope: FinderScope,
  place: Place | undefined,
  text: string,
): Work<readonly FoundGroup[]> {
  const groups: FoundGroup[] = [];
  const add = (title: string, found: FoundItems): void => {
    if (found.items.length > 0) groups.push({ title, ...found });
  };
  const countMax = scope === "all" ? shownBeside : shownAlone;
  if (wants(scope, "files") && place !== undefined && files !== undefined)
    add("Files", yield* findFiles(files, place, text, countMax));
  if (wants(scope, "symbols") && symbols !== undefined)
    add("Symbols", yield* findSymbolItems(symbols, place, text, countMax));
  if (wants(scope, "repositories") && repositories !== undefined) {
    const { names, totalCount } = yield* repositories.search(text, countMax);
    const items = names.map(({ name, marks }) => ({
      text: name,
      marks,
      note: "",
      url: repositoryUrl({ name, revision: "" }),
    }));
    add("Repositories", { items, totalCount });
  }
  return groups;
}

type FoundItems = Omit<FoundGroup, "title">;

/** A number after a colon is that of a line. */
function* findFiles(ranking: NameRanking, place: Place, text: string, countMax: number): Work<FoundItems> {
  const [, name = text, line = ""] = /^([^:]*):(\d{0,9})$/.exec(text) ?? [];
  const { names, totalCount } = yield* ranking.search(name, countMax);
  const items = names.map((found) => ({
    text: found.name,
    marks: found.marks,
    note: "",
    url: `${pageUrl(place, "blob", found.name)}${line === "" ? "" : `?L${line}`}`,
  }));
  return { items, totalCount };
}

function* findSymbolItems(
  symbols: FoundSymbols,
  place: Place | undefined,
  text: string,
  countMax: number,
): Work<FoundItems> {
  const { names, totalCount } = yield* symbols.ranking.search(text, countMax);
  const items = names.flatMap(({ name, marks, index }) => {
    const symbol = symbols.list[index];
    if (symbol === undefined) return [];
    const file = place === undefined ? `${symbol.repository} › ${symbol.path}` : symbol.path;
    return [{ text: name, marks, note: `${symbol.kind.toLowerCase()} · ${file}`, url: symbol.url }];
  });
  return { items, totalCount };
}

function statusText(
  groups: readonly FoundGroup[],
  sources: Sources,
  scope: FinderScope,
  place: Place | undefined,
): string {
  if (scope === "files" && place === undefined) return "The files of a repository are found on its pages.";
  const { value, error } = sources.files;
  const isWaiting = wants(scope, "files") && place !== undefined && value.value === undefined;
  if (isWaiting && error.value === undefined) return "Loading the names of the files…";
  const hasFailed = wantedSources(sources, scope).some((source) => source.error.value !== undefined);
  if (groups.length === 0) return hasFailed ? "" : "Nothing has such a name.";
  return groups
    .map(({ title, items, totalCount }) => {
      const shown = items.length < totalCount ? `${formatCount(items.length)} of ` : "";
      return `${title}: ${shown}${formatCount(totalCount)}`;
    })
    .join(" · ");
}
