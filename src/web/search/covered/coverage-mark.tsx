import { useLayoutEffect } from "preact/hooks";
import { loadPart } from "../../route/load-part.js";
import { address, navigate } from "../../route/router.js";
import { callAfter } from "../../ui/delay.js";
import { addressWithCoverage, coverageOfAddress } from "../panel-address.js";
import type { SearchRun } from "../search-run.js";
import { coverageText } from "./coverage-text.js";

/** A search that took longer is not followed by another one for its receipt, unless someone asks for that. */
const cheapMs = 2_000;

/** Who stays on the results for so long reads them. */
const restMs = 1_000;

/** Whether all that the query chooses was searched, with the number of files; opens the receipt. */
export function CoverageMark({ run }: { readonly run: SearchRun }) {
  const isDone = run.state.value === "done";
  const isStopped = run.state.value === "stopped";
  const isOpen = coverageOfAddress(address.value) !== undefined;
  const { skipped = [], durationMs = 0 } = run.progress.value ?? {};
  const isCut = skipped.some(({ reason, severity }) => reason.endsWith("-limit") || severity === "warn");
  const isCheap = durationMs <= cheapMs && !isCut;
  useLayoutEffect(() => {
    if (!((isDone && (isOpen || isCheap)) || (isStopped && isOpen))) return undefined;
    let stop = (): void => undefined;
    let isLeft = false;
    const pending = callAfter(isOpen ? 0 : restMs, () => {
      loadPart(() => import("./receipts.js")).then(
        ({ findReceipt }) => {
          if (!isLeft) stop = findReceipt(run);
        },
        (error: unknown) => {
          run.receipt.value = { kind: "failed", error };
        },
      );
    });
    return () => {
      isLeft = true;
      pending.cancel();
      stop();
    };
  }, [run, isDone, isStopped, isOpen, isCheap]);
  if (!isDone) return null;
  const answer = run.receipt.value;
  const receipt = answer?.kind === "ready" ? answer.value : undefined;
  const kind = isCut || receipt?.complete === false ? "warn" : receipt === undefined ? "" : "good";
  const text = isCut ? "Not complete" : receipt === undefined ? "What was searched" : coverageText(receipt);
  return (
    <button
      type="button"
      class={`coverage-mark ${kind}`}
      aria-expanded={isOpen}
      title="What was searched, what was left out and why, and what changes"
      onClick={() => navigate(addressWithCoverage(address.peek(), isOpen ? undefined : { kind: "receipt" }))}
    >
      {text}
    </button>
  );
}
