import { useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { withoutReordering, withoutSuffix } from "../../../base/text.js";
import { graphql } from "../../api/graphql.js";
import { ActionError, useAction } from "../../ui/action.js";
import { cutLine, type TextRange, type Token } from "../../ui/text-range.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { scrollable } from "../../ui/element.js";
import type { FileAt, TokenReader } from "../../ui/token-reader.js";
import {
  type DiffLine,
  type FileDiff,
  type Gap,
  gapsOfHunks,
  type HunkTokens,
  markHunks,
  parseLines,
  type ShownOfGap,
} from "./diff-lines.js";
import type { DiffForm } from "./diff-view.js";

/** Lines that one press shows, and the lines of a gap that are shown at once instead. */
const stepLines = 20;
const wholeGapMax = 2 * stepLines;

/** Lines up to which a file is shown as a whole. */
const wholeFileMax = 5000;

interface DiffTableProps {
  /** The repository. */
  readonly name: string;
  readonly file: FileDiff;
  readonly form: DiffForm;
  readonly reader: TokenReader;
  readonly label: string;
  /** Links about the file, which stand above its lines. */
  readonly children: ComponentChildren;
}

/** The changed lines of a file with their context, of which more is shown when it is asked for. */
export function DiffTable({ name, file, form, reader, label, children }: DiffTableProps) {
  const panel = useRef<HTMLDivElement>(null);
  const hunks = file.hunks ?? [];
  const isSeen = useSeen(panel);
  const tokens = useDiffTokens(isSeen, name, file, reader);
  const marks = useMemo(() => (isSeen ? markHunks(hunks) : []), [isSeen, file.hunks]);
  const context = useContextLines(name, file, reader);
  const split = form === "split";
  const rows = (lines: readonly DiffLine[]) => (split ? splitRows(lines) : lines.map(unifiedRow));
  // A button that has done its work is gone: the keyboard goes on from the part that scrolls.
  const show = (more: () => Promise<unknown>): void =>
    void context.action.run(more).then(() => {
      if (!document.activeElement?.isConnected || document.activeElement === document.body)
        panel.current?.focus({ preventScroll: true });
    });
  return (
    <>
      <p class="panel-foot small diff-links">
        {children}
        {context.gaps.some((_, at) => context.hidden(at) !== 0) && (
          <button type="button" class="button quiet" onClick={() => show(context.showAll)}>
            Whole file
          </button>
        )}
        {context.isCut && (
          <span class="soft" role="status">
            Only the first {formatCount(wholeFileMax)} lines are shown: the file is longer.
          </span>
        )}
      </p>
      <ActionError action={context.action} />
      {/* A part that scrolls is reached by keyboard. */}
      <div ref={panel} class="diff-scroll" {...scrollable(label)}>
        <table class={`diff ${form}`}>
          <tbody>
            {hunks.map((hunk, at) => (
              <>
                {rows(context.top(at))}
                {(context.hidden(at) !== 0 || context.gaps.length === 0) && (
                  <HunkHead split={split}>
                    <GapButtons at={at} context={context} show={show} />
                    Line {hunk.newRange.startLine} {hunk.section ?? ""}
                  </HunkHead>
                )}
                {rows(context.bottom(at))}
                {rows(parseLines(hunk, tokens[at], marks[at] ?? noMarks))}
              </>
            ))}
            {rows(context.top(hunks.length))}
            {context.hidden(hunks.length) !== 0 && (
              <HunkHead split={split}>
                <GapButtons at={hunks.length} context={context} show={show} />
              </HunkHead>
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}

const noMarks: ReadonlyMap<number, readonly TextRange[]> = new Map();

interface GapButtonsProps {
  readonly at: number;
  readonly context: ContextLines;
  /** Does what a button asks for. */
  readonly show: (more: () => Promise<unknown>) => void;
}

/** Show the lines of a gap: all of a short one, otherwise those after the change before it, or before the one after it. */
function GapButtons({ at, context, show }: GapButtonsProps) {
  const { from = 1, to } = context.gaps[at] ?? {};
  const hidden = context.hidden(at) ?? Infinity;
  const more = (side: keyof ShownOfGap, count: number) => () => show(() => context.showMore(at, side, count));
  const { top, bottom } = context.shown(at);
  if (hidden === 0) return null;
  if (hidden <= wholeGapMax)
    return (
      <MoreButton
        text={`Show ${formatAmount(hidden, "line")}`}
        about={`from line ${from + top}`}
        act={more("top", hidden)}
      />
    );
  return (
    <>
      {from > 1 && (
        <MoreButton text={`↓ ${stepLines} lines`} about={`from line ${from + top}`} act={more("top", stepLines)} />
      )}
      {to !== undefined && (
        <MoreButton
          text={`↑ ${stepLines} lines`}
          about={`before line ${to - bottom}`}
          act={more("bottom", stepLines)}
        />
      )}
    </>
  );
}

function HunkHead({ split, children }: { readonly split: boolean; readonly children: ComponentChildren }) {
  return (
    <tr class="hunk-head">
      <td colSpan={split ? 4 : 3}>
        <span class="hunk-head-row">{children}</span>
      </td>
    </tr>
  );
}

interface MoreButtonProps {
  readonly text: string;
  /** Read aloud after the text. */
  readonly about: string;
  readonly act: () => void;
}

function MoreButton({ text, about, act }: MoreButtonProps) {
  return (
    <button type="button" class="button quiet" onClick={act}>
      {text}
      <span class="unseen"> {about}</span>
    </button>
  );
}

/** Whether the table is in sight, or has been: what is far away gets neither colours nor marks. */
function useSeen(panel: RefObject<HTMLElement | null>): boolean {
  const isSeen = useSignal(false);
  useLayoutEffect(() => {
    if (panel.current === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        isSeen.value = true;
      },
      { rootMargin: "600px" },
    );
    observer.observe(panel.current);
    return () => observer.disconnect();
  }, [panel, isSeen]);
  return isSeen.value;
}

/** The tokens of the lines of each hunk. */
type DiffTokens = readonly HunkTokens[];

/** Read from the whole file on each side, or a hunk in the middle of a comment would have wrong colours. */
function useDiffTokens(
  isSeen: boolean,
  name: string,
  { oldPath, newPath, oldFile, newFile, hunks }: FileDiff,
  reader: TokenReader,
): DiffTokens {
  const found = useSignal<DiffTokens>([]);
  useLayoutEffect(() => {
    if (hunks === null || !isSeen) return;
    const made = hunks.map((): { -readonly [Side in keyof HunkTokens]: HunkTokens[Side] } => ({
      older: [],
      newer: [],
    }));
    const read = (path: string | null, commit: string | undefined, side: "older" | "newer"): void => {
      if (path === null || commit === undefined) return;
      const spans = hunks
        .map(({ oldRange, newRange }) => (side === "older" ? oldRange : newRange))
        .map(({ startLine, lines }) => ({ from: Math.max(0, startLine - 1), to: Math.max(0, startLine - 1) + lines }));
      const file: FileAt = { repository: name, commit, path };
      reader.read(file, spans, (index, lines) => {
        const hunk = made[index];
        if (hunk !== undefined) hunk[side] = lines;
        found.value = [...made];
      });
    };
    read(oldPath, oldFile?.commit?.oid, "older");
    read(newPath, newFile?.commit?.oid, "newer");
  }, [hunks, isSeen]);
  return found.value;
}

const linesQuery = `query DiffLines($name: String!, $revision: String!, $path: String!, $from: Int!, $to: Int!) {
  repository(name: $name) { commit(rev: $revision) { blob(path: $path) { content(startLine: $from, endLine: $to) } } }
}`;

interface ContextState {
  readonly shown: readonly ShownOfGap[];
  /** Lines of the newer file that were read, by their number. */
  readonly texts: ReadonlyMap<number, string>;
  readonly tokens: ReadonlyMap<number, readonly Token[]>;
  /** The number of lines of the file, once its end was read. */
  readonly lineCount: number | undefined;
  /** Whether the whole file was asked for, and has more lines than a page shows. */
  readonly isCut: boolean;
}

type ContextLines = ReturnType<typeof useContextLines>;

const noContext: ContextState = { shown: [], texts: new Map(), tokens: new Map(), lineCount: undefined, isCut: false };
const noneShown: ShownOfGap = { top: 0, bottom: 0 };

/** The lines between the hunks that are shown; they are read from the newer file. */
function useContextLines(name: string, { oldPath, newPath, newFile, hunks }: FileDiff, reader: TokenReader) {
  const state = useSignal(noContext);
  const action = useAction();
  const commit = newFile?.commit?.oid;
  const found = useMemo(
    () => (oldPath === null || newPath === null || commit === undefined ? [] : gapsOfHunks(hunks ?? [])),
    [oldPath, newPath, commit, hunks],
  );
  const { shown, texts, tokens, lineCount, isCut } = state.value;
  const gaps = found.map(
    (gap): Gap =>
      gap.to === undefined && lineCount !== undefined ? { ...gap, to: Math.max(gap.from, lineCount + 1) } : gap,
  );
  const shownOf = (at: number): ShownOfGap => shown[at] ?? noneShown;
  /** How many lines of a gap are hidden; undefined if that is not known. */
  const hidden = (at: number): number | undefined => {
    const gap = gaps[at];
    if (gap === undefined) return 0;
    const { top, bottom } = shownOf(at);
    return gap.to === undefined ? undefined : Math.max(0, gap.to - gap.from - top - bottom);
  };
  const lines = (from: number, count: number, offset: number): readonly DiffLine[] =>
    Array.from({ length: count }, (_, i) => ({
      kind: "context",
      text: texts.get(from + i) ?? "",
      tokens: tokens.get(from + i) ?? [],
      marks: [],
      oldLine: from + i + offset,
      newLine: from + i,
    }));
  /** Reads lines, of which the first is in the file: of a part behind the end, all would be answered. Returns the last one read. */
  const read = async (from: number, to: number): Promise<number> => {
    if (newPath === null || commit === undefined) return 0;
    const answer = await graphql("DiffLines", linesQuery, { name, revision: commit, path: newPath, from, to });
    const content = answer.repository?.commit?.blob?.content ?? "";
    const all = content === "" ? [] : withoutSuffix(content, "\n").split("\n");
    const last = from + all.length - 1;
    const { texts: known, lineCount: knownCount } = state.peek();
    state.value = {
      ...state.peek(),
      texts: new Map([...known, ...all.map((text, i) => [from + i, text] as const)]),
      lineCount: last < to ? last : knownCount,
    };
    reader.read({ repository: name, commit, path: newPath }, [{ from: from - 1, to: last }], (_, read) => {
      const coloured = read.flatMap(({ text, tokens: some }, i) =>
        text === withoutSuffix(all[i] ?? "", "\r") ? [[from + i, some] as const] : [],
      );
      state.value = { ...state.peek(), tokens: new Map([...state.peek().tokens, ...coloured]) };
    });
    return last;
  };
  const showMore = async (at: number, side: keyof ShownOfGap, count: number): Promise<void> => {
    const gap = gaps[at];
    if (gap === undefined) return;
    const { top, bottom } = shownOf(at);
    const wanted = Math.min(count, hidden(at) ?? count);
    const from = side === "top" ? gap.from + top : (gap.to ?? gap.from) - bottom - wanted;
    // The line before a gap is in the file.
    const last = await read(Math.max(1, from - 1), from + wanted - 1);
    const added = Math.min(wanted, Math.max(0, last - from + 1));
    const next = { ...shownOf(at), [side]: shownOf(at)[side] + added };
    state.value = { ...state.peek(), shown: gaps.map((_, i) => (i === at ? next : shownOf(i))), isCut: false };
  };
  const showAll = async (): Promise<void> => {
    // One more tells whether the file is longer.
    const readCount = await read(1, wholeFileMax + 1);
    const last = Math.min(readCount, wholeFileMax);
    const all = gaps.map(({ from, to = last + 1 }, at) => {
      const { bottom } = shownOf(at);
      const count = Math.min(to - bottom, last + 1) - from;
      return { top: Math.max(shownOf(at).top, count), bottom };
    });
    state.value = { ...state.peek(), shown: all, isCut: readCount > wholeFileMax };
  };
  return {
    action,
    gaps,
    hidden,
    shown: shownOf,
    isCut,
    top: (at: number) => lines(gaps[at]?.from ?? 0, shownOf(at).top, gaps[at]?.offset ?? 0),
    bottom: (at: number) => {
      const { bottom } = shownOf(at);
      return lines((gaps[at]?.to ?? 0) - bottom, bottom, gaps[at]?.offset ?? 0);
    },
    showMore,
    showAll,
  };
}

function unifiedRow(line: DiffLine) {
  return (
    <tr class={line.kind}>
      <td class="number">{line.oldLine || ""}</td>
      <td class="number">{line.newLine || ""}</td>
      <CodeCell line={line} />
    </tr>
  );
}

/** Lines that were removed beside those that were added in their place. */
function splitRows(lines: readonly DiffLine[]) {
  const rows: [DiffLine | undefined, DiffLine | undefined][] = [];
  let free = 0;
  for (const line of lines) {
    if (line.kind === "context") {
      rows.push([line, line]);
      free = rows.length;
    } else if (line.kind === "removed") {
      rows.push([line, undefined]);
    } else {
      const row = rows[free];
      if (row === undefined) rows.push([undefined, line]);
      else row[1] = line;
      free++;
    }
  }
  return rows.map(([before, after], i) => (
    <tr key={i}>
      <td class="number">{before?.oldLine ?? ""}</td>
      <SideCell line={before} />
      <td class="number">{after?.newLine ?? ""}</td>
      <SideCell line={after} />
    </tr>
  ));
}

function SideCell({ line }: { readonly line: DiffLine | undefined }) {
  return line === undefined ? <td class="code" /> : <CodeCell line={line} />;
}

function CodeCell({ line: { kind, text, tokens, marks } }: { readonly line: DiffLine }) {
  const sign = kind === "added" ? "+" : kind === "removed" ? "−" : " ";
  const shown = withoutReordering(cutLine(text));
  let at = 0;
  const parts: ComponentChildren[] = [];
  for (const { from, to } of marks) {
    parts.push(tokenParts(shown, at, from, tokens), <mark key={from}>{tokenParts(shown, from, to, tokens)}</mark>);
    at = to;
  }
  parts.push(tokenParts(shown, at, shown.length, tokens));
  return (
    <td class={`code ${kind}`} data-sign={sign}>
      <code>{parts}</code>
    </td>
  );
}

/** A part of the text with its tokens in spans. */
function tokenParts(text: string, start: number, end: number, tokens: readonly Token[]) {
  const parts: ComponentChildren[] = [];
  let at = start;
  for (const { from, to, kind } of tokens) {
    if (to <= at) continue;
    if (from >= end) break;
    const [first, last] = [Math.max(from, at), Math.min(to, end)];
    parts.push(
      text.slice(at, first),
      <span key={first} class={kind}>
        {text.slice(first, last)}
      </span>,
    );
    at = last;
  }
  return [...parts, text.slice(at, end)];
}
