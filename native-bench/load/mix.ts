import { TrawlError } from "../../src/base/errors.js";
import { exhaustive } from "./adapters/stream.js";
import type { LoadClass } from "./options.js";
import { usualPause, usualSlow, type Reader } from "./reader.js";
import type { LoadRequest } from "./request.js";

interface ClientKind {
  readonly meaning: string;
  readonly reader: Reader;
  /** Which of the queries such a client asks, and how. */
  readonly requests: (queries: readonly LoadRequest[]) => readonly LoadRequest[];
}

const asWritten = (queries: readonly LoadRequest[]): readonly LoadRequest[] =>
  queries.filter(({ kind }) => kind !== "graphql");

/** The clients that a mix is made of. */
export const clientKinds = {
  interactive: { meaning: "asks a query as it is written", reader: { kind: "steady" }, requests: asWritten },
  exhaustive: {
    meaning: "asks for every match, with count:all",
    reader: { kind: "steady" },
    requests: (queries) => queries.flatMap((query) => (query.kind === "stream" ? [exhaustive(query)] : [])),
  },
  graphql: {
    meaning: "sends a GraphQL operation",
    reader: { kind: "steady" },
    requests: (queries) => queries.filter(({ kind }) => kind === "graphql"),
  },
  slow: { meaning: "reads 256 KiB a second", reader: usualSlow, requests: asWritten },
  paused: { meaning: "reads nothing for 2 s after the first event", reader: usualPause, requests: asWritten },
  leaving: { meaning: "leaves after the first event", reader: { kind: "leaving" }, requests: asWritten },
} as const satisfies Readonly<Record<string, ClientKind>>;

type ClientKindName = keyof typeof clientKinds;

/**
 * `interactive=9,exhaustive=1` as classes that ask these queries; undefined asks each query as it is written, equally
 * often.
 */
export function classesOf(mix: string | undefined, queries: readonly LoadRequest[]): LoadClass[] {
  if (mix === undefined) return plainClasses(queries);
  const classes = mix.split(",").map((part) => {
    const [, name = "", weight = ""] = /^\s*([a-z]+)=([0-9.]+)\s*$/.exec(part) ?? [];
    if (!isClientKind(name)) {
      throw new TrawlError(
        "bad-config",
        `mix ${JSON.stringify(part)}: must be NAME=SHARE with one of ${Object.keys(clientKinds).join(", ")}`,
      );
    }
    return classOf(name, Number(weight), queries);
  });
  if (new Set(classes.map(({ name }) => name)).size < classes.length)
    throw new TrawlError("bad-config", `mix ${mix}: a name comes twice`);
  return classes;
}

function plainClasses(queries: readonly LoadRequest[]): LoadClass[] {
  const classes = (["interactive", "graphql"] as const).map((name) => classOf(name, 1, queries));
  return classes.filter(({ requests }) => requests.length > 0).map((of) => ({ ...of, weight: of.requests.length }));
}

function classOf(name: ClientKindName, weight: number, queries: readonly LoadRequest[]): LoadClass {
  const { reader, requests } = clientKinds[name];
  return { name, weight, reader, requests: requests(queries) };
}

function isClientKind(name: string): name is ClientKindName {
  return Object.hasOwn(clientKinds, name);
}
