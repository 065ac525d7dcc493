import { unescapeUrlPart } from "../../base/path-text.js";
import { useEffect } from "preact/hooks";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { Found, State } from "../ui/states.js";
import { ContextList } from "./context-list.js";
import { ContextView, NewContext, contextFields } from "./context-view.js";
import "../ui/rows.css";
import "./contexts.css";

/** `/contexts`, `/contexts/new` and `/contexts/SPEC`. */
export function ContextsPage() {
  const spec = unescapeUrlPart(address.value.pathname.slice("/contexts".length).replace(/^\//, ""));
  useEffect(() => {
    document.title = `${spec === "" ? "Search contexts" : spec === "new" ? "New context" : spec} · Trawl`;
  }, [spec]);
  return (
    <div class="column-page contexts" key={spec}>
      {spec === "" ? (
        <ContextList />
      ) : spec === "new" && viewer.name !== "" ? (
        <NewContext />
      ) : (
        <OneContext spec={spec} />
      )}
    </div>
  );
}

function OneContext({ spec }: { readonly spec: string }) {
  const used = useGraphql(
    "SearchContext",
    `query SearchContext($spec: String!) { searchContextBySpec(spec: $spec) { ${contextFields}
      repositories { revisions repository { name url } } } }`,
    { spec },
  );
  return (
    <Found used={used} what="the context">
      {({ searchContextBySpec: found }, retry) => {
        if (found === null)
          return (
            <State title="There is no such context">
              <p>
                Or you may not see it. <a href="/contexts">All contexts</a>
              </p>
            </State>
          );
        return <ContextView context={found} changed={retry} />;
      }}
    </Found>
  );
}
