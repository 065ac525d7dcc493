import { useEffect } from "preact/hooks";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { Failure, State, Waiting } from "../ui/states.js";
import { ContextList } from "./context-list.js";
import { ContextView, NewContext } from "./context-view.js";
import { contextFields } from "./search-context.js";
import "../ui/rows.css";
import "./contexts.css";

/** `/contexts`, `/contexts/new` and `/contexts/SPEC`. */
export function ContextsPage() {
  const spec = decodeSpec(address.value.pathname.slice("/contexts".length).replace(/^\//, ""));
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
  const { answer, retry } = useGraphql(
    "SearchContext",
    `query SearchContext($spec: String!) { searchContextBySpec(spec: $spec) { ${contextFields}
      repositories { revisions repository { name url } } } }`,
    { spec },
  );
  if (answer.kind === "waiting") return <Waiting what="the context" />;
  if (answer.kind === "failed")
    return <Failure what="The context could not be read" error={answer.error} retry={retry} />;
  const { searchContextBySpec: found } = answer.value;
  if (found === null)
    return (
      <State title="There is no such context">
        <p>
          Or you may not see it. <a href="/contexts">All contexts</a>
        </p>
      </State>
    );
  return <ContextView context={found} changed={retry} />;
}

/** As it is, if it is not percent-encoded UTF-8: no context has such a spec. */
function decodeSpec(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
