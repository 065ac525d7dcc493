import { type ExecutionResult, GraphQLError, type GraphQLFormattedError, type GraphQLSchema } from "graphql";
import { errorTable, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { internalError, noOrigin, originFields, type RequestOrigin } from "../../model/request-origin.js";
import { operatorViewer, type Viewer } from "../../model/viewer.js";
import { type RequestServices, RequestContext } from "../../browse/request-context.js";
import type { CostLimits, Variables } from "./cost.js";
import { stringify } from "./stringify.js";
import { Operations } from "./operations.js";

/** A client's request. */
export interface GraphqlRequest {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Variables;
}

/** The response: an HTTP status, and JSON. */
export interface GraphqlAnswer {
  readonly status: number;
  readonly json: string | Uint8Array;
}

/** A request in progress. */
export interface RunningRequest {
  /** The client has disconnected. */
  cancel(): void;
  /**
   * The credential is no longer valid. A query ends. A mutation finishes the change that it is making, which may be
   * what revoked the credential, and starts no other.
   */
  revoke(): "ends" | "finishes";
}

/** Executes requests. */
export class GraphqlExecutor {
  readonly #services: RequestServices;
  readonly #newOperations: () => Operations;
  readonly #operations: Operations;
  readonly #log: Log;
  readonly #timeoutMs: number;
  readonly #metrics: Metrics;

  /** A request may take `timeoutMs`; after that, its slow fields are errors, and the rest is returned. */
  constructor(
    schema: GraphQLSchema,
    services: RequestServices,
    limits: CostLimits,
    timeoutMs: number,
    log: Log,
    metrics: Metrics,
  ) {
    this.#services = services;
    this.#newOperations = () =>
      new Operations(schema, limits, () => `${services.externalUrl()}/help/api/graphql#cost-limits`);
    this.#operations = this.#newOperations();
    this.#timeoutMs = timeoutMs;
    this.#log = log;
    this.#metrics = metrics;
  }

  /**
   * Executes the requests in `warmUpDocuments`, interleaved with other work. Their results are neither cached nor
   * counted.
   */
  async warmUp(): Promise<void> {
    const operations = this.#newOperations();
    for (const { text, runCount } of warmUpDocuments()) {
      await new Promise((resolve) => setImmediate(resolve));
      const prepared = operations.prepare(text, undefined, {});
      if (prepared.kind === "refused") continue;
      for (let i = 0; i < runCount; i++)
        await stringify(
          await prepared.run(new RequestContext(this.#services, operatorViewer, noOrigin, this.#timeoutMs), {}),
        );
    }
  }

  /** `onBegin` receives the request before any of it is executed. */
  async answer(
    request: GraphqlRequest,
    viewer: Viewer,
    origin: RequestOrigin,
    onBegin: (running: RunningRequest) => void,
  ): Promise<GraphqlAnswer> {
    const endTimer = this.#metrics.graphqlSeconds.startTimer();
    const prepared = this.#operations.prepare(request.query, request.operationName, request.variables);
    if (prepared.kind === "refused") {
      this.#metrics.graphqlRequests.inc({ outcome: "refused" });
      return this.#write(prepared.status, { errors: prepared.errors }, origin);
    }
    const context = new RequestContext(this.#services, viewer, origin, this.#timeoutMs);
    const { isMutation } = prepared;
    onBegin({
      cancel: () => context.cancel(),
      revoke: () => {
        if (isMutation) context.endActing();
        return isMutation ? "finishes" : "ends";
      },
    });
    try {
      const result = await prepared.run(context, request.variables);
      this.#metrics.graphqlRequests.inc({
        outcome: result.errors === undefined || result.errors.length === 0 ? "good" : "errors",
      });
      return await this.#write(200, result, origin);
    } finally {
      endTimer();
      context.cancel();
    }
  }

  async #write(status: number, { errors, data }: ExecutionResult, origin: RequestOrigin): Promise<GraphqlAnswer> {
    const formatted =
      errors === undefined || errors.length === 0 ? undefined : errors.map((error) => this.#format(error, origin));
    return { status, json: await stringify({ errors: formatted, data }) };
  }

  /** An internal error is logged completely, and not shown to clients. */
  #format(error: GraphQLError, origin: RequestOrigin): GraphQLFormattedError {
    const cause = error.originalError;
    const isOurs =
      cause !== undefined &&
      cause !== null &&
      !(cause instanceof GraphQLError) &&
      !(cause instanceof TrawlError && cause.code !== "internal");
    if (isOurs)
      this.#log[errorTable.internal.level](
        { ...originFields(origin), err: cause, path: error.path?.join(".") },
        "a GraphQL field failed",
      );
    const { locations, path, extensions } = error;
    return {
      message: isOurs ? internalError(origin) : error.message,
      ...(locations !== undefined && locations.length > 0 ? { locations } : {}),
      ...(path === undefined ? {} : { path }),
      ...(extensions !== undefined && Object.keys(extensions).length > 0 ? { extensions } : {}),
    };
  }
}

/** A document, and whether and how often it is executed. */
interface WarmUpDocument {
  readonly text: string;
  readonly runCount: number;
}

/** Enough for the engine to compile the functions that each document uses, according to measurements. */
const rounds = 2;

/**
 * Documents that exercise parsing, limits, validation and execution, a second after startup: without warm-up, a
 * document of the maximum size takes 60 ms, and a page of 100 repositories three times as long as the next one.
 */
function* warmUpDocuments(): Generator<WarmUpDocument> {
  const page =
    "nodes { id name description url stars isFork isArchived isPrivate } totalCount pageInfo { endCursor hasNextPage }";
  for (let round = 0; round < rounds; round++) {
    const name = (at: number): string => `a${round}_${at}`;
    yield { text: `query ${name(0)} { repositories(first: 100) { ${page} } }`, runCount: 3 };
    yield { text: `{ ${many(200, (at) => `${name(at)}: repository(name: "${at}") { id name }`)} }`, runCount: 0 };
    yield {
      text: `query (${many(100, (at) => `$${name(at)}: String!`)}) { ${many(100, (at) => `${name(at)}: repository(name: $${name(at)}) { id }`)} }`,
      runCount: 0,
    };
    yield { text: `{ ${many(150, (at) => `repository(name: "${name(at)}") { id }`)} }`, runCount: 0 };
    yield {
      text: `{ ${many(30, (at) => `...${name(at)}`)} } ${many(30, (at) => `fragment ${name(at)} on Query { repository(name: "") { id name } }`)}`,
      runCount: 0,
    };
    yield {
      text: `{ repositories(first: 1, names: [${many(500, (at) => `"${name(at)}"`)}]) { totalCount } }`,
      runCount: 0,
    };
    yield { text: `{ ${many(1500, (at) => `${name(at)}: __typename`)} }`, runCount: 0 };
  }
}

function many(count: number, text: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => text(at)).join(" ");
}
