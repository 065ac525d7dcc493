import { graphql } from "../api/graphql.js";
import { viewer } from "../route/viewer.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { formatTime } from "../ui/numbers.js";
import { hasEnded, type SearchJob } from "./search-job.js";

const stateNames: Readonly<Record<SearchJob["state"], string>> = {
  QUEUED: "waiting",
  PROCESSING: "running",
  ERRORED: "interrupted",
  FAILED: "incomplete",
  COMPLETED: "complete",
  CANCELED: "stopped",
};

const tableFormats = [
  ["csv", "CSV"],
  ["parquet", "Parquet"],
] as const;

interface JobRowProps {
  readonly job: SearchJob;
  readonly changed: () => void;
}

const retryMutation = `mutation RetrySearchJob($id: ID!) { retrySearchJob(id: $id) { id } }`;
const cancelMutation = `mutation CancelSearchJob($id: ID!) { cancelSearchJob(id: $id) { alwaysNil } }`;
const deleteMutation = `mutation DeleteSearchJob($id: ID!) { deleteSearchJob(id: $id) { alwaysNil } }`;

/** One job: how far it is, what can be downloaded, and what can be done. */
export function JobRow({ job, changed }: JobRowProps) {
  const { id, query, state, message, creator, createdAt, URL: results, logURL, repoStats } = job;
  const action = useAction();
  const change = (operation: "RetrySearchJob" | "CancelSearchJob" | "DeleteSearchJob", text: string): void => {
    void action.run(async () => {
      await graphql(operation, text, { id });
      changed();
    });
  };
  const { total, completed, failed } = repoStats;
  return (
    <li>
      <div class="row-main">
        <span class="row-title">
          <code>{query}</code>
          <span class={state === "COMPLETED" ? "badge good" : state === "FAILED" ? "badge warn" : "badge"}>
            {stateNames[state]}
          </span>
        </span>
        <span class="soft small">
          {completed} of {total} repositories
          {failed > 0 && `, ${failed} could not be searched completely`} · {formatTime(createdAt)}
          {creator !== null && creator.username !== viewer.name && ` · ${creator.username}`}
        </span>
        {message !== null && <span class="soft small">{message}</span>}
        {!hasEnded(job) && (
          <progress max={Math.max(1, total)} value={completed + failed} aria-label={`Progress of ${query}`} />
        )}
        <ActionError action={action} />
      </div>
      <div class="row-actions">
        {results !== null && (
          <a class="button" href={findPath(results)} download>
            Results<span class="unseen"> of {query}</span>
          </a>
        )}
        {results !== null &&
          tableFormats.map(([ending, name]) => (
            <a key={ending} class="button" href={findPath(results.replace(/jsonl$/, ending))} download>
              {name}
              <span class="unseen"> of {query}</span>
            </a>
          ))}
        {logURL !== null && (
          <a class="button" href={findPath(logURL)} download>
            Log<span class="unseen"> of {query}</span>
          </a>
        )}
        {state === "FAILED" && (
          <button type="button" class="button" onClick={() => change("RetrySearchJob", retryMutation)}>
            Try again<span class="unseen"> {query}</span>
          </button>
        )}
        {!hasEnded(job) && (
          <button type="button" class="button" onClick={() => change("CancelSearchJob", cancelMutation)}>
            Stop<span class="unseen"> {query}</span>
          </button>
        )}
        <ConfirmButton label="Delete" about={query} isFinal act={() => change("DeleteSearchJob", deleteMutation)}>
          Its results are deleted, too.
        </ConfirmButton>
      </div>
    </li>
  );
}

/** The path of a file for a link: a session is valid there without a header. */
function findPath(url: string): string {
  return `/-/search-jobs/${url.slice(url.lastIndexOf("/") + 1)}`;
}
