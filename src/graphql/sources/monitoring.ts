import { quarantineSentences } from "../../model/quarantine.js";
import type { RequestContext } from "../../browse/request-context.js";
import { repositorySummary } from "./repository-summary.js";

const dayMs = 86_400_000;

/** Conditions that an operator should look at, newest first. The viewer is a site admin. */
export async function monitoringAlerts(days: number | null | undefined, context: RequestContext) {
  const { failures, quarantined } = await repositorySummary(context);
  const connections = context.services.connections
    .details()
    .flatMap(({ name, error, warnings, attempts }) =>
      [...(error === "" ? [] : [error]), ...warnings].map((text) => ({ name, text, attempts })),
    );
  const now = new Date().toISOString();
  const alerts = [
    ...failures.map(({ name, lastError, lastFetched }) =>
      alert("warning", "sync", `${name}: ${lastError}`, lastFetched || now),
    ),
    ...quarantined.flatMap(({ name, quarantine, lastChanged }) =>
      quarantineSentences(quarantine).map((text) =>
        alert("warning", "indexing", `${name}: ${text}`, lastChanged || now),
      ),
    ),
    ...connections.map(({ name, text, attempts }) =>
      alert(
        "warning",
        "connections",
        `${name}: ${text}`,
        attempts.find(({ finishedAt }) => finishedAt !== "")?.finishedAt ?? now,
      ),
    ),
  ];
  const sinceMs = days === undefined || days === null ? 0 : new Date().getTime() - days * dayMs;
  return alerts
    .filter(({ timestamp }) => new Date(timestamp).getTime() >= sinceMs)
    .sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1))
    .slice(0, alertsMax);
}

const alertsMax = 100;

function alert(level: "warning", serviceName: string, text: string, timestamp: string) {
  return { timestamp, name: `${level}: ${serviceName}: ${text}`, serviceName, owner: "", average: 1 };
}
