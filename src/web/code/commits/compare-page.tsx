import type { PagePath } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { Found, MissingRepository } from "../found.js";
import { CommitLine, commitLineFields, type CommitSummary } from "./commit-line.js";
import { fileDiffFields, type FileDiffList } from "./file-diff.js";
import { FileDiffs } from "./file-diffs.js";
import { formatAmount } from "../../ui/numbers.js";

interface Comparison {
  readonly repository: {
    readonly comparison: {
      readonly commits: { readonly nodes: readonly CommitSummary[]; readonly totalCount: number | null };
      readonly fileDiffs: FileDiffList;
    };
  } | null;
}

const compareQuery = `query Comparison($name: String!, $base: String, $head: String) {
  repository(name: $name) {
    comparison(base: $base, head: $head) {
      commits(first: 50) { nodes ${commitLineFields} totalCount }
      fileDiffs(first: 100) ${fileDiffFields}
    }
  }
}`;

/** `/-/compare/BASE...HEAD`: what head has that base has not. */
export function ComparePage({ path }: { readonly path: PagePath }) {
  const { name } = path;
  const [base = "", head = ""] = path.path.split(/\.{2,3}/);
  const used = useGraphql<Comparison>("Comparison", compareQuery, {
    name,
    base: base === "" ? null : base,
    head: head === "" ? null : head,
  });
  return (
    <Found used={used} what="the comparison">
      {({ repository }) => {
        if (repository === null) return <MissingRepository name={name} />;
        const { commits, fileDiffs } = repository.comparison;
        return (
          <>
            <section class="panel" aria-label="Commits">
              <h1 class="panel-head">
                <span>
                  <code>{base === "" ? "HEAD" : base}</code> … <code>{head === "" ? "HEAD" : head}</code>
                </span>
                <span class="soft small">{formatAmount(commits.totalCount ?? commits.nodes.length, "commit")}</span>
              </h1>
              <ul class="commit-list">
                {commits.nodes.map((commit) => (
                  <li key={commit.oid}>
                    <CommitLine commit={commit} place={path} />
                  </li>
                ))}
              </ul>
            </section>
            <FileDiffs list={fileDiffs} />
          </>
        );
      }}
    </Found>
  );
}
