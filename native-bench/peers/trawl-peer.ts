import type { Peer } from "./peer.js";
import { streamParams } from "./queries.js";
import type { Trawl } from "./trawl.js";

/** Our daemon as one of those that are measured. */
export function trawlPeer(trawl: Trawl): Peer {
  return {
    name: "trawl",
    version: "this checkout",
    time: (query) => trawl.curlMs(streamParams(query)),
    results: (query) => trawl.results(streamParams(query)),
    causeOf: () => undefined,
    declines: () => undefined,
  };
}
