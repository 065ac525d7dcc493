import { type Alert, type Progress, type Receipt, type StreamError, alertText } from "../../../model/stream-events.js";
import { scan } from "../../../query/syntax/scan.js";
import { ApiError, request } from "../../api/api-error.js";
import { readEvents } from "../../api/event-stream.js";
import { addressOfQuery, type QueryState } from "../../query/query-state.js";
import { queryParameters, type SearchRun } from "../search-run.js";
import { keepReceipt } from "./kept-receipts.js";
import { receiptId } from "./receipt-texts.js";

/** Reads what the search of a run covers, unless that is known. The returned function ends it. */
export function findReceipt(run: SearchRun): () => void {
  const stop = new AbortController();
  const answer = run.receipt;
  if (answer.peek()?.kind === "ready") return () => undefined;
  answer.value = { kind: "waiting" };
  readReceipt(run.query, stop.signal).then(
    (value) => {
      answer.value = { kind: "ready", value };
      keepReceipt(addressOfQuery(run.query), value);
    },
    (error: unknown) => {
      answer.value = stop.signal.aborted ? undefined : { kind: "failed", error };
    },
  );
  return () => stop.abort();
}

/**
 * What a query covers: a search of its own, because one with a receipt opens all that the index would rule out. It counts
 * the matches, and sends none, where they can be counted.
 */
async function readReceipt(query: QueryState, signal: AbortSignal): Promise<Receipt> {
  const parameters = queryParameters(query);
  parameters.set("receipt", "1");
  parameters.set("near", "0");
  const tokens = scan(query.text, query.patternType, false);
  const selects = tokens.some((token) => token.kind === "field" && token.name === "select");
  if (!selects) {
    parameters.set("group", "repository");
    parameters.set("groups", "1");
  }
  let receipt: Receipt | undefined;
  let refusal: string | undefined;
  await readEvents(`/search/stream?${parameters}`, signal, (name, data) => {
    if (name === "progress") ({ receipt } = JSON.parse(data) as Progress);
    else if (name === "error") refusal = (JSON.parse(data) as StreamError).message;
    else if (name === "alert") refusal ??= alertText(JSON.parse(data) as Alert);
    return undefined;
  });
  if (receipt !== undefined) return receipt;
  throw new ApiError(200, refusal ?? "The connection to the server broke off before the end.");
}

/** Further items of a list of a receipt. */
export async function readReceiptItems<List extends "repositories" | "excluded">(
  receipt: Receipt,
  list: List,
  from: number,
  count: number,
): Promise<Receipt[List]["items"]> {
  const parameters = new URLSearchParams({ list, from: String(from), count: String(count) });
  const response = await request(`/.api/search/receipt/${receiptId(receipt)}?${parameters}`);
  return ((await response.json()) as Receipt[List]).items;
}
