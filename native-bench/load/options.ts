import { TrawlError } from "../../src/base/errors.js";
import { requireWithin } from "./bounds.js";
import type { Pace } from "./pace.js";
import type { Reader } from "./reader.js";
import type { LoadRequest } from "./request.js";
import type { SecondRow } from "./result.js";

/** What a run of the generator sends, how, and for how long. */
export interface LoadOptions {
  /** `http://HOST:PORT`, with a path if the server's own paths are below one. */
  readonly url: string;
  /** Sent as `Authorization: token …`; none by default. */
  readonly token?: string;
  readonly classes: readonly LoadClass[];
  readonly pace: Pace;
  /** The most connections. A request that finds all of them busy waits, and its latency includes the wait. */
  readonly connections: number;
  readonly limits: LoadLimits;
  /** Two runs with the same seed choose the same requests in the same order; 1 by default. */
  readonly seed?: number;
  /** Called once a second with what happened in it. */
  readonly onSecond?: (row: SecondRow) => void;
  /** Ends the run early. */
  readonly signal?: AbortSignal | undefined;
}

/** Clients of one kind. */
export interface LoadClass {
  readonly name: string;
  /** The share of requests of this class, relative to the others'. */
  readonly weight: number;
  readonly reader: Reader;
  /** One of them is chosen at random each time. */
  readonly requests: readonly LoadRequest[];
}

/** When a run ends; see `loadBounds`. */
export interface LoadLimits {
  readonly durationSeconds: number;
  readonly requestsMax: number;
  /** For one answer, from when its request was sent. */
  readonly timeoutSeconds: number;
  /** How long to wait for answers once no more requests are sent. */
  readonly drainSeconds: number;
}

/** Throws `bad-config` for options that the generator does not support. */
export function requireLoadOptions({ url, token = "", classes, pace, connections, limits }: LoadOptions): void {
  const require = (condition: boolean, message: string): void => {
    if (!condition) throw new TrawlError("bad-config", message);
  };
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  require(isHttp, `url ${url}: must be http://HOST:PORT or https://HOST`);
  require(!/[^\x21-\x7e]/.test(token), "the token has a character that no token has");
  require(classes.length > 0, "nothing to send: the mix is empty");
  for (const { name, weight, requests } of classes) {
    require(requests.length > 0, `nothing to send for ${name}`);
    require(weight > 0, `the share of ${name} must be a number above 0`);
  }
  if (pace.kind === "open") {
    requireWithin("rate", pace.ratePerSecond);
    requireWithin("in-flight", pace.inFlightMax);
  } else requireWithin("concurrency", pace.concurrency);
  requireWithin("connections", connections);
  requireWithin("duration", limits.durationSeconds);
  requireWithin("requests", limits.requestsMax);
  requireWithin("timeout", limits.timeoutSeconds);
  requireWithin("drain", limits.drainSeconds);
}
