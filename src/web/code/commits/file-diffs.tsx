import "./diff.css";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { UsedAnswer } from "../../api/use-graphql.js";
import { address, navigate } from "../../route/router.js";
import { ActionError, useAction } from "../../ui/action.js";
import { addKeys } from "../../ui/keys.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { Found } from "../../ui/states.js";
import { TokenReader } from "../../ui/token-reader.js";
import type { FileDiff } from "./diff-lines.js";
import { DiffTable } from "./diff-table.js";
import { type DiffForm, type DiffView, keepForm, keptForm, readDiffView, withDiffView } from "./diff-view.js";

/** Larger differences are shown when they are asked for. */
const openLineCountMax = 2000;

/** Rows of a page that are made without being asked for, at most: those of the differences that are open at first. */
const openRowCountMax = 20_000;

/** Which files are open at first. What comes later changes nothing about those before. */
function openAtFirst(files: readonly FileDiff[]): readonly boolean[] {
  let left = openRowCountMax;
  return files.map(({ stat, hunks }) => {
    if (stat === null || stat.added + stat.deleted > openLineCountMax) return false;
    const rowCount = (hunks ?? []).reduce((sum, { oldRange, newRange }) => sum + oldRange.lines + newRange.lines, 0);
    if (rowCount > left) return false;
    left -= rowCount;
    return true;
  });
}

interface FileDiffsProps {
  /** The repository. */
  readonly name: string;
  /** The first files; null where there is nothing to compare. */
  readonly used: UsedAnswer<FileDiffList | null>;
  /** Reads the files after those of a list, given its end. */
  readonly readMore: (after: string) => Promise<FileDiffList | null>;
}

/** The files that differ, each with its changed lines, one below the other or side by side. */
export function FileDiffs({ name, used, readMore }: FileDiffsProps) {
  const section = useRef<HTMLElement>(null);
  const { form, ignoresSpace } = readDiffView(address.value);
  const isNarrow = useNarrow();
  const chosen = form ?? keptForm();
  const shown = isNarrow ? "unified" : chosen;
  const show = (view: DiffView): void => navigate(withDiffView(address.peek(), view), "replace");
  const actions = {
    ignoreSpace: () => show({ form, ignoresSpace: !ignoresSpace }),
    split: () => {
      const other = chosen === "split" ? "unified" : "split";
      keepForm(other);
      show({ form: other, ignoresSpace });
    },
  };
  useLayoutEffect(
    () =>
      addKeys([
        { key: "j", what: "Next changed file", act: () => stepToFile(section.current, 1) },
        { key: "k", what: "Previous changed file", act: () => stepToFile(section.current, -1) },
        { key: "w", what: "Leave out, or show, changes of white space alone", act: actions.ignoreSpace },
      ]),
    [form, ignoresSpace],
  );
  return (
    <section ref={section} aria-label="Changes">
      <div class="diff-head">
        <h2>
          {used.answer.kind === "ready" && used.answer.value !== null ? <Total list={used.answer.value} /> : "Changes"}
        </h2>
        <span class="diff-choices">
          <button type="button" class="button" aria-pressed={ignoresSpace} onClick={actions.ignoreSpace}>
            Ignore white space
          </button>
          {!isNarrow && (
            <button type="button" class="button" aria-pressed={shown === "split"} onClick={actions.split}>
              Side by side
            </button>
          )}
        </span>
      </div>
      <Found used={used} what="the changes">
        {(list) =>
          list !== null && (
            <FileList key={String(ignoresSpace)} name={name} list={list} form={shown} readMore={readMore} />
          )
        }
      </Found>
    </section>
  );
}

/** Two columns of code are too narrow there, as on a telephone. */
const narrow = window.matchMedia("(max-width: 44rem)");

function useNarrow(): boolean {
  const isNarrow = useSignal(narrow.matches);
  useLayoutEffect(() => {
    const look = (): void => {
      isNarrow.value = narrow.matches;
    };
    narrow.addEventListener("change", look);
    return () => narrow.removeEventListener("change", look);
  }, [isNarrow]);
  return isNarrow.value;
}

function Total({ list: { totalCount, nodes, diffStat } }: { readonly list: FileDiffList }) {
  return (
    <>
      {formatAmount(totalCount ?? nodes?.length ?? 0, "file")} changed{" "}
      {diffStat !== null && <Stat added={diffStat.added} deleted={diffStat.deleted} />}
    </>
  );
}

interface FileListProps extends Pick<FileDiffsProps, "name" | "readMore"> {
  readonly list: FileDiffList;
  readonly form: DiffForm;
}

function FileList({ name, list, form, readMore }: FileListProps) {
  const reader = useMemo(() => new TokenReader(), []);
  useLayoutEffect(() => () => reader.close(), [reader]);
  const added = useSignal<readonly FileDiffList[]>([]);
  const action = useAction();
  const lists = [list, ...added.value];
  const nodes = lists.flatMap((one) => one.nodes ?? []);
  const areOpen = openAtFirst(nodes);
  const { hasNextPage, endCursor } = lists.at(-1)?.pageInfo ?? list.pageInfo;
  const showMore = (): void =>
    void action.run(async () => {
      const next = await readMore(endCursor ?? "");
      if (next !== null) added.value = [...added.peek(), next];
    });
  return (
    <>
      {nodes.length > 1 && (
        <details class="panel diff-files">
          <summary class="panel-head">Files</summary>
          <ul>
            {nodes.map((file, at) => (
              <li key={file.mostRelevantFile.url}>
                <button
                  type="button"
                  class="button quiet"
                  onClick={({ currentTarget }) => showChange(currentTarget, at)}
                >
                  <bdi>{titleOfChange(file)}</bdi>
                </button>{" "}
                {file.stat !== null && <Stat added={file.stat.added} deleted={file.stat.deleted} />}
              </li>
            ))}
          </ul>
        </details>
      )}
      {nodes.map((file, at) => (
        <FileChange
          key={file.mostRelevantFile.url}
          name={name}
          file={file}
          isOpenAtFirst={areOpen[at] === true}
          form={form}
          reader={reader}
        />
      ))}
      {hasNextPage && (
        <p class="diff-foot">
          <button type="button" class="button" disabled={action.isRunning.value} onClick={showMore}>
            More files
          </button>{" "}
          <span class="soft" role="status">
            {formatCount(nodes.length)} of {formatCount(list.totalCount ?? nodes.length)} are shown.
          </span>
        </p>
      )}
      <ActionError action={action} />
    </>
  );
}

/** Opens the changes of a file, and goes to them. */
function showChange(pressed: HTMLElement, at: number): void {
  const change = changesIn(pressed.closest("section"))[at];
  if (change !== undefined) change.open = true;
  goTo(change);
}

function changesIn(section: HTMLElement | null): readonly HTMLDetailsElement[] {
  return [...(section?.querySelectorAll<HTMLDetailsElement>(".file-diff") ?? [])];
}

function goTo(change: HTMLDetailsElement | undefined): void {
  change?.scrollIntoView();
  change?.querySelector<HTMLElement>("summary")?.focus({ preventScroll: true });
}

/** Goes to the next file, or the one before: from the one with the focus, otherwise from what is at the top of the window. */
function stepToFile(section: HTMLElement | null, step: 1 | -1): void {
  const changes = changesIn(section);
  const focused = changes.findIndex((change) => change.contains(document.activeElement));
  const firstInSight = changes.findIndex((change) => change.getBoundingClientRect().bottom > 0);
  const next = focused >= 0 ? focused + step : firstInSight;
  goTo(changes[Math.max(0, Math.min(changes.length - 1, next))]);
}

function titleOfChange({ oldPath, newPath }: FileDiff): string {
  const isMoved = oldPath !== null && newPath !== null && oldPath !== newPath;
  return isMoved ? `${oldPath} → ${newPath}` : (newPath ?? oldPath ?? "");
}

interface FileChangeProps {
  readonly name: string;
  readonly file: FileDiff;
  readonly isOpenAtFirst: boolean;
  readonly form: DiffForm;
  readonly reader: TokenReader;
}

function FileChange({ name, file, isOpenAtFirst, form, reader }: FileChangeProps) {
  // Its rows are made when it is first opened, and stay then.
  const wasOpened = useSignal(isOpenAtFirst);
  const { oldPath, newPath, stat } = file;
  const hunks = file.hunks ?? [];
  const title = titleOfChange(file);
  const links = <a href={file.mostRelevantFile.url}>View the file</a>;
  const note = newPath === null ? "removed" : oldPath === null ? "new" : "";
  return (
    <details
      class="panel file-diff"
      open={isOpenAtFirst}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) wasOpened.value = true;
      }}
    >
      <summary class="panel-head">
        <span class="file-name">{title}</span>
        {note !== "" && <span class="tag">{note}</span>}
        {stat !== null && <Stat added={stat.added} deleted={stat.deleted} />}
      </summary>
      {hunks.length === 0 ? (
        <>
          <p class="panel-foot small diff-links">{links}</p>
          <p class="panel-foot soft">
            No lines are shown: the file is binary, or only its name, its mode or, where that is left out, its white
            space changed.
          </p>
        </>
      ) : (
        wasOpened.value && (
          <DiffTable name={name} file={file} form={form} reader={reader} label={`Changed lines of ${title}`}>
            {links}
          </DiffTable>
        )
      )}
    </details>
  );
}

function Stat({ added, deleted }: { readonly added: number; readonly deleted: number }) {
  return (
    <span class="stat small">
      <span class="stat-added">+{formatCount(added)}</span> <span class="stat-removed">−{formatCount(deleted)}</span>
    </span>
  );
}

export interface FileDiffList {
  readonly nodes: readonly FileDiff[] | null;
  readonly totalCount: number | null;
  readonly diffStat: { readonly added: number; readonly deleted: number } | null;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** Fields of a `FileDiffList`, for queries. */
export const fileDiffFields = `{
  nodes {
    oldPath newPath mostRelevantFile { url } stat { added deleted }
    oldFile { ... on GitBlob { commit { oid } } } newFile { ... on GitBlob { commit { oid } } }
    hunks { oldRange { startLine lines } newRange { startLine lines } section body }
  }
  totalCount
  diffStat { added deleted }
  pageInfo { hasNextPage endCursor }
}`;
