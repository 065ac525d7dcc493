import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { schemaTypes } from "virtual:schema";
import { address } from "../route/router.js";
import { addKeys } from "../ui/keys.js";
import { findTypes, type SchemaType, type TypeLink, TypeView } from "./schema-view.js";

const groups: readonly (readonly [title: string, kinds: readonly SchemaType["kind"][]])[] = [
  ["Types", ["type"]],
  ["Interfaces and unions", ["interface", "union"]],
  ["Inputs", ["input"]],
  ["Enumerations", ["enum"]],
  ["Scalars", ["scalar"]],
];
const known = new Set(schemaTypes.map(({ name }) => name));
const roots = ["Query", "Mutation"];

/** A link within the page; types of GraphQL itself, such as `String`, lead nowhere. */
const link: TypeLink = (name, children) => (known.has(name) ? <a href={`#${name}`}>{children}</a> : children);

/** `/api/schema`: all types of the GraphQL API on one page. */
export function SchemaPage() {
  const filter = useSignal("");
  const { hash } = address.value;
  useLayoutEffect(() => {
    document.title = "API schema · Trawl";
    return addKeys([
      { key: "f", what: "Find a type or a field", act: () => document.getElementById("schema-filter")?.focus() },
    ]);
  }, []);
  useLayoutEffect(() => {
    const target = document.getElementById(hash.slice(1));
    target?.scrollIntoView();
  }, [hash]);
  const found = findTypes(schemaTypes, filter.value);
  return (
    <div class="schema-page">
      <nav class="schema-list" aria-label="Types">
        <label>
          <span class="unseen">Find a type or a field</span>
          <input
            id="schema-filter"
            class="field"
            type="search"
            placeholder="Find a type or a field"
            onInput={({ currentTarget }) => {
              filter.value = currentTarget.value;
            }}
          />
        </label>
        <p class="soft small" role="status">
          {filter.value.trim() === "" ? `${found.length} types` : `${found.length} of ${schemaTypes.length} types`}
        </p>
        <TypeList title="Roots" types={found.filter(({ name }) => roots.includes(name))} />
        {groups.map(([title, kinds]) => (
          <TypeList
            key={title}
            title={title}
            types={found.filter(({ name, kind }) => kinds.includes(kind) && !roots.includes(name))}
          />
        ))}
      </nav>
      <div class="schema-types">
        <h1>GraphQL schema</h1>
        <p class="soft">
          What <code>POST /.api/graphql</code> understands. Try it in the <a href="/api/console">console</a>; a program
          sends its access token in the header <code>Authorization: token TEXT</code>.
        </p>
        {found.length === 0 && <p>No type, field or value has a name with this text.</p>}
        {found.map((type) => (
          <TypeView key={type.name} type={type} link={link} id={type.name} />
        ))}
      </div>
    </div>
  );
}

function TypeList({ title, types }: { readonly title: string; readonly types: readonly SchemaType[] }) {
  if (types.length === 0) return null;
  return (
    <details open={types.length < 20 || title === "Roots"}>
      <summary>
        {title} <span class="soft">{types.length}</span>
      </summary>
      <ul>
        {types.map(({ name }) => (
          <li key={name}>
            <a href={`#${name}`}>{name}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}
