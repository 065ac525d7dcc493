/** A path that stands for no file. */
export const noFile = "/dev/null";

/** The line before the changes of a file has its old and its new path, which are mostly the same. */
export function shortLine(line: string): string {
  if (diffClass(line) === "file") {
    if (line.startsWith(`${noFile} `)) return `${line.slice(noFile.length + 1)} (new)`;
    if (line.endsWith(` ${noFile}`)) return `${line.slice(0, -noFile.length - 1)} (removed)`;
  }
  const half = (line.length - 1) / 2;
  const isTwice = diffClass(line) === "file" && line[half] === " " && line.slice(0, half) === line.slice(half + 1);
  return isTwice ? line.slice(0, half) : line;
}

/** What a line of a diff is, as a class of its style. */
export function diffClass(line: string): string {
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  if (line.startsWith("@@")) return "hunk";
  return line.startsWith(" ") || line === "" ? "same" : "file";
}
