const header = "Repository,Revision,Started at,Finished at,Status,Failure Message\n";

/** The lines of a job's log about these repositories, as CSV. */
export function logLines(
  names: readonly string[],
  startedAt: string,
  reason: string | undefined,
  isFirst: boolean,
): Buffer {
  const end = `,,${startedAt},${new Date().toISOString()},${reason === undefined ? "completed" : "failed"},${field(reason ?? "")}\n`;
  return Buffer.from((isFirst ? header : "") + names.map((name) => field(name) + end).join(""));
}

/** A value as a field. One that a spreadsheet would take for a formula begins with an apostrophe. */
export function field(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
