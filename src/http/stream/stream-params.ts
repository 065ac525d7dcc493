import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { readCommitId } from "../../browse/commit-wait.js";
import type { AwaitedCommit } from "../../browse/mirror-messages.js";
import type { RequestOrigin } from "../../model/request-origin.js";
import { groupCountDefault, groupCountMax, groupKinds, type WantedGroups } from "../../model/result-groups.js";
import { lineBytesUnlimited, type ReceiptMode, type SearchRequest } from "../../model/search-request.js";
import { requirePattern, requirePatternCount, shown } from "../../query/plan/pattern-set.js";
import { parseJsonBody } from "../server/json-body.js";

/** A request without its sender, and without what is in its body. */
export type RequestedSearch = Omit<SearchRequest, "viewer" | "client" | "origin" | keyof ClientTypes | "patterns">;

/** Which types of match objects the client knows. */
export interface ClientTypes {
  readonly diffType: "commit" | "diff";
  readonly refusesOwners: boolean;
}

/** Copies each property, because spreading takes longer than parsing them. */
export function withSender(
  requested: RequestedSearch,
  { diffType, refusesOwners }: ClientTypes,
  viewer: SearchRequest["viewer"],
  client: string,
  origin: RequestOrigin,
  patterns: SearchRequest["patterns"],
): SearchRequest {
  const {
    query,
    version,
    patternType,
    display,
    chunkMatches,
    contextLines,
    lineBytesMax,
    defaultCount,
    debug,
    receipt,
    explain = false,
    duplicates = false,
    near = true,
    groups,
  } = requested;
  return {
    isForAllNodes: true,
    query,
    version,
    patternType,
    display,
    chunkMatches,
    contextLines,
    lineBytesMax,
    receipt,
    explain,
    duplicates,
    near,
    groups,
    diffType,
    refusesOwners,
    defaultCount,
    debug,
    viewer,
    client,
    origin,
    patterns,
  };
}

/** What a client wants to know about changes. */
export interface WantedChanges {
  /** The receipt, as typed; "" for all matches, then what changes. */
  readonly since: string;
  /** Whether the stream waits for more. */
  readonly isWatch: boolean;
}

export type StreamParams =
  | {
      readonly kind: "request";
      readonly request: RequestedSearch;
      /** The commit that must be searchable before the search begins. */
      readonly waitFor?: AwaitedCommit;
      /** Undefined for an ordinary search. */
      readonly changes?: WantedChanges;
      readonly resume?: ResumeParams;
    }
  | { readonly kind: "bad"; readonly message: string };

export interface ResumeParams {
  /** The id of the last event that the client has received; "" for a new stream. */
  readonly lastEventId: string;
}

/**
 * Parses the parameters of the stream endpoint from the raw query string.
 *
 * An empty value counts as absent; of a repeated parameter, the first one counts. Unknown parameters are ignored:
 * clients send `sm`, `dl`, `dk`, `dc`, `zoekt-search-opts`, `trace` and most values of `feat`, which have no meaning
 * here. The query language determines the pattern type from `v` and `t`. The first invalid value determines the
 * message; clients compare the beginning of these texts, although one or two are odd. The query may be empty if the request
 * has patterns.
 */
export function parseStreamParams(rawQuery: string, hasPatterns = false): StreamParams {
  const given = new URLSearchParams(rawQuery);
  try {
    const debug = given.getAll("feat").includes(debugFeature);
    const request = { ...readRequest((name) => given.get(name) ?? "", hasPatterns), debug };
    const waitFor = readAwaitedCommit(given.get("wait_for") ?? "");
    const since = given.get("since") ?? "";
    const isWatch = readBoolean("watch", given.get("watch") ?? "");
    const resume = readResume((name) => given.get(name) ?? "");
    return {
      kind: "request",
      request,
      ...(waitFor === undefined ? {} : { waitFor }),
      ...(since === "" && !isWatch ? {} : { changes: { since, isWatch } }),
      ...(resume === undefined ? {} : { resume }),
    };
  } catch (error) {
    if (error instanceof TrawlError && error.code === "bad-request") return { kind: "bad", message: error.message };
    throw error;
  }
}

/** The patterns in `{"patterns": ["…"]}`. Throws `bad-request` that names the first pattern that cannot be used. */
export function parsePatternBody(body: Uint8Array): readonly string[] {
  const sent = parseJsonBody(body);
  const { patterns, ...others }: Readonly<Record<string, unknown>> = isObject(sent) ? sent : {};
  if (!Array.isArray(patterns)) throw bad('the body must be a JSON object with a list of "patterns"');
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw bad(`the body has an unknown member ${shown(unknown)}; options of the search are parameters of the URL`);
  requirePatternCount(patterns.length);
  return patterns.map((pattern: unknown, i) => {
    if (typeof pattern !== "string") throw bad(`patterns[${i}] is not a string`);
    requirePattern(pattern, i);
    return pattern;
  });
}

/** The value of `feat` that requests the member `debug` of match objects. */
const debugFeature = "search-debug";

function readRequest(given: (name: string) => string, hasPatterns: boolean): Omit<RequestedSearch, "debug"> {
  const query = given("q");
  if (query === "" && !hasPatterns) throw bad("no query found");
  const display = readInteger("display", given("display"), -1);
  const chunkMatches = readBoolean("chunk matches", given("cm"));
  const contextLines = readContextLines(given("cl"));
  const lineBytesMax = readInteger("max-line-len", given("max-line-len"), -1);
  return {
    query,
    version: given("v"),
    patternType: given("t"),
    display: display < 0 ? undefined : display,
    chunkMatches,
    contextLines,
    lineBytesMax: lineBytesMax <= 0 ? lineBytesUnlimited : Math.min(lineBytesMax, lineBytesUnlimited),
    defaultCount: undefined,
    receipt: readReceipt(given),
    ...(readBoolean("explain", given("explain")) ? { explain: true } : {}),
    ...(given("near") !== "" && !readBoolean("near", given("near")) ? { near: false } : {}),
    ...(given("group") === "" ? {} : { groups: readGroups(given) }),
    ...(readBoolean("duplicates", given("duplicates")) ? { duplicates: true } : {}),
  };
}

function readGroups(given: (name: string) => string): WantedGroups {
  const by = groupKinds.find((kind) => kind === given("group"));
  if (by === undefined) throw bad(`group must be one of ${groupKinds.join(", ")}, got ${quoted(given("group"))}`);
  const countMax = readInteger("groups", given("groups"), groupCountDefault);
  if (countMax < 1 || countMax > groupCountMax) throw bad(`groups must be from 1 to ${groupCountMax}, got ${countMax}`);
  return { by, countMax };
}

/** A page cannot set the header `Last-Event-ID` when it opens an EventSource, so there is a parameter as well. */
function readResume(given: (name: string) => string): ResumeParams | undefined {
  const isWanted = readBoolean("resume", given("resume"));
  const lastEventId = given("lastEventId");
  return isWanted || lastEventId !== "" ? { lastEventId } : undefined;
}

/** `REPOSITORY@COMMIT`: no name contains an at sign. */
function readAwaitedCommit(text: string): AwaitedCommit | undefined {
  if (text === "") return undefined;
  const at = text.indexOf("@");
  const [repository, oid] = [text.slice(0, Math.max(at, 0)), readCommitId(text.slice(at + 1))];
  if (repository !== "" && oid !== undefined) return { repository, oid };
  throw bad(`wait_for must be REPOSITORY@COMMIT with the full id of a commit, got ${quoted(text)}`);
}

/** A strict search has a receipt as well. */
function readReceipt(given: (name: string) => string): ReceiptMode {
  const wantsReceipt = readBoolean("receipt", given("receipt"));
  if (readBoolean("strict", given("strict"))) return "strict";
  return wantsReceipt ? "report" : "none";
}

/** A decimal 64-bit integer, with an optional sign. */
function readInteger(name: string, text: string, absent: number): number {
  if (text === "") return absent;
  if (!/^[+-]?[0-9]+$/.test(text) || !fitsInt64(BigInt(text.replace(/^\+/, "")))) {
    throw bad(`${name} must be an integer, got ${quoted(text)}`);
  }
  return Number(text);
}

function fitsInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

const booleans: Readonly<Record<string, boolean>> = {
  "1": true,
  t: true,
  T: true,
  TRUE: true,
  true: true,
  True: true,
  "0": false,
  f: false,
  F: false,
  FALSE: false,
  false: false,
  False: false,
};

function readBoolean(name: string, text: string): boolean {
  if (text === "") return false;
  const value = Object.hasOwn(booleans, text) ? booleans[text] : undefined;
  if (value === undefined) throw bad(`${name} must be parseable as a boolean, got ${quoted(text)}`);
  return value;
}

const contextLinesDefault = 1;

/** The message says boolean although it means a number, because the existing interface does. */
function readContextLines(text: string): number {
  if (text === "") return contextLinesDefault;
  if (!/^[0-9]+$/.test(text) || Number(text) > 0xffff_ffff) {
    throw bad(`context lines must be parseable as a boolean, got ${quoted(text)}`);
  }
  return Number(text);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-request", message);
}
