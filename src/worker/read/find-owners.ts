import { BoundedMap } from "../../base/bounded-map.js";
import { CodeOwners } from "../../eval/people/code-owners.js";
import { readCodeOwners } from "../../git/history/commit-attributes.js";
import type { FindOwners, FoundOwners } from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";

/** Parsed files of commits that this thread keeps, in bytes of their text; rules take a few times as much. */
const keptBytesMax = 4 << 20;

interface ParsedFile {
  /** The path of the file in the repository. */
  readonly path: string;
  readonly rules: CodeOwners;
  readonly byteCount: number;
}

/** By repository and commit. */
const kept = new BoundedMap<string, ParsedFile>(keptBytesMax, ({ byteCount }) => 1024 + byteCount);

const nobody: FoundOwners = { owners: [], file: "", line: 0, pattern: "" };

/** The owners of a file: by the CODEOWNERS file of its commit or, if it has none, by what was set for the repository. */
export async function answerFindOwners(
  { repositoryId, commit, path, otherwise }: FindOwners,
  context: ReadContext,
): Promise<FoundOwners> {
  const parsed = await readParsed(repositoryId, commit, context);
  const rule = (parsed?.rules ?? new CodeOwners(otherwise)).findRule(path);
  return rule === undefined ? nobody : { ...rule, file: parsed?.path ?? "" };
}

async function readParsed(repositoryId: number, commit: string, context: ReadContext): Promise<ParsedFile | undefined> {
  const key = `${repositoryId}@${commit}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const found = await readCodeOwners(mirrorPath(context, repositoryId), commit, context.stop);
  if (found === null) return undefined;
  const { path, text } = found;
  const parsed = { path, rules: new CodeOwners(text.toString()), byteCount: text.length };
  kept.set(key, parsed);
  return parsed;
}
