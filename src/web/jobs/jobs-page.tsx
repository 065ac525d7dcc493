import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { callAfter } from "../ui/delay.js";
import { Form, TextField } from "../ui/form.js";
import { formatAmount } from "../ui/numbers.js";
import { Failure, State, Waiting } from "../ui/states.js";
import { JobRow } from "./job-row.js";
import { hasEnded, jobFields } from "./search-job.js";
import "../ui/rows.css";
import "./jobs.css";

const shownMax = 100;
const pollMs = 1_000;
/** While the page is not seen. */
const hiddenPollMs = 30_000;

const jobsQuery = `query SearchJobs {
  searchJobs(first: ${shownMax}, orderBy: CREATED_AT, descending: true) { totalCount nodes { ${jobFields} } }
}`;
const createMutation = "mutation CreateSearchJob($query: String!) { createSearchJob(query: $query) { id } }";

/** `/search-jobs`: exhaustive searches in the background. `?q=QUERY` fills in the query. */
export function JobsPage() {
  useEffect(() => {
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
  const { answer, retry } = useGraphql("SearchJobs", jobsQuery, {});
  const round = useSignal(0);
  const nodes = answer.kind === "ready" ? answer.value.searchJobs.nodes : [];
  const isActive = nodes.some((job) => !hasEnded(job));
  useEffect(() => {
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
        <Form
          key={round.value}
          submitLabel="Start"
          submit={async (fields) => {
            await graphql("CreateSearchJob", createMutation, { query: fields.get("query") });
            round.value += 1;
            retry();
          }}
        >
          <TextField label="Query" name="query" value={round.value === 0 ? givenQuery() : ""} />
        </Form>
      </section>
      {answer.kind === "waiting" && <Waiting what="your search jobs" />}
      {answer.kind === "failed" && (
        <Failure what="Your search jobs could not be read" error={answer.error} retry={retry} />
      )}
      {answer.kind === "ready" && nodes.length === 0 && <p>There are no search jobs yet.</p>}
      {answer.kind === "ready" && nodes.length > 0 && (
        <>
          <p class="soft small" role="status">
            {formatAmount(answer.value.searchJobs.totalCount, "job")}
            {answer.value.searchJobs.totalCount > nodes.length && `, of which the newest ${nodes.length} are shown`}
          </p>
          <ul class="rows panel" aria-label="Search jobs">
            {nodes.map((job) => (
              <JobRow key={job.id} job={job} changed={retry} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function givenQuery(): string {
  return address.value.searchParams.get("q") ?? "";
}
