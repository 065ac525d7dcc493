import "./console.css";
import type { ComponentChildren } from "preact";

/** `scripts/schema-overview.mjs` tells this, and the types below, about the GraphQL schema. */
interface SchemaItem {
  readonly name: string;
  readonly description: string;
  /** Why and what to use, or "". */
  readonly deprecated: string;
}

/** An argument, or a field of an input. */
interface SchemaArgument extends SchemaItem {
  /** As written, such as `[ID!]!`. */
  readonly type: string;
  readonly typeName: string;
  /** As written, or "". */
  readonly default: string;
}

interface SchemaField extends SchemaArgument {
  readonly args: readonly SchemaArgument[];
}

export interface SchemaType {
  readonly name: string;
  readonly kind: "type" | "interface" | "union" | "input" | "enum" | "scalar";
  readonly description: string;
  readonly fields: readonly SchemaField[];
  readonly values: readonly SchemaItem[];
  readonly interfaces: readonly string[];
  /** The types of a union, or those that implement an interface. */
  readonly members: readonly string[];
}

/** The types that hold the text in their name or in that of a field or value, case ignored; all for "". */
export function findTypes(types: readonly SchemaType[], text: string): readonly SchemaType[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return types;
  const isNamed = ({ name }: { readonly name: string }): boolean => name.toLowerCase().includes(wanted);
  return types.filter((type) => isNamed(type) || type.fields.some(isNamed) || type.values.some(isNamed));
}

/** Shows the name of a type so that it leads to the type. */
export type TypeLink = (name: string, children: ComponentChildren) => ComponentChildren;

interface TypeProps {
  readonly type: SchemaType;
  readonly link: TypeLink;
  /** The id of the heading. */
  readonly id: string;
}

/** A type with its fields or values, their arguments and descriptions. */
export function TypeView({ type, link, id }: TypeProps) {
  const { name, kind, description, fields, values, interfaces, members } = type;
  return (
    <section class="schema-type" aria-labelledby={id}>
      <h2 id={id} tabIndex={-1}>
        <span class="schema-kind">{kind}</span> <code>{name}</code>
      </h2>
      <Description text={description} />
      <Names label="Implements" names={interfaces} link={link} />
      <Names label={kind === "interface" ? "Implemented by" : "One of"} names={members} link={link} />
      {fields.length > 0 && (
        <dl>
          {fields.map((field) => (
            <Field key={field.name} field={field} link={link} />
          ))}
        </dl>
      )}
      {values.length > 0 && (
        <dl>
          {values.map((value) => (
            <div key={value.name}>
              <dt>
                <code>{value.name}</code>
              </dt>
              <dd>
                <About item={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

interface NamesProps {
  readonly label: string;
  readonly names: readonly string[];
  readonly link: TypeLink;
}

function Names({ label, names, link }: NamesProps) {
  if (names.length === 0) return null;
  return (
    <p class="schema-names small">
      <span class="soft">{label}</span>
      {names.map((name) => (
        <code key={name}>{link(name, name)}</code>
      ))}
    </p>
  );
}

function Field({ field, link }: { readonly field: SchemaField; readonly link: TypeLink }) {
  const { args } = field;
  return (
    <div>
      <dt>
        <Typed item={field} link={link} />
      </dt>
      <dd>
        <About item={field} />
        {args.length > 0 && (
          <ul class="schema-arguments" aria-label={`Arguments of ${field.name}`}>
            {args.map((argument) => (
              <li key={argument.name}>
                <Typed item={argument} link={link} />
                <About item={argument} />
              </li>
            ))}
          </ul>
        )}
      </dd>
    </div>
  );
}

function Typed({ item, link }: { readonly item: SchemaArgument; readonly link: TypeLink }) {
  const { name, type, typeName } = item;
  const at = type.indexOf(typeName);
  return (
    <code>
      <span class="schema-name">{name}</span>: {type.slice(0, at)}
      {link(typeName, typeName)}
      {type.slice(at + typeName.length)}
      {item.default !== "" && <span class="soft"> = {item.default}</span>}
    </code>
  );
}

function About({ item: { description, deprecated } }: { readonly item: SchemaItem }) {
  return (
    <>
      <Description text={description} />
      {deprecated !== "" && (
        <p class="small">
          <span class="schema-deprecated">deprecated</span> <Marked text={deprecated} />
        </p>
      )}
    </>
  );
}

function Description({ text }: { readonly text: string }) {
  if (text === "") return null;
  return (
    <p class="soft small">
      <Marked text={text} />
    </p>
  );
}

/** Text between backticks is code. */
function Marked({ text }: { readonly text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
