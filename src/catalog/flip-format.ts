import { errorMessage, TrawlError } from "../base/errors.js";
import { isObject } from "../base/is-object.js";
import { mapInSteps } from "../base/yielding.js";
import type { HistoryShardRecord } from "../model/history-record.js";
import type { Repository } from "../model/repository.js";
import type { ShardRecord, SymbolRecord } from "../model/shard-record.js";
import type { CatalogChange } from "./catalog-change.js";

/**
 * A change as a text that means the same on another host: JSON, in which shards have names, because each host numbers its own. It
 * is what a flip of a shared manifest consists of.
 *
 *     {"repositories": [RECORD], "removedRepositories": [ID],
 *      "addedShards": [[NAME, RECORD without its id]], "removedShards": [NAME],
 *      "tombstones": [[NAME, [DOCUMENT]]], "hidden": [[NAME, [REPOSITORY]]], "symbols": [[NAME, RECORD or null]],
 *      "addedHistory": [[NAME, RECORD without its id]], "removedHistory": [NAME]}
 *
 * Members with nothing in them are absent. Each item is a line of its own, and so is what is between two members (`],"removedShards":[`), so
 * that a long text can be read in steps.
 */
export type FlipText = Readonly<Partial<Record<FlipMember, readonly unknown[]>>>;
type FlipMember = (typeof flipMembers)[number];

const flipMembers = [
  "repositories",
  "removedRepositories",
  "addedShards",
  "removedShards",
  "tombstones",
  "hidden",
  "symbols",
  "addedHistory",
  "removedHistory",
] as const;

/** What of the change of a flip differs from the record of its shard on another host. */
export type NamedShard = Omit<ShardRecord, "id">;
export type NamedHistory = Omit<HistoryShardRecord, "id">;

/** What another host has to know of shards to make a change its own. */
export interface ShardIds {
  /** The id here of a live shard; undefined if there is none with that name. */
  find(name: string): number | undefined;
  /** The id of a shard that becomes live with this change. */
  take(name: string): number;
}

/** In steps, since a change can have very many repositories. `nameShard` knows those that are live and those that are added. */
export function* encodeChange(change: CatalogChange, nameShard: (id: number) => string): Generator<void, string> {
  const named = <T extends { readonly id: number }>({ id, ...record }: T): [string, Omit<T, "id">] => [
    nameShard(id),
    record,
  ];
  const byName = <T, U>(map: ReadonlyMap<number, T> = new Map<number, T>(), toValue: (value: T) => U): [string, U][] =>
    [...map].map(([id, value]) => [nameShard(id), toValue(value)]);
  const members: Record<FlipMember, readonly unknown[]> = {
    repositories: change.repositories ?? [],
    removedRepositories: change.removedRepositoryIds ?? [],
    addedShards: (change.addedShards ?? []).map(named),
    removedShards: (change.removedShardIds ?? []).map(nameShard),
    tombstones: byName(change.tombstones, (documents) => documents),
    hidden: byName(change.hidden, (repositoryIds) => repositoryIds),
    symbols: byName(change.symbols, (record) => record ?? null),
    addedHistory: (change.addedHistory ?? []).map(named),
    removedHistory: (change.removedHistoryIds ?? []).map(nameShard),
  };
  const parts: string[] = [];
  for (const member of flipMembers) {
    const items = members[member];
    if (items.length === 0) continue;
    const texts: string[] = [];
    for (const item of items) {
      texts.push(JSON.stringify(item));
      yield;
    }
    parts.push(`"${member}":[\n${texts.join(",\n")}\n]`);
  }
  return `{${parts.join(",")}}`;
}

/** What the text says, in steps. Throws `storage` for one that `encodeChange` does not write. */
export function* parseFlip(text: string): Generator<void, FlipText> {
  if (text === "{}") return {};
  const flip: Partial<Record<FlipMember, unknown[]>> = {};
  let items: unknown[] | undefined;
  for (let start = 0, end = 0; end < text.length; start = end + 1) {
    const found = text.indexOf("\n", start);
    end = found < 0 ? text.length : found;
    const line = text.slice(start, end);
    if (line === "]}" && items !== undefined && end === text.length) return flip;
    const opening = items === undefined ? "{" : "],";
    if (line.startsWith(opening) && line.endsWith(":[")) {
      items = [];
      flip[readMember(parseJson(line.slice(opening.length, -2)))] = items;
    } else if (items === undefined) throw unfit("it has no members");
    else items.push(parseJson(line.endsWith(",") ? line.slice(0, -1) : line));
    yield;
  }
  throw unfit("it has no end");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unfit(`it is not JSON: ${errorMessage(cause)}`);
  }
}

/**
 * The change as this host makes it, in steps. What it says of shards that are not live here is left out, as it is by a change itself. Throws
 * `storage` for what is no change.
 */
export function* decodeChange(value: unknown, ids: ShardIds): Generator<void, CatalogChange> {
  const flip = requireFlip(value);
  const known = function* <T>(entries: readonly unknown[] = [], read: (value: unknown) => T) {
    const values = new Map<number, T>();
    for (const entry of entries) {
      const [name, inner] = readPair(entry);
      const id = ids.find(name);
      if (id !== undefined) values.set(id, read(inner));
      yield;
    }
    return values;
  };
  const added = <T extends object>(entries: readonly unknown[] = []) =>
    mapInSteps(entries, (entry): T & { readonly id: number } => {
      const [name, inner] = readPair(entry);
      return { ...(readObject(inner) as T), id: ids.take(name) };
    });
  const found = (names: readonly unknown[] = []): number[] => names.flatMap((name) => ids.find(readName(name)) ?? []);
  return {
    repositories: yield* mapInSteps(flip.repositories ?? [], (one) => readObject(one) as unknown as Repository),
    removedRepositoryIds: (flip.removedRepositories ?? []).map(readNumber),
    removedShardIds: found(flip.removedShards),
    tombstones: yield* known(flip.tombstones, readNumbers),
    hidden: yield* known(flip.hidden, readNumbers),
    symbols: yield* known(flip.symbols, (one) =>
      one === null ? undefined : (readObject(one) as unknown as SymbolRecord),
    ),
    removedHistoryIds: found(flip.removedHistory),
    addedShards: yield* added<NamedShard>(flip.addedShards),
    addedHistory: yield* added<NamedHistory>(flip.addedHistory),
  };
}

function requireFlip(value: unknown): FlipText {
  if (!isObject(value)) throw unfit("it is no object");
  for (const [name, items] of Object.entries(value)) {
    const member = readMember(name);
    if (!Array.isArray(items)) throw unfit(`${member} is no list`);
  }
  return value as FlipText;
}

function readMember(value: unknown): FlipMember {
  const member = flipMembers.find((known) => known === value);
  if (member === undefined)
    throw unfit(`it has ${String(value).slice(0, 50)}, which this version of Trawl does not know`);
  return member;
}

function readPair(value: unknown): [name: string, inner: unknown] {
  if (!Array.isArray(value) || value.length !== 2) throw unfit("something of a shard is no pair");
  const [name, inner] = value as [unknown, unknown];
  return [readName(name), inner];
}

function readName(value: unknown): string {
  if (typeof value !== "string" || value === "" || value.length > 100) throw unfit("a shard has no name");
  return value;
}

function readNumber(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw unfit("a number is none");
  return value;
}

function readNumbers(value: unknown): readonly number[] {
  if (!Array.isArray(value)) throw unfit("a list of numbers is none");
  return (value as unknown[]).map(readNumber);
}

function readObject(value: unknown): object {
  if (!isObject(value)) throw unfit("a record is no object");
  return value;
}

function unfit(reason: string): TrawlError {
  return new TrawlError("storage", `a flip of the manifest cannot be read: ${reason}`);
}
