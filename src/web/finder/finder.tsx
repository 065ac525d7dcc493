import "./finder.css";
import { batch, type Signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { escapeRegexp } from "../../base/text.js";
import { type PagePath, pageUrl, readPagePath, repositoryUrl } from "../../model/page-path.js";
import { loadPart } from "../route/load-part.js";
import { address, navigate, page } from "../route/router.js";
import { callAfter } from "../ui/delay.js";
import { formatCount } from "../ui/numbers.js";
import { ErrorText } from "../ui/states.js";
import type { FoundSymbol } from "../query/completion/completion-sources.js";
import { readFileNames, readRepositoryNames } from "./finder-sources.js";
import { type FinderScope, finderScope, finderScopes } from "./finder-state.js";
import { NameRanking } from "./name-ranking.js";

type Place = Pick<PagePath, "name" | "revision">;

/** What is shown of each kind, alone and beside the others. */
const shownAlone = 50;
const shownBeside = 8;

/** The server is asked when nothing was typed for this long. */
const pauseMs = 120;

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
  useEffect(() => {
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
  const chosen = useSignal(0);
  const sources = useSources(place, scope, text);
  const groups = useComputed(() => findGroups(sources, finderScope.value ?? "all", place, text.value)).value;
  const items = groups.flatMap((group) => group.items);
  const { error } = sources;
  useEffect(() => field.current?.focus(), [scope]);
  useEffect(() => {
    document.getElementById(itemId(chosen.value))?.scrollIntoView({ block: "nearest" });
  }, [chosen.value]);
  const step = (count: number): void => {
    if (items.length > 0) chosen.value = (chosen.value + count + items.length) % items.length;
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Enter: () => open(items[chosen.value]?.url),
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
        aria-activedescendant={items.length > 0 ? itemId(chosen.value) : undefined}
        placeholder={placeholders[scope]}
        autoComplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          batch(() => {
            text.value = event.currentTarget.value;
            chosen.value = 0;
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
                chosen.value = 0;
              });
            }}
          >
            {scopeTexts[one]}
          </button>
        ))}
      </div>
      {error.value !== undefined && (
        <p class="finder-note" role="alert">
          <ErrorText error={error.value} />
        </p>
      )}
      <p class="finder-note soft small" role="status">
        {statusText(groups, sources, scope, place)}
      </p>
      <FoundList groups={groups} chosen={chosen.value} />
    </>
  );
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

interface Sources {
  readonly files: Signal<NameRanking | undefined>;
  readonly repositories: Signal<NameRanking | undefined>;
  readonly symbols: Signal<FoundSymbols | undefined>;
  /** Why one of them could not be read. */
  readonly error: Signal<unknown>;
}

interface FoundSymbols {
  readonly list: readonly FoundSymbol[];
  readonly ranking: NameRanking;
}

/** Reads what is looked for, when it is first looked for. */
function useSources(place: Place | undefined, scope: FinderScope, text: Signal<string>): Sources {
  const files = useSignal<NameRanking | undefined>(undefined);
  const repositories = useSignal<NameRanking | undefined>(undefined);
  const symbols = useSignal<FoundSymbols | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const wants = (one: FinderScope): boolean => scope === "all" || scope === one;
  const wantsFiles = wants("files") && place !== undefined;
  const wantsSymbols = wants("symbols");
  const wantsRepositories = wants("repositories");
  useEffect(() => {
    if (!wantsFiles) return undefined;
    return read((signal) => readFileNames(place, signal), files, error);
  }, [wantsFiles, place?.name, place?.revision]);
  const typed = text.value.trim();
  useEffect(() => {
    if (!wantsRepositories) return undefined;
    return read((signal) => readRepositoryNames(typed, signal), repositories, error, pauseMs);
  }, [wantsRepositories, typed]);
  useEffect(() => {
    if (!wantsSymbols || typed === "" || typed.includes("/")) {
      symbols.value = undefined;
      return undefined;
    }
    return read((signal) => readSymbols(place, typed, signal), symbols, error, pauseMs);
  }, [wantsSymbols, typed, place?.name, place?.revision]);
  return useMemo(() => ({ files, repositories, symbols, error }), []);
}

/** Returns what stops it. */
function read<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  into: Signal<T | undefined>,
  error: Signal<unknown>,
  delayMs = 0,
): () => void {
  const stop = new AbortController();
  const pending = callAfter(delayMs, () => {
    ask(stop.signal).then(
      (value) => {
        if (stop.signal.aborted) return;
        batch(() => {
          into.value = value;
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

async function readSymbols(place: Place | undefined, text: string, signal: AbortSignal): Promise<FoundSymbols> {
  const { findSymbols } = await loadPart(() => import("../query/completion/completion-sources.js"));
  const list = await findSymbols(text, place === undefined ? "" : filterOfPlace(place), signal);
  return { list, ranking: new NameRanking(list.map(({ name }) => name)) };
}

function filterOfPlace({ name, revision }: Place): string {
  return `repo:^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`;
}

function findGroups(
  { files, repositories, symbols }: Sources,
  scope: FinderScope,
  place: Place | undefined,
  text: string,
): readonly FoundGroup[] {
  const groups: FoundGroup[] = [];
  const add = (title: string, found: Omit<FoundGroup, "title"> | undefined): void => {
    if (found !== undefined && found.items.length > 0) groups.push({ title, ...found });
  };
  const countMax = scope === "all" ? shownBeside : shownAlone;
  const wants = (one: FinderScope): boolean => scope === "all" || scope === one;
  if (wants("files") && place !== undefined) add("Files", findFiles(files.value, place, text, countMax));
  if (wants("symbols")) add("Symbols", findSymbolItems(symbols.value, place, text, countMax));
  if (wants("repositories")) {
    const found = repositories.value?.find(text, countMax);
    const items = found?.names.map(({ name, marks }) => ({
      text: name,
      marks,
      note: "",
      url: repositoryUrl({ name, revision: "" }),
    }));
    add("Repositories", items && { items, totalCount: found?.totalCount ?? 0 });
  }
  return groups;
}

/** A number after a colon is that of a line. */
function findFiles(ranking: NameRanking | undefined, place: Place, text: string, countMax: number) {
  if (ranking === undefined) return undefined;
  const [, name = text, line = ""] = /^([^:]*):(\d{0,9})$/.exec(text) ?? [];
  const { names, totalCount } = ranking.find(name, countMax);
  const items = names.map((found) => ({
    text: found.name,
    marks: found.marks,
    note: "",
    url: `${pageUrl(place, "blob", found.name)}${line === "" ? "" : `?L${line}`}`,
  }));
  return { items, totalCount };
}

function findSymbolItems(
  symbols: FoundSymbols | undefined,
  place: Place | undefined,
  text: string,
  countMax: number,
): Omit<FoundGroup, "title"> | undefined {
  const found = symbols?.ranking.find(text, countMax);
  const items = found?.names.flatMap(({ name, marks, index }) => {
    const symbol = symbols?.list[index];
    if (symbol === undefined) return [];
    const file = place === undefined ? `${symbol.repository} › ${symbol.path}` : symbol.path;
    return [{ text: name, marks, note: `${symbol.kind.toLowerCase()} · ${file}`, url: symbol.url }];
  });
  return items && { items, totalCount: found?.totalCount ?? 0 };
}

function statusText(
  groups: readonly FoundGroup[],
  { files, error }: Sources,
  scope: FinderScope,
  place: Place | undefined,
): string {
  if (scope === "files" && place === undefined) return "The files of a repository are found on its pages.";
  const isWaiting = (scope === "files" || scope === "all") && place !== undefined && files.value === undefined;
  if (isWaiting && error.value === undefined) return "Loading the names of the files…";
  if (groups.length === 0) return "Nothing has such a name.";
  return groups
    .map(({ title, items, totalCount }) => {
      const shown = items.length < totalCount ? `${formatCount(items.length)} of ` : "";
      return `${title}: ${shown}${formatCount(totalCount)}`;
    })
    .join(" · ");
}
