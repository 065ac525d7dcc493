import { unreachable } from "../../src/base/assert.js";
import type { Exchangeable } from "./adapters/adapter.js";
import { getExchange, type GetRequest } from "./adapters/get.js";
import { graphqlExchange, type GraphqlRequest } from "./adapters/graphql.js";
import { streamExchange, type StreamRequest } from "./adapters/stream.js";
import { zoektExchange, type ZoektRequest } from "./adapters/zoekt.js";

/** What the generator can ask a server. */
export type LoadRequest = StreamRequest | GraphqlRequest | ZoektRequest | GetRequest;

export function exchangeOf(request: LoadRequest): Exchangeable {
  switch (request.kind) {
    case "stream":
      return streamExchange(request);
    case "graphql":
      return graphqlExchange(request);
    case "zoekt":
      return zoektExchange(request);
    case "get":
      return getExchange(request);
    default:
      return unreachable(request);
  }
}
