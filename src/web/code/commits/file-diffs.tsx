import { useSignal } from "@preact/signals";
import "./diff.css";
import { DiffTable, type DiffForm } from "./diff-table.js";
import type { FileDiff, FileDiffList } from "./file-diff.js";
import { formatCount } from "../../ui/numbers.js";

/** Larger differences are shown when they are asked for. */
const openLineCountMax = 2000;

interface FileDiffsProps {
  readonly list: FileDiffList;
}

/** The files that differ, each with its changed lines, one below the other or side by side. */
export function FileDiffs({ list }: FileDiffsProps) {
  const form = useSignal<DiffForm>("unified");
  const { totalCount, diffStat } = list;
  const nodes = list.nodes ?? [];
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
      {totalCount !== null && totalCount > nodes.length && (
        <p class="soft">Only the first {nodes.length} files are shown.</p>
      )}
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
        <DiffTable hunks={hunks} form={form} />
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
