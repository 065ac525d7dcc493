import { isObject } from "../../../base/is-object.js";
import { type Alert, alertText, type Progress, type Receipt, type StreamError } from "../../../model/stream-events.js";
import { serverTimeMs } from "../../route/viewer.js";
import { KeptList } from "../../ui/kept-list.js";
import { receiptId } from "./receipt-texts.js";
import { scan } from "../../../query/syntax/scan.js";
import { ApiError, request } from "../../api/api-error.js";
import { readEvents } from "../../api/event-stream.js";
import { addressOfQuery, type QueryState } from "../../query/query-state.js";
import { queryParameters, type SearchRun } from "../search-run.js";

/**
 * The state that a search covered. The daemon knows the latest 64 receipts by their id; with the commits that are in it, one
 * is a base for what changed for as long as the commits exist.
 */
export interface KeptReceipt {
  readonly id: string;
  /** Of the search, without what is shown besides its results. */
  readonly address: string;
  readonly generation: string;
  /** By the clock of the server. */
  readonly savedMs: number;
  readonly repositories: Receipt["repositories"];
}

const kept = new KeptList<KeptReceipt>("receipts", { count: 60, length: 500_000 }, isKeptReceipt);

/** States of one search that are kept. */
const countOfSearchMax = 5;

function isKeptReceipt(value: unknown): value is KeptReceipt {
  if (!isObject(value)) return false;
  const { id, address, generation, savedMs, repositories } = value;
  return (
    [id, address, generation].every((text) => typeof text === "string") &&
    typeof savedMs === "number" &&
    isObject(repositories)
  );
}

/** The states of a search that this browser knows, the newest first. */
export function keptReceipts(address: string): readonly KeptReceipt[] {
  return kept.read().filter((one) => one.address === address);
}

/** The receipt with this id, if this browser knows it. */
export function keptReceipt(id: string): KeptReceipt | undefined {
  return kept.read().find((one) => one.id === id);
}

/** Keeps what a search covered, unless that state is known: the first time at which it was seen says the most. */
function keepReceipt(address: string, receipt: Receipt): void {
  const { generation, repositories } = receipt;
  const known = keptReceipts(address);
  // A list that is cut is no base.
  if (repositories.items.length < repositories.count || known.some((one) => one.generation === generation)) return;
  const oldest = known.slice(countOfSearchMax - 1);
  const added = { id: receiptId(receipt), address, generation, savedMs: serverTimeMs(), repositories };
  kept.add(added, ({ id }) => oldest.some((one) => one.id === id));
}

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
