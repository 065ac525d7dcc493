import { Found } from "../ui/states.js";
import type { PagePath } from "../../model/page-path.js";
import { useGraphql } from "../api/use-graphql.js";
import { MissingRepository } from "./found.js";
import { repositoryFilter, searchUrl } from "./code-urls.js";
import { formatAmount, formatCount } from "../ui/numbers.js";

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
