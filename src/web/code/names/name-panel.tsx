import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { wholeWord } from "../../../base/text.js";
import type { PagePath } from "../../../model/page-path.js";
import { repositoryFilter, searchUrl } from "../code-urls.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { ErrorText } from "../../ui/states.js";
import {
  countUses,
  type Definitions,
  groupReferences,
  keptDefinitions,
  readDefinitions,
  readImplementations,
  readReferences,
  type References,
} from "./name-answers.js";
import { mayBeImplemented, type PanelPart, placeText, precisionText } from "./name-card.js";
import { markedPreview, type NamePlace } from "./name-place.js";
import type { Answer } from "../../api/use-graphql.js";

/** The panel beside the file. It stays while one goes from file to file. */
interface ShownPanel {
  readonly page: PagePath;
  readonly place: NamePlace;
  readonly part: PanelPart;
  readonly answer: Answer<Definitions | References | undefined>;
}

export const panel = signal<ShownPanel | undefined>(undefined);

let request = new AbortController();

/** Opens the panel of a name, beside the file. */
export function openPanel(page: PagePath, place: NamePlace, part: PanelPart): void {
  request.abort();
  request = new AbortController();
  const { signal: stopped } = request;
  const show = (answer: ShownPanel["answer"]): void => {
    if (!stopped.aborted) panel.value = { page, place, part, answer };
  };
  show({ kind: "waiting" });
  readers[part](page, place, stopped).then(
    (value) => show({ kind: "ready", value }),
    (error: unknown) => show({ kind: "failed", error }),
  );
}

const readers = { definitions: readDefinitions, references: readReferences, implementations: readImplementations };

const partNames = { definitions: "Definitions", references: "References", implementations: "Implementations" };

/** Closes it, and ends its request. */
export function closePanel(): void {
  request.abort();
  panel.value = undefined;
}

/** The definitions or uses of a name, while the file stays where it is. */
export function NamePanel() {
  const box = useRef<HTMLElement>(null);
  const shown = panel.value;
  const isReady = shown?.answer.kind === "ready";
  useLayoutEffect(() => {
    // Those who came by a key go on from here.
    if (isReady) box.current?.querySelector<HTMLElement>(".name-list a")?.focus({ preventScroll: true });
  }, [isReady, shown?.place, shown?.part]);
  if (shown === undefined) return null;
  const { page, place, part, answer } = shown;
  return (
    <aside ref={box} class="name-panel" aria-label={`${place.name}: ${part}`} onKeyDown={step}>
      <div class="name-panel-head">
        <code>{place.name}</code>
        {partsToOffer(page, place, part).map((other) => (
          <button
            key={other}
            type="button"
            class="button quiet"
            aria-pressed={other === part}
            onClick={() => openPanel(page, place, other)}
          >
            {partNames[other]}
          </button>
        ))}
        <button type="button" class="button quiet" aria-label="Close" title="Close (Escape)" onClick={closePanel}>
          ✕
        </button>
      </div>
      {answer.kind === "waiting" && (
        <p class="soft" role="status">
          Looking for {part}…
        </p>
      )}
      {answer.kind === "failed" && (
        <p role="alert">
          <ErrorText error={answer.error} />{" "}
          <button type="button" class="button" onClick={() => openPanel(page, place, part)}>
            Try again
          </button>
        </p>
      )}
      {answer.kind === "ready" &&
        (answer.value !== undefined && "list" in answer.value ? (
          <DefinitionList page={page} name={place.name} found={answer.value} />
        ) : part === "implementations" ? (
          <ImplementationList found={answer.value} />
        ) : (
          <ReferenceList page={page} name={place.name} found={answer.value} />
        ))}
    </aside>
  );
}

/** Implementations are known of few names, and only by an index. */
function partsToOffer(page: PagePath, place: NamePlace, part: PanelPart): readonly PanelPart[] {
  const known = keptDefinitions(page, place);
  return (known !== undefined && mayBeImplemented(known)) || part === "implementations"
    ? ["definitions", "references", "implementations"]
    : ["definitions", "references"];
}

/** The arrows step through the links, the files and the filter. */
function step(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("a, summary, input")].filter(
    (link) => link.getClientRects().length > 0,
  );
  const at = links.findIndex((link) => link.matches(":focus"));
  const next = links[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

interface DefinitionListProps {
  readonly page: PagePath;
  readonly name: string;
  readonly found: Definitions;
}

function DefinitionList({ page, name, found: { list, isPrecise } }: DefinitionListProps) {
  if (list.length === 0)
    return (
      <p class="soft">
        No definition of <code>{name}</code> is known: the index has no symbol with this name in a language that goes
        with this file. <a href={searchUrl(`type:symbol ${name}`)}>Search for symbols like it</a>
      </p>
    );
  return (
    <>
      <p class="soft small">{isPrecise ? "Precise." : "By name, the likeliest first."}</p>
      <ul class="name-list">
        {list.map((definition) => (
          <li key={`${definition.url} ${definition.kind}`}>
            <a href={definition.url}>
              <code>{definition.signature === "" ? name : definition.signature}</code>
              <span class="name-where soft small">
                {definition.kind} · {nearnessText[definition.nearness]} · {placeText(definition, page)}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

const nearnessText = {
  SAME_FILE: "this file",
  IMPORTED: "imported",
  SAME_REPOSITORY: "this repository",
  OTHER_REPOSITORY: "another repository",
} as const;

interface ReferenceListProps {
  readonly page: PagePath;
  readonly name: string;
  readonly found: References | undefined;
}

/** Files with more uses than this are folded, but the first. */
const foldedCountMin = 20;

function ReferenceList({ page, name, found }: ReferenceListProps) {
  const { files = [], matchCount = 0, limitHit = false } = found ?? {};
  const precision = precisionText(found?.precision === "PRECISE");
  const all = searchUrl(`${repositoryFilter(page)} /${wholeWord(name)}/ case:yes count:all`);
  return (
    <>
      <p class="soft small">
        {matchCount === 0
          ? "The name is used nowhere."
          : `${formatCount(matchCount)}${limitHit ? " or more" : ""} ${matchCount === 1 ? "use" : "uses"} in ${formatCount(files.length)} ${files.length === 1 ? "file" : "files"}, ${precision}.`}{" "}
        <a href={all}>Search for {found?.precision === "PRECISE" ? "the name" : "all"}</a>
      </p>
      <FileGroups files={files} one="use" />
    </>
  );
}

function ImplementationList({ found }: { readonly found: References | undefined }) {
  if (found === undefined)
    return <p class="soft">What implements a name is known only by an uploaded index, and none covers this place.</p>;
  const { files, matchCount, limitHit } = found;
  return (
    <>
      <p class="soft small">
        {matchCount === 0
          ? "Nothing that is indexed implements it."
          : `${formatAmount(matchCount, "implementation")}${limitHit ? " or more" : ""} in ${formatAmount(files.length, "file")}, precise.`}
      </p>
      <FileGroups files={files} one="implementation" />
    </>
  );
}

/** With fewer files, nobody looks for one. */
const filteredFilesMin = 2;

/** Files with lines, by repository if there are several, and a filter for their paths. */
function FileGroups({ files, one }: Pick<References, "files"> & { readonly one: string }) {
  const wanted = useSignal("");
  const groups = useMemo(() => groupReferences(files, wanted.value), [files, wanted.value]);
  const isFiltered = wanted.value.trim() !== "";
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const fileCount = groups.reduce((sum, group) => sum + group.files.length, 0);
  const hasSeveral = useMemo(() => new Set(files.map(({ file }) => file.repository.name)).size > 1, [files]);
  return (
    <>
      {files.length >= filteredFilesMin && (
        <input
          class="field"
          type="search"
          aria-label="Part of a path or repository"
          placeholder="Filter by path"
          value={wanted.value}
          onInput={({ currentTarget }) => (wanted.value = currentTarget.value)}
          onKeyDown={(event) => {
            // The first Escape takes the filter away, the next one the panel.
            if (event.key !== "Escape" || wanted.value === "") return;
            event.preventDefault();
            wanted.value = "";
          }}
        />
      )}
      <p class="soft small" role="status" hidden={!isFiltered}>
        {isFiltered && `${formatAmount(count, one)} in ${formatAmount(fileCount, "file")} shown`}
      </p>
      {groups.map((group, at) => (
        <section key={group.repository} aria-label={group.repository}>
          {hasSeveral && (
            <h2 class="name-repository small">
              {group.repository} <span class="soft">{formatCount(group.count)}</span>
            </h2>
          )}
          {group.files.map((used, i) => (
            <FileLines key={used.file.url} used={used} isOpen={isFiltered || (at === 0 && i === 0)} />
          ))}
        </section>
      ))}
    </>
  );
}

interface FileLinesProps {
  readonly used: References["files"][number];
  /** Whether it is open, however many lines it has. */
  readonly isOpen: boolean;
}

function FileLines({ used, isOpen }: FileLinesProps) {
  const { file, lines } = used;
  return (
    <details open={isOpen || lines.length < foldedCountMin}>
      <summary>
        {file.path} <span class="soft">{formatCount(countUses(used))}</span>
      </summary>
      <ul class="name-list">
        {lines.map(({ line, preview, ranges, url }) => (
          <li key={url}>
            <a href={url}>
              <span class="soft small">{line + 1}</span> <Preview preview={preview} ranges={ranges} />
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface PreviewProps {
  readonly preview: string;
  readonly ranges: readonly { readonly start: number; readonly end: number }[];
}

function Preview({ preview, ranges }: PreviewProps) {
  const [first] = ranges;
  const indent = Math.min(preview.length - preview.trimStart().length, first?.start ?? 0);
  const moved = ranges.map(({ start, end }) => ({ start: start - indent, end: end - indent }));
  return (
    <code
      ref={(code) => {
        code?.replaceChildren(...markedPreview(preview.slice(indent), moved));
      }}
    />
  );
}
