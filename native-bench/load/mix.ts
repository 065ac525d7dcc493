import { TrawlError } from "../../src/base/errors.js";
import type { LoadClass } from "./options.js";
import { usualPause, usualSlow, type Reader } from "./reader.js";
import { exhaustive, type LoadRequest } from "./request.js";

interface ClientKind {
  readonly meaning: string;
  readonly reader: Reader;
  /** Which of the queries such a client asks, and in which form. */
  readonly requests: (queries: readonly LoadRequest[]) => readonly LoadRequest[];
}

const steady: Reader = { kind: "steady" };

const asWritten: ClientKind["requests"] = (queries) => queries.filter(({ kind }) => kind !== "graphql");
const forAll: ClientKind["requests"] = (queries) =>
  queries.flatMap((query) => (query.kind === "stream" ? [exhaustive(query)] : []));
const graphqlOnly: ClientKind["requests"] = (queries) => queries.filter(({ kind }) => kind === "graphql");

/** The clients that a mix is made of. */
export const clientKinds = {
  interactive: { meaning: "asks a query as it is written", reader: steady, requests: asWritten },
  exhaustive: { meaning: "asks for every match, with count:all", reader: steady, requests: forAll },
  graphql: { meaning: "sends a GraphQL operation", reader: steady, requests: graphqlOnly },
  slow: { meaning: "reads 256 KiB a second", reader: usualSlow, requests: asWritten },
  paused: { meaning: "reads nothing for 2 s after the first event", reader: usualPause, requests: asWritten },
  leaving: { meaning: "leaves after the first event", reader: { kind: "leaving" }, requests: asWritten },
} as const satisfies Readonly<Record<string, ClientKind>>;

type ClientKindName = keyof typeof clientKinds;

/**
 * `interactive=9,exhaustive=1` as classes that ask these queries; undefined asks each query as it is written, equally
 * often.
 */
export function parseMix(mix: string | undefined, queries: readonly LoadRequest[]): LoadClass[] {
  if (mix === undefined) return plainClasses(queries);
  const classes = mix.split(",").map((part) => {
    const [, name = "", weight = ""] = /^\s*([a-z]+)=([0-9.]+)\s*$/.exec(part) ?? [];
    if (isClientKind(name)) return newClass(name, Number(weight), queries);
    const names = Object.keys(clientKinds).join(", ");
    throw new TrawlError("bad-config", `mix ${JSON.stringify(part)}: must be NAME=SHARE with one of ${names}`);
  });
  if (new Set(classes.map(({ name }) => name)).size === classes.length) return classes;
  throw new TrawlError("bad-config", `mix ${mix}: a name comes twice`);
}

function plainClasses(queries: readonly LoadRequest[]): LoadClass[] {
  const classes = (["interactive", "graphql"] as const).map((name) => newClass(name, 1, queries));
  return classes
    .map((each) => ({ ...each, weight: each.requests.length }))
    .filter(({ requests }) => requests.length > 0);
}

function newClass(name: ClientKindName, weight: number, queries: readonly LoadRequest[]): LoadClass {
  const { reader, requests } = clientKinds[name];
  return { name, weight, reader, requests: requests(queries) };
}

function isClientKind(name: string): name is ClientKindName {
  return Object.hasOwn(clientKinds, name);
}
