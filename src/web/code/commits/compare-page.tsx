import { Found } from "../../ui/states.js";
import type { PagePath } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { MissingRepository } from "../found.js";
import { CommitLine, commitLineFields } from "./commit-line.js";
import { fileDiffFields, FileDiffs } from "./file-diffs.js";
import { formatAmount } from "../../ui/numbers.js";

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
  const used = useGraphql("Comparison", compareQuery, {
    name,
    base: base === "" ? null : base,
    head: head === "" ? null : head,
  });
  return (
    <Found used={used} what="the comparison">
      {({ repository }) => {
        const comparison = repository?.comparison ?? null;
        if (comparison === null) return <MissingRepository name={name} />;
        const { commits, fileDiffs } = comparison;
        const nodes = commits?.nodes ?? [];
        return (
          <>
            <section class="panel" aria-label="Commits">
              <h1 class="panel-head">
                <span>
                  <code>{base === "" ? "HEAD" : base}</code> … <code>{head === "" ? "HEAD" : head}</code>
                </span>
                <span class="soft small">{formatAmount(commits?.totalCount ?? nodes.length, "commit")}</span>
              </h1>
              <ul class="commit-list">
                {nodes.map((commit) => (
                  <li key={commit.oid}>
                    <CommitLine commit={commit} place={path} />
                  </li>
                ))}
              </ul>
            </section>
            {fileDiffs !== null && <FileDiffs list={fileDiffs} />}
          </>
        );
      }}
    </Found>
  );
}
