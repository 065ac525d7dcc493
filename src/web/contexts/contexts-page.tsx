import "../ui/lists-and-forms.css";
import { unescapeUrlPart } from "../../base/path-text.js";
import { useLayoutEffect } from "preact/hooks";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { Found, State } from "../ui/states.js";
import {
  contextAddress,
  contextFields,
  contextSearch,
  ContextView,
  NewContext,
  type SearchContext,
} from "./context-view.js";
import { graphql } from "../api/graphql.js";
import { ActionError, useAction } from "../ui/action.js";

/** `/contexts`, `/contexts/new` and `/contexts/SPEC`. */
export function ContextsPage() {
  const spec = unescapeUrlPart(address.value.pathname.slice("/contexts".length).replace(/^\//, ""));
  useLayoutEffect(() => {
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

const shownMax = 500;
const contextsQuery = `query SearchContexts {
  currentUser { id }
  searchContexts(first: ${shownMax}) { totalCount nodes { ${contextFields} } }
}`;

function ContextList() {
  const used = useGraphql("SearchContexts", contextsQuery, {});
  return (
    <>
      <h1>Search contexts</h1>
      <p class="soft">
        A context is a name for a part of the code: <code>context:NAME</code> in a query searches only there.
      </p>
      {viewer.name !== "" && (
        <p>
          <a class="button main" href="/contexts/new">
            New context
          </a>
        </p>
      )}
      <Found used={used} what="the contexts">
        {({ searchContexts, currentUser }, retry) => (
          <ul class="rows panel" aria-label="Contexts">
            {searchContexts.nodes.map((context) => (
              <ContextRow key={context.id} context={context} userId={currentUser?.id} changed={retry} />
            ))}
          </ul>
        )}
      </Found>
    </>
  );
}

interface RowProps {
  readonly context: SearchContext;
  readonly userId: string | undefined;
  readonly changed: () => void;
}

const starMutation = `mutation StarContext($context: ID!, $user: ID!) {
  createSearchContextStar(searchContextID: $context, userID: $user) { alwaysNil }
}`;
const unstarMutation = `mutation UnstarContext($context: ID!, $user: ID!) {
  deleteSearchContextStar(searchContextID: $context, userID: $user) { alwaysNil }
}`;
const defaultMutation = `mutation SetDefaultContext($context: ID!, $user: ID!) {
  setDefaultSearchContext(searchContextID: $context, userID: $user) { alwaysNil }
}`;

function ContextRow({ context, userId, changed }: RowProps) {
  const { id, spec, description, autoDefined, viewerHasAsDefault, viewerHasStarred } = context;
  const action = useAction();
  const change = (operation: "StarContext" | "UnstarContext" | "SetDefaultContext", text: string): Promise<void> =>
    action.run(async () => {
      await graphql(operation, text, { context: id, user: userId ?? "" });
      changed();
    });
  return (
    <li>
      <div class="row-main">
        <span class="row-title">
          <a href={contextAddress(spec)}>{spec}</a>
          {viewerHasAsDefault && <span class="badge good">default</span>}
          {!context.public && <span class="badge">private</span>}
        </span>
        {description !== "" && <span class="soft small">{description}</span>}
        <ActionError action={action} />
      </div>
      <div class="row-actions">
        {userId !== undefined && !autoDefined && (
          <button
            type="button"
            class="button"
            aria-pressed={viewerHasStarred}
            onClick={() =>
              void (viewerHasStarred ? change("UnstarContext", unstarMutation) : change("StarContext", starMutation))
            }
          >
            {viewerHasStarred ? "★" : "☆"}
            <span class="unseen"> Star {spec}</span>
          </button>
        )}
        {userId !== undefined && !viewerHasAsDefault && (
          <button type="button" class="button" onClick={() => void change("SetDefaultContext", defaultMutation)}>
            Make default<span class="unseen"> {spec}</span>
          </button>
        )}
        <a class="button" href={contextSearch(spec)}>
          Search<span class="unseen"> in {spec}</span>
        </a>
      </div>
    </li>
  );
}
