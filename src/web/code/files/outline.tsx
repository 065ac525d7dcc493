import type { PagePath } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { Found } from "../found.js";
import { address } from "../../route/router.js";

const outlineQuery = `query FileOutline($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) { symbols(first: 1000) { nodes { name kind containerName location { range { start { line } } } } } }
    }
  }
}`;

/** The symbols of a file, in its order. */
export function Outline({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const used = useGraphql("FileOutline", outlineQuery, {
    name,
    revision,
    path: path.path,
  });
  return (
    <nav class="outline" aria-label="Outline">
      <Found used={used} what="the outline">
        {({ repository }) => {
          const nodes = repository?.commit?.blob?.symbols?.nodes ?? [];
          if (nodes.length === 0) return <p class="soft">No symbols were found in this file.</p>;
          const { pathname } = address.value;
          return (
            <ul>
              {nodes.map(({ name: symbol, kind, containerName, location }, i) => (
                <li key={i} class={containerName === null || containerName === "" ? "" : "inner"}>
                  <a href={`${pathname}?L${(location.range?.start.line ?? 0) + 1}`} title={kind.toLowerCase()}>
                    {symbol}
                  </a>
                </li>
              ))}
            </ul>
          );
        }}
      </Found>
    </nav>
  );
}
