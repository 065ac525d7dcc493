import Papa from "papaparse";
import { useMemo } from "preact/hooks";
import { formatAmount, formatCount } from "../../../ui/numbers.js";
import { scrollable } from "../../../ui/scrollable.js";
import { Notice } from "../../../ui/states.js";
import { readTable } from "./table.js";

/** A file of values as a table, whose first row is its head. */
export function TableView({ path, text }: { readonly path: string; readonly text: string }) {
  const { head, rows, isCut, columnsLeft, problem } = useMemo(() => readTable(text, path, Papa.parse), [text, path]);
  if (head.length === 0) return <p class="soft table-note">The file has no rows.</p>;
  return (
    <>
      {problem !== undefined && (
        <Notice kind="warn">
          <strong>The table may be wrong.</strong>
          <span>{problem} The source is shown by the button above.</span>
        </Notice>
      )}
      <p class="soft small table-note" role="status">
        {isCut ? `The first ${formatCount(rows.length)} rows` : formatAmount(rows.length, "row")}
        {`, ${formatAmount(head.length + columnsLeft, "column")}`}
        {columnsLeft > 0 && `, of which ${formatCount(head.length)} are shown`}
        {isCut && ". The source has the rest."}
      </p>
      <div class="file-table" {...scrollable(`Table of ${path}`)}>
        <table>
          <thead>
            <tr>
              <td />
              {head.map((cell, at) =>
                cell.trim() === "" ? (
                  <td key={at} />
                ) : (
                  <th key={at} scope="col">
                    {cell}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                <td class="row-number">{formatCount(at + 1)}</td>
                {head.map((_, column) => (
                  <td key={column}>{row[column] ?? ""}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
