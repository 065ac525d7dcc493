import { type PagePath, pageUrl } from "../../model/page-path.js";
import { useGraphql } from "../api/use-graphql.js";
import { formatCount, formatTime } from "../ui/numbers.js";
import { Found, State } from "../ui/states.js";
import { MissingRepository } from "./found.js";

const indexesQuery = `query PreciseIndexes($name: String!) {
  repository(name: $name) {
    preciseIndexes(first: 100) {
      totalCount
      nodes {
        id state failure inputCommit inputRoot inputIndexer indexerVersion uploadedAt
        documentCount occurrenceCount leftOutDocumentCount leftOutOccurrenceCount
      }
    }
  }
}`;

const stateTexts = {
  UPLOADING: "arriving",
  QUEUED: "waiting to be read",
  PROCESSING: "being read",
  COMPLETED: "used for precise answers",
  ERRORED: "not used",
} as const;

/** The indexes that were uploaded for a repository; the address of an upload, which `src` shows, leads here. */
export function IndexesPage({ path }: { readonly path: PagePath }) {
  const { name } = path;
  const used = useGraphql("PreciseIndexes", indexesQuery, { name });
  return (
    <Found used={used} what="indexes">
      {({ repository }) => {
        if (repository === null) return <MissingRepository name={name} />;
        const { nodes, totalCount } = repository.preciseIndexes;
        if (nodes.length === 0)
          return (
            <State title="No index was uploaded">
              <p>
                Definitions and references are found by name. With the index of a compiler they are precise: run an
                indexer, then <code>src code-intel upload -repo {name}</code>.
              </p>
            </State>
          );
        return (
          <section class="panel" aria-label="Indexes">
            <h1 class="panel-head">
              Indexes <span class="soft small">{formatCount(totalCount)}</span>
            </h1>
            <ul class="index-list">
              {nodes.map((index) => (
                <li key={index.id}>
                  <span>
                    {index.inputIndexer || "an index"} {index.indexerVersion}
                  </span>
                  {index.inputRoot !== "" && <code>{index.inputRoot}</code>}
                  <a href={pageUrl({ name, revision: index.inputCommit }, "commit")}>
                    <code>{index.inputCommit.slice(0, 10)}</code>
                  </a>
                  <span class="soft">{formatTime(index.uploadedAt)}</span>
                  <span class="tag">{stateTexts[index.state]}</span>
                  <span class="soft small">{index.failure ?? contents(index)}</span>
                </li>
              ))}
            </ul>
          </section>
        );
      }}
    </Found>
  );
}

interface Contents {
  readonly documentCount: number | null;
  readonly occurrenceCount: number | null;
  readonly leftOutDocumentCount: number | null;
  readonly leftOutOccurrenceCount: number | null;
}

function contents({ documentCount, occurrenceCount, leftOutDocumentCount, leftOutOccurrenceCount }: Contents): string {
  if (documentCount === null) return "";
  const left = [
    ...((leftOutDocumentCount ?? 0) > 0 ? [`${formatCount(leftOutDocumentCount ?? 0)} files`] : []),
    ...((leftOutOccurrenceCount ?? 0) > 0 ? [`${formatCount(leftOutOccurrenceCount ?? 0)} places`] : []),
  ];
  const found = `${formatCount(documentCount)} files, ${formatCount(occurrenceCount ?? 0)} places`;
  return left.length === 0 ? found : `${found}; without ${left.join(" and ")} that do not fit the commit`;
}
