// Serves GraphQL with what people use today: `graphql-server.js WAY DATA`. Prints its address. The schema is ours, and
// what is answered are plain objects in memory, read from the file DATA: the answers of our daemon.
import {
  execute,
  graphql,
  isObjectType,
  parse,
  validate,
  buildSchema,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
} from "graphql";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { assert } from "../../src/base/assert.js";
import { schemaText } from "../../src/graphql/schema-text.js";
import type { GraphqlData, GraphqlWay } from "./graphql-servers.js";

/** What is used of graphql-yoga. Its own declarations bring those of browsers, which ours do not go with. */
interface YogaModule {
  readonly createYoga: (options: {
    readonly schema: GraphQLSchema;
    readonly logging: boolean;
    readonly graphqlEndpoint: string;
  }) => RequestListener;
}

const yogaName: string = "graphql-yoga";
const [way, dataFile = ""] = process.argv.slice(2);
const schema = schemaOver(JSON.parse(readFileSync(dataFile, "utf8")) as GraphqlData);
const server = await serverOf(way as GraphqlWay);
server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
);

function schemaOver({ repositories, currentUser }: GraphqlData): GraphQLSchema {
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

async function serverOf(kind: GraphqlWay): Promise<Server> {
  switch (kind) {
    case "graphql-js":
      return createServer(answering((source) => graphql({ schema, source })));
    case "graphql-js, documents kept":
      return createServer(answering(withKeptDocuments()));
    case "graphql-yoga": {
      const { createYoga } = (await import(yogaName)) as YogaModule;
      return createServer(createYoga({ schema, logging: false, graphqlEndpoint: "/.api/graphql" }));
    }
  }
}

type Answerer = (source: string) => ExecutionResult | Promise<ExecutionResult>;

/** Parses and validates a text once, as who runs a server of one's own may do. */
function withKeptDocuments(): Answerer {
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
      const { query } = JSON.parse(await bodyOf(request)) as { query: string };
      const body = JSON.stringify(await answer(query));
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    })();
}

function bodyOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => resolve(text));
    request.on("error", reject);
  });
}
