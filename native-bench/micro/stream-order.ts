import type { FoundName } from "./stream-events.js";

/** How an event stream is written; `socket` sends the same bytes over a bare TCP socket. */
export type StreamWay = "trawl" | "uWebSockets.js" | "node:http" | "socket";

/** What one request asks a server for: some events, all of them so many times. */
export interface StreamOrder {
  readonly source:
    | { readonly kind: "ready"; readonly set: number }
    | { readonly kind: "found"; readonly name: FoundName };
  readonly times: number;
  readonly gzip: boolean;
}

/** The part of a path behind the question mark. */
export function queryOf({ source, times, gzip }: StreamOrder): string {
  const what = source.kind === "ready" ? `set=${source.set}` : `found=${source.name}`;
  return `${what}&times=${times}&gzip=${gzip ? 1 : 0}`;
}

export function orderOf(query: string): StreamOrder {
  const parameters = new URLSearchParams(query);
  const found = parameters.get("found");
  return {
    source:
      found === null
        ? { kind: "ready", set: Number(parameters.get("set")) }
        : { kind: "found", name: found as FoundName },
    times: Number(parameters.get("times")),
    gzip: parameters.get("gzip") === "1",
  };
}
