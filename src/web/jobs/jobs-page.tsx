import "../ui/lists-and-forms.css";
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { callAfter } from "../ui/delay.js";
import { CreateForm, TextField } from "../ui/form.js";
import { formatAmount, formatTime } from "../ui/numbers.js";
import { Found, State } from "../ui/states.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";

const shownMax = 100;
const pollMs = 1_000;
/** While the page is not seen. */
const hiddenPollMs = 30_000;

const jobFields =
  "id query state creator { username } createdAt finishedAt URL logURL message repoStats { total completed failed }";

const jobsQuery = `query SearchJobs {
  searchJobs(first: ${shownMax}, orderBy: CREATED_AT, descending: true) { totalCount nodes { ${jobFields} } }
}`;
const createMutation = "mutation CreateSearchJob($query: String!) { createSearchJob(query: $query) { id } }";

/** `/search-jobs`: exhaustive searches in the background. `?q=QUERY` fills in the query. */
export function JobsPage() {
  useLayoutEffect(() => {
    document.title = "Search jobs · Trawl";
  }, []);
  if (viewer.name === "")
    return (
      <State title="Sign in to use search jobs">
        <a class="button main" href={`/sign-in?returnTo=${encodeURIComponent("/search-jobs")}`}>
          Sign in
        </a>
      </State>
    );
  return (
    <div class="column-page jobs">
      <Jobs />
    </div>
  );
}

function Jobs() {
  const used = useGraphql("SearchJobs", jobsQuery, {});
  const { answer, retry } = used;
  const query = useSignal(address.peek().searchParams.get("q") ?? "");
  const nodes = answer.kind === "ready" ? answer.value.searchJobs.nodes : [];
  const isActive = nodes.some((job) => !hasEnded(job));
  useLayoutEffect(() => {
    if (!isActive) return;
    const next = callAfter(document.visibilityState === "visible" ? pollMs : hiddenPollMs, retry);
    return () => next.cancel();
  }, [answer, isActive]);
  return (
    <>
      <h1>Search jobs</h1>
      <p class="soft">
        A job has all results of a query in a file, however long the search takes. It goes on when this page is closed,
        and after a restart of the server.
      </p>
      <section class="panel jobs-form" aria-label="New search job">
        <CreateForm
          submitLabel="Start"
          submit={async (fields) => {
            await graphql("CreateSearchJob", createMutation, { query: fields.get("query") });
            query.value = "";
            retry();
          }}
        >
          <TextField label="Query" name="query" value={query.value} />
        </CreateForm>
      </section>
      <Found used={used} what="your search jobs">
        {({ searchJobs: { totalCount } }) =>
          nodes.length === 0 ? (
            <p>There are no search jobs yet.</p>
          ) : (
            <>
              <p class="soft small" role="status">
                {formatAmount(totalCount, "job")}
                {totalCount > nodes.length && `, of which the newest ${nodes.length} are shown`}
              </p>
              <ul class="rows panel" aria-label="Search jobs">
                {nodes.map((job) => (
                  <JobRow key={job.id} job={job} changed={retry} />
                ))}
              </ul>
            </>
          )
        }
      </Found>
    </>
  );
}

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
function JobRow({ job, changed }: JobRowProps) {
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

/** A search job, as far as pages show it. */
interface SearchJob {
  readonly id: string;
  readonly query: string;
  readonly state: "QUEUED" | "PROCESSING" | "ERRORED" | "FAILED" | "COMPLETED" | "CANCELED";
  readonly creator: { readonly username: string } | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly URL: string | null;
  readonly logURL: string | null;
  readonly message: string | null;
  readonly repoStats: { readonly total: number; readonly completed: number; readonly failed: number };
}

function hasEnded({ finishedAt }: SearchJob): boolean {
  return finishedAt !== null;
}
