import "./diff.css";
import { scrollable } from "../../ui/scrollable.js";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { withoutReordering, withoutSuffix } from "../../../base/text.js";
import { cutLine } from "../../ui/cut-line.js";
import type { Token } from "../../ui/text-range.js";
import { type FileAt, type TokenLines, TokenReader } from "../../ui/token-reader.js";
import { ActionError, useAction } from "../../ui/action.js";
import { formatCount } from "../../ui/numbers.js";

/** Larger differences are shown when they are asked for. */
const openLineCountMax = 2000;

interface FileDiffsProps {
  /** The repository. */
  readonly name: string;
  readonly list: FileDiffList;
  /** Reads the files after those of a list, given its end. */
  readonly readMore: (after: string) => Promise<FileDiffList | null>;
}

/** The files that differ, each with its changed lines, one below the other or side by side. */
export function FileDiffs({ name, list, readMore }: FileDiffsProps) {
  const reader = useMemo(() => new TokenReader(), []);
  useEffect(() => () => reader.close(), [reader]);
  const form = useSignal<DiffForm>("unified");
  const added = useSignal<readonly FileDiffList[]>([]);
  const action = useAction();
  const { totalCount, diffStat } = list;
  const lists = [list, ...added.value];
  const nodes = lists.flatMap((one) => one.nodes ?? []);
  const { hasNextPage, endCursor } = lists.at(-1)?.pageInfo ?? list.pageInfo;
  const showMore = (): void =>
    void action.run(async () => {
      const next = await readMore(endCursor ?? "");
      if (next !== null) added.value = [...added.peek(), next];
    });
  return (
    <section aria-label="Changes">
      <div class="diff-head">
        <h2>
          {totalCount ?? nodes.length} {(totalCount ?? nodes.length) === 1 ? "file" : "files"} changed{" "}
          {diffStat !== null && <Stat added={diffStat.added} deleted={diffStat.deleted} />}
        </h2>
        <button
          type="button"
          class="button"
          aria-pressed={form.value === "split"}
          onClick={() => {
            form.value = form.value === "split" ? "unified" : "split";
          }}
        >
          Side by side
        </button>
      </div>
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
      {nodes.map((file) => (
        <FileChange key={file.mostRelevantFile.url} name={name} file={file} form={form.value} reader={reader} />
      ))}
      {hasNextPage && (
        <p class="diff-foot">
          <button type="button" class="button" disabled={action.isRunning.value} onClick={showMore}>
            More files
          </button>{" "}
          <span class="soft" role="status">
            {formatCount(nodes.length)} of {formatCount(totalCount ?? nodes.length)} are shown.
          </span>
        </p>
      )}
      <ActionError action={action} />
    </section>
  );
}

/** Opens the changes of a file, and goes to them. */
function showChange(pressed: HTMLElement, at: number): void {
  const change = pressed.closest("section")?.querySelectorAll<HTMLDetailsElement>(".file-diff")[at];
  if (change === undefined) return;
  change.open = true;
  change.scrollIntoView();
  change.querySelector<HTMLElement>("summary")?.focus({ preventScroll: true });
}

function titleOfChange({ oldPath, newPath }: FileDiff): string {
  const isMoved = oldPath !== null && newPath !== null && oldPath !== newPath;
  return isMoved ? `${oldPath} → ${newPath}` : (newPath ?? oldPath ?? "");
}

interface FileChangeProps {
  readonly name: string;
  readonly file: FileDiff;
  readonly form: DiffForm;
  readonly reader: TokenReader;
}

function FileChange({ name, file, form, reader }: FileChangeProps) {
  const panel = useRef<HTMLDetailsElement>(null);
  const tokens = useDiffTokens(panel, name, file, reader);
  const { oldPath, newPath, stat } = file;
  const hunks = file.hunks ?? [];
  const title = titleOfChange(file);
  const note = newPath === null ? "removed" : oldPath === null ? "new" : "";
  return (
    <details ref={panel} class="panel file-diff" open={stat !== null && stat.added + stat.deleted <= openLineCountMax}>
      <summary class="panel-head">
        <span class="file-name">{title}</span>
        {note !== "" && <span class="tag">{note}</span>}
        {stat !== null && <Stat added={stat.added} deleted={stat.deleted} />}
      </summary>
      <p class="panel-foot small">
        <a href={file.mostRelevantFile.url}>View the file</a>
      </p>
      {hunks.length === 0 ? (
        <p class="panel-foot soft">No lines are shown: the file is binary, or only its name or mode changed.</p>
      ) : (
        <DiffTable hunks={hunks} tokens={tokens} form={form} label={`Changed lines of ${title}`} />
      )}
    </details>
  );
}

/** The tokens of the lines of each hunk, on both sides. */
type DiffTokens = readonly { readonly older: TokenLines; readonly newer: TokenLines }[];

/**
 * Read from the whole file on each side, or a hunk in the middle of a comment would have wrong colours; when the hunks are
 * first in sight.
 */
function useDiffTokens(
  panel: { readonly current: HTMLElement | null },
  name: string,
  { oldPath, newPath, oldFile, newFile, hunks }: FileDiff,
  reader: TokenReader,
): DiffTokens {
  const found = useSignal<DiffTokens>([]);
  useEffect(() => {
    const table = panel.current?.querySelector(".diff");
    if (hunks === null || table == null) return undefined;
    const made = hunks.map(() => ({ older: [] as TokenLines, newer: [] as TokenLines }));
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
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting !== true) return;
        observer.disconnect();
        read(oldPath, oldFile?.commit?.oid, "older");
        read(newPath, newFile?.commit?.oid, "newer");
      },
      { rootMargin: "600px" },
    );
    observer.observe(table);
    return () => observer.disconnect();
  }, [hunks]);
  return found.value;
}

function Stat({ added, deleted }: { readonly added: number; readonly deleted: number }) {
  return (
    <span class="stat small">
      <span class="stat-added">+{formatCount(added)}</span> <span class="stat-removed">−{formatCount(deleted)}</span>
    </span>
  );
}

/** One below the other, or side by side. */
type DiffForm = "unified" | "split";

type Kind = "context" | "added" | "removed";

interface DiffLine {
  readonly kind: Kind;
  readonly text: string;
  readonly tokens: readonly Token[];
  /** 0 where the line does not exist. */
  readonly oldLine: number;
  readonly newLine: number;
}

interface DiffTableProps {
  readonly hunks: readonly DiffHunk[];
  /** Empty until they are known. */
  readonly tokens: DiffTokens;
  readonly form: DiffForm;
  readonly label: string;
}

/** The changed lines of a file with their context. */
function DiffTable({ hunks, tokens, form, label }: DiffTableProps) {
  return (
    // A part that scrolls is reached by keyboard.
    <div class="diff-scroll" {...scrollable(label)}>
      <table class={`diff ${form}`}>
        <tbody>
          {hunks.map((hunk, at) => {
            const lines = parseLines(hunk, tokens[at]);
            return (
              <>
                <tr class="hunk-head">
                  <td colSpan={form === "split" ? 4 : 3}>
                    Line {hunk.newRange.startLine} {hunk.section ?? ""}
                  </td>
                </tr>
                {form === "split" ? splitRows(lines) : lines.map(unifiedRow)}
              </>
            );
          })}
        </tbody>
      </table>
    </div>
  );
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

function CodeCell({ line: { kind, text, tokens } }: { readonly line: DiffLine }) {
  const sign = kind === "added" ? "+" : kind === "removed" ? "−" : " ";
  return (
    <td class={`code ${kind}`} data-sign={sign}>
      <code>{tokenParts(withoutReordering(cutLine(text)), tokens)}</code>
    </td>
  );
}

/** The text with its tokens in spans. */
function tokenParts(text: string, tokens: readonly Token[]) {
  let at = 0;
  return [
    ...tokens.flatMap(({ from, to, kind }) => {
      const before = text.slice(at, from);
      at = to;
      return [
        before,
        <span key={from} class={kind}>
          {text.slice(from, to)}
        </span>,
      ];
    }),
    text.slice(at),
  ];
}

function parseLines(
  { body, oldRange, newRange }: DiffHunk,
  tokens: DiffTokens[number] | undefined,
): readonly DiffLine[] {
  let oldLine = oldRange.startLine;
  let newLine = newRange.startLine;
  const texts = (body.endsWith("\n") ? body.slice(0, -1) : body).split("\n");
  return texts
    .filter((text) => !text.startsWith("\\"))
    .map((text) => {
      const kind = text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "context";
      const shown = text.slice(1);
      const known =
        kind === "removed" ? tokens?.older[oldLine - oldRange.startLine] : tokens?.newer[newLine - newRange.startLine];
      return {
        kind,
        text: shown,
        // Text that differs from the file's gets none.
        tokens: known?.text === withoutSuffix(shown, "\r") ? known.tokens : [],
        oldLine: kind === "added" ? 0 : oldLine++,
        newLine: kind === "removed" ? 0 : newLine++,
      };
    });
}

interface DiffHunk {
  readonly oldRange: { readonly startLine: number; readonly lines: number };
  readonly newRange: { readonly startLine: number; readonly lines: number };
  readonly section: string | null;
  readonly body: string;
}

interface FileOfCommit {
  readonly commit?: { readonly oid: string };
}

export interface FileDiff {
  readonly oldPath: string | null;
  readonly newPath: string | null;
  readonly oldFile: FileOfCommit | null;
  readonly newFile: FileOfCommit | null;
  readonly mostRelevantFile: { readonly url: string };
  readonly stat: { readonly added: number; readonly deleted: number } | null;
  readonly hunks: readonly DiffHunk[] | null;
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
