import { isSymbolFault, symbolFaults } from "../../model/symbol-failure.js";
import type { ExcludedFile } from "../../protocol/messages.js";
import { type ListedFiles, listedNamesMax } from "./progress.js";

/** The first files, as a message lists them. */
export function listExcluded(files: ReadonlyMap<string, ExcludedFile>): ListedFiles {
  return { count: files.size, names: [...files.values()].slice(0, listedNamesMax).map(describeExcluded) };
}

export function describeExcluded({ repository, path, reason }: ExcludedFile): string {
  return `\`${repository}\` ${path}: ${describeReason(reason)}`;
}

function describeReason(reason: ExcludedFile["reason"]): string {
  if (reason === "work") return "matching the pattern takes too many passes over the text";
  return isSymbolFault(reason) ? `ctags ${symbolFaults[reason]}` : "too many matches on one line";
}
