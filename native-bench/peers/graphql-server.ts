// Serves GraphQL with a common server: `graphql-server.js WAY DATA`. Prints its address. The schema is ours, and the
// answers are plain objects in memory, read from the file DATA: the answers of our daemon.
import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  buildSchema,
  execute,
  graphql,
  isObjectType,
  parse,
  validate,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
} from "graphql";
import { assert } from "../../src/base/assert.js";
import { schemaText } from "../../src/graphql/execution/schema-document.js";

export type GraphqlWay = "graphql-js" | "graphql-js, documents kept" | "graphql-yoga";

/** What they answer with. */
export interface GraphqlData {
  readonly repositories: readonly Readonly<Record<string, unknown>>[];
  readonly currentUser: Readonly<Record<string, unknown>>;
}

/** What is used of graphql-yoga. Its own declarations include a browser's, which conflict with ours. */
interface YogaModule {
  readonly createYoga: (options: {
    readonly schema: GraphQLSchema;
    readonly logging: boolean;
    readonly graphqlEndpoint: string;
  }) => RequestListener;
}

const yogaName: string = "graphql-yoga";
const [way, dataFile = ""] = process.argv.slice(2);
const schema = makeSchema(JSON.parse(readFileSync(dataFile, "utf8")) as GraphqlData);
const server = createServer(await makeListener(way as GraphqlWay));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));

function makeSchema({ repositories, currentUser }: GraphqlData): GraphQLSchema {
  const built = buildSchema(schemaText());
  const query = built.getType("Query");
  assert(isObjectType(query), "the schema has queries");
  const resolve = (name: string, resolver: (args: { readonly first?: number }) => unknown): void => {
    const field = query.getFields()[name];
    assert(field !== undefined, `Query.${name} is a field of the schema`);
    field.resolve = (_, args) => resolver(args as { readonly first?: number });
  };
  resolve("repositories", ({ first }) => ({ nodes: repositories.slice(0, first) }));
  resolve("currentUser", () => currentUser);
  return built;
}

async function makeListener(kind: GraphqlWay): Promise<RequestListener> {
  switch (kind) {
    case "graphql-js":
      return answering((source) => graphql({ schema, source }));
    case "graphql-js, documents kept":
      return answering(withCachedDocuments());
    case "graphql-yoga": {
      const { createYoga } = (await import(yogaName)) as YogaModule;
      return createYoga({ schema, logging: false, graphqlEndpoint: "/.api/graphql" });
    }
  }
}

type Answerer = (source: string) => ExecutionResult | Promise<ExecutionResult>;

/** Parses and validates each text once, as the owner of a server may do. */
function withCachedDocuments(): Answerer {
  const documents = new Map<string, DocumentNode>();
  return (source) => {
    let document = documents.get(source);
    if (document === undefined) {
      document = parse(source);
      const errors = validate(schema, document);
      if (errors.length > 0) return { errors };
      documents.set(source, document);
    }
    return execute({ schema, document });
  };
}

function answering(answer: Answerer): RequestListener {
  return (request, response) =>
    void (async () => {
      const { query } = JSON.parse(await text(request)) as { query: string };
      const body = JSON.stringify(await answer(query));
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    })();
}
