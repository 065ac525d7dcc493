import { isObject } from "../../../base/is-object.js";
import type { Receipt } from "../../../model/stream-events.js";
import { serverTimeMs } from "../../route/viewer.js";
import { KeptList } from "../../ui/kept-list.js";
import { receiptId } from "./receipt-texts.js";

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
export function keepReceipt(address: string, receipt: Receipt): void {
  const { generation, repositories } = receipt;
  const known = keptReceipts(address);
  // A list that is cut is no base.
  if (repositories.items.length < repositories.count || known.some((one) => one.generation === generation)) return;
  const oldest = known.slice(countOfSearchMax - 1);
  const added = { id: receiptId(receipt), address, generation, savedMs: serverTimeMs(), repositories };
  kept.add(added, ({ id }) => oldest.some((one) => one.id === id));
}
