import "./diff.css";
import { scrollable } from "../../ui/scrollable.js";
import { useSignal } from "@preact/signals";
import { ActionError, useAction } from "../../ui/action.js";
import { formatCount } from "../../ui/numbers.js";

/** Larger differences are shown when they are asked for. */
const openLineCountMax = 2000;

interface FileDiffsProps {
  readonly list: FileDiffList;
  /** Reads the files after those of a list, given its end. */
  readonly readMore: (after: string) => Promise<FileDiffList | null>;
}

/** The files that differ, each with its changed lines, one below the other or side by side. */
export function FileDiffs({ list, readMore }: FileDiffsProps) {
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
      {nodes.map((file) => (
        <FileChange key={file.mostRelevantFile.url} file={file} form={form.value} />
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

interface FileChangeProps {
  readonly file: FileDiff;
  readonly form: DiffForm;
}

function FileChange({ file, form }: FileChangeProps) {
  const { oldPath, newPath, stat } = file;
  const hunks = file.hunks ?? [];
  const path = newPath ?? oldPath ?? "";
  const title = oldPath !== null && newPath !== null && oldPath !== newPath ? `${oldPath} → ${newPath}` : path;
  const note = newPath === null ? "removed" : oldPath === null ? "new" : "";
  return (
    <details class="panel file-diff" open={stat !== null && stat.added + stat.deleted <= openLineCountMax}>
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
        <DiffTable hunks={hunks} form={form} label={`Changed lines of ${title}`} />
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

/** One below the other, or side by side. */
type DiffForm = "unified" | "split";

type Kind = "context" | "added" | "removed";

interface DiffLine {
  readonly kind: Kind;
  readonly text: string;
  /** 0 where the line does not exist. */
  readonly oldLine: number;
  readonly newLine: number;
}

interface DiffTableProps {
  readonly hunks: readonly DiffHunk[];
  readonly form: DiffForm;
  readonly label: string;
}

/** The changed lines of a file with their context. */
function DiffTable({ hunks, form, label }: DiffTableProps) {
  return (
    // A part that scrolls is reached by keyboard.
    <div class="diff-scroll" {...scrollable(label)}>
      <table class={`diff ${form}`}>
        <tbody>
          {hunks.map((hunk) => {
            const lines = parseLines(hunk);
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

function unifiedRow({ kind, text, oldLine, newLine }: DiffLine) {
  return (
    <tr class={kind}>
      <td class="number">{oldLine || ""}</td>
      <td class="number">{newLine || ""}</td>
      <CodeCell kind={kind} text={text} />
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
  return line === undefined ? <td class="code" /> : <CodeCell kind={line.kind} text={line.text} />;
}

function CodeCell({ kind, text }: { readonly kind: Kind; readonly text: string }) {
  const sign = kind === "added" ? "+" : kind === "removed" ? "−" : " ";
  return (
    <td class={`code ${kind}`} data-sign={sign}>
      <code>{text}</code>
    </td>
  );
}

function parseLines({ body, oldRange, newRange }: DiffHunk): readonly DiffLine[] {
  let oldLine = oldRange.startLine;
  let newLine = newRange.startLine;
  const texts = (body.endsWith("\n") ? body.slice(0, -1) : body).split("\n");
  return texts
    .filter((text) => !text.startsWith("\\"))
    .map((text) => {
      const kind = text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "context";
      return {
        kind,
        text: text.slice(1),
        oldLine: kind === "added" ? 0 : oldLine++,
        newLine: kind === "removed" ? 0 : newLine++,
      };
    });
}

interface DiffHunk {
  readonly oldRange: { readonly startLine: number };
  readonly newRange: { readonly startLine: number };
  readonly section: string | null;
  readonly body: string;
}

export interface FileDiff {
  readonly oldPath: string | null;
  readonly newPath: string | null;
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
    hunks { oldRange { startLine } newRange { startLine } section body }
  }
  totalCount
  diffStat { added deleted }
  pageInfo { hasNextPage endCursor }
}`;
