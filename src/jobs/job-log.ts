import { csvField } from "../base/csv.js";

const header = "Repository,Revision,Started at,Finished at,Status,Failure Message\n";

/** The lines of a job's log about these repositories, as CSV. `leftOut` says by name which files were not searched. */
export function logLines(
  names: readonly string[],
  startedAt: string,
  reason: string | undefined,
  isFirst: boolean,
  leftOut: ReadonlyMap<string, string>,
): Buffer {
  const end = `,,${startedAt},${new Date().toISOString()},${reason === undefined ? "completed" : "failed"},`;
  const message = (name: string): string => csvField(reason ?? leftOut.get(name) ?? "");
  return Buffer.from(
    (isFirst ? header : "") + names.map((name) => `${csvField(name)}${end}${message(name)}\n`).join(""),
  );
}
