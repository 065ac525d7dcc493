import type { DiffHunk } from "./file-diff.js";

/** One below the other, or side by side. */
export type DiffForm = "unified" | "split";

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
}

/** The changed lines of a file with their context. */
export function DiffTable({ hunks, form }: DiffTableProps) {
  return (
    <div class="diff-scroll">
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
