import type { Metrics } from "../../base/metrics.js";
import type { RequestObserver } from "../../http/server/handler.js";

/** A client may send any word as its method: the others are counted together. */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const clientGone = 499;

/** Counts requests by route, method and class of their status. All values of the labels are known beforehand. */
export function requestCounter({
  httpRequests,
  httpRequestSeconds,
}: Pick<Metrics, "httpRequests" | "httpRequestSeconds">): RequestObserver {
  return ({ route, method, status, durationMs }) => {
    httpRequests.inc({ route, method: methods.has(method) ? method : "other", status: statusClass(status) });
    httpRequestSeconds.observe({ route }, durationMs / 1000);
  };
}

function statusClass(status: number): string {
  return status === clientGone ? "gone" : `${Math.floor(status / 100)}xx`;
}
