import { toJson } from "../../base/text.js";
import { decodePath, escapeUrlPath, isForeignPath, shownPath } from "../../base/path-text.js";
import type { SelectedResult } from "../../protocol/result-batch.js";
import { commitOfChoice } from "../choice-commit.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { People } from "../people/people.js";
import type { DocumentSelect } from "./document-select.js";
import type { ResultSource } from "./result-source.js";

/**
 * What `select:` chooses instead of a document: the repository, the directory or the owners that it belongs to.
 * `members` returns those of the document's template. Only a document without owners has none.
 */
export function selectResults(
  select: DocumentSelect,
  source: ResultSource,
  optionsIndex: number,
  reader: ShardReader,
  members: () => Buffer,
  people: People | undefined,
): SelectedResult[] {
  const { summary, revision } = source;
  const common = { optionsIndex, repositoryId: summary.id, revision: revision.typed };
  const repositoryKey = `${summary.id}@${revision.typed}`;
  switch (select) {
    case "repo":
      return [{ ...common, kind: "repository", key: repositoryKey, json: "" }];
    case "file.directory": {
      const directory = directoryName(decodePath(reader.path(source.document)));
      const escaped = isForeignPath(directory) ? `,"escapedPath":${toJson(escapeUrlPath(directory))}` : "";
      const json = `{"type":"path","path":${toJson(shownPath(directory))}${members().toString()}${escaped}}`;
      return [{ ...common, kind: "directory", key: `${repositoryKey}:${directory}`, json }];
    }
    case "file.owners": {
      const commit = { repositoryId: summary.id, commit: commitOfChoice(summary, revision) };
      const owners = people?.owners(commit, reader.path(source.document)) ?? [];
      return owners.map(({ kind, text }) => {
        const json = toJson({ type: "person", handle: "", email: "", [kind]: text });
        return { ...common, kind: "owner", key: `${kind}:${text.toLowerCase()}`, json };
      });
    }
  }
}

function directoryName(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "./";
}
