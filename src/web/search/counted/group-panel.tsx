import "./group-panel.css";
import { useSignal } from "@preact/signals";
import type { GroupKind, ResultGroup, ResultGroups } from "../../../model/result-groups.js";
import { withoutReordering } from "../../../base/text.js";
import { useAnswer } from "../../api/use-graphql.js";
import type { QueryState } from "../../query/query-state.js";
import { address } from "../../route/router.js";
import { formatCount } from "../../ui/numbers.js";
import { ErrorText, Notice, Waiting } from "../../ui/states.js";
import { addressWithGroup } from "../panel-address.js";
import { queryParameters, type SearchRun } from "../search-run.js";
import { addressOfGroup, kindTexts, offeredKinds, othersText, totalText } from "./group-choice.js";
import { type Alert, alertText, type Progress, type Skipped, type StreamError } from "../../../model/stream-events.js";
import { ApiError } from "../../api/api-error.js";
import { readEvents } from "../../api/event-stream.js";

export interface GroupPanelProps {
  readonly run: SearchRun;
  readonly by: GroupKind;
}

/** How many matches there are of each repository, path, and so on; each leads to those matches. */
export function GroupPanel({ run, by }: GroupPanelProps) {
  const { answer, retry } = useAnswer(`${run.id} ${by}`, (signal) => countGroups(run.query, by, signal));
  const offered = offeredKinds(run.query);
  const kinds = offered.includes(by) ? offered : [...offered, by];
  return (
    <section class="groups" aria-labelledby="groups-title">
      <div class="groups-head">
        <h2 id="groups-title">Matches by</h2>
        <ul aria-labelledby="groups-title">
          {kinds.map((kind) => (
            <li key={kind}>
              <a href={addressWithGroup(address.value, kind)} aria-current={kind === by ? "true" : undefined}>
                {kindTexts[kind].title}
              </a>
            </li>
          ))}
        </ul>
      </div>
      {answer.kind === "waiting" && <Waiting what="the counts" />}
      {answer.kind === "failed" && (
        <Notice kind="bad">
          <span>
            <strong>The matches could not be counted.</strong> <ErrorText error={answer.error} />
          </span>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </Notice>
      )}
      {answer.kind === "ready" && <Counts key={by} counted={answer.value} query={run.query} />}
    </section>
  );
}

const shownMax = 10;

function Counts({
  counted: { groups: counts, skipped },
  query,
}: {
  readonly counted: CountedGroups;
  readonly query: QueryState;
}) {
  const isWhole = useSignal(false);
  const { by, groups, complete } = counts;
  const shown = isWhole.value ? groups : groups.slice(0, shownMax);
  const others = othersText(counts);
  return (
    <>
      <p class="groups-total" role="status">
        {groups.length === 0 && counts.otherMatches === 0 ? "No matches to count" : totalText(counts)}
      </p>
      {!complete && (
        <Notice kind="warn">
          <strong>Not all matches are counted.</strong>
          <span>
            {skipped
              .filter(({ severity, reason }) => severity === "warn" || reason.endsWith("-limit"))
              .map(({ title }) => title)
              .join(", ")}
          </span>
        </Notice>
      )}
      {shown.length > 0 && (
        <ol class="bars" aria-label={`Matches by ${kindTexts[by].title.toLowerCase()}`}>
          {shown.map((group) => (
            <Bar key={group.value} group={group} counts={counts} query={query} />
          ))}
        </ol>
      )}
      {groups.length > shownMax && (
        <button
          type="button"
          class="more"
          onClick={() => {
            isWhole.value = !isWhole.value;
          }}
        >
          {isWhole.value ? "Show fewer" : `${groups.length - shownMax} more`}
        </button>
      )}
      {others !== undefined && <p class="soft small">{others}</p>}
    </>
  );
}

interface BarProps {
  readonly group: ResultGroup;
  readonly counts: ResultGroups;
  readonly query: QueryState;
}

function Bar({ group: { value, label, count, query: groupQuery }, counts, query }: BarProps) {
  const href = addressOfGroup(query, groupQuery);
  const content = (
    <>
      <span class="bar-label">
        {label.trim() === "" ? <i class="soft">{label === "" ? "empty" : "white space"}</i> : withoutReordering(label)}
        {label !== value && <span class="soft"> {withoutReordering(value)}</span>}
      </span>
      <span class="bar-track" aria-hidden="true">
        <span style={{ "--share": count / counts.groups[0].count }} />
      </span>
      <span class="bar-count">
        {formatCount(count)}
        <span class="unseen">{count === 1 ? " match" : " matches"}</span>
      </span>
    </>
  );
  return (
    <li>
      {href === undefined ? (
        <span class="bar">{content}</span>
      ) : (
        <a class="bar" href={href}>
          {content}
        </a>
      )}
    </li>
  );
}

interface CountedGroups {
  readonly groups: ResultGroups;
  /** Why some matches may not be counted. */
  readonly skipped: readonly Skipped[];
}

/** Counts all matches of a query: a search of its own, which sends none of them. */
async function countGroups(query: QueryState, by: GroupKind, signal: AbortSignal): Promise<CountedGroups> {
  const parameters = queryParameters(query);
  parameters.set("group", by);
  let groups: ResultGroups | undefined;
  let skipped: readonly Skipped[] = [];
  let refusal: string | undefined;
  let isComplete = false;
  await readEvents(`/search/stream?${parameters}`, signal, (name, data) => {
    if (name === "groups") groups = JSON.parse(data) as ResultGroups;
    else if (name === "progress") ({ skipped } = JSON.parse(data) as Progress);
    else if (name === "error") refusal = (JSON.parse(data) as StreamError).message;
    else if (name === "alert") refusal ??= alertText(JSON.parse(data) as Alert);
    else if (name === "done") isComplete = true;
    return undefined;
  });
  if (groups !== undefined && isComplete) return { groups, skipped };
  throw new ApiError(200, refusal ?? "The connection to the server broke off before the end.");
}
