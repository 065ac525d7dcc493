import { type PagePath, pageUrl, repositoryUrl } from "../../model/page-path.js";
import { useGraphql } from "../api/use-graphql.js";
import { Found, State } from "../ui/states.js";
import { MissingRepository } from "./found.js";
import { formatCount } from "../ui/numbers.js";

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
