import { csvField } from "../base/csv.js";

const header = "Repository,Revision,Started at,Finished at,Status,Failure Message\n";

/** The lines of a job's log about these repositories, as CSV. */
export function logLines(
  names: readonly string[],
  startedAt: string,
  reason: string | undefined,
  isFirst: boolean,
): Buffer {
  const end = `,,${startedAt},${new Date().toISOString()},${reason === undefined ? "completed" : "failed"},${csvField(reason ?? "")}\n`;
  return Buffer.from((isFirst ? header : "") + names.map((name) => csvField(name) + end).join(""));
}
