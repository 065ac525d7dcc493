import "./covered.css";
import { useSignal } from "@preact/signals";
import type { Omission, Receipt, ReceiptRepository } from "../../../model/stream-events.js";
import { pageUrl, repositoryUrl } from "../../../model/page-path.js";
import { addressOfQuery } from "../../query/query-state.js";
import { address } from "../../route/router.js";
import { ActionError, useAction } from "../../ui/action.js";
import { formatAmount, formatCount, formatTime } from "../../ui/numbers.js";
import { ErrorText, Notice, Waiting } from "../../ui/states.js";
import { addressWithCoverage, type CoverageView } from "../panel-address.js";
import type { SearchRun } from "../search-run.js";
import { ChangesView } from "./changes-view.js";
import { coverageText } from "./coverage-text.js";
import { keptReceipts, readReceiptItems } from "./receipts.js";
import { reasonText, receiptId } from "./receipt-texts.js";

export interface CoveragePanelProps {
  readonly run: SearchRun;
  readonly view: CoverageView;
}

/** What was searched, what was left out and why; what has changed since an earlier state, or changes from now on. */
export function CoveragePanel({ run, view }: CoveragePanelProps) {
  const answer = run.receipt.value;
  const receipt = answer?.kind === "ready" ? answer.value : undefined;
  return (
    <section class="covered" aria-labelledby="covered-title">
      <div class="covered-head">
        <h2 id="covered-title">{titles[view.kind]}</h2>
        <CoverageLinks run={run} view={view} receipt={receipt} />
      </div>
      {view.kind !== "changes" && answer?.kind === "failed" && (
        <Notice kind="bad">
          <span>
            <strong>What was searched could not be read.</strong> <ErrorText error={answer.error} />
          </span>
        </Notice>
      )}
      {view.kind === "changes" && <ChangesView key={view.since} query={run.query} since={view.since} isWatch={false} />}
      {view.kind !== "changes" &&
        receipt === undefined &&
        answer?.kind !== "failed" &&
        run.state.value !== "failed" && <Waiting what="what was searched" />}
      {view.kind === "receipt" && receipt !== undefined && <ReceiptView key={receipt.url} receipt={receipt} />}
      {view.kind === "watch" && receipt !== undefined && (
        <ChangesView key="watch" query={run.query} since={receiptId(receipt)} isWatch />
      )}
    </section>
  );
}

const titles = { receipt: "What was searched", changes: "What changed", watch: "Watching this search" } as const;

interface LinksProps extends CoveragePanelProps {
  readonly receipt: Receipt | undefined;
}

/** The ways between the receipt, the changes since each known state, and what changes from now on. */
function CoverageLinks({ run, view, receipt }: LinksProps) {
  const link = (to: CoverageView, text: string) => (
    <li>
      <a
        href={addressWithCoverage(address.value, to)}
        aria-current={to.kind === view.kind && (to.kind !== "changes" || isSince(view, to.since)) ? "true" : undefined}
      >
        {text}
      </a>
    </li>
  );
  const earlier = keptReceipts(addressOfQuery(run.query)).filter(
    ({ generation }) => generation !== receipt?.generation,
  );
  return (
    <ul aria-label="What is shown">
      {link({ kind: "receipt" }, "Receipt")}
      {earlier.map(({ id, savedMs }) =>
        link({ kind: "changes", since: id }, `What changed since ${formatTime(new Date(savedMs).toISOString())}`),
      )}
      {link({ kind: "watch" }, "Watch")}
    </ul>
  );
}

function isSince(view: CoverageView, since: string): boolean {
  return view.kind === "changes" && view.since === since;
}

/** Repositories and files that are added with each click. */
const step = 200;

function ReceiptView({ receipt }: { readonly receipt: Receipt }) {
  const omissions = useSignal<readonly Omission[]>(receipt.excluded.items);
  const repositories = useSignal<readonly ReceiptRepository[]>(receipt.repositories.items);
  const action = useAction();
  const more = async (): Promise<void> => {
    const shown = omissions.peek();
    omissions.value = [...shown, ...(await readReceiptItems(receipt, "excluded", shown.length, step))];
  };
  const moreRepositories = async (): Promise<void> => {
    const shown = repositories.peek();
    repositories.value = [...shown, ...(await readReceiptItems(receipt, "repositories", shown.length, step))];
  };
  const { complete, matchCount, documentsSearched } = receipt;
  const left = receipt.excluded.count - omissions.value.length;
  const leftRepositories = receipt.repositories.count - repositories.value.length;
  const reasons = Object.entries(receipt.excludedByReason);
  return (
    <>
      <p role="status">
        <strong>{coverageText(receipt)}.</strong>{" "}
        {complete
          ? `Every match is counted: ${formatAmount(matchCount, "match", "matches")}.`
          : "What is marked below may contain further matches."}
        {documentsSearched > 0 && " Files that the index rules out count as searched."}
      </p>
      <ActionError action={action} />
      {reasons.length > 0 && (
        <ul class="omissions" aria-label="What was left out">
          {reasons.map(([reason, count]) => (
            <li key={reason}>
              <OmissionGroup
                reason={reason}
                count={count}
                items={omissions.value.filter((omission) => omission.reason === reason)}
              />
            </li>
          ))}
        </ul>
      )}
      {left > 0 && omissions.value.length > 0 && (
        <button type="button" class="more" disabled={action.isRunning.value} onClick={() => void action.run(more)}>
          List more of what was left out ({formatCount(left)})
        </button>
      )}
      <details>
        <summary>{formatAmount(receipt.repositories.count, "repository", "repositories")} with their commits</summary>
        <ul class="covered-items">
          {repositories.value.map((one) => (
            <RepositoryRow key={one.repository} one={one} />
          ))}
        </ul>
        {leftRepositories > 0 && (
          <button
            type="button"
            class="more"
            disabled={action.isRunning.value}
            onClick={() => void action.run(moreRepositories)}
          >
            List more repositories ({formatCount(leftRepositories)})
          </button>
        )}
      </details>
      <p class="soft small">
        This browser keeps the state that was searched: once repositories have changed, the page can say what changed in
        the results since.
      </p>
    </>
  );
}

interface GroupProps {
  readonly reason: string;
  readonly count: number;
  readonly items: readonly Omission[];
}

function OmissionGroup({ reason, count, items }: GroupProps) {
  const { text, isGap } = reasonText(reason);
  return (
    <details class={isGap ? "gap" : ""}>
      <summary>
        {text} <span class="soft">{formatCount(count)}</span>
      </summary>
      {items.length === 0 ? (
        <p class="soft">They are further down the list, or only counted.</p>
      ) : (
        <ul class="covered-items">
          {items.map((omission, at) => (
            <li key={at}>
              <OmissionText omission={omission} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function OmissionText({ omission: { repository, path, detail } }: { readonly omission: Omission }) {
  const place = { name: repository ?? "", revision: "" };
  return (
    <>
      {repository !== undefined && <a href={repositoryUrl(place)}>{repository}</a>}
      {repository !== undefined && path !== undefined && <span class="soft"> › </span>}
      {path !== undefined && <a href={pageUrl(place, "blob", path)}>{path}</a>}
      {detail !== undefined && <span class="soft"> {detail}</span>}
    </>
  );
}

function RepositoryRow({ one: { repository, revisions } }: { readonly one: ReceiptRepository }) {
  return (
    <li>
      <a href={repositoryUrl({ name: repository, revision: "" })}>{repository}</a>
      {revisions.map(({ revision, commit }) => (
        <span key={revision}>
          {" "}
          {revision !== "" && <span>{revision} </span>}
          {commit === "" ? (
            <span class="soft">not indexed</span>
          ) : (
            <a href={pageUrl({ name: repository, revision: "" }, "commit", commit)}>
              <code>{commit.slice(0, 10)}</code>
            </a>
          )}
        </span>
      ))}
    </li>
  );
}
