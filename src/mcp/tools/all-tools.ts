import type { Tool } from "../calls/tool.js";
import { compareRevisions } from "./compare-tool.js";
import { listFiles, readFile } from "./file-tools.js";
import { commitSearch, diffSearch } from "./history-tools.js";
import { listRefs } from "./ref-tools.js";
import { getContributorRepos, listRepos } from "./repository-tools.js";
import { keywordSearch, nlsSearch, regexpSearch } from "./search-tools.js";
import { findImplementations, findReferences, goToDefinition } from "./symbol-tools.js";

/** Offered at every address: few tools leave an assistant more room to think. */
const mainTools: readonly Tool[] = [
  commitSearch,
  diffSearch,
  keywordSearch,
  listFiles,
  listRefs,
  listRepos,
  nlsSearch,
  readFile,
  regexpSearch,
];

const furtherTools: readonly Tool[] = [
  compareRevisions,
  findImplementations,
  findReferences,
  getContributorRepos,
  goToDefinition,
];

/** The names of all tools. */
export const toolNames: readonly string[] = [...mainTools, ...furtherTools].map(({ name }) => name).sort();

/** Which tools an address offers. */
export type ToolSet = "main" | "all";

/** The tools of a set without the disabled ones. */
export function selectTools(set: ToolSet, disabled: readonly string[]): readonly Tool[] {
  return [...mainTools, ...(set === "all" ? furtherTools : [])].filter(({ name }) => !disabled.includes(name));
}
