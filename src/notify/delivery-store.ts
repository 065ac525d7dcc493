import type { AddedRecords } from "../catalog/catalog-change.js";
import type { RecordChange, Records } from "../store/records.js";
import type { ChangeCounts, StoredPayload } from "./payload.js";

const deliveryPrefix = "notification-delivery/";
const payloadPrefix = "notification-payload/";

/** Deliveries of one saved search that are listed after they have ended. */
const endedMax = 20;

/** Deliveries of one saved search that wait; it is not evaluated while there are so many. */
export const pendingMax = 10;

/** WITHHELD: the owner may no longer see anything of it. */
export type DeliveryState = "PENDING" | "DELIVERED" | "FAILED" | "WITHHELD";

export interface DeliveryRecord {
  /** Different for each delivery, so that receivers can recognize one that arrives twice. */
  readonly id: string;
  readonly searchId: number;
  /** Ascending. */
  readonly number: number;
  readonly event: StoredPayload["event"];
  readonly counts: ChangeCounts;
  readonly payloadBytes: number;
  readonly createdAt: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** RFC 3339; "" before the first attempt. */
  readonly lastAttemptAt: string;
  /** Of the last response; absent if there was none. */
  readonly status?: number | undefined;
  /** Why the last attempt failed; "" if it did not. */
  readonly error: string;
}

/**
 * The deliveries of each saved search: those that wait, in order, and the last that ended. Payloads are in the record
 * store only, and removed when their delivery ends.
 */
export class DeliveryStore {
  readonly #store: Records;
  /** By search, in order. */
  readonly #deliveries = new Map<number, readonly DeliveryRecord[]>();
  #nextNumber = 1;
  #pendingBytes = 0;
  #pendingCount = 0;

  constructor(store: Records) {
    this.#store = store;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    for (const batch of this.#store.batchesWithPrefix(deliveryPrefix)) {
      for (const { value } of batch) this.#set(JSON.parse(value.toString()) as DeliveryRecord);
      yield;
    }
  }

  /** Bytes of the payloads that wait. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get pendingCount(): number {
    return this.#pendingCount;
  }

  newNumber(): number {
    return this.#nextNumber++;
  }

  /** In order. */
  of(searchId: number): readonly DeliveryRecord[] {
    return this.#deliveries.get(searchId) ?? [];
  }

  /** The searches that have deliveries. */
  searchIds(): readonly number[] {
    return [...this.#deliveries.keys()];
  }

  pendingOf(searchId: number): readonly DeliveryRecord[] {
    return this.of(searchId).filter(({ state }) => state === "PENDING");
  }

  payload(delivery: DeliveryRecord): StoredPayload | undefined {
    const stored = this.#store.get(payloadKey(delivery));
    return stored === undefined ? undefined : (JSON.parse(stored.toString()) as StoredPayload);
  }

  /** The records that add a delivery. */
  adding(delivery: DeliveryRecord, payload: Buffer): AddedRecords {
    const records = [{ key: payloadKey(delivery), value: payload }, toRecord(delivery)];
    return { records, show: () => this.#set(delivery) };
  }

  /** Resolves when the change is durable and visible. Nothing happens if the delivery has been removed meanwhile. */
  async update(delivery: DeliveryRecord): Promise<void> {
    if (!this.has(delivery)) return;
    const records = [toRecord(delivery)];
    const ended = delivery.state === "PENDING" ? [] : this.#endedTooMany(delivery);
    if (delivery.state !== "PENDING") records.push({ key: payloadKey(delivery), value: undefined });
    await this.#store.apply([...records, ...ended.flatMap(toRemovals)]);
    if (!this.has(delivery)) return void (await this.#store.apply(toRemovals(delivery)));
    this.#set(delivery);
    for (const old of ended) this.#forget(old);
  }

  /** Removes all deliveries of a search. */
  async removeOf(searchId: number): Promise<void> {
    const removed = this.of(searchId);
    for (const delivery of removed) this.#forget(delivery);
    await this.#store.apply(removed.flatMap(toRemovals));
  }

  /** Whether it has not been removed. */
  has({ searchId, id }: DeliveryRecord): boolean {
    return this.of(searchId).some((known) => known.id === id);
  }

  #endedTooMany({ searchId, id }: DeliveryRecord): readonly DeliveryRecord[] {
    const ended = this.of(searchId).filter(({ state, id: other }) => state !== "PENDING" && other !== id);
    return ended.slice(0, Math.max(0, ended.length + 1 - endedMax));
  }

  #set(delivery: DeliveryRecord): void {
    this.#forget(delivery);
    this.#nextNumber = Math.max(this.#nextNumber, delivery.number + 1);
    this.#pendingBytes += countPendingBytes(delivery);
    if (delivery.state === "PENDING") this.#pendingCount++;
    const known = [...this.of(delivery.searchId), delivery].sort((a, b) => a.number - b.number);
    this.#deliveries.set(delivery.searchId, known);
  }

  #forget({ id, searchId }: DeliveryRecord): void {
    const [removed, left] = [
      this.of(searchId).find((one) => one.id === id),
      this.of(searchId).filter((one) => one.id !== id),
    ];
    if (removed !== undefined) this.#pendingBytes -= countPendingBytes(removed);
    if (removed?.state === "PENDING") this.#pendingCount--;
    if (left.length > 0) this.#deliveries.set(searchId, left);
    else this.#deliveries.delete(searchId);
  }
}

function countPendingBytes({ state, payloadBytes }: DeliveryRecord): number {
  return state === "PENDING" ? payloadBytes : 0;
}

function toRecord(delivery: DeliveryRecord): RecordChange {
  return { key: recordKey(delivery), value: Buffer.from(JSON.stringify(delivery)) };
}

function toRemovals(delivery: DeliveryRecord): readonly RecordChange[] {
  return [
    { key: recordKey(delivery), value: undefined },
    { key: payloadKey(delivery), value: undefined },
  ];
}

function payloadKey({ id }: DeliveryRecord): string {
  return `${payloadPrefix}${id}`;
}

function recordKey({ searchId, number }: DeliveryRecord): string {
  return `${deliveryPrefix}${searchId}/${number}`;
}
