import { deserialize, serialize } from "node:v8";
import { TrawlError, errorTable, type ErrorCode, type SerializedError } from "../base/errors.js";
import { partitionsMax } from "../catalog/partitions.js";
import type { ListedElsewhere } from "../search/source/search-fleet.js";
import { isOid } from "../git/objects/refs.js";
import type { CommitData, HistoryRequest } from "../git/history/commits.js";
import type { EntryData } from "../git/objects/directories.js";
import type { FileDiffData } from "../git/history/file-diffs.js";
import type { UnchangedEntries } from "../git/history/last-commits.js";
import type { Repository } from "../model/repository.js";
import type { SymbolMatch } from "../model/stream-events.js";
import { shownSymbolKinds } from "../model/symbol-kind.js";
import type { Viewer } from "../model/viewer.js";
import type {
  FileForm,
  GitReadKind,
  GitReadKinds,
  Occurrence,
  OccurringWord,
  WantedFile,
} from "../protocol/git-messages.js";
import type { ReadLimits } from "../pool/read-pool.js";
import type { ArchiveFormat } from "../git/objects/content.js";
import type { ReadKinds } from "../protocol/read-messages.js";
import { mirrorKind } from "../search/fleet/leaf-server.js";
import { either, members, searchViewer } from "../search/fleet/plan-shape.js";
import {
  atMost,
  choice,
  flag,
  list,
  natural,
  object,
  optional,
  type Shape,
  text,
  tuple,
  unfit,
  whole,
} from "../wire/shapes.js";

/** Reads of one mirror, wherever it is. Those of uploaded indexes are of the files of this node. */
export type MirrorReadKind = Exclude<GitReadKind, "find-precise" | "find-symbols"> | "resolve-revisions";
export type MirrorRead = ReadKinds[MirrorReadKind]["request"];

/** What of a mirror is read as bytes, at the reader's pace. */
export type WantedOutput =
  /** Bytes of a blob that are not in the range need not come. */
  | { readonly kind: "blob"; readonly oid: string; readonly from: number; readonly to: number }
  | { readonly kind: "archive"; readonly commit: string; readonly format: ArchiveFormat; readonly path: string }
  /** For `parseBlameOutput`. */
  | {
      readonly kind: "blame";
      readonly commit: string;
      readonly path: string;
      readonly ignored: readonly string[];
      readonly timeoutMs: number;
    };

/** A commit that a search must cover. */
export interface AwaitedCommit {
  readonly repository: string;
  /** In full. */
  readonly oid: string;
}

/** What is to be done with a repository. */
export interface RepositoryOrder {
  readonly repository: string;
  readonly kind: "fetch" | "index" | "clone";
  /** Whether it is over when the result can be searched; only of `fetch`. */
  readonly waits: boolean;
  /** Whether a remote that lists nothing any more is believed; only of what waits. */
  readonly acceptsLoss: boolean;
}

export interface MirrorLimits extends ReadLimits {
  /** On whose behalf another node is asked. */
  readonly viewer: Viewer;
  /** Registers a callback for when nobody wants the result any more; the returned function unregisters it. */
  onCancel(callback: () => void): () => void;
}

/** What other nodes list. */
export interface ListedRepositories {
  readonly records: readonly Repository[];
  /** Sentences about what is not listed. */
  readonly lacks: readonly string[];
}

/**
 * What is said over a channel on which a node is asked for what it has of one repository.
 *
 *     asking → asked    mirror (body: MirrorAsked)
 *     asked → asking    bytes*, then end or failed
 *
 * The bytes of `find`, `wait`, `order`, `fetch` and `read` are one value, as `v8.serialize` writes it; those of each message for `list` are a list of records; those of
 * `output` are what git writes. Whoever asks may close the
 * channel, which ends what is done for it, and takes bytes at its own pace. What arrives is checked at both ends, and copied member by
 * member: what no shape has does not cross.
 */

/** What one node asks another. The asked one decides what the viewer may see. */
export interface MirrorAsked {
  readonly viewer: Viewer;
  /** See `ReadLimits`. */
  readonly client: string;
  readonly timeoutMs: number;
  readonly question: MirrorQuestion;
}

export type MirrorQuestion =
  | { readonly kind: "find"; readonly repository: string | number }
  /** Of the node that fetches the repository: it answers when the commit can be searched there. */
  | { readonly kind: "wait"; readonly commit: AwaitedCommit }
  /** Of the node that fetches the repository: it answers when the order is given, or, if it `waits`, carried out. */
  | { readonly kind: "order"; readonly order: RepositoryOrder }
  /** Of the operator: fetches what has one of these addresses, in these partitions. */
  | {
      readonly kind: "fetch";
      readonly partitions: ListedElsewhere["partitions"];
      readonly addresses: readonly string[];
    }
  /** All repositories that the viewer sees, in these partitions; with `names`, only those. */
  | {
      readonly kind: "list";
      readonly partitions: ListedElsewhere["partitions"];
      readonly names: readonly string[] | undefined;
    }
  /** The request is about the repository with this id, whatever it says. */
  | { readonly kind: "read"; readonly repositoryId: number; readonly request: MirrorRead }
  | { readonly kind: "output"; readonly repositoryId: number; readonly wanted: WantedOutput };

/** What only the node that fetches the repository can do. It answers with how many changes the partition has had there then. */
export type OwnerQuestion = Extract<MirrorQuestion, { kind: "wait" | "order" }>;

/** A larger answer is refused at both ends: lists of files have 32 MiB at most, and differences as much. */
export const answerBytesMax = 64 << 20;

/** Bytes in one message. */
export const pieceBytes = 1 << 20;

/** No read is given more time. */
const timeoutMsMax = 24 * 60 * 60 * 1000;

const itemsMax = 2_000_000;

/** Names of which repositories are listed. */
const namesMax = 100_000;

/** Addresses of one delivery, UTF-16 units in one of them, and repositories that it may name. */
export const addressesMax = 200;
export const addressLengthMax = 4_096;
export const queuedMax = 10_000;

/** Repositories of which another node lists no more, and those in one message. */
export const listedMax = 20_000;
export const listedAtOnce = 200;
const name = text(4_096);
/** Paths, messages and texts are as long as a commit has them; all of an answer has a limit. */
const anyText = text(answerBytesMax);
const path = text(1 << 20);
const paths = list(path, 100_000);

const oid: Shape<string> = (value, place) => {
  if (typeof value !== "string" || !isOid(value)) throw unfit(place, "the id of an object");
  return value;
};
const oids = list(oid, 100_000);

/** A member that is null or has this shape. */
function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return (value, place) => (value === null ? null : shape(value, place));
}

const bytes: Shape<Uint8Array> = (value, place) => {
  if (value instanceof Uint8Array) return value;
  throw unfit(place, "bytes");
};

const repositoryId = natural;
/** It is the asked node that knows which of its trees lists contents of Git LFS. */
const lfsTree: Shape<string | undefined> = () => undefined;
const count = atMost(100_000_000);

const history = members<HistoryRequest>({
  from: (value, place) => {
    const [first, ...others] = oids(value, place);
    if (first === undefined) throw unfit(place, "a list of at least one");
    return [first, ...others];
  },
  without: oids,
  messageText: path,
  author: name,
  path,
  follow: flag,
  after: name,
  before: name,
  skipCount: count,
  countMax: count,
});

const form: Shape<FileForm> = either<FileForm>("kind", {
  attributes: members({ kind: choice(["attributes"]) }),
  text: members({ kind: choice(["text"]) }),
  "plain-html": members({ kind: choice(["plain-html"]) }),
  definition: members({ kind: choice(["definition"]) }),
  markdown: members({ kind: choice(["markdown"]) }),
  html: members({ kind: choice(["html"]), longLines: flag, patient: flag }),
});

const wantedFile = members<WantedFile>({
  commit: oid,
  oid,
  path,
  form,
  startLine: optional(whole),
  endLine: optional(whole),
});

const unchangedEntries: Shape<UnchangedEntries> = members<UnchangedEntries>({
  commit: oid,
  names: paths,
  parentsSeen: optional(natural) as Shape<number>,
});

const symbolKind = choice(shownSymbolKinds);
const entryKind = choice(["directory", "file", "submodule"]);

const requests: { readonly [Kind in MirrorReadKind]: Shape<ReadKinds[Kind]["request"]> } = {
  "read-commits": members({ kind: choice(["read-commits"]), repositoryId, oids }),
  "has-commit": members({ kind: choice(["has-commit"]), repositoryId, oid }),
  "list-history": members({ kind: choice(["list-history"]), repositoryId, history }),
  "list-history-oids": members({ kind: choice(["list-history-oids"]), repositoryId, history }),
  "find-first-commit": members({ kind: choice(["find-first-commit"]), repositoryId, commit: oid }),
  "list-contributors": members({
    kind: choice(["list-contributors"]),
    repositoryId,
    from: oids,
    without: oids,
    path,
    after: name,
    skipCount: count,
    countMax: count,
  }),
  "compare-commits": members({ kind: choice(["compare-commits"]), repositoryId, base: oid, head: oid }),
  "list-refs": members({
    kind: choice(["list-refs"]),
    repositoryId,
    prefixes: list(name, 100),
    nameText: path,
    order: choice(["name", "newest"]),
    skipCount: count,
    countMax: count,
  }),
  "read-entries": members({ kind: choice(["read-entries"]), repositoryId, lfsTree, commit: oid, paths }),
  "list-directory": members({
    kind: choice(["list-directory"]),
    repositoryId,
    lfsTree,
    commit: oid,
    path,
    recursive: flag,
    entryKinds: list(entryKind, 3),
    countMax: count,
  }),
  "read-last-commits": members({
    kind: choice(["read-last-commits"]),
    repositoryId,
    path,
    from: (value, place) =>
      typeof value === "string" ? oid(value, place) : list(unchangedEntries, 100_000)(value, place),
    timeMs: atMost(60_000),
  }),
  "print-directory": members({
    kind: choice(["print-directory"]),
    repositoryId,
    commit: oid,
    path,
    recursive: flag,
    byteCountMax: atMost(answerBytesMax),
  }),
  "list-file-names": members({ kind: choice(["list-file-names"]), repositoryId, commit: oid, countMax: count }),
  "read-files": members({ kind: choice(["read-files"]), repositoryId, files: list(wantedFile, 10_000) }),
  "list-symbols": members({
    kind: choice(["list-symbols"]),
    repositoryId,
    commit: oid,
    oid,
    path,
    query: path,
    kinds: list(symbolKind, 100),
    skipCount: count,
    countMax: count,
  }),
  "list-occurrences": members({
    kind: choice(["list-occurrences"]),
    repositoryId,
    commit: oid,
    oid,
    path,
    line: natural,
    character: natural,
    all: flag,
  }),
  "read-diff": members({
    kind: choice(["read-diff"]),
    repositoryId,
    base: nullable(oid),
    head: oid,
    paths,
    ignoreWhitespace: flag,
    skipCount: count,
    countMax: count,
    withPatch: flag,
  }),
  "read-blame": members({
    kind: choice(["read-blame"]),
    repositoryId,
    blame: members({ commit: oid, path, startLine: natural, endLine: natural, ignoreWhitespace: flag }),
  }),
  "count-languages": members({
    kind: choice(["count-languages"]),
    repositoryId,
    lfsTree,
    commit: oid,
    withLines: flag,
  }),
  "find-content-commit": members({ kind: choice(["find-content-commit"]), repositoryId, commit: oid }),
  "find-owners": members({ kind: choice(["find-owners"]), repositoryId, commit: oid, path, otherwise: anyText }),
  "read-submodules": members({ kind: choice(["read-submodules"]), repositoryId, commit: oid }),
  "resolve-revisions": members({
    kind: choice(["resolve-revisions"]),
    repositories: (value, place) => {
      const [one] = list(
        object({ repositoryId, specs: list(object({ kind: choice(["name"]), typed: path }), 1_000) }),
        1,
      )(value, place);
      if (one === undefined) throw unfit(place, "a list of one");
      return [one];
    },
  }),
};

const output: Shape<WantedOutput> = either<WantedOutput>("kind", {
  blob: members({ kind: choice(["blob"]), oid, from: natural, to: natural }),
  archive: members({ kind: choice(["archive"]), commit: oid, format: choice(["zip", "tar"]), path }),
  blame: members({
    kind: choice(["blame"]),
    commit: oid,
    path,
    ignored: list(oid, 10_000),
    timeoutMs: atMost(timeoutMsMax),
  }),
});

const somePartitions = optional(
  object({ numbers: list(atMost(partitionsMax), partitionsMax), count: atMost(partitionsMax) }),
);

const asked = members<MirrorAsked>({
  viewer: searchViewer,
  client: name,
  timeoutMs: atMost(timeoutMsMax),
  question: either<MirrorQuestion>("kind", {
    find: members({
      kind: choice(["find"]),
      repository: (value, place) => (typeof value === "string" ? name(value, place) : natural(value, place)),
    }),
    wait: members({ kind: choice(["wait"]), commit: members<AwaitedCommit>({ repository: name, oid }) }),
    order: members({
      kind: choice(["order"]),
      order: members<RepositoryOrder>({
        repository: name,
        kind: choice(["fetch", "index", "clone"]),
        waits: flag,
        acceptsLoss: flag,
      }),
    }),
    fetch: members({
      kind: choice(["fetch"]),
      partitions: somePartitions,
      addresses: list(text(addressLengthMax), addressesMax),
    }),
    list: members({
      kind: choice(["list"]),
      partitions: somePartitions,
      names: optional(list(name, namesMax)),
    }),
    read: members({
      kind: choice(["read"]),
      repositoryId,
      request: either<MirrorRead>("kind", requests as Readonly<Record<string, Shape<MirrorRead>>>),
    }),
    output: members({ kind: choice(["output"]), repositoryId, wanted: output }),
  }),
});

/** Throws `bad-request` for what no node of this version asks. */
export function readMirrorAsked(body: Uint8Array): MirrorAsked {
  return asked(deserialize(body), "mirror");
}

/** The body of the message. */
export function writeMirrorAsked(given: MirrorAsked): Uint8Array {
  return serialize(asked({ ...given, viewer: { ...given.viewer, credential: undefined } }, "mirror"));
}

const identity = object({ name: path, email: path, date: name });
const commit = members<CommitData>({ oid, parents: oids, author: identity, committer: identity, message: anyText });
const commits = list(commit, itemsMax);
/** An entry of a tree that is not read, such as the root, has no id. */
const oidOrNone: Shape<string> = (value, place) => (value === "" ? "" : oid(value, place));
const entry = members<EntryData>({
  path,
  kind: entryKind,
  mode: natural,
  oid: oidOrNone,
  byteCount: whole,
  isLfs: optional(flag) as Shape<true>,
});
const symbol = members<SymbolMatch>({
  url: anyText,
  name: anyText,
  containerName: anyText,
  kind: symbolKind,
  line: natural,
});
const symbols = list(symbol, itemsMax);
const occurrence = members<Occurrence>({ line: natural, character: natural, length: natural });
const word = members<OccurringWord>({
  line: natural,
  character: natural,
  length: natural,
  name: anyText,
  before: anyText,
  after: anyText,
});
const hunk = object({
  oldStart: natural,
  oldCount: natural,
  newStart: natural,
  newCount: natural,
  oldNoNewline: flag,
  section: anyText,
  body: anyText,
});
const fileDiff = members<FileDiffData>({
  oldPath: nullable(path),
  oldOid: oidOrNone,
  newPath: nullable(path),
  newOid: oidOrNone,
  isTypeChange: flag,
  hunks: list(hunk, itemsMax),
  addedCount: natural,
  deletedCount: natural,
});

const errorCode = choice(Object.keys(errorTable) as ErrorCode[]);
const error: Shape<SerializedError> = object({ code: errorCode, message: text(16_384) });

type Answer<Kind extends keyof GitReadKinds> = GitReadKinds[Kind]["answer"];

const answers: { readonly [Kind in MirrorReadKind]: Shape<ReadKinds[Kind]["answer"]> } = {
  "read-commits": object({ commits }),
  "has-commit": object({ isStored: flag }),
  "list-history": object({ commits }),
  "list-history-oids": object({ oids: bytes }),
  "find-first-commit": object({ commit: nullable(oid) }),
  "list-contributors": object({
    contributors: list(object({ name: path, email: path, commitCount: natural }), itemsMax),
    totalCount: natural,
  }),
  "compare-commits": object({ mergeBase: nullable(oid), aheadCount: natural, behindCount: natural }),
  "list-refs": object({
    refs: list(object({ name: path, oid, type: name, commit: nullable(oid), unixSeconds: whole }), itemsMax),
    totalCount: natural,
  }),
  "read-entries": object({ entries: list(nullable(entry), 100_000) }),
  "list-directory": object({ entries: list(entry, itemsMax), totalCount: natural }),
  "read-last-commits": object({
    found: list(object({ name: path, commit: oid }), itemsMax),
    left: list(unchangedEntries, 100_000),
  }),
  "print-directory": object({ text: bytes }),
  "list-file-names": object({ names: list(path, itemsMax) }),
  "read-files": object({
    files: list(
      either<Answer<"read-files">["files"][number]>("kind", {
        file: members<Extract<Answer<"read-files">["files"][number], { kind: "file" }>>({
          kind: choice(["file"]),
          byteCount: natural,
          isBinary: flag,
          lineCount: natural,
          language: name,
          text: anyText,
          documentation: optional(anyText) as Shape<string>,
          aborted: flag,
        }),
        "too-large": object({ kind: choice(["too-large"]), byteCount: natural }),
        missing: object({ kind: choice(["missing"]) }),
      }),
      10_000,
    ),
  }),
  "list-symbols": object({ symbols, totalCount: natural, language: name, lack: anyText }),
  "list-occurrences": members<Answer<"list-occurrences">>({
    language: name,
    word: optional(word),
    imports: list(anyText, itemsMax),
    names: list(object({ name: anyText, definitions: symbols, references: list(occurrence, itemsMax) }), itemsMax),
  }),
  "read-diff": object({
    files: list(fileDiff, itemsMax),
    totalCount: natural,
    addedCount: natural,
    deletedCount: natural,
    patch: anyText,
  }),
  "read-blame": object({
    hunks: list(
      object({
        startLine: natural,
        lineCount: natural,
        byteCount: natural,
        commit: oid,
        path,
        previous: optional(object({ commit: oid, path })),
      }),
      itemsMax,
    ),
    startByte: natural,
  }),
  "count-languages": object({
    languages: list(object({ name, byteCount: natural, lineCount: natural }), 100_000),
  }),
  "find-content-commit": object({ commit: oid }),
  "find-owners": object({
    owners: list(object({ kind: choice(["handle", "email"]), text: path }), 100_000),
    file: path,
    line: natural,
    pattern: anyText,
  }),
  "read-submodules": object({
    urls: (value, place): ReadonlyMap<string, string> => {
      if (!(value instanceof Map)) throw unfit(place, "a map");
      return new Map(list(tuple(path, path), 100_000)([...(value as Map<unknown, unknown>)], place));
    },
  }),
  "resolve-revisions": object({
    repositories: list(
      object({
        repositoryId,
        revisions: list(object({ typed: path, commit: oid }), 1_000),
        missing: list(path, 1_000),
        ambiguous: list(path, 1_000),
        malformed: list(path, 1_000),
        error: optional(error),
      }),
      1,
    ),
  }),
};

/** The answer of a read, without what nobody asks for. Throws `bad-request` if it is none. */
export function checkAnswer<Kind extends MirrorReadKind>(kind: Kind, given: unknown): ReadKinds[Kind]["answer"] {
  const shape: Shape<ReadKinds[Kind]["answer"]> = answers[kind];
  const answer = shape(given, kind);
  // The caller takes the first.
  if (kind === "resolve-revisions" && (answer as ReadKinds["resolve-revisions"]["answer"]).repositories.length !== 1)
    throw unfit(kind, "about one repository");
  return answer;
}

const labels = list(name, 10_000);
const metadata: Shape<Repository["metadata"]> = (value, place) => {
  const pairs = list(tuple(name, nullable(anyText)), 10_000);
  if (typeof value !== "object" || value === null) throw unfit(place, "an object");
  return Object.fromEntries(pairs(Object.entries(value), place));
};

/** What others may know of a record: neither where secrets are, nor what only the node that syncs it needs. */
const record = members<Repository>({
  id: natural,
  name,
  url: path,
  credential: () => "",
  fork: flag,
  archived: flag,
  private: flag,
  readers: list(name, 100_000),
  stars: natural,
  description: anyText,
  topics: labels,
  metadata,
  addedMetadata: metadata,
  history: name,
  branches: labels,
  indexedBranches: list(
    members({
      name: path,
      bit: atMost(31),
      commit: oid,
      committedSeconds: optional(whole),
      contentTree: optional(oid),
    }),
    32,
  ),
  intervalSeconds: natural,
  generation: natural,
  defaultBranch: path,
  lastFetched: name,
  lastChanged: name,
  lastError: text(65_536),
  documentCount: natural,
  contentBytes: natural,
  skippedCounts: (value, place) => {
    const pairs = list(tuple(name, natural), 1_000);
    if (typeof value !== "object" || value === null) throw unfit(place, "an object");
    return Object.fromEntries(pairs(Object.entries(value), place));
  },
  configured: flag,
  removedAt: name,
  lfs: optional(flag) as Shape<true | undefined>,
  source: () => undefined,
  submodules: () => undefined,
  quarantine: () => undefined,
  vanished: () => undefined,
  cut: () => undefined,
  lfsTree: optional(oid),
  warnings: optional(list(anyText, 10_000)),
  historyState: () => undefined,
  historyError: optional(text(65_536)),
});

/** The answer of `find`: undefined if the viewer sees no such repository. */
export const checkRecord = optional(record);

/** A part of the answer of `list`. */
export const checkRecords = list(record, listedAtOnce);

/** The answer of `fetch`: what will be fetched, and which of the partitions another node owns by now. */
export interface RequestedFetches {
  readonly queued: readonly string[];
  readonly notOwned: readonly number[];
}

export const checkFetches = members<RequestedFetches>({
  queued: list(name, queuedMax),
  notOwned: list(atMost(partitionsMax), partitionsMax),
});

/** The answer of `wait` and `order`: how many changes its partition has had. */
export const checkWaited = object({ version: natural });

export const askingHead = object({ kind: choice([mirrorKind]) });

const answering = either<AnsweringHead>("kind", {
  bytes: object({ kind: choice(["bytes"]) }),
  end: object({ kind: choice(["end"]) }),
  failed: object({ kind: choice(["failed"]), error }),
});

export type AnsweringHead =
  | { readonly kind: "bytes" }
  | { readonly kind: "end" }
  | { readonly kind: "failed"; readonly error: SerializedError };

/** Throws `bad-request`. Used for what is sent, too. */
export function toAnsweringHead(head: unknown): AnsweringHead {
  return answering(head, "answer");
}

export function readAnswer(body: Uint8Array): unknown {
  return deserialize(body);
}

/** Throws `content-too-large`. */
export function writeAnswer(value: unknown): Uint8Array {
  const body = serialize(value);
  if (body.length > answerBytesMax)
    throw new TrawlError(
      "content-too-large",
      `the answer has ${body.length} bytes, and nodes of a fleet send each other at most ${answerBytesMax}: ask for less at a time`,
    );
  return body;
}
