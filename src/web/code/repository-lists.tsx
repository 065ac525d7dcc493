import { type PagePath, pageUrl, repositoryUrl } from "../../model/page-path.js";
import { useGraphql } from "../api/use-graphql.js";
import { Found, State } from "../ui/states.js";
import { MissingRepository } from "./found.js";
import { formatAmount, formatCount, formatTime } from "../ui/numbers.js";
import { repositoryFilter, searchUrl } from "./code-urls.js";

const refsQuery = `query Refs($name: String!, $type: GitRefType!) {
  repository(name: $name) {
    defaultBranch { abbrevName }
    gitRefs(first: 1000, type: $type, orderBy: AUTHORED_OR_COMMITTED_AT) {
      nodes { abbrevName target { abbreviatedOID } }
      totalCount
    }
  }
}`;

/** Branches or tags, those with the newest commits first. */
export function RefsPage({ path }: { readonly path: PagePath }) {
  const { name, page } = path;
  const isTags = page === "tags";
  const used = useGraphql("Refs", refsQuery, { name, type: isTags ? "GIT_TAG" : "GIT_BRANCH" });
  return (
    <Found used={used} what={page}>
      {({ repository }) => {
        if (repository === null) return <MissingRepository name={name} />;
        const { defaultBranch } = repository;
        const gitRefs = repository.gitRefs ?? { nodes: [], totalCount: 0 };
        if (gitRefs.nodes.length === 0) return <State title={isTags ? "There are no tags" : "There are no branches"} />;
        return (
          <section class="panel" aria-label={isTags ? "Tags" : "Branches"}>
            <h1 class="panel-head">
              {isTags ? "Tags" : "Branches"} <span class="soft small">{formatCount(gitRefs.totalCount)}</span>
            </h1>
            <ul class="ref-list">
              {gitRefs.nodes.map(({ abbrevName, target }) => (
                <li key={abbrevName}>
                  <a href={repositoryUrl({ name, revision: abbrevName })}>{abbrevName}</a>
                  {abbrevName === defaultBranch?.abbrevName && <span class="tag">default</span>}
                  <code class="soft">{target.abbreviatedOID}</code>
                  <a href={pageUrl({ name, revision: abbrevName }, "commits")}>Commits</a>
                  <a href={pageUrl({ name, revision: "" }, "compare", `...${abbrevName}`)}>Compare</a>
                </li>
              ))}
            </ul>
          </section>
        );
      }}
    </Found>
  );
}

const contributorsQuery = `query Contributors($name: String!, $range: String!) {
  repository(name: $name) {
    contributors(first: 200, revisionRange: $range) { totalCount nodes { count person { displayName email } } }
  }
}`;

/** The authors of the commits that a revision reaches, those with most first. */
export function ContributorsPage({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const used = useGraphql("Contributors", contributorsQuery, { name, range: revision });
  return (
    <Found used={used} what="the contributors">
      {({ repository }) => {
        if (repository === null) return <MissingRepository name={name} />;
        const { totalCount, nodes } = repository.contributors ?? { totalCount: 0, nodes: [] };
        const most = Math.max(1, ...nodes.map(({ count }) => count));
        return (
          <section class="panel" aria-label="Contributors">
            <h1 class="panel-head">
              Contributors <span class="soft small">{formatCount(totalCount)}</span>
            </h1>
            <ul class="people">
              {nodes.map(({ count, person }) => (
                <li key={person.email}>
                  <span>{person.displayName}</span>
                  <meter min={0} max={most} value={count} aria-label={`Commits of ${person.displayName}`} />
                  <a href={searchUrl(`${repositoryFilter(path)} type:commit author:"${person.email}"`)}>
                    {formatAmount(count, "commit")}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        );
      }}
    </Found>
  );
}

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
