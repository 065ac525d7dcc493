import { useLayoutEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { request } from "../api/api-error.js";
import { useGraphql } from "../api/use-graphql.js";
import { Found, Notice } from "../ui/states.js";

const healthQuery = `query Health {
  site { siteID buildVersion productVersion alerts { message } users { totalCount } }
  repositoryStats { total cloned cloning notCloned failedFetch indexed }
  statusMessages {
    __typename
    ... on GitUpdatesDisabled { message }
    ... on NoRepositoriesDetected { message }
    ... on CloningProgress { message }
    ... on SyncError { message }
    ... on IndexingProgress { notIndexed indexed }
  }
}`;

/** How the instance does, in numbers and in what needs attention. */
export function HealthPart() {
  const used = useGraphql("Health", healthQuery, {});
  return (
    <Found used={used} what="the state of the server">
      {({ site, repositoryStats: stats, statusMessages }, retry) => {
        const figures: readonly (readonly [label: string, value: string | number])[] = [
          ["Repositories", stats.total],
          ["Searchable", stats.indexed],
          ["Being fetched", stats.cloning],
          ["Not fetched yet", stats.notCloned],
          ["Failed last time", stats.failedFetch],
          ["Users", site.users.totalCount],
        ];
        return (
          <>
            <dl class="figures">
              {figures.map(([label, value]) => (
                <div key={label} class="panel">
                  <dt>{label}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
            <p>
              <button type="button" class="button" onClick={retry}>
                Read again
              </button>
            </p>
            <h2>What needs attention</h2>
            {statusMessages.length + site.alerts.length === 0 && <Notice kind="info">Nothing.</Notice>}
            {site.alerts.map(({ message }) => (
              <Notice key={message} kind="warn">
                {message}
              </Notice>
            ))}
            {statusMessages.map((message) => (
              <Notice key={JSON.stringify(message)} kind={message.__typename === "SyncError" ? "bad" : "info"}>
                {message.message ??
                  `Indexing: ${message.indexed} repositories are searchable, ${message.notIndexed} are not yet.`}
              </Notice>
            ))}
            <Readiness />
            <h2>This server</h2>
            <dl class="facts">
              <dt>Version</dt>
              <dd>{site.buildVersion}</dd>
              <dt>API version</dt>
              <dd>{site.productVersion}</dd>
              <dt>Instance</dt>
              <dd>
                <code>{site.siteID}</code>
              </dd>
              <dt>Metrics</dt>
              <dd>
                <a href="/metrics">/metrics</a>, in Prometheus' format
              </dd>
            </dl>
          </>
        );
      }}
    </Found>
  );
}

/** What load balancers are told. */
function Readiness() {
  const text = useSignal("");
  useLayoutEffect(() => {
    const stop = new AbortController();
    request("/readyz", { signal: stop.signal })
      .then((response) => response.text())
      .then(
        (found) => {
          text.value = found.trim();
        },
        (error: unknown) => {
          if (!stop.signal.aborted) text.value = error instanceof Error ? error.message : String(error);
        },
      );
    return () => stop.abort();
  }, [text]);
  if (text.value === "") return null;
  return (
    <details>
      <summary>Readiness, as load balancers read it</summary>
      <pre class="panel ready-text">{text.value}</pre>
    </details>
  );
}
