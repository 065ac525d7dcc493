import { useSignal } from "@preact/signals";
import type { GroupKind, ResultGroup, ResultGroups } from "../../../model/result-groups.js";
import { withoutReordering } from "../../../base/text.js";
import { useAnswer } from "../../api/use-graphql.js";
import type { QueryState } from "../../query/query-state.js";
import { address } from "../../route/router.js";
import { formatCount } from "../../ui/numbers.js";
import { ErrorText, Notice, Waiting } from "../../ui/states.js";
import { addressWithGroup } from "../panel-address.js";
import type { SearchRun } from "../search-run.js";
import { type CountedGroups, countGroups } from "./count-groups.js";
import { addressOfGroup, kindTexts, offeredKinds, othersText, totalText } from "./group-choice.js";
import "./group-panel.css";

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
